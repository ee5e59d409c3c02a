"""Strict conversion of one source value to one column value; raises Unfit with the reason if it does not fit.

Values are as returned by parse_exactly; a string is parsed like PostgreSQL's input for the type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date
from decimal import Context, Decimal, InvalidOperation
from uuid import UUID

from dataflow.pipelines.shape.array_text import split_array
from dataflow.pipelines.shape.json_text import NotJson, Number, parse_exactly, to_json
from dataflow.pipelines.shape.sql_types import FLOATS, INTEGERS, TEXTS, TIMES, ColumnType
from dataflow.pipelines.shape.times import parse_date, parse_local_timestamp, parse_timestamp

_SPACES = " \t\n\r\f\v"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_UUID = re.compile(r"(\{)?((?:[0-9A-Fa-f]{4}-?){7}[0-9A-Fa-f]{4})(?(1)\})")
_BITS = {"smallint": 15, "integer": 31, "bigint": 63}
_LARGEST_REAL = 3.4028235677973366e38  # from here on a 32-bit float would be infinite
_LARGEST_NO_REAL = 2.0**-150  # from here down a 32-bit float would be 0
_NOT_ZERO = re.compile(r"[^eE]*[1-9]")
_WIDE = Context(prec=100)
_WHOLE_DIGITS, _FRACTION_DIGITS = 131_072, 16_383
_TIME_PARSERS = dict(zip(TIMES, (parse_date, parse_timestamp, parse_local_timestamp), strict=True))
BOOLEANS = {
    word[:size]: word in ("true", "yes") for word in ("true", "yes", "false", "no") for size in range(1, 6)
}
BOOLEANS |= {"on": True, "1": True, "off": False, "of": False, "0": False}
"""The words for true and false, in lower case."""


class Unfit(Exception):
    """A value that does not fit its column; the message is the reason of the reject."""


def convert(kind: ColumnType, value: object, *, source_is_text: bool = False) -> object:
    """The value for the column's Arrow type, a uuid as canonical text; None stays None.

    `source_is_text` is for CSV, where a json value arrives as text.
    """
    if value is None:
        return None
    if kind.element is not None:
        return [convert(kind.element, element) for element in _elements(value)]
    if kind.name in ("json", "jsonb"):
        return _to_json_text(value, source_is_text)
    if isinstance(value, list | dict):
        if isinstance(value, list):
            raise Unfit(f"is a list, not {kind.ddl}; map it as {kind.ddl} [], or use jsonb")
        raise Unfit(f"is an object, not {kind.ddl}; map a nested field by its path, or use jsonb")
    if isinstance(value, bytes):
        raise Unfit(f"is bytes, not {kind.ddl}")
    return _CONVERTERS[kind.name](kind, value)


def _to_text(kind: ColumnType, value: object) -> str:
    text = _json_text(value)
    _check_text(text)
    if kind.length is None or len(text) <= kind.length:
        return text
    if text[kind.length :].strip(" "):
        raise Unfit(f"has {len(text)} characters, more than {kind.ddl} holds")
    return text[: kind.length]  # PostgreSQL drops surplus spaces, too


def _to_integer(kind: ColumnType, value: object) -> int:
    text = _number_text(kind, value)
    if not _INTEGER.fullmatch(text):
        raise Unfit(f"is not an {kind.name}" if kind.name == "integer" else f"is not a {kind.name}")
    limit = 2 ** _BITS[kind.name]
    # Python refuses to parse integers of thousands of digits; none of them is in range.
    number = int(text) if len(text.lstrip("+-0")) <= 20 else limit
    if not -limit <= number < limit:
        raise Unfit(f"is out of range for {kind.name}")
    return number


def _to_numeric(kind: ColumnType, value: object) -> Decimal | str:
    text = _number_text(kind, value)
    if not _DECIMAL.fullmatch(text):
        raise Unfit(f"is not a {kind.name}")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise Unfit("has an impossible exponent") from None
    if kind.unlimited:
        return _to_number_text(number)
    precision, scale = kind.digits
    if not number:
        return Decimal(0)
    if number.adjusted() >= precision - scale:
        raise Unfit(f"has more than {precision - scale} digits before the point, {_holding(kind)}")
    if _last_place(number) < -scale:
        raise Unfit(f"has more than {scale} digits after the point, {_holding(kind)}")
    return number.quantize(Decimal((0, (1,), -scale)), context=_WIDE)


def _to_number_text(number: Decimal) -> str:
    """The number as PostgreSQL writes it, with its original digits."""
    if number.adjusted() >= _WHOLE_DIGITS or int(number.as_tuple().exponent) < -_FRACTION_DIGITS:
        raise Unfit(
            f"has more digits than PostgreSQL's numeric can hold ({_WHOLE_DIGITS} before the point, "
            f"{_FRACTION_DIGITS} after it)"
        )
    return f"{number if number else abs(number):f}"


def _to_float(kind: ColumnType, value: object) -> float:
    text = _number_text(kind, value)
    if not _DECIMAL.fullmatch(text):
        raise Unfit(f"is not a finite {kind.name} number")
    number = float(text)
    if math.isinf(number) or (kind.name == "real" and abs(number) >= _LARGEST_REAL):
        raise Unfit(f"is out of range for {kind.name}")
    if abs(number) <= (_LARGEST_NO_REAL if kind.name == "real" else 0) and _NOT_ZERO.match(text):
        raise Unfit(f"is out of range for {kind.name}: it would become 0")
    return number


def _to_boolean(kind: ColumnType, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = _json_text(value).strip(_SPACES).lower()
    if text not in BOOLEANS:
        raise Unfit("is not a boolean")
    return BOOLEANS[text]


def _to_uuid(kind: ColumnType, value: object) -> str:
    found = find_uuid(value) if isinstance(value, str) and not isinstance(value, Number) else None
    if found is None:
        raise Unfit("is not a uuid")
    return found


def find_uuid(text: str) -> str | None:
    """The canonical text of a uuid in any form that PostgreSQL reads; None if it is not one."""
    found = _UUID.fullmatch(text)
    return str(UUID(found[2])) if found else None


def _to_time(kind: ColumnType, value: object) -> date:
    if not isinstance(value, str) or isinstance(value, Number):
        raise Unfit(f"is not the text of a {kind.name}")
    try:
        return _TIME_PARSERS[kind.name](value)
    except ValueError as error:
        raise Unfit(str(error)) from None


def _to_json_text(value: object, source_is_text: bool) -> str:
    try:
        found = parse_exactly(str(value).encode()) if source_is_text else value
        _check_strings(found)
        return to_json(found).decode()
    except (NotJson, UnicodeEncodeError) as error:
        raise Unfit(f"is not JSON: {error}") from None
    except (TypeError, RecursionError) as error:
        raise Unfit(f"cannot be written as JSON: {error}") from None


def _check_strings(value: object) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unfit("holds a number that is not finite")
    elif isinstance(value, list):
        for element in value:
            _check_strings(element)
    elif isinstance(value, dict):
        for key, element in value.items():
            _check_text(key)
            _check_strings(element)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise Unfit("contains the character NUL, which PostgreSQL does not store")
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise Unfit("contains half of a surrogate pair, which is not a character")


def _elements(value: object) -> list[object]:
    if isinstance(value, str) and not isinstance(value, Number):
        text = value.strip(_SPACES)
        if not (text.startswith("{") and text.endswith("}")):
            raise Unfit("is not an array: neither a list nor a string like {a,b}")
        try:
            return list(split_array(text))  # as found in CSV files
        except ValueError:
            raise Unfit("is not a one-dimensional array like {a,b}") from None
    if not isinstance(value, list):
        raise Unfit("is not a list")
    if any(isinstance(element, list) for element in value):
        raise Unfit("is a list of lists; only one-dimensional arrays are supported")
    return value


def _number_text(kind: ColumnType, value: object) -> str:
    if isinstance(value, bool):
        raise Unfit(f"is a boolean, not {kind.ddl}")
    return _json_text(value).strip(_SPACES)


def _json_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        raise Unfit("is not a finite number")
    return str(value)


def _last_place(number: Decimal) -> int:
    """The exponent of the last nonzero digit. Decimal.normalize would round to its context."""
    parts = number.as_tuple()
    zeros = len(parts.digits) - len("".join(map(str, parts.digits)).rstrip("0"))
    return int(parts.exponent) + zeros


def _holding(kind: ColumnType) -> str:
    precision, scale = kind.digits
    return f"more than {kind.ddl} holds" + (
        "" if kind.precision else f" here ({precision} digits, {scale} after)"
    )


_CONVERTERS: dict[str, Callable[[ColumnType, object], object]] = {
    **dict.fromkeys(TEXTS, _to_text),
    **dict.fromkeys(INTEGERS, _to_integer),
    **dict.fromkeys(FLOATS, _to_float),
    "uuid": _to_uuid,
    "numeric": _to_numeric,
    "boolean": _to_boolean,
    **dict.fromkeys(TIMES, _to_time),
}
