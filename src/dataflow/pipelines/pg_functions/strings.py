"""String functions. Positions count characters from 1."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import zip_longest

from dataflow.pipelines.pg_functions.signatures import Calls

LARGEST = 0x3FFFFFFF  # bytes per value
LARGEST_INTEGER = 2**31 - 1
SMALLEST_INTEGER = -(2**31)
TOO_LARGE = "requested length too large"
NEGATIVE_LENGTH = "negative substring length not allowed"
FORMS = {"NFC", "NFD", "NFKC", "NFKD"}


def octet_length(text: str) -> int:
    """The number of bytes."""
    return len(text.encode())


def right(text: str, count: int) -> str:
    """The last characters, or all but the first ones for a negative count."""
    if count == SMALLEST_INTEGER:  # PostgreSQL cannot negate it, and then omits nothing
        return text
    return text[-count:] if count < 0 else text[max(len(text) - count, 0) :]


def lpad(text: str, size: int, filler: str = " ") -> str:
    """Pad on the left, or truncate on the right."""
    return _fill(len(text), size, filler) + text[: max(size, 0)]


def rpad(text: str, size: int, filler: str = " ") -> str:
    """Pad or truncate on the right."""
    return text[: max(size, 0)] + _fill(len(text), size, filler)


def _fill(present: int, size: int, filler: str) -> str:
    missing = size - present
    if (size if filler else min(size, present)) * 4 + 4 > LARGEST:
        raise ValueError(TOO_LARGE)
    if missing <= 0 or not filler:
        return ""
    return (filler * (missing // len(filler) + 1))[:missing]


def repeat(text: str, count: int) -> str:
    """Repeat the string."""
    if count > 0 and octet_length(text) * count + 4 > LARGEST:
        raise ValueError(TOO_LARGE)
    return text * count


def _trim(strip: Callable[[str, str], str], text: str, characters: str = " ") -> str:
    """Remove these characters from one end or both."""
    return strip(text, characters) if characters else text


def translate(text: str, old: str, new: str) -> str:
    """Replace each character of `old` by the one at the same position in `new`, or remove it."""
    pairs = list(zip_longest(map(ord, old), new[: len(old)]))
    return text.translate(dict(reversed(pairs)))  # of equal characters, the first counts


def split_part(text: str, separator: str, number: int) -> str:
    """The nth part between separators; a negative number counts from the end."""
    if number == 0:
        raise ValueError("field position must not be zero")
    parts = text.split(separator) if separator else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def substr(text: str, start: int, count: int | None = None) -> str:
    """The characters from a position on, which may be before the first."""
    if count is None or (count >= 0 and start + count > LARGEST_INTEGER):
        return text[max(start - 1, 0) :]
    if count < 0:
        raise ValueError(NEGATIVE_LENGTH)
    return text[max(start - 1, 0) : max(start + count - 1, 0)]


def overlay(text: str, new: str, start: int, count: int | None = None) -> str:
    """`overlay(text placing new from start for count)`"""
    if start <= 0:
        raise ValueError(NEGATIVE_LENGTH)
    after = start + (len(new) if count is None else count)
    if not SMALLEST_INTEGER <= after <= LARGEST_INTEGER:
        raise ValueError("integer out of range")
    return text[: start - 1] + new + text[max(after - 1, 0) :]


def chr_of(code: int) -> str:
    """The character with a code point."""
    if code < 0:
        raise ValueError("character number must be positive")
    if code == 0:
        raise ValueError("null character not permitted")
    if code > 0x10FFFF:
        raise ValueError(f"requested character too large for encoding: {code}")
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"requested character not valid for encoding: {code}")
    return chr(code)


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """Join the strings with a separator; NULLs are ignored."""
    return None if separator is None else separator.join(text for text in texts if text is not None)


def normalize(text: str, form: str = "NFC") -> str:
    """The string in a Unicode normal form, as far as Python knows its characters."""
    if form.upper() not in FORMS:
        raise ValueError(f"invalid normalization form: {form}")
    return unicodedata.normalize(form.upper(), text)  # type: ignore[arg-type]


def is_normalized(text: str, form: str = "NFC") -> bool:
    """Whether the string is in a Unicode normal form."""
    return normalize(text, form) == text


SIGNATURES: Calls = {
    "length, char_length, character_length(text) -> integer": len,
    "octet_length(text) -> integer": octet_length,
    "bit_length(text) -> integer": lambda text: octet_length(text) * 8,
    "octet_length, length(bytea) -> integer": len,
    "left(text, integer) -> text": lambda text, count: text[:count],
    "right(text, integer) -> text": right,
    "lpad(text, integer, text?) -> text": lpad,
    "rpad(text, integer, text?) -> text": rpad,
    "repeat(text, integer) -> text": repeat,
    "reverse(text) -> text": lambda text: text[::-1],
    "btrim(text, text?) -> text": partial(_trim, str.strip),
    "ltrim(text, text?) -> text": partial(_trim, str.lstrip),
    "rtrim(text, text?) -> text": partial(_trim, str.rstrip),
    "replace(text, text, text) -> text": lambda text, old, new: text.replace(old, new) if old else text,
    "translate(text, text, text) -> text": translate,
    "split_part(text, text, integer) -> text": split_part,
    "strpos(text, text) -> integer": lambda text, wanted: text.find(wanted) + 1,
    "position(text, text) -> integer": lambda wanted, text: text.find(wanted) + 1,
    "starts_with, ^@(text, text) -> boolean": str.startswith,
    "substr, substring(text, integer, integer?) -> text": substr,
    "overlay(text, text, integer, integer?) -> text": overlay,
    "ascii(text) -> integer": lambda text: ord(text[0]) if text else 0,
    "chr(integer) -> text": chr_of,
    "concat(variadic text) -> text with nulls": partial(concat_ws, ""),
    "concat_ws(text, variadic text) -> text with nulls": concat_ws,
    "||(text, text) -> text": operator.add,
    "normalize(text, text?) -> text": normalize,
    "is_normalized(text, text?) -> boolean": is_normalized,
}
