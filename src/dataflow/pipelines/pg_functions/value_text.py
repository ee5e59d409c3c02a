"""Parses and formats booleans, UUIDs and bytes; encodings, digests and Unicode escapes."""

from __future__ import annotations

import base64
import hashlib
import re

from dataflow.pipelines.pg_functions.integers import SPACE
from dataflow.pipelines.pg_functions.signatures import Calls
from dataflow.pipelines.shape.values import BOOLEANS, find_uuid

HEX_PAIR = re.compile(r"[^ \n\t\r].?", re.DOTALL)
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
BYTEA_ESCAPE = re.compile(rb"\\(?:([0-3][0-7][0-7])|(\\))|\\|[^\\]+", re.DOTALL)
_BYTE_ESCAPES = [f"\\{byte:03o}" if byte in (0, *range(128, 256)) else chr(byte) for byte in range(256)]
_BYTE_ESCAPES[92] = "\\\\"
BASE64_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
UNICODE_ESCAPE = re.compile(
    r"\\(?:(?P<backslash>\\)|u?(?P<four>[0-9a-fA-F]{4})|\+(?P<six>[0-9a-fA-F]{6})|U(?P<eight>[0-9a-fA-F]{8}))?|[^\\]"
)
BAD_PAIR = "invalid Unicode surrogate pair"


def boolean_in(text: str) -> bool:
    """Parse a boolean: true, false, yes, no, their prefixes, on, off (of), 1 and 0."""
    found = BOOLEANS.get(text.strip(SPACE).lower() if text.isascii() else "")
    if found is None:
        raise ValueError(f'invalid input syntax for type boolean: "{text}"')
    return found


def boolean_out(value: bool) -> str:
    """Format a boolean as in arrays and concat()."""
    return "t" if value else "f"


def uuid_in(text: str) -> str:
    """Parse a UUID in any format and return its canonical text."""
    found = find_uuid(text)
    if found is None:
        raise ValueError(f'invalid input syntax for type uuid: "{text}"')
    return found


def bytea_in(text: str) -> bytes:
    """Parse bytes in the hex format or the older escape format."""
    return read_hex(text[2:]) if text.startswith("\\x") else read_escaped(text)


def bytea_out(value: bytes) -> str:
    """Format bytes in the hex format."""
    return "\\x" + value.hex()


def read_hex(text: str) -> bytes:
    """Parse hexadecimal digits; white space is allowed between pairs."""
    pairs = HEX_PAIR.findall(text)
    for pair in pairs:
        for digit in pair:
            if digit not in HEX_DIGITS:
                raise ValueError(f'invalid hexadecimal digit: "{digit}"')
        if len(pair) < 2:
            raise ValueError("invalid hexadecimal data: odd number of digits")
    return bytes.fromhex("".join(pairs))


def read_escaped(text: str) -> bytes:
    """Parse bytes in which a backslash starts three octal digits or escapes itself."""
    data = bytearray()
    for found in BYTEA_ESCAPE.finditer(text.encode()):
        if found[1]:
            data.append(int(found[1], 8))
        elif found[2]:
            data += b"\\"
        elif found[0] == b"\\":
            raise ValueError("invalid input syntax for type bytea")
        else:
            data += found[0]
    return bytes(data)


def encode(data: bytes, form: str) -> str:
    """Encode bytes as text in `hex`, `base64` or `escape`."""
    match form.lower():
        case "hex":
            return data.hex()
        case "base64":
            # A full line ends with a newline even at the end, unless it is padded.
            return re.sub("(.{75}[^=])", r"\1\n", base64.b64encode(data).decode())
        case "escape":
            return "".join(map(_BYTE_ESCAPES.__getitem__, data))
    raise ValueError(f'unrecognized encoding: "{form}"')


def decode(text: str, form: str) -> bytes:
    """Decode text in `hex`, `base64` or `escape` to bytes."""
    decoders = {"hex": read_hex, "base64": _read_base64, "escape": read_escaped}
    if form.lower() not in decoders:
        raise ValueError(f'unrecognized encoding: "{form}"')
    return decoders[form.lower()](text)


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


def decode_utf8(data: bytes) -> str:
    text = data.decode()
    if "\0" in text:
        raise ValueError('invalid byte sequence for encoding "UTF8": 0x00')
    return text


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


SIGNATURES: Calls = {
    "cast(text) -> boolean": boolean_in,
    "cast(text) -> uuid": uuid_in,
    "cast(text) -> bytea": bytea_in,
    "cast(bytea) -> text": bytea_out,
    "encode(bytea, text) -> text": encode,
    "decode(text, text) -> bytea": decode,
    "md5(text) -> text": md5,
    "md5(bytea) -> text": md5,
    "sha224(bytea) -> bytea": lambda data: hashlib.sha224(data).digest(),
    "sha256(bytea) -> bytea": lambda data: hashlib.sha256(data).digest(),
    "sha384(bytea) -> bytea": lambda data: hashlib.sha384(data).digest(),
    "sha512(bytea) -> bytea": lambda data: hashlib.sha512(data).digest(),
    "convert_to utf8(text) -> bytea": str.encode,
    "convert_from utf8(bytea) -> text": decode_utf8,
    "unistr(text) -> text": unistr,
}
