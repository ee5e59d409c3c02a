"""jsonb operators and functions that return a changed document."""

from __future__ import annotations

from typing import Any

from dataflow.pipelines.pg_functions.json_model import is_scalar, parse, write
from dataflow.pipelines.pg_functions.jsonb import Path, read_index
from dataflow.pipelines.pg_functions.signatures import Signature, declare

FAR_BEFORE = -1  # an index before the first element of the array


def concat(one: str, other: str) -> str:
    """`one || other`"""
    first, second = parse(one), parse(other)
    if isinstance(first, dict) and isinstance(second, dict):
        return write(first | second)
    return write(_as_list(first) + _as_list(second))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def delete_key(document: str, key: str) -> str:
    """`document - key`"""
    return delete_keys(document, [key])


def delete_keys(document: str, keys: Path) -> str:
    """`document - keys`"""
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot delete from scalar")
    if isinstance(value, dict):
        return write({key: item for key, item in value.items() if key not in keys})
    return write([item for item in value if not (isinstance(item, str) and item in keys)])


def delete_index(document: str, index: int) -> str:
    """`document - index`"""
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot delete from scalar")
    if isinstance(value, dict):
        raise ValueError("cannot delete from object using integer index")
    if -len(value) <= index < len(value):
        del value[index]
    return write(value)


def delete_path(document: str, path: Path) -> str:
    """`document #- path`"""
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot delete path in scalar")
    if value and path:
        _PathChange(path, None, "delete").apply(value)
    return write(value)


def jsonb_set(document: str, path: Path, new: str, create: bool = True) -> str:
    """Replace the value at a path, or add it if only the last step is missing."""
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot set path in scalar")
    if path and (value or create):
        _PathChange(path, parse(new), "create" if create else "replace").apply(value)
    return write(value)


def jsonb_insert(document: str, path: Path, new: str, after: bool = False) -> str:
    """Insert a value at a path, before or after an existing element."""
    value = parse(document)
    if is_scalar(value):
        raise ValueError("cannot set path in scalar")
    if path:
        _PathChange(path, parse(new), "after" if after else "before").apply(value)
    return write(value)


class _PathChange:
    """One change at the end of a path: create, replace, delete, or insert before or after."""

    def __init__(self, path: Path, new: Any, kind: str) -> None:
        self._path = path
        self._new = new
        self._kind = kind

    def apply(self, value: Any, level: int = 0) -> None:
        """Change a value in place."""
        step = self._path[level]
        if step is None:
            raise ValueError(f"path element at position {level + 1} is null")
        is_last = level == len(self._path) - 1
        if isinstance(value, dict):
            if is_last:
                self._change_key(value, step)
            elif step in value:
                self.apply(value[step], level + 1)
        elif isinstance(value, list):
            index = self._find_index(len(value), step, level)
            if is_last:
                self._change_item(value, index)
            elif 0 <= index < len(value):
                self.apply(value[index], level + 1)

    def _change_key(self, value: dict[str, Any], key: str) -> None:
        if self._kind == "delete":
            value.pop(key, None)
        elif self._kind in ("before", "after") and key in value:
            raise ValueError("cannot replace existing key")
        elif self._kind != "replace" or key in value:
            value[key] = self._new

    def _find_index(self, size: int, step: str, level: int) -> int:
        index = read_index(step)
        if index is None:
            raise ValueError(f'path element at position {level + 1} is not an integer: "{step}"')
        if index < 0:
            return size + index if -index <= size else FAR_BEFORE
        return min(index, size)

    def _change_item(self, value: list[Any], index: int) -> None:
        exists = 0 <= index < len(value)
        if self._kind == "delete":
            if exists:
                del value[index]
        elif exists and self._kind in ("create", "replace"):
            value[index] = self._new
        elif exists:
            value.insert(index + (self._kind == "after"), self._new)
        elif self._kind != "replace":
            value.insert(0 if index == FAR_BEFORE else len(value), self._new)


def strip_nulls(document: str, in_arrays: bool = False) -> str:
    """The document without null fields, and optionally without null elements."""
    return write(_strip(parse(document), in_arrays))


def _strip(value: Any, in_arrays: bool) -> Any:
    if isinstance(value, dict):
        return {key: _strip(item, in_arrays) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_strip(item, in_arrays) for item in value if not (in_arrays and item is None)]
    return value


SIGNATURES: tuple[Signature, ...] = (
    *declare("||(jsonb, jsonb) -> jsonb", concat),
    *declare("-(jsonb, text) -> jsonb", delete_key),
    *declare("-(jsonb, text[]) -> jsonb", delete_keys),
    *declare("-(jsonb, integer) -> jsonb", delete_index),
    *declare("#-(jsonb, text[]) -> jsonb", delete_path),
    *declare("jsonb_set(jsonb, text[], jsonb, boolean?) -> jsonb", jsonb_set),
    *declare("jsonb_insert(jsonb, text[], jsonb, boolean?) -> jsonb", jsonb_insert),
    *declare("jsonb_strip_nulls(jsonb, boolean?) -> jsonb", strip_nulls),
)
