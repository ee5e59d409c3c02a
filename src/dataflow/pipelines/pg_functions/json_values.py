"""Converts SQL values to JSON and back: to_jsonb and to_json, builders, aggregates, casts from jsonb.

Arguments of the builders and aggregates are documents: convert each value with to_jsonb or to_json first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions import numeric
from dataflow.pipelines.pg_functions.float_text import double_out, real_out
from dataflow.pipelines.pg_functions.integers import BITS
from dataflow.pipelines.pg_functions.json_model import get_type, is_scalar, parse, quote, write, write_scalar
from dataflow.pipelines.pg_functions.jsonb import jsonb_in
from dataflow.pipelines.pg_functions.signatures import Calls, for_each
from dataflow.pipelines.pg_functions.timestamps import show_date, show_timestamp, show_timestamptz
from dataflow.pipelines.pg_functions.value_text import bytea_out

# In messages about casts.
SQL_NAMES = {"double": "double precision", "number": "numeric"}


def _float_to_json(output: Callable[[float], str], number: float) -> str:
    return output(number) if math.isfinite(number) else quote(output(number))


TO_JSON: dict[str, Callable[[Any], str]] = {
    "text": quote,
    "uuid": quote,
    "boolean": write_scalar,
    **dict.fromkeys(BITS, str),
    "numeric": write_scalar,
    "double": partial(_float_to_json, double_out),
    "real": partial(_float_to_json, real_out),
    "bytea": lambda data: quote(bytea_out(data)),
    "date": lambda days: quote(show_date(days)),
    "timestamp": lambda micros: quote(show_timestamp(micros).replace(" ", "T", 1)),
    "timestamptz": lambda micros: quote(
        show_timestamptz(micros).replace(" ", "T", 1).replace("+00", "+00:00")
    ),
    "jsonb": str,
    "json": str,
}
TO_JSONB: dict[str, Callable[[Any], str]] = TO_JSON | {
    "double": lambda number: jsonb_in(TO_JSON["double"](number)),
    "real": lambda number: jsonb_in(TO_JSON["real"](number)),
    "json": jsonb_in,
}


def _array_to_json(convert: Callable[[Any], str], separator: str, items: list[Any]) -> str:
    return "[" + separator.join("null" if item is None else convert(item) for item in items) + "]"


def build_array(*documents: str | None) -> str:
    """jsonb_build_array() and json_build_array()"""
    return "[" + ", ".join("null" if one is None else one for one in documents) + "]"


def jsonb_build_object(*documents: str | None) -> str:
    """jsonb_build_object() of alternating keys and values."""
    pairs: dict[str, Any] = {}
    for number, (key, value) in enumerate(_pair(documents)):
        if key is None:
            raise ValueError(f"argument {2 * number + 1}: key must not be null")
        pairs[read_key(key)] = None if value is None else parse(value)
    return write(pairs)


def json_build_object(*documents: str | None) -> str:
    """json_build_object() of alternating keys and values."""
    return "{" + ", ".join(_write_pair(key, value) for key, value in _pair(documents)) + "}"


def _pair(documents: tuple[str | None, ...]) -> Iterator[tuple[str | None, str | None]]:
    if len(documents) % 2:
        raise ValueError("argument list must have even number of elements")
    return zip(documents[::2], documents[1::2], strict=True)


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


def json_agg(documents: list[str | None]) -> str | None:
    """jsonb_agg() and json_agg(): all documents as an array; NULL if there are none."""
    return build_array(*documents) if documents else None


def jsonb_object_agg(documents: list[str], ordered: bool) -> str | None:
    """Build an object from pairs, each a JSON array of key and value; the last of an ordered key wins."""
    pairs = [parse(each) for each in documents]
    if not ordered and len({key for key, _ in pairs}) < len({tuple(map(write, pair)) for pair in pairs}):
        raise ValueError("jsonb_object_agg has two values for one key; add ORDER BY inside the parentheses")
    if any(key is None for key, _ in pairs):
        raise ValueError("field name must not be null")
    return write(dict(pairs)) if pairs else None


def _cast(kind: str, convert: Callable[[Any], Any], document: str) -> Any:
    """Cast a jsonb boolean or number; null is NULL."""
    value = parse(document)
    if value is None:
        return None
    if not isinstance(value, bool if kind == "boolean" else Decimal):
        source, target = (SQL_NAMES.get(name, name) for name in (get_type(value), kind))
        raise ValueError(f"cannot cast jsonb {source} to type {target}")
    return convert(value)


_CASTS: Calls = {"boolean": bool, "numeric": Decimal, "real": numeric.to_real, "double": numeric.to_double}
_CASTS |= {kind: partial(numeric.to_integer, kind) for kind in BITS}


def _list_conversions(name: str, converters: Calls, separator: str) -> Calls:
    arrays = {kind: partial(_array_to_json, convert, separator) for kind, convert in converters.items()}
    calls = for_each(f"to_{name}({{}}) -> {name}", converters)
    return calls | for_each(f"to_{name}({{}}[]) -> {name}", arrays)


SIGNATURES: Calls = {
    **_list_conversions("json", TO_JSON, ","),
    **_list_conversions("jsonb", TO_JSONB, ", "),
    "jsonb_build_array(variadic jsonb?) -> jsonb with nulls": build_array,
    "json_build_array(variadic json?) -> json with nulls": build_array,
    "jsonb_build_object(variadic jsonb?) -> jsonb with nulls": jsonb_build_object,
    "json_build_object(variadic json?) -> json with nulls": json_build_object,
    **for_each("cast(jsonb) -> {}", {kind: partial(_cast, kind, call) for kind, call in _CASTS.items()}),
    "jsonb_agg(jsonb[]) -> jsonb": json_agg,
    "json_agg(json[]) -> json": json_agg,
    "jsonb_object_agg of pairs(jsonb[]) -> jsonb": partial(jsonb_object_agg, ordered=False),
    "jsonb_object_agg of ordered pairs(jsonb[]) -> jsonb": partial(jsonb_object_agg, ordered=True),
}
