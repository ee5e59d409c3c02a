"""JSON as Python values: null is None, numbers are Decimal, objects dict. Parses, formats and compares."""

from __future__ import annotations

import json
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, NoReturn

from dataflow.pipelines.pg_functions.numeric import whole_form

BAD_SYNTAX = "invalid input syntax for type json"
TYPE_ORDER = ("null", "string", "number", "boolean", "array", "object")
_TYPE_NAMES = dict(zip((type(None), str, Decimal, bool, list, dict), TYPE_ORDER, strict=True))


def read_number(written: str) -> Decimal:
    """A number as PostgreSQL's numeric stores it: with its decimal digits, without an exponent."""
    if len(written) < 20 and written.isdigit():  # by far the most frequent
        return Decimal(written)
    return whole_form(Decimal(written))


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError(BAD_SYNTAX)


quote = encode_basestring  # a string of JSON

_DECODER = json.JSONDecoder(parse_float=read_number, parse_int=read_number, parse_constant=_refuse_constant)
_CHECKER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse_constant)


def check_syntax(text: str) -> str:
    """Return the text; ValueError if it is not JSON."""
    _decode(_CHECKER, text)
    return text


def _decode(decoder: json.JSONDecoder, text: str) -> Any:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError:
        raise ValueError(BAD_SYNTAX) from None
    except RecursionError:
        raise ValueError("stack depth limit exceeded") from None


def parse(text: str) -> Any:
    """Parse JSON like jsonb: the last duplicate key wins, and strings contain no NUL character."""
    value = _decode(_DECODER, text)
    if "\\u" in text:
        _check_texts(value)
    return value


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("unsupported Unicode escape sequence")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ValueError(BAD_SYNTAX)
    elif isinstance(value, list | dict):
        for item in value:
            _check_texts(item)
            if isinstance(value, dict):
                _check_texts(value[item])


def list_pairs(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The pairs of an object in jsonb's order: by key length in bytes, then by the bytes."""
    return sorted(value.items(), key=lambda pair: ((key := pair[0].encode()), len(key))[::-1])


def write(value: Any) -> str:
    """Format JSON like jsonb."""
    match value:
        case str():
            return quote(value)
        case list():
            return "[" + ", ".join(map(write, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{quote(key)}: {write(item)}" for key, item in list_pairs(value)) + "}"
    return write_scalar(value)


def write_scalar(value: Any) -> str:
    """The text of a number, boolean or null."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "null" if value is None else "true" if value else "false"


def write_text(value: Any) -> str | None:
    """The result of `->>`: a string's content, NULL for null."""
    if value is None:
        return None
    return value if isinstance(value, str) else write(value)


def get_type(value: Any) -> str:
    """The name of a value's type."""
    return _TYPE_NAMES[type(value)]


def is_scalar(value: Any) -> bool:
    """Whether a value is neither an array nor an object."""
    return not isinstance(value, list | dict)


def is_equal(one: Any, scalar: Any) -> bool:
    """Whether a value equals a scalar; a boolean never equals a number."""
    return type(one) is type(scalar) and bool(one == scalar)


def compare(one: Any, other: Any) -> int:
    """Compare two documents: by type, except that an empty array sorts before everything."""
    if is_scalar(one) != is_scalar(other) and not isinstance(one, dict) and not isinstance(other, dict):
        # PostgreSQL stores a lone scalar as an array of one element, which sorts before a real array.
        is_first = is_scalar(one)
        size = len(other if is_first else one)
        lesser = is_first if size else not is_first
        return -1 if lesser else 1
    return _compare_values(one, other)


def _compare_values(one: Any, other: Any) -> int:
    first, second = TYPE_ORDER.index(get_type(one)), TYPE_ORDER.index(get_type(other))
    if first != second:
        return _sign(first, second)
    if isinstance(one, list):
        return _sign(len(one), len(other)) or _compare_in_turn(one, other)
    if isinstance(one, dict):
        flat = ([part for pair in list_pairs(value) for part in pair] for value in (one, other))
        return _sign(len(one), len(other)) or _compare_in_turn(*flat)
    return 0 if one is None else _sign(one, other)


def _compare_in_turn(one: list[Any], other: list[Any]) -> int:
    return next((found for found in map(_compare_values, one, other) if found), 0)


def _sign(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)
