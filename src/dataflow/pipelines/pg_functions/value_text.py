"""Parses and formats booleans, UUIDs and bytes."""

from __future__ import annotations

import re

from dataflow.pipelines.pg_functions.integer_text import SPACE
from dataflow.pipelines.pg_functions.signatures import Signature

UUID = re.compile(r"(\{)?((?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4})(?(1)\})")
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
BYTEA_ESCAPE = re.compile(rb"\\(?:([0-3][0-7][0-7])|(\\))|\\|[^\\]+", re.DOTALL)


def boolean_in(text: str) -> bool:
    """Parse a boolean: true, false, yes, no, their prefixes, on, off (of), 1 and 0."""
    word = text.strip(SPACE).lower() if text.isascii() else ""
    if word == "1" or (word and ("true".startswith(word) or "yes".startswith(word))) or word == "on":
        return True
    if word == "0" or (word and ("false".startswith(word) or "no".startswith(word))) or word in ("of", "off"):
        return False
    raise ValueError(f'invalid input syntax for type boolean: "{text}"')


def boolean_out(value: bool) -> str:
    """Format a boolean as in arrays and concat()."""
    return "t" if value else "f"


def boolean_to_text(value: bool) -> str:
    """Cast a boolean to text."""
    return "true" if value else "false"


def integer_to_boolean(number: int) -> bool:
    """Cast an integer to boolean."""
    return number != 0


def uuid_in(text: str) -> str:
    """Parse a UUID in any format and return its canonical text."""
    found = UUID.fullmatch(text)
    if found is None:
        raise ValueError(f'invalid input syntax for type uuid: "{text}"')
    digits = found[2].replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def bytea_in(text: str) -> bytes:
    """Parse bytes in the hex format or the older escape format."""
    return read_hex(text[2:]) if text.startswith("\\x") else read_escaped(text)


def bytea_out(value: bytes) -> str:
    """Format bytes in the hex format."""
    return "\\x" + value.hex()


def read_hex(text: str) -> bytes:
    """Parse hexadecimal digits; white space is allowed between pairs."""
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
