"""Functions that expand a jsonb document to rows. A pair is a list of key and value."""

from __future__ import annotations

from typing import Any

from dataflow.pipelines.pg_functions.json_model import is_scalar, list_pairs, parse, write, write_text
from dataflow.pipelines.pg_functions.signatures import Signature


def _read_array(document: str) -> list[Any]:
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot extract elements from a scalar")
    if isinstance(value, dict):
        raise ValueError("cannot extract elements from an object")
    assert isinstance(value, list)
    return value


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


SIGNATURES: tuple[Signature, ...] = (
    Signature("jsonb_array_elements", ("jsonb",), "jsonb", array_elements, is_set=True),
    Signature("jsonb_array_elements_text", ("jsonb",), "text", array_elements_text, is_set=True),
    Signature("jsonb_array_length", ("jsonb",), "integer", array_length),
    Signature("jsonb_object_keys", ("jsonb",), "text", object_keys, is_set=True),
)
