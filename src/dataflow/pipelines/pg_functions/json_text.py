"""The type json, which keeps the text of its documents: parts are returned exactly as written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions.json_model import check_syntax, parse, quote
from dataflow.pipelines.pg_functions.jsonb import jsonb_in, read_index
from dataflow.pipelines.pg_functions.signatures import Calls

SPACE = " \t\n\r"
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str)
TYPES = {"{": "object", "[": "array", '"': "string", "n": "null", "t": "boolean", "f": "boolean"}


def typeof(document: str) -> str:
    """json_typeof()"""
    return TYPES.get(document.lstrip(SPACE)[:1], "number")


def _skip(document: str, place: int) -> int:
    while document[place] in SPACE:
        place += 1
    return place


def list_items(document: str) -> list[str]:
    """The elements of an array, or the keys and values of an object in turn, as written."""
    items: list[str] = []
    place = _skip(document, _skip(document, 0) + 1)
    while document[place] not in "]}":
        _, end = _DECODER.raw_decode(document, place)
        items.append(document[place:end])
        place = _skip(document, end)
        if document[place] in ",:":
            place = _skip(document, place + 1)
    return items


def list_members(document: str) -> list[tuple[str, str]]:
    """The pairs of an object, with values as written."""
    parts = list_items(document)
    keys = [parse(key) if "\\" in key else key[1:-1] for key in parts[::2]]
    return list(zip(keys, parts[1::2], strict=True))


def get_text(document: str | None) -> str | None:
    """A part as text: a string's content, NULL for null, anything else as written."""
    if document is None or document.startswith("n"):
        return None
    content: str = parse(document) if document.startswith('"') else document
    return content


def field(document: str, key: str) -> str | None:
    """`document -> key`; the last duplicate key wins"""
    return dict(list_members(document)).get(key) if typeof(document) == "object" else None


def item(document: str, index: int) -> str | None:
    """`document -> index`"""
    items = list_items(document) if typeof(document) == "array" else []
    return items[index] if -len(items) <= index < len(items) else None


def at_path(document: str, path: Iterable[str | None]) -> str | None:
    """`document #> path`"""
    found: str | None = document.strip(SPACE)
    for step in path:
        if found is None or step is None:
            return None
        if typeof(found) == "array":
            index = read_index(step)
            found = None if index is None else item(found, index)
        else:
            found = field(found, step)
    return found


def extract_path(document: str, *path: str) -> str | None:
    """json_extract_path()"""
    return at_path(document, path)


def _as_text(find: Callable[..., str | None], *arguments: Any) -> str | None:
    return get_text(find(*arguments))


def array_elements(document: str, purpose: str = "call json_array_elements on") -> list[str]:
    """Each element of an array."""
    kind = typeof(document)
    if kind != "array":
        raise ValueError(f"cannot {purpose} a {'non-array' if kind == 'object' else 'scalar'}")
    return list_items(document)


def object_keys(document: str) -> list[str]:
    """The keys of an object."""
    kind = typeof(document)
    if kind != "object":
        raise ValueError(f"cannot call json_object_keys on {'an array' if kind == 'array' else 'a scalar'}")
    return [key for key, _ in list_members(document)]


def strip_nulls(document: str, in_arrays: bool = False) -> str:
    """The document without null fields and white space."""
    match typeof(document):
        case "object":
            kept = [(key, value) for key, value in list_members(document) if value != "null"]
            return (
                "{" + ",".join(f"{quote(key)}:{strip_nulls(value, in_arrays)}" for key, value in kept) + "}"
            )
        case "array":
            items = [value for value in list_items(document) if not (in_arrays and value == "null")]
            return "[" + ",".join(strip_nulls(value, in_arrays) for value in items) + "]"
        case "string":
            return quote(parse(document))
    return document.strip(SPACE)


SIGNATURES: Calls = {
    "cast(text) -> json": check_syntax,
    "cast(json) -> jsonb": jsonb_in,
    "cast(jsonb) -> json": str,
    "->(json, text) -> json": field,
    "->>(json, text) -> text": partial(_as_text, field),
    "->(json, integer) -> json": item,
    "->>(json, integer) -> text": partial(_as_text, item),
    "#>(json, text[]) -> json": at_path,
    "#>>(json, text[]) -> text": partial(_as_text, at_path),
    "json_extract_path(json, variadic text) -> json": extract_path,
    "json_extract_path_text(json, variadic text) -> text": partial(_as_text, extract_path),
    "json_typeof(json) -> text": typeof,
    "json_array_elements(json) -> setof json": array_elements,
    "json_array_elements_text(json) -> setof text": lambda document: [
        get_text(each) for each in array_elements(document, "call json_array_elements_text on")
    ],
    "json_array_length(json) -> integer": lambda document: len(
        array_elements(document, "get array length of")
    ),
    "json_object_keys(json) -> setof text": object_keys,
    "json_strip_nulls(json, boolean?) -> json": strip_nulls,
}
