"""Booleans, UUIDs and bytes read from text and written as text."""

from __future__ import annotations

import re

from dataflow.pipelines.pg_functions.integer_text import SPACE
from dataflow.pipelines.pg_functions.signatures import Signature

UUID = re.compile(r"(\{)?((?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4})(?(1)\})")
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
BYTEA_ESCAPE = re.compile(rb"\\(?:([0-3][0-7][0-7])|(\\))|\\|[^\\]+", re.DOTALL)


def boolean_in(text: str) -> bool:
    """Read a boolean: true, false, yes, no, their beginnings, on, off (of), 1 and 0."""
    word = text.strip(SPACE).lower() if text.isascii() else ""
    if word == "1" or (word and ("true".startswith(word) or "yes".startswith(word))) or word == "on":
        return True
    if word == "0" or (word and ("false".startswith(word) or "no".startswith(word))) or word in ("of", "off"):
        return False
    raise ValueError(f'invalid input syntax for type boolean: "{text}"')


def boolean_out(value: bool) -> str:
    """The output of a boolean, as in arrays and in concat()."""
    return "t" if value else "f"


def boolean_to_text(value: bool) -> str:
    """A boolean cast to text."""
    return "true" if value else "false"


def integer_to_boolean(number: int) -> bool:
    """An integer cast to boolean."""
    return number != 0


def uuid_in(text: str) -> str:
    """Read a UUID in any spelling and give its canonical text."""
    found = UUID.fullmatch(text)
    if found is None:
        raise ValueError(f'invalid input syntax for type uuid: "{text}"')
    digits = found[2].replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def bytea_in(text: str) -> bytes:
    """Read bytes in the hex format, or in the older escape format."""
    return read_hex(text[2:]) if text.startswith("\\x") else read_escaped(text)


def bytea_out(value: bytes) -> str:
    """Write bytes in the hex format."""
    return "\\x" + value.hex()


def read_hex(text: str) -> bytes:
    """Bytes from hexadecimal digits, with white space between pairs allowed."""
    data = bytearray()
    place = 0
    while place < len(text):
        if text[place] in " \n\t\r":
            place += 1
            continue
        for digit in text[place : place + 2]:
            if digit not in HEX_DIGITS:
                raise ValueError(f'invalid hexadecimal digit: "{digit}"')
            if place + 1 >= len(text):
                raise ValueError("invalid hexadecimal data: odd number of digits")
        data.append(int(text[place : place + 2], 16))
        place += 2
    return bytes(data)


def read_escaped(text: str) -> bytes:
    """Bytes from text in which a backslash begins three octal digits or doubles itself."""
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


SIGNATURES: tuple[Signature, ...] = (
    Signature("cast", ("text",), "boolean", boolean_in),
    Signature("cast", ("boolean",), "text", boolean_to_text),
    Signature("output", ("boolean",), "text", boolean_out),
    Signature("cast", ("integer",), "boolean", integer_to_boolean),
    Signature("cast", ("boolean",), "integer", int),
    Signature("cast", ("text",), "uuid", uuid_in),
    Signature("cast", ("uuid",), "text", str),
    Signature("output", ("uuid",), "text", str),
    Signature("output", ("text",), "text", str),
    Signature("cast", ("text",), "bytea", bytea_in),
    Signature("cast", ("bytea",), "text", bytea_out),
    Signature("output", ("bytea",), "text", bytea_out),
)
