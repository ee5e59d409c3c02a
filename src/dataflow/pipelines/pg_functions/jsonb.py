"""jsonb operators that read: access, containment, existence, comparison; and its text format."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from operator import eq, ge, gt, le, lt, ne
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
from dataflow.pipelines.pg_functions.signatures import Signature

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


def _as_jsonb(found: Any) -> str | None:
    return None if found is MISSING else write(found)


def _as_text(found: Any) -> str | None:
    return None if found is MISSING else write_text(found)


def jsonb_in(text: str) -> str:
    """Cast text to jsonb."""
    return write(parse(text))


def field(document: str, key: str) -> str | None:
    """`document -> key`"""
    return _as_jsonb(get_key(parse(document), key))


def field_text(document: str, key: str) -> str | None:
    """`document ->> key`"""
    return _as_text(get_key(parse(document), key))


def item(document: str, index: int) -> str | None:
    """`document -> index`"""
    return _as_jsonb(_get_item(document, index))


def item_text(document: str, index: int) -> str | None:
    """`document ->> index`"""
    return _as_text(_get_item(document, index))


def _get_item(document: str, index: int) -> Any:
    value = parse(document)
    # A lone scalar counts as an array of one element here.
    return get_index([value] if is_scalar(value) else value, index)


def at_path(document: str, path: Path) -> str | None:
    """`document #> path`"""
    return None if None in path else _as_jsonb(get_path(parse(document), path))


def at_path_text(document: str, path: Path) -> str | None:
    """`document #>> path`"""
    return None if None in path else _as_text(get_path(parse(document), path))


def extract_path(document: str, *path: str) -> str | None:
    """jsonb_extract_path()"""
    return at_path(document, list(path))


def extract_path_text(document: str, *path: str) -> str | None:
    """jsonb_extract_path_text()"""
    return at_path_text(document, list(path))


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


def is_contained(document: str, whole: str) -> bool:
    """`document <@ whole`"""
    return contains(whole, document)


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


def _compare(test: Callable[[int, int], bool], one: str, other: str) -> bool:
    return test(compare(parse(one), parse(other)), 0)


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


PAIR = ("jsonb", "jsonb")

SIGNATURES: tuple[Signature, ...] = (
    Signature("cast", ("text",), "jsonb", jsonb_in),
    *(Signature(name, ("jsonb",), "text", str) for name in ("cast", "output")),
    Signature("->", ("jsonb", "text"), "jsonb", field),
    Signature("->>", ("jsonb", "text"), "text", field_text),
    Signature("->", ("jsonb", "integer"), "jsonb", item),
    Signature("->>", ("jsonb", "integer"), "text", item_text),
    Signature("#>", ("jsonb", "text[]"), "jsonb", at_path),
    Signature("#>>", ("jsonb", "text[]"), "text", at_path_text),
    Signature("jsonb_extract_path", ("jsonb", "text"), "jsonb", extract_path, variadic=True),
    Signature("jsonb_extract_path_text", ("jsonb", "text"), "text", extract_path_text, variadic=True),
    Signature("?", ("jsonb", "text"), "boolean", exists),
    Signature("?|", ("jsonb", "text[]"), "boolean", exists_any),
    Signature("?&", ("jsonb", "text[]"), "boolean", exists_all),
    Signature("@>", PAIR, "boolean", contains),
    Signature("<@", PAIR, "boolean", is_contained),
    *(
        Signature(name, PAIR, "boolean", partial(_compare, test))
        for name, test in (("=", eq), ("<>", ne), ("<", lt), ("<=", le), (">", gt), (">=", ge))
    ),
    Signature("jsonb_typeof", ("jsonb",), "text", typeof),
    Signature("jsonb_pretty", ("jsonb",), "text", pretty),
)
