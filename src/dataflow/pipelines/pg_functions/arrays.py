"""Array functions and operators, and arrays of parts of strings. An array is a list; positions start at 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dataflow.pipelines.pg_functions.signatures import ANY_ARRAY, Signature, comparisons, declare, swapped

Items = list[Any]


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1 for less, equal or greater; neither value is NULL."""
    if one == other:
        return 0
    first, second = is_nan(one), is_nan(other)
    if first or second:
        return first - second
    return -1 if one < other else 1


def is_nan(value: Any) -> bool:
    """Whether a value is NaN."""
    return isinstance(value, float | Decimal) and math.isnan(value)


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


def overlaps(items: Items, others: Items) -> bool:
    """`items && others`"""
    return any(_is_among(item, others) for item in items)


def _is_among(wanted: Any, items: Items) -> bool:
    return wanted is not None and any(item is not None and compare(item, wanted) == 0 for item in items)


def array_cat(items: Items | None, others: Items | None) -> Items | None:
    """Concatenate two arrays; NULL counts as an empty one."""
    if items is None or others is None:
        return others if items is None else items
    return items + others


def array_remove(items: Items | None, unwanted: Any) -> Items | None:
    """Remove all elements equal to the given one."""
    return None if items is None else [item for item in items if not is_same(item, unwanted)]


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


def array_length(items: Items, dimension: int) -> int | None:
    """The number of elements; NULL for an empty array."""
    return len(items) if items and dimension == 1 else None


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


def string_to_table(text: str | None, separator: str | None, null: str | None = None) -> list[str | None]:
    """The parts between separators as rows."""
    return string_to_array(text, separator, null) or []


def array_to_string(
    items: list[str | None] | None, separator: str | None, null: str | None = None
) -> str | None:
    """Join elements that are already text; a NULL is omitted or written as `null`."""
    if items is None or separator is None:
        return None
    written = [null if item is None else item for item in items]
    return separator.join(item for item in written if item is not None)


SIGNATURES: tuple[Signature, ...] = (
    *declare("@>(any[], any[]) -> boolean", contains),
    *declare("<@(any[], any[]) -> boolean", swapped(contains)),
    *declare("&&(any[], any[]) -> boolean", overlaps),
    *comparisons(ANY_ARRAY, compare_items),
    *declare("||, array_cat(any[], any[]) -> any[]", array_cat, strict=False),
    *declare(
        "||, array_append(any[], any) -> any[]", lambda items, item: [*(items or ()), item], strict=False
    ),
    *declare(
        "||, array_prepend(any, any[]) -> any[]", lambda item, items: [item, *(items or ())], strict=False
    ),
    *declare("array_remove(any[], any) -> any[]", array_remove, strict=False),
    *declare("array_replace(any[], any, any) -> any[]", array_replace, strict=False),
    *declare("array_position(any[], any, integer?) -> integer", array_position, strict=False),
    *declare("array_positions(any[], any) -> integer[]", array_positions, strict=False),
    *declare("array_length, array_upper(any[], integer) -> integer", array_length),
    *declare(
        "array_lower(any[], integer) -> integer",
        lambda items, dimension: 1 if items and dimension == 1 else None,
    ),
    *declare("cardinality(any[]) -> integer", len),
    *declare("array_ndims(any[]) -> integer", lambda items: 1 if items else None),
    *declare("array_dims(any[]) -> text", lambda items: f"[1:{len(items)}]" if items else None),
    *declare("unnest(any[]) -> setof any", list),
    *declare("trim_array(any[], integer) -> any[]", trim_array),
    *declare("string_to_array(text, text, text?) -> text[]", string_to_array, strict=False),
    *declare("string_to_table(text, text, text?) -> setof text", string_to_table, strict=False),
    *declare("array_to_string(text[], text, text?) -> text", array_to_string, strict=False),
)
