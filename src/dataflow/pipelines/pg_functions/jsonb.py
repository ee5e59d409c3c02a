"""jsonb functions that read: access, containment, existence, comparison, rows; and its text format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions.json_model import (
    compare,
    get_type,
    is_equal,
    is_scalar,
    list_pairs,
    parse,
    quote,
    write,
    write_text,
)
from dataflow.pipelines.pg_functions.signatures import Signature, comparisons, declare, swapped

INDEX = re.compile(r"[ \t-\r]*[-+]?[0-9]+", re.ASCII)
Path = list[str | None]


class _Missing:
    """The marker for a missing value."""


MISSING = _Missing()


def read_index(text: str) -> int | None:
    """An index in a path; None if it is not an integer."""
    if INDEX.fullmatch(text) is None:
        return None
    index = int(text)
    return index if -(2**31) <= index < 2**31 else None


def get_key(value: Any, key: str) -> Any:
    """The value of a key of an object."""
    return value.get(key, MISSING) if isinstance(value, dict) else MISSING


def get_index(value: Any, index: int) -> Any:
    """An element of an array; a negative index counts from the end."""
    if not isinstance(value, list) or not -len(value) <= index < len(value):
        return MISSING
    return value[index]


def get_path(value: Any, path: Path) -> Any:
    """The value at the end of a path."""
    for step in path:
        if isinstance(value, list) and step is not None:
            index = read_index(step)
            value = MISSING if index is None else get_index(value, index)
        else:
            value = MISSING if step is None else get_key(value, step)
        if value is MISSING:
            return MISSING
    return value


def find_key(document: str, key: str) -> Any:
    """`document -> key`"""
    return get_key(parse(document), key)


def find_item(document: str, index: int) -> Any:
    """`document -> index`"""
    value = parse(document)
    # A lone scalar counts as an array of one element here.
    return get_index([value] if is_scalar(value) else value, index)


def find_path(document: str, path: Path) -> Any:
    """`document #> path`"""
    return MISSING if None in path else get_path(parse(document), path)


def extract_path(document: str, *path: str) -> Any:
    """jsonb_extract_path()"""
    return get_path(parse(document), list(path))


def _as_jsonb(find: Callable[..., Any], *arguments: Any) -> str | None:
    found = find(*arguments)
    return None if found is MISSING else write(found)


def _as_text(find: Callable[..., Any], *arguments: Any) -> str | None:
    found = find(*arguments)
    return None if found is MISSING else write_text(found)


def jsonb_in(text: str) -> str:
    """Cast text to jsonb."""
    return write(parse(text))


def exists(document: str, key: str) -> bool:
    """`document ? key`"""
    return _exists(parse(document), key)


def exists_any(document: str, keys: Path) -> bool:
    """`document ?| keys`"""
    value = parse(document)
    return any(_exists(value, key) for key in keys if key is not None)


def exists_all(document: str, keys: Path) -> bool:
    """`document ?& keys`"""
    value = parse(document)
    return all(_exists(value, key) for key in keys if key is not None)


def _exists(value: Any, key: str) -> bool:
    return key in value if isinstance(value, list | dict) else isinstance(value, str) and value == key


def contains(document: str, wanted: str) -> bool:
    """`document @> wanted`"""
    value, part = parse(document), parse(wanted)
    if is_scalar(part) and not isinstance(value, dict):
        # An array contains a lone scalar that equals one of its elements.
        return any(is_equal(one, part) for one in (value if isinstance(value, list) else [value]))
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
    return is_equal(value, part)


def compare_documents(one: str, other: str) -> int:
    """-1, 0 or 1 for less, equal or greater."""
    return compare(parse(one), parse(other))


def typeof(document: str) -> str:
    """jsonb_typeof()"""
    return get_type(parse(document))


def pretty(document: str) -> str:
    """jsonb_pretty()"""
    return _write_pretty(parse(document), 0)


def _write_pretty(value: Any, depth: int) -> str:
    if is_scalar(value):
        return write(value)
    inner = "    " * (depth + 1)
    if isinstance(value, list):
        parts = [inner + _write_pretty(one, depth + 1) for one in value]
        start, end = "[]"
    else:
        parts = [f"{inner}{quote(key)}: {_write_pretty(one, depth + 1)}" for key, one in list_pairs(value)]
        start, end = "{}"
    body = ",\n".join(parts)
    return f"{start}\n{body}{chr(10) if parts else ''}{'    ' * depth}{end}"


def _read_array(document: str) -> list[Any]:
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot extract elements from a scalar")
    if isinstance(value, dict):
        raise ValueError("cannot extract elements from an object")
    items: list[Any] = value
    return items


def array_elements(document: str) -> list[str]:
    """Each element of an array."""
    return [write(item) for item in _read_array(document)]


def array_elements_text(document: str) -> list[str | None]:
    """Each element of an array as text."""
    return [write_text(item) for item in _read_array(document)]


def array_length(document: str) -> int:
    """The number of elements of an array."""
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot get array length of a scalar")
    if isinstance(value, dict):
        raise ValueError("cannot get array length of a non-array")
    return len(value)


def _read_pairs(document: str, function: str) -> list[tuple[str, Any]]:
    value = parse(document)
    if not isinstance(value, dict):
        raise ValueError(f"cannot call {function} on a non-object")
    return list_pairs(value)


def each_value(document: str) -> list[str]:
    """Each value of an object, in the order of object_keys."""
    return [write(item) for _, item in _read_pairs(document, "jsonb_each")]


def each_text(document: str) -> list[str | None]:
    """Each value of an object as text, in the order of object_keys."""
    return [write_text(item) for _, item in _read_pairs(document, "jsonb_each_text")]


def object_keys(document: str) -> list[str]:
    """The keys of an object."""
    value = parse(document)
    if not isinstance(value, dict):
        kind = "a scalar" if is_scalar(value) else "an array"
        raise ValueError(f"cannot call jsonb_object_keys on {kind}")
    return [key for key, _ in list_pairs(value)]


PAIR = ("jsonb", "jsonb")


def _list_access() -> Iterator[Signature]:
    for takes, mark, find in (
        ("text", "-", find_key),
        ("integer", "-", find_item),
        ("text[]", "#", find_path),
    ):
        yield from declare(f"{mark}>(jsonb, {takes}) -> jsonb", partial(_as_jsonb, find))
        yield from declare(f"{mark}>>(jsonb, {takes}) -> text", partial(_as_text, find))


SIGNATURES: tuple[Signature, ...] = (
    *declare("cast(text) -> jsonb", jsonb_in),
    *_list_access(),
    *declare("jsonb_extract_path(jsonb, variadic text) -> jsonb", partial(_as_jsonb, extract_path)),
    *declare("jsonb_extract_path_text(jsonb, variadic text) -> text", partial(_as_text, extract_path)),
    *declare("?(jsonb, text) -> boolean", exists),
    *declare("?|(jsonb, text[]) -> boolean", exists_any),
    *declare("?&(jsonb, text[]) -> boolean", exists_all),
    *declare("@>(jsonb, jsonb) -> boolean", contains),
    *declare("<@(jsonb, jsonb) -> boolean", swapped(contains)),
    *comparisons("jsonb", compare_documents),
    *declare("jsonb_typeof(jsonb) -> text", typeof),
    *declare("jsonb_pretty(jsonb) -> text", pretty),
    *declare("jsonb_array_elements(jsonb) -> setof jsonb", array_elements),
    *declare("jsonb_array_elements_text(jsonb) -> setof text", array_elements_text),
    *declare("jsonb_array_length(jsonb) -> integer", array_length),
    *declare("jsonb_object_keys(jsonb) -> setof text", object_keys),
    *declare("jsonb_each values(jsonb) -> setof jsonb", each_value),
    *declare("jsonb_each_text values(jsonb) -> setof text", each_text),
)
