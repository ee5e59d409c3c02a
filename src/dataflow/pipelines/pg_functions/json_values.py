"""Converts SQL values to JSON and back: to_jsonb and to_json, builders, aggregates, casts from jsonb.

Arguments of the builders and aggregates are documents: convert each value with to_jsonb or to_json first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any, NoReturn

from dataflow.pipelines.pg_functions.float_text import double_in, double_out, real_in, real_out
from dataflow.pipelines.pg_functions.integer_text import BITS
from dataflow.pipelines.pg_functions.json_model import get_type, is_scalar, parse, quote, write, write_scalar
from dataflow.pipelines.pg_functions.json_text import json_to_jsonb
from dataflow.pipelines.pg_functions.signatures import Signature
from dataflow.pipelines.pg_functions.value_text import boolean_to_text, bytea_out

EPOCH = datetime(1970, 1, 1)
MICROS_OF_DAY = 24 * 60 * 60 * 10**6
NO_DATE, NO_TIMESTAMP = 2**31 - 1, 2**63 - 1  # infinity; minus infinity is the smallest value of the type
TOO_FEW = "argument list must have even number of elements"
SQL_NAMES = {"double": "double precision"}
JSONB_NAMES = {"number": "numeric"}  # in messages about casts


def text_to_json(text: str) -> str:
    """A JSON string."""
    return quote(text)


def numeric_to_json(number: Decimal) -> str:
    """A JSON number, or a string for NaN and infinity."""
    if number.is_nan() or number.is_infinite():
        return quote("NaN" if number.is_nan() else "Infinity" if number > 0 else "-Infinity")
    return write_scalar(number)


def _float_to_json(output: Callable[[float], str], number: float) -> str:
    return output(number) if math.isfinite(number) else quote(output(number))


def _float_to_jsonb(output: Callable[[float], str], number: float) -> str:
    return write(parse(output(number))) if math.isfinite(number) else quote(output(number))


def bytea_to_json(data: bytes) -> str:
    """A JSON string in hex format."""
    return quote(bytea_out(data))


def date_to_json(days: int) -> str:
    """A JSON string with the date."""
    if days in (NO_DATE, -NO_DATE - 1):
        return quote("infinity" if days > 0 else "-infinity")
    return quote(_write_moment(days * MICROS_OF_DAY).partition("T")[0])


def timestamp_to_json(micros: int, zone: str = "") -> str:
    """A JSON string with date and time in ISO 8601."""
    if micros in (NO_TIMESTAMP, -NO_TIMESTAMP - 1):
        return quote("infinity" if micros > 0 else "-infinity")
    return quote(_write_moment(micros) + zone)


def _write_moment(micros: int) -> str:
    try:
        moment = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ValueError("a date before year 1 or after 9999 cannot be written as JSON here") from None
    written = moment.isoformat()
    return written.rstrip("0") if moment.microsecond else written


TO_JSON: dict[str, Callable[[Any], str]] = {
    "text": text_to_json,
    "character": text_to_json,
    "uuid": text_to_json,
    "boolean": boolean_to_text,
    **dict.fromkeys(BITS, str),
    "numeric": numeric_to_json,
    "double": partial(_float_to_json, double_out),
    "real": partial(_float_to_json, real_out),
    "bytea": bytea_to_json,
    "date": date_to_json,
    "timestamp": timestamp_to_json,
    "timestamptz": partial(timestamp_to_json, zone="+00:00"),
    "jsonb": str,
    "json": str,
}
TO_JSONB: dict[str, Callable[[Any], str]] = TO_JSON | {
    "double": partial(_float_to_jsonb, double_out),
    "real": partial(_float_to_jsonb, real_out),
    "json": json_to_jsonb,
}


def _array_to_json(convert: Callable[[Any], str], separator: str, items: list[Any]) -> str:
    return "[" + separator.join("null" if item is None else convert(item) for item in items) + "]"


def build_array(*documents: str | None) -> str:
    """jsonb_build_array() and json_build_array()"""
    return "[" + ", ".join("null" if one is None else one for one in documents) + "]"


def jsonb_build_object(*documents: str | None) -> str:
    """jsonb_build_object() of alternating keys and values."""
    if len(documents) % 2:
        raise ValueError(TOO_FEW)
    pairs: dict[str, Any] = {}
    for place in range(0, len(documents), 2):
        key = documents[place]
        if key is None:
            raise ValueError(f"argument {place + 1}: key must not be null")
        value = documents[place + 1]
        pairs[read_key(key)] = None if value is None else parse(value)
    return write(pairs)


def json_build_object(*documents: str | None) -> str:
    """json_build_object() of alternating keys and values."""
    if len(documents) % 2:
        raise ValueError(TOO_FEW)
    return "{" + ", ".join(map(_write_pair, documents[::2], documents[1::2])) + "}"


def _write_pair(key: str | None, value: str | None) -> str:
    if key is None:
        raise ValueError("null value not allowed for object key")
    return f"{quote(read_key(key))} : {'null' if value is None else value}"


def read_key(document: str) -> str:
    """The object key for a scalar."""
    value = parse(document)
    if not is_scalar(value):
        raise ValueError("key value must be scalar, not array, composite, or json")
    return value if isinstance(value, str) else write_scalar(value)


def jsonb_agg(documents: Iterable[str | None]) -> str | None:
    """All documents as an array; NULL if there are none. json_agg() differs only for SQL arrays."""
    rows = list(documents)
    return build_array(*rows) if rows else None


def json_agg_of_arrays(documents: Iterable[str | None]) -> str | None:
    """json_agg() of SQL arrays: each but the first starts on a new line."""
    rows = list(documents)
    written = ["null" if one is None else f"\n {one}" if place else one for place, one in enumerate(rows)]
    return "[" + ", ".join(written) + "]" if rows else None


def jsonb_object_agg(pairs: Iterable[tuple[str | None, str | None]]) -> str | None:
    """All pairs as an object, the last duplicate key wins; NULL if there are none."""
    found: dict[str, Any] = {}
    rows = list(pairs)
    for key, value in rows:
        if key is None:
            raise ValueError("field name must not be null")
        found[read_key(key)] = None if value is None else parse(value)
    return write(found) if rows else None


def json_object_agg(pairs: Iterable[tuple[str | None, str | None]]) -> str | None:
    """All pairs as text; NULL if there are none."""
    rows = [_write_pair(key, value) for key, value in pairs]
    return "{ " + ", ".join(rows) + " }" if rows else None


def _cast_number(kind: str, document: str) -> Any:
    value = parse(document)
    if value is None:
        return None
    if not isinstance(value, Decimal):
        _refuse_cast(value, kind)
    match kind:
        case "double":
            return double_in(write_scalar(value))
        case "real":
            return real_in(write_scalar(value))
        case "numeric":
            return value
    number = int(value.to_integral_value(ROUND_HALF_UP))
    if not -(1 << (BITS[kind] - 1)) <= number < 1 << (BITS[kind] - 1):
        raise ValueError(f"{kind} out of range")
    return number


def jsonb_to_boolean(document: str) -> bool | None:
    """Cast a jsonb boolean to boolean."""
    value = parse(document)
    if value is None or isinstance(value, bool):
        return value
    _refuse_cast(value, "boolean")


def _refuse_cast(value: Any, kind: str) -> NoReturn:
    found = get_type(value)
    raise ValueError(f"cannot cast jsonb {JSONB_NAMES.get(found, found)} to type {SQL_NAMES.get(kind, kind)}")


SIGNATURES: tuple[Signature, ...] = (
    *(Signature("to_json", (kind,), "json", call) for kind, call in TO_JSON.items()),
    *(Signature("to_jsonb", (kind,), "jsonb", call) for kind, call in TO_JSONB.items()),
    *(
        Signature("to_json", (f"{kind}[]",), "json", partial(_array_to_json, call, ","))
        for kind, call in TO_JSON.items()
    ),
    *(
        Signature("to_jsonb", (f"{kind}[]",), "jsonb", partial(_array_to_json, call, ", "))
        for kind, call in TO_JSONB.items()
    ),
    Signature("jsonb_build_array", (), "jsonb", build_array),
    Signature("jsonb_build_array", ("jsonb",), "jsonb", build_array, strict=False, variadic=True),
    Signature("json_build_array", (), "json", build_array),
    Signature("json_build_array", ("json",), "json", build_array, strict=False, variadic=True),
    Signature("jsonb_build_object", (), "jsonb", jsonb_build_object),
    Signature("jsonb_build_object", ("jsonb",), "jsonb", jsonb_build_object, strict=False, variadic=True),
    Signature("json_build_object", (), "json", json_build_object),
    Signature("json_build_object", ("json",), "json", json_build_object, strict=False, variadic=True),
    *(
        Signature("cast", ("jsonb",), kind, partial(_cast_number, kind))
        for kind in (*BITS, "numeric", "real", "double")
    ),
    Signature("cast", ("jsonb",), "boolean", jsonb_to_boolean),
)
