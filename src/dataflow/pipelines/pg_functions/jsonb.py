"""jsonb functions that read: access, containment, existence, comparison, rows; and its text format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions import json_model
from dataflow.pipelines.pg_functions.json_model import is_scalar, list_pairs, parse, write, write_text
from dataflow.pipelines.pg_functions.signatures import Calls, comparisons, swapped

INDEX = re.compile(r"[ \t-\r]*[-+]?[0-9]+", re.ASCII)
Path = list[str | None]


MISSING: Any = object()  # the marker for a missing value


def read_index(text: str) -> int | None:
    """An index in a path; None if it is not an integer."""
    if INDEX.fullmatch(text) is None:
        return None
    index = int(text)
    return index if -(2**31) <= index < 2**31 else None


def get_key(value: Any, key: str) -> Any:
    """`value -> key`"""
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def get_item(value: Any, index: int) -> Any:
    """`value -> index`; a negative index counts from the end, a lone scalar as an array of one element."""
    items = [value] if is_scalar(value) else value
    return items[index] if isinstance(items, list) and -len(items) <= index < len(items) else MISSING


def get_path(value: Any, path: Iterable[str | None]) -> Any:
    """`value #> path`"""
    for step in path:
        if step is None:
            return MISSING
        if isinstance(value, list):
            index = read_index(step)
            value = MISSING if index is None else get_item(value, index)
        else:
            value = get_key(value, step)
    return value


def extract_path(value: Any, *path: str) -> Any:
    """jsonb_extract_path()"""
    return get_path(value, path)


def jsonb_in(text: str) -> str:
    """Cast text to jsonb."""
    return write(parse(text))


def exists(value: Any, key: str) -> bool:
    """`value ? key`"""
    return key in value if isinstance(value, list | dict) else isinstance(value, str) and value == key


def exist(test: Callable[[Iterable[bool]], bool], document: str, keys: Path) -> bool:
    """`document ?| keys` and `document ?& keys`"""
    value = parse(document)
    return test(exists(value, key) for key in keys if key is not None)


def contains(value: Any, part: Any) -> bool:
    """`value @> part`"""
    if is_scalar(part) and not isinstance(value, dict):
        # An array contains a lone scalar that equals one of its elements.
        return any(json_model.is_equal(one, part) for one in (value if isinstance(value, list) else [value]))
    return _contains(value, part)


def _contains(value: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(value, dict) and all(
            key in value and _contains(value[key], wanted) for key, wanted in part.items()
        )
    if isinstance(part, list):
        return isinstance(value, list) and all(
            any(_contains(one, wanted) for one in value) for wanted in part
        )
    return json_model.is_equal(value, part)


def write_pretty(value: Any, depth: int = 0) -> str:
    """jsonb_pretty()"""
    if is_scalar(value):
        return write(value)
    inner = "    " * (depth + 1)
    if isinstance(value, list):
        parts = [inner + write_pretty(one, depth + 1) for one in value]
        start, end = "[]"
    else:
        parts = [
            f"{inner}{json_model.quote(key)}: {write_pretty(one, depth + 1)}"
            for key, one in list_pairs(value)
        ]
        start, end = "{}"
    body = ",\n".join(parts)
    return f"{start}\n{body}{chr(10) if parts else ''}{'    ' * depth}{end}"


def list_elements(show: Callable[[Any], str | None], document: str) -> list[str | None]:
    """Each element of an array."""
    return list(map(show, _read(document, list, "extract elements from", "an object")))


def object_keys(document: str) -> list[str]:
    """The keys of an object."""
    return [key for key, _ in list_pairs(_read(document, dict, "call jsonb_object_keys on", "an array"))]


def list_values(show: Callable[[Any], str | None], function: str, document: str) -> list[str | None]:
    """Each value of an object, in the order of object_keys."""
    value = parse(document)
    if not isinstance(value, dict):
        raise ValueError(f"cannot call {function} on a non-object")
    return [show(item) for _, item in list_pairs(value)]


def _read(document: str, kind: type, purpose: str, other: str) -> Any:
    value = parse(document)
    if not isinstance(value, kind):
        raise ValueError(f"cannot {purpose} {'a scalar' if is_scalar(value) else other}")
    return value


def _of_one(call: Callable[..., Any], document: str, *rest: Any) -> Any:
    return call(parse(document), *rest)


def _of_two(call: Callable[[Any, Any], Any], one: str, other: str) -> Any:
    return call(parse(one), parse(other))


def _found(show: Callable[[Any], str | None], find: Callable[..., Any], document: str, *rest: Any) -> Any:
    found = find(parse(document), *rest)
    return None if found is MISSING else show(found)


_contains_document = partial(_of_two, contains)

SIGNATURES: Calls = {
    "cast(text) -> jsonb": jsonb_in,
    "->(jsonb, text) -> jsonb": partial(_found, write, get_key),
    "->>(jsonb, text) -> text": partial(_found, write_text, get_key),
    "->(jsonb, integer) -> jsonb": partial(_found, write, get_item),
    "->>(jsonb, integer) -> text": partial(_found, write_text, get_item),
    "#>(jsonb, text[]) -> jsonb": partial(_found, write, get_path),
    "#>>(jsonb, text[]) -> text": partial(_found, write_text, get_path),
    "jsonb_extract_path(jsonb, variadic text) -> jsonb": partial(_found, write, extract_path),
    "jsonb_extract_path_text(jsonb, variadic text) -> text": partial(_found, write_text, extract_path),
    "?(jsonb, text) -> boolean": partial(_of_one, exists),
    "?|(jsonb, text[]) -> boolean": partial(exist, any),
    "?&(jsonb, text[]) -> boolean": partial(exist, all),
    "@>(jsonb, jsonb) -> boolean": _contains_document,
    "<@(jsonb, jsonb) -> boolean": swapped(_contains_document),
    **comparisons("jsonb", partial(_of_two, json_model.compare)),
    "jsonb_typeof(jsonb) -> text": partial(_of_one, json_model.get_type),
    "jsonb_pretty(jsonb) -> text": partial(_of_one, write_pretty),
    "jsonb_array_elements(jsonb) -> setof jsonb": partial(list_elements, write),
    "jsonb_array_elements_text(jsonb) -> setof text": partial(list_elements, write_text),
    "jsonb_array_length(jsonb) -> integer": lambda document: len(
        _read(document, list, "get array length of", "a non-array")
    ),
    "jsonb_object_keys(jsonb) -> setof text": object_keys,
    "jsonb_each values(jsonb) -> setof jsonb": partial(list_values, write, "jsonb_each"),
    "jsonb_each_text values(jsonb) -> setof text": partial(list_values, write_text, "jsonb_each_text"),
}
