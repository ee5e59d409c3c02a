"""The definition of a target table, and the options for writing to it. Runs no statements."""

from __future__ import annotations

import re

from psycopg import sql

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.shape.fields import LONGEST_NAME

ATTEMPT = "_attempt"

_TYPE = re.compile(
    r"[a-z_][a-z0-9_]*( [a-z_][a-z0-9_]*)*"  # words
    r"( ?\( ?\d+ ?(, ?-?\d+ ?)?\))?"  # (p, s)
    r"( with(out)? time zone)?"
    r"( ?\[ ?\])*",
    re.IGNORECASE,
)


@record
class Column:
    """One column of the target, its type as PostgreSQL writes it."""

    name: str
    sql_type: str
    not_null: bool = False
    primary_key: bool = False
    unique: bool = False


@record
class Table:
    """The target table as the pipeline declares it."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    indexes: tuple[tuple[str, ...], ...] = ()  # their columns; the names are derived from table and columns
    comment: str = ""

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)


@record
class Options:
    """How rows are written to the table, and how long to wait for locks."""

    strategy: str = "replace"
    whole_table: bool = False  # the table holds only this dataid
    partition_column: str = "dataid"  # added to the table in mode partition
    lock_seconds: float = 30
    copy_tasks: int | None = None  # concurrent COPYs in the whole database; None: no limit


def check_table(table: Table, options: Options, partitioned: bool) -> None:
    """Refuse an invalid table: BadInput names the column or option and the reason."""
    names = [column.name for column in table.columns]
    own = [ATTEMPT, options.partition_column] if partitioned else [ATTEMPT]
    for name in (table.schema, table.name, *own, *names):
        _check_name(table, name)
    if "%" in table.schema:  # the driver would treat it as a parameter
        raise BadInput(f"{table}: a schema name must not contain a percent sign.")
    if not names or len(set(names)) < len(names):
        raise BadInput(f"{table}: a table needs columns with unique names, got {names}.")
    if taken := set(own) & set(names):
        raise BadInput(
            f"{table}: {', '.join(taken)} is a column that DataFlow adds. Rename yours, "
            "or set partition_column."
        )
    for column in table.columns:
        if not _TYPE.fullmatch(column.sql_type.strip()):
            raise BadInput(f"{table}: column {column.name} has an invalid type: {column.sql_type!r}.")
    if unknown := {name for index in table.indexes for name in index} - {*names, *own}:
        raise BadInput(f"{table}: an index names the unknown column {', '.join(sorted(unknown))}.")
    if options.strategy == "merge" and not any(column.primary_key for column in table.columns):
        raise BadInput(f'{table}: write = "merge" needs a PRIMARY KEY in the mapping.')


def type_sql(column: Column) -> sql.SQL:
    """The column's type for a statement; `check_table` has verified that it is nothing else."""
    return sql.SQL(column.sql_type.strip())


def _check_name(table: Table, name: str) -> None:
    if not name or "\0" in name or len(name.encode()) > LONGEST_NAME:
        raise BadInput(f"{table}: {name!r} is not a PostgreSQL name: 1 to {LONGEST_NAME} bytes, no NUL.")
