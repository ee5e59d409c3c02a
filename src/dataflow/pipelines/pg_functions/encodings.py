"""Hex, base64 and escape encodings of bytes, digests, and Unicode escapes."""

from __future__ import annotations

import base64
import hashlib
import re

from dataflow.pipelines.pg_functions.signatures import Signature
from dataflow.pipelines.pg_functions.value_text import read_escaped, read_hex

BASE64_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
UNICODE_ESCAPE = re.compile(
    r"\\(?:(?P<backslash>\\)|u?(?P<four>[0-9a-fA-F]{4})|\+(?P<six>[0-9a-fA-F]{6})|U(?P<eight>[0-9a-fA-F]{8}))?|[^\\]"
)
BAD_PAIR = "invalid Unicode surrogate pair"


def encode(data: bytes, form: str) -> str:
    """Encode bytes as text in `hex`, `base64` or `escape`."""
    match form.lower():
        case "hex":
            return data.hex()
        case "base64":
            # A full line ends with a newline even at the end, unless it is padded.
            return re.sub("(.{75}[^=])", r"\1\n", base64.b64encode(data).decode())
        case "escape":
            return "".join(map(_escape_byte, data))
    raise ValueError(f'unrecognized encoding: "{form}"')


def decode(text: str, form: str) -> bytes:
    """Decode text in `hex`, `base64` or `escape` to bytes."""
    match form.lower():
        case "hex":
            return read_hex(text)
        case "base64":
            return _read_base64(text)
        case "escape":
            return read_escaped(text)
    raise ValueError(f'unrecognized encoding: "{form}"')


def _escape_byte(byte: int) -> str:
    if byte == 0 or byte > 127:
        return f"\\{byte:03o}"
    return "\\\\" if byte == 92 else chr(byte)


def _read_base64(text: str) -> bytes:
    digits: list[str] = []
    data = bytearray()
    kept = 3  # bytes per group of four digits; fewer after the first padding character
    for character in text:
        if character in " \t\n\r":
            continue
        if character == "=":
            if kept == 3:
                kept = len(digits) - 1
                if kept < 1:
                    raise ValueError('unexpected "=" while decoding base64 sequence')
            digits.append("A")
        elif character in BASE64_DIGITS:
            digits.append(character)
        else:
            raise ValueError(f'invalid symbol "{character}" found while decoding base64 sequence')
        if len(digits) == 4:
            data += base64.b64decode("".join(digits))[:kept]
            digits = []
    if digits:
        raise ValueError("invalid base64 end sequence")
    return bytes(data)


def md5(data: str | bytes) -> str:
    """The MD5 digest as hexadecimal text."""
    return hashlib.md5(data.encode() if isinstance(data, str) else data, usedforsecurity=False).hexdigest()


def sha224(data: bytes) -> bytes:
    """The SHA-224 digest."""
    return hashlib.sha224(data).digest()


def sha256(data: bytes) -> bytes:
    """The SHA-256 digest."""
    return hashlib.sha256(data).digest()


def sha384(data: bytes) -> bytes:
    """The SHA-384 digest."""
    return hashlib.sha384(data).digest()


def sha512(data: bytes) -> bytes:
    """The SHA-512 digest."""
    return hashlib.sha512(data).digest()


def unistr(text: str) -> str:
    """Replace the Unicode escapes in a string by their characters."""
    written: list[str] = []
    first = 0  # first half of a surrogate pair
    for found in UNICODE_ESCAPE.finditer(text):
        digits = found["four"] or found["six"] or found["eight"]
        if found[0] == "\\":
            raise ValueError("invalid Unicode escape")
        code = int(digits, 16) if digits else 0
        if digits and not 0 < code <= 0x10FFFF:
            raise ValueError(f"invalid Unicode code point: {code:04X}")
        is_second = 0xDC00 <= code <= 0xDFFF
        if bool(first) != is_second:
            raise ValueError(BAD_PAIR)
        if first:
            code = 0x10000 + ((first & 0x3FF) << 10) + (code & 0x3FF)
        first = code if 0xD800 <= code <= 0xDBFF else 0
        if not first:
            written.append(chr(code) if digits else "\\" if found["backslash"] else found[0])
    if first:
        raise ValueError(BAD_PAIR)
    return "".join(written)


SIGNATURES: tuple[Signature, ...] = (
    Signature("encode", ("bytea", "text"), "text", encode),
    Signature("decode", ("text", "text"), "bytea", decode),
    Signature("md5", ("text",), "text", md5),
    Signature("md5", ("bytea",), "text", md5),
    Signature("sha224", ("bytea",), "bytea", sha224),
    Signature("sha256", ("bytea",), "bytea", sha256),
    Signature("sha384", ("bytea",), "bytea", sha384),
    Signature("sha512", ("bytea",), "bytea", sha512),
    Signature("unistr", ("text",), "text", unistr),
)
