"""The field mapping of a dataset pipeline: which source field becomes which column of which type.

Names that cannot be quoted safely everywhere (PostgreSQL, Spark, Parquet) are rejected here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import quoted
from dataflow.pipelines.shape.sql_types import ColumnType, parse_definition

LONGEST_NAME = 63  # in bytes: PostgreSQL silently truncates longer names, and two may collide
_FORBIDDEN = ('"', "'", "`", ";", "\\", "--", "/*", "*/")
_SYSTEM_COLUMNS = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}


@record
class Field:
    """One column: `source` names the field in the source, with dots for nested fields."""

    source: str
    column: str
    type: ColumnType
    not_null: bool = False
    primary_key: bool = False
    unique: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The steps from a row to the value; a key that equals `source` literally takes precedence."""
        return tuple(self.source.split("."))

    @property
    def definition(self) -> str:
        """The column's type and constraints as they follow its name in PostgreSQL's DDL."""
        constraints = "PRIMARY KEY" if self.primary_key else "NOT NULL" if self.not_null else ""
        return " ".join(filter(None, (self.type.sql, constraints, "UNIQUE" if self.unique else "")))


def parse_fields(field_mapping: Iterable[Sequence[str]]) -> tuple[Field, ...]:
    """Parse a pipeline's `field_mapping`; raises BadInput naming the invalid item."""
    if isinstance(field_mapping, str | bytes) or not isinstance(field_mapping, Iterable):
        raise BadInput("field_mapping is not a list of (source field, column, SQL type)")
    fields = tuple(_parse_item(item, place) for place, item in enumerate(field_mapping, start=1))
    if not fields:
        raise BadInput("field_mapping is empty; list at least one (source field, column, SQL type)")
    _refuse_twins(fields)
    return fields


def check_column_name(name: str) -> None:
    """Raise BadInput for an invalid column name or one that could break out of its quotes."""
    problem = _problem_of(name)
    if problem:
        raise BadInput(f"column name {quoted(name) if isinstance(name, str) else repr(name)} {problem}")


def _parse_item(item: Sequence[str], place: int) -> Field:
    if isinstance(item, str | bytes) or not isinstance(item, Sequence) or len(item) not in (2, 3):
        raise BadInput(
            f"field_mapping item {place} is {quoted(repr(item))}; "
            "it must be (source field, column, SQL type) or (column, SQL type)"
        )
    source, column, text = item if len(item) == 3 else (item[0], *item)
    try:
        check_column_name(column)
        if not isinstance(source, str) or not source or "\0" in source:
            raise BadInput(f"source field {source!r} is not a name")
        made = parse_definition(text)
    except BadInput as error:
        raise BadInput(f"field_mapping item {place} ({quoted(str(column))}): {error}") from None
    return Field(source, column, made.type, made.not_null, made.primary_key, made.unique)


def _problem_of(name: object) -> str:
    if not isinstance(name, str):
        return "is not a string"
    if not name or name != name.strip():
        return "is empty or starts or ends with a space"
    if not name.isprintable():
        return "has unprintable characters"
    for sign in _FORBIDDEN:
        if sign in name:
            return f"contains {sign}, which is not allowed in column names"
    if len(name.encode()) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} bytes, PostgreSQL's limit for names"
    return "is a system column of PostgreSQL" if name.lower() in _SYSTEM_COLUMNS else ""


def _refuse_twins(fields: tuple[Field, ...]) -> None:
    seen: dict[str, int] = {}
    for place, field in enumerate(fields, start=1):
        # Spark's names are case-insensitive, so a mapping's must be, too.
        first = seen.setdefault(field.column.lower(), place)
        if first != place:
            name = quoted(field.column)
            raise BadInput(f"field_mapping item {place}: column {name} is already defined by item {first}")
    keys = [quoted(field.column) for field in fields if field.primary_key]
    if len(keys) > 1:
        raise BadInput(f"field_mapping has PRIMARY KEY at {' and '.join(keys)}; a table can have only one")
