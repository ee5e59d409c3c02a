"""jsonb operators and functions that return a changed document."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.pipelines.pg_functions.json_model import is_scalar, parse, write
from dataflow.pipelines.pg_functions.jsonb import Path, read_index
from dataflow.pipelines.pg_functions.signatures import Calls

FAR_BEFORE = -1  # an index before the first element of the array


def concat(one: str, other: str) -> str:
    """`one || other`"""
    first, second = parse(one), parse(other)
    if isinstance(first, dict) and isinstance(second, dict):
        return write(first | second)
    return write(_as_list(first) + _as_list(second))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def delete_keys(document: str, keys: Path) -> str:
    """`document - keys`"""
    value = _read(document, "delete from")
    if isinstance(value, dict):
        return write({key: item for key, item in value.items() if key not in keys})
    return write([item for item in value if not (isinstance(item, str) and item in keys)])


def delete_index(document: str, index: int) -> str:
    """`document - index`"""
    value = _read(document, "delete from")
    if isinstance(value, dict):
        raise ValueError("cannot delete from object using integer index")
    if -len(value) <= index < len(value):
        del value[index]
    return write(value)


def delete_path(document: str, path: Path) -> str:
    """`document #- path`"""
    value = _read(document, "delete path in")
    return _changed(value, path, _Change("delete")) if value else write(value)


def jsonb_set(document: str, path: Path, new: str, create: bool = True) -> str:
    """Replace the value at a path, or add it if only the last step is missing."""
    value, change = _read(document, "set path in"), _Change("create" if create else "replace", parse(new))
    return _changed(value, path, change) if value or create else write(value)


def jsonb_insert(document: str, path: Path, new: str, after: bool = False) -> str:
    """Insert a value at a path, before or after an existing element."""
    change = _Change("after" if after else "before", parse(new))
    return _changed(_read(document, "set path in"), path, change)


def _read(document: str, purpose: str) -> Any:
    value = parse(document)
    if is_scalar(value):
        raise ValueError(f"cannot {purpose} scalar")
    return value


class _Change(NamedTuple):
    """What to do at the end of a path: create, replace, delete, or insert before or after."""

    kind: str
    new: Any = None

    def apply_to_key(self, value: dict[str, Any], key: str) -> None:
        if self.kind == "delete":
            value.pop(key, None)
        elif self.kind in ("before", "after") and key in value:
            raise ValueError("cannot replace existing key")
        elif self.kind != "replace" or key in value:
            value[key] = self.new

    def apply_to_item(self, value: list[Any], index: int) -> None:
        exists = 0 <= index < len(value)
        if self.kind == "delete":
            del value[index : index + exists]
        elif exists and self.kind in ("create", "replace"):
            value[index] = self.new
        elif exists:
            value.insert(index + (self.kind == "after"), self.new)
        elif self.kind != "replace":
            value.insert(0 if index == FAR_BEFORE else len(value), self.new)


def _changed(document: Any, path: Path, change: _Change) -> str:
    value = document
    for place, step in enumerate(path, 1):
        if step is None:
            raise ValueError(f"path element at position {place} is null")
        if isinstance(value, dict):
            if place == len(path):
                change.apply_to_key(value, step)
            elif step not in value:
                break
            value = value.get(step)
        elif isinstance(value, list):
            index = _find_index(len(value), step, place)
            if place == len(path):
                change.apply_to_item(value, index)
            elif not 0 <= index < len(value):
                break
            else:
                value = value[index]
        else:
            break
    return write(document)


def _find_index(size: int, step: str, place: int) -> int:
    index = read_index(step)
    if index is None:
        raise ValueError(f'path element at position {place} is not an integer: "{step}"')
    if index < 0:
        return size + index if -index <= size else FAR_BEFORE
    return min(index, size)


def strip_nulls(document: str, in_arrays: bool = False) -> str:
    """The document without null fields, and optionally without null elements."""
    return write(_strip(parse(document), in_arrays))


def _strip(value: Any, in_arrays: bool) -> Any:
    if isinstance(value, dict):
        return {key: _strip(item, in_arrays) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_strip(item, in_arrays) for item in value if not (in_arrays and item is None)]
    return value


SIGNATURES: Calls = {
    "||(jsonb, jsonb) -> jsonb": concat,
    "-(jsonb, text) -> jsonb": lambda document, key: delete_keys(document, [key]),
    "-(jsonb, text[]) -> jsonb": delete_keys,
    "-(jsonb, integer) -> jsonb": delete_index,
    "#-(jsonb, text[]) -> jsonb": delete_path,
    "jsonb_set(jsonb, text[], jsonb, boolean?) -> jsonb": jsonb_set,
    "jsonb_insert(jsonb, text[], jsonb, boolean?) -> jsonb": jsonb_insert,
    "jsonb_strip_nulls(jsonb, boolean?) -> jsonb": strip_nulls,
}
