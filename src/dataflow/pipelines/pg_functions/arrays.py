"""Arrays: their text, functions and operators. An array is a list of one dimension; positions start at 1."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from dataflow.pipelines.pg_functions.float_text import double_in, double_out, real_in, real_out
from dataflow.pipelines.pg_functions.integers import BITS, read_integer
from dataflow.pipelines.pg_functions.signatures import Calls, comparisons, for_each, swapped
from dataflow.pipelines.pg_functions.value_text import boolean_in, boolean_out, bytea_in, bytea_out, uuid_in
from dataflow.pipelines.shape.array_text import split_array

Item = TypeVar("Item")
Items = list[Any]

MUST_BE_QUOTED = re.compile(r'[{},"\\ \t-\r]|\A\Z|\A[nN][uU][lL][lL]\Z')
NEEDS_BACKSLASH = re.compile(r'(["\\])')


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1 for less, equal or greater; neither value is NULL."""
    if one == other:
        return 0
    first, second = (isinstance(each, float | Decimal) and math.isnan(each) for each in (one, other))
    if first or second:
        return first - second
    return -1 if one < other else 1


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, or both NULL."""
    if one is None or other is None:
        return one is other
    return compare(one, other) == 0


def compare_items(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Compare element by element, NULLs last, and then by length."""
    for first, second in zip(one, other, strict=False):
        if first is None or second is None:
            found = (first is None) - (second is None)
        else:
            found = compare(first, second)
        if found:
            return found
    return (len(one) > len(other)) - (len(one) < len(other))


def contains(items: Items, wanted: Items) -> bool:
    """`items @> wanted`; a NULL is never found."""
    return all(_is_among(item, items) for item in wanted)


def _is_among(wanted: Any, items: Items) -> bool:
    return wanted is not None and any(item is not None and compare(item, wanted) == 0 for item in items)


def array_cat(items: Items | None, others: Items | None) -> Items | None:
    """Concatenate two arrays; NULL counts as an empty one."""
    if items is None or others is None:
        return others if items is None else items
    return items + others


def array_replace(items: Items | None, old: Any, new: Any) -> Items | None:
    """Replace each element equal to one value by another."""
    return None if items is None else [new if is_same(item, old) else item for item in items]


def array_position(items: Items | None, wanted: Any, start: int | None = 1) -> int | None:
    """The first position of an element, searching from a position on."""
    if not items or (wanted is None and None not in items):
        return None
    if start is None:
        raise ValueError("initial position must not be null")
    found = (place for place, item in enumerate(items, 1) if place >= start and is_same(item, wanted))
    return next(found, None)


def array_positions(items: Items | None, wanted: Any) -> list[int] | None:
    """All positions of an element."""
    return None if items is None else [place for place, item in enumerate(items, 1) if is_same(item, wanted)]


def trim_array(items: Items, count: int) -> Items:
    """The array without its last elements."""
    if not 0 <= count <= len(items):
        raise ValueError(f"number of elements to trim must be between 0 and {len(items)}")
    return items[: len(items) - count]


def string_to_array(
    text: str | None, separator: str | None, null: str | None = None
) -> list[str | None] | None:
    """The parts between separators, or each character if there is none; parts equal to `null` are NULL."""
    if text is None:
        return None
    if separator is None:
        parts = list(text)
    elif not text:
        parts = []
    else:
        parts = text.split(separator) if separator else [text]
    return [None if part == null else part for part in parts]


def array_to_string(
    items: list[str | None] | None, separator: str | None, null: str | None = None
) -> str | None:
    """Join elements that are already text; a NULL is omitted or written as `null`."""
    if items is None or separator is None:
        return None
    written = [null if item is None else item for item in items]
    return separator.join(item for item in written if item is not None)


def array_in(read: Callable[[str], Item], text: str) -> list[Item | None]:
    """Parse an array, using the given function for its elements."""
    return [None if item is None else read(item) for item in split_array(text)]


def array_out(items: list[str | None]) -> str:
    """Format an array of elements that are already text."""
    return "{" + ",".join(map(_write_item, items)) + "}"


def _write_item(item: str | None) -> str:
    if item is None:
        return "NULL"
    quoted = NEEDS_BACKSLASH.sub(r"\\\1", item)
    return f'"{quoted}"' if MUST_BE_QUOTED.search(item) else item


def write_array(write: Callable[[Any], str], items: list[Any]) -> str:
    """Format an array, using the given function for its elements."""
    return array_out([None if item is None else write(item) for item in items])


READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    **{kind: partial(read_integer, kind) for kind in BITS},
    "real": real_in,
    "double": double_in,
    "boolean": boolean_in,
    "uuid": uuid_in,
    "bytea": bytea_in,
}
OUTPUTS: dict[str, Callable[[Any], str]] = dict.fromkeys(READERS, str) | {
    "real": real_out,
    "double": double_out,
    "boolean": boolean_out,
    "bytea": bytea_out,
}

SIGNATURES: Calls = {
    **for_each("cast(text) -> {}[]", {kind: partial(array_in, read) for kind, read in READERS.items()}),
    **for_each("cast({}[]) -> text", {kind: partial(write_array, out) for kind, out in OUTPUTS.items()}),
    "@>(any[], any[]) -> boolean": contains,
    "<@(any[], any[]) -> boolean": swapped(contains),
    "&&(any[], any[]) -> boolean": lambda items, others: any(_is_among(item, others) for item in items),
    **comparisons("any[]", compare_items),
    "||, array_cat(any[], any[]) -> any[] with nulls": array_cat,
    "||, array_append(any[], any) -> any[] with nulls": lambda items, item: [*(items or ()), item],
    "||, array_prepend(any, any[]) -> any[] with nulls": lambda item, items: [item, *(items or ())],
    "array_remove(any[], any) -> any[] with nulls": lambda items, unwanted: (
        None if items is None else [item for item in items if not is_same(item, unwanted)]
    ),
    "array_replace(any[], any, any) -> any[] with nulls": array_replace,
    "array_position(any[], any, integer?) -> integer with nulls": array_position,
    "array_positions(any[], any) -> integer[] with nulls": array_positions,
    "array_length, array_upper(any[], integer) -> integer": lambda items, dimension: (
        len(items) if items and dimension == 1 else None
    ),
    "array_lower(any[], integer) -> integer": lambda items, dimension: (
        1 if items and dimension == 1 else None
    ),
    "cardinality(any[]) -> integer": len,
    "array_ndims(any[]) -> integer": lambda items: 1 if items else None,
    "array_dims(any[]) -> text": lambda items: f"[1:{len(items)}]" if items else None,
    "unnest(any[]) -> setof any": list,
    "trim_array(any[], integer) -> any[]": trim_array,
    "string_to_array(text, text, text?) -> text[] with nulls": string_to_array,
    "string_to_table(text, text, text?) -> setof text with nulls": lambda *given: (
        string_to_array(*given) or []
    ),
    "array_to_string(text[], text, text?) -> text with nulls": array_to_string,
}
