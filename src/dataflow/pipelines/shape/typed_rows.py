"""Rows of a page decoded straight into the mapped fields: the fast way for rows that have exactly those.

A page with any other row, or with a value of another kind, is read the general way: see `json_rows`.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.outline import Outline
from dataflow.pipelines.shape.sql_types import NUMBERS, ColumnType

_NUMBER = int | float | None
# Texts are the default.
_KINDS: dict[str, Any] = dict.fromkeys(NUMBERS, _NUMBER) | {
    "numeric": str | _NUMBER,
    "boolean": bool | None,
    "json": Any,
    "jsonb": Any,
}


def read_typed(body: bytes, results_key: str, fields: tuple[Field, ...]) -> list[Any] | None:
    """The rows of a page, for `list_typed`; None unless each has exactly these fields, with plain values.

    What surrounds the rows is not checked for being UTF-8; fetching has done that.
    """
    outline = _outline_of(results_key, fields)
    found = None if outline is None else outline.decode(body)
    for key in results_key.split(".") if results_key else ():
        found = None if found is None else found.get(key)
    return found


def list_typed(rows: list[Any], place: int) -> list[Any]:
    """The value of the field with this index in each row."""
    return list(map(attrgetter(f"f{place}"), rows))


@cache
def _outline_of(results_key: str, fields: tuple[Field, ...]) -> Outline | None:
    """The decoder of such pages; None if a field is nested, or two columns share one."""
    sources = {field.source for field in fields if len(field.path) == 1}
    if len(sources) < len(fields):
        return None
    row = msgspec.defstruct(
        "Row",
        [(f"f{place}", _kind_of(field.type)) for place, field in enumerate(fields)],
        rename={f"f{place}": field.source for place, field in enumerate(fields)},
        forbid_unknown_fields=True,
        gc=False,
    )
    return Outline({results_key: list[row]})  # type: ignore[valid-type]  # made at run time


def _kind_of(kind: ColumnType) -> Any:
    if kind.element is not None:
        return list[_kind_of(kind.element)] | None  # type: ignore[misc]  # made at run time
    return _KINDS.get(kind.name, str | None)
