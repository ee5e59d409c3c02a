"""The type json, which keeps the text of its documents: parts are returned exactly as written."""

from __future__ import annotations

import json

from dataflow.pipelines.pg_functions.json_model import BAD_SYNTAX, parse, quote, write
from dataflow.pipelines.pg_functions.jsonb import Path, read_index
from dataflow.pipelines.pg_functions.signatures import Signature

SPACE = " \t\n\r"
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str)
TYPES = {"{": "object", "[": "array", '"': "string", "n": "null", "t": "boolean", "f": "boolean"}


def json_in(text: str) -> str:
    """Text cast to json; only the syntax is checked."""
    try:
        _CHECKER.decode(text)
    except json.JSONDecodeError:
        raise ValueError(BAD_SYNTAX) from None
    except RecursionError:
        raise ValueError("stack depth limit exceeded") from None
    return text


def _refuse_constant(_name: str) -> None:
    raise ValueError(BAD_SYNTAX)


_CHECKER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse_constant)


def typeof(document: str) -> str:
    """json_typeof()"""
    return TYPES.get(document.lstrip(SPACE)[:1], "number")


def _skip(document: str, place: int) -> int:
    while document[place] in SPACE:
        place += 1
    return place


def list_items(document: str) -> list[str]:
    """The elements of an array, as written."""
    items: list[str] = []
    place = _skip(document, _skip(document, 0) + 1)
    while document[place] != "]":
        _, end = _DECODER.raw_decode(document, place)
        items.append(document[place:end])
        place = _skip(document, end)
        if document[place] == ",":
            place = _skip(document, place + 1)
    return items


def list_members(document: str) -> list[tuple[str, str]]:
    """The pairs of an object, with values as written."""
    members: list[tuple[str, str]] = []
    place = _skip(document, _skip(document, 0) + 1)
    while document[place] != "}":
        _, end = _DECODER.raw_decode(document, place)
        key = parse(document[place:end])
        place = _skip(document, _skip(document, end) + 1)
        _, end = _DECODER.raw_decode(document, place)
        members.append((key, document[place:end]))
        place = _skip(document, end)
        if document[place] == ",":
            place = _skip(document, place + 1)
    return members


def get_text(document: str | None) -> str | None:
    """A part as text: a string's content, NULL for null, anything else as written."""
    if document is None:
        return None
    match typeof(document):
        case "string":
            content: str = parse(document)
            return content
        case "null":
            return None
    return document


def field(document: str, key: str) -> str | None:
    """`document -> key`; the last duplicate key wins"""
    if typeof(document) != "object":
        return None
    return dict(list_members(document)).get(key)


def item(document: str, index: int) -> str | None:
    """`document -> index`"""
    if typeof(document) != "array":
        return None
    items = list_items(document)
    return items[index] if -len(items) <= index < len(items) else None


def at_path(document: str, path: Path) -> str | None:
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


def field_text(document: str, key: str) -> str | None:
    """`document ->> key`"""
    return get_text(field(document, key))


def item_text(document: str, index: int) -> str | None:
    """`document ->> index`"""
    return get_text(item(document, index))


def at_path_text(document: str, path: Path) -> str | None:
    """`document #>> path`"""
    return get_text(at_path(document, path))


def extract_path(document: str, *path: str) -> str | None:
    """json_extract_path()"""
    return at_path(document, list(path))


def extract_path_text(document: str, *path: str) -> str | None:
    """json_extract_path_text()"""
    return at_path_text(document, list(path))


def _check_array(document: str, function: str) -> None:
    kind = typeof(document)
    if kind != "array":
        raise ValueError(f"cannot call {function} on a {'non-array' if kind == 'object' else 'scalar'}")


def array_elements(document: str) -> list[str]:
    """Each element of an array."""
    _check_array(document, "json_array_elements")
    return list_items(document)


def array_elements_text(document: str) -> list[str | None]:
    """Each element of an array as text."""
    _check_array(document, "json_array_elements_text")
    return [get_text(one) for one in list_items(document)]


def array_length(document: str) -> int:
    """The number of elements of an array."""
    kind = typeof(document)
    if kind != "array":
        raise ValueError(f"cannot get array length of a {'non-array' if kind == 'object' else 'scalar'}")
    return len(list_items(document))


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


def json_to_jsonb(document: str) -> str:
    """json cast to jsonb."""
    return write(parse(document))


SIGNATURES: tuple[Signature, ...] = (
    Signature("cast", ("text",), "json", json_in),
    *(Signature(name, ("json",), "text", str) for name in ("cast", "output")),
    Signature("cast", ("json",), "jsonb", json_to_jsonb),
    Signature("cast", ("jsonb",), "json", str),
    Signature("->", ("json", "text"), "json", field),
    Signature("->>", ("json", "text"), "text", field_text),
    Signature("->", ("json", "integer"), "json", item),
    Signature("->>", ("json", "integer"), "text", item_text),
    Signature("#>", ("json", "text[]"), "json", at_path),
    Signature("#>>", ("json", "text[]"), "text", at_path_text),
    Signature("json_extract_path", ("json", "text"), "json", extract_path, variadic=True),
    Signature("json_extract_path_text", ("json", "text"), "text", extract_path_text, variadic=True),
    Signature("json_typeof", ("json",), "text", typeof),
    Signature("json_array_elements", ("json",), "json", array_elements, is_set=True),
    Signature("json_array_elements_text", ("json",), "text", array_elements_text, is_set=True),
    Signature("json_array_length", ("json",), "integer", array_length),
    Signature("json_object_keys", ("json",), "text", object_keys, is_set=True),
    Signature("json_strip_nulls", ("json",), "json", strip_nulls),
    Signature("json_strip_nulls", ("json", "boolean"), "json", strip_nulls),
)
