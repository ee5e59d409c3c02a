"""Array functions and operators. An array is a list; positions start at 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from dataflow.pipelines.pg_functions.ordering import compare, compare_items, is_same
from dataflow.pipelines.pg_functions.signatures import ANY, ANY_ARRAY, Signature

Items = list[Any]

COMPARISONS: dict[str, Callable[[int, int], bool]] = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def get_item(items: Items, position: int) -> Any:
    """`items[position]`, NULL outside the array."""
    return items[position - 1] if 0 < position <= len(items) else None


def get_slice(items: Items, first: int, last: int) -> Items:
    """`items[first:last]`"""
    return items[max(first - 1, 0) : max(last, 0)]


def contains(items: Items, wanted: Items) -> bool:
    """`items @> wanted`; a NULL is never found."""
    return all(_is_among(item, items) for item in wanted)


def is_contained(items: Items, others: Items) -> bool:
    """`items <@ others`"""
    return contains(others, items)


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


def array_append(items: Items | None, item: Any) -> Items:
    """Append an element."""
    return [*(items or ()), item]


def array_prepend(item: Any, items: Items | None) -> Items:
    """Prepend an element."""
    return [item, *(items or ())]


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


def array_lower(items: Items, dimension: int) -> int | None:
    """The first position; NULL for an empty array."""
    return 1 if items and dimension == 1 else None


def cardinality(items: Items) -> int:
    """The number of elements."""
    return len(items)


def array_ndims(items: Items) -> int | None:
    """The number of dimensions; NULL for an empty array."""
    return 1 if items else None


def array_dims(items: Items) -> str | None:
    """The bounds as text; NULL for an empty array."""
    return f"[1:{len(items)}]" if items else None


def unnest(items: Items) -> Items:
    """Each element as a row."""
    return items


def trim_array(items: Items, count: int) -> Items:
    """The array without its last elements."""
    if not 0 <= count <= len(items):
        raise ValueError(f"number of elements to trim must be between 0 and {len(items)}")
    return items[: len(items) - count]


def array_agg(rows: Iterable[Any]) -> Items | None:
    """The values of all rows, including NULLs; NULL if there are no rows."""
    return list(rows) or None


def _compare_arrays(test: Callable[[int, int], bool], items: Items, others: Items) -> bool:
    return test(compare_items(items, others), 0)


def _compare_any(test: Callable[[int, int], bool], value: Any, items: Items | None) -> bool | None:
    return _find_result(test, value, items, True)


def _compare_all(test: Callable[[int, int], bool], value: Any, items: Items | None) -> bool | None:
    return _find_result(test, value, items, False)


def _find_result(
    test: Callable[[int, int], bool], value: Any, items: Items | None, decisive: bool
) -> bool | None:
    """The decisive result if any element gives it, else NULL if any is unknown."""
    if items is None:
        return None
    is_unknown = False
    for item in items:
        if value is None or item is None:
            is_unknown = True
        elif test(compare(value, item), 0) is decisive:
            return decisive
    return None if is_unknown else not decisive


PAIR = (ANY_ARRAY, ANY_ARRAY)

SIGNATURES: tuple[Signature, ...] = (
    Signature("[]", (ANY_ARRAY, "integer"), ANY, get_item),
    Signature("[:]", (ANY_ARRAY, "integer", "integer"), ANY_ARRAY, get_slice),
    Signature("@>", PAIR, "boolean", contains),
    Signature("<@", PAIR, "boolean", is_contained),
    Signature("&&", PAIR, "boolean", overlaps),
    *(Signature(name, PAIR, ANY_ARRAY, array_cat, strict=False) for name in ("||", "array_cat")),
    *(
        Signature(name, (ANY_ARRAY, ANY), ANY_ARRAY, array_append, strict=False)
        for name in ("||", "array_append")
    ),
    *(
        Signature(name, (ANY, ANY_ARRAY), ANY_ARRAY, array_prepend, strict=False)
        for name in ("||", "array_prepend")
    ),
    Signature("array_remove", (ANY_ARRAY, ANY), ANY_ARRAY, array_remove, strict=False),
    Signature("array_replace", (ANY_ARRAY, ANY, ANY), ANY_ARRAY, array_replace, strict=False),
    Signature("array_position", (ANY_ARRAY, ANY), "integer", array_position, strict=False),
    Signature("array_position", (ANY_ARRAY, ANY, "integer"), "integer", array_position, strict=False),
    Signature("array_positions", (ANY_ARRAY, ANY), "integer[]", array_positions, strict=False),
    *(
        Signature(name, (ANY_ARRAY, "integer"), "integer", array_length)
        for name in ("array_length", "array_upper")
    ),
    Signature("array_lower", (ANY_ARRAY, "integer"), "integer", array_lower),
    Signature("cardinality", (ANY_ARRAY,), "integer", cardinality),
    Signature("array_ndims", (ANY_ARRAY,), "integer", array_ndims),
    Signature("array_dims", (ANY_ARRAY,), "text", array_dims),
    Signature("unnest", (ANY_ARRAY,), ANY, unnest, is_set=True),
    Signature("trim_array", (ANY_ARRAY, "integer"), ANY_ARRAY, trim_array),
    *(Signature(name, PAIR, "boolean", partial(_compare_arrays, test)) for name, test in COMPARISONS.items()),
    *(
        Signature(f"{name} any", (ANY, ANY_ARRAY), "boolean", partial(_compare_any, test), strict=False)
        for name, test in COMPARISONS.items()
    ),
    *(
        Signature(f"{name} all", (ANY, ANY_ARRAY), "boolean", partial(_compare_all, test), strict=False)
        for name, test in COMPARISONS.items()
    ),
)
