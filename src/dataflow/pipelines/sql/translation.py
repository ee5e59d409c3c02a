"""Translates PostgreSQL SQL to Spark SQL with the same meaning, and refuses what has no equivalent.

Both are assumed to use UTC and to compare text byte by byte (collation C). Spark is assumed to use ANSI mode.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dataflow.errors import BadInput, UnknownName
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.shape.sql_types import UNLIMITED
from dataflow.pipelines.sql import (
    aggregates,
    conditions,
    json_values,
    numbers,
    operators,
    rows,
    subqueries,
    texts,
    times,
    windows,
)
from dataflow.pipelines.sql.calls import Function
from dataflow.pipelines.sql.parsing import list_tables, read_statement
from dataflow.pipelines.sql.queries import Queries
from dataflow.pipelines.sql.sources import Tables, kept_type
from dataflow.pipelines.sql.spark_text import write_text
from dataflow.pipelines.sql.work import Handler, Work

_PARTS = (operators, conditions, subqueries, numbers, times, texts, aggregates, windows)
_HANDLERS: dict[type, Handler] = {kind: handler for part in _PARTS for kind, handler in part.HANDLERS.items()}
_FUNCTIONS: dict[str, Handler] = {
    name: handler for part in (*_PARTS, json_values, rows) for name, handler in part.FUNCTIONS.items()
}


@record
class Translated:
    """Spark SQL, the datasets it reads, the functions to register first, its columns and PostgreSQL types.

    Columns are known for the PostgreSQL dialect only.
    """

    sql: str
    tables: tuple[str, ...]
    functions: tuple[Function, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()  # the same columns, with the types that the result's files have


def result_columns(translated: Translated, in_lake: bool) -> tuple[tuple[str, str], ...]:
    """The columns of a target of the result. A database keeps the digits of numerics itself."""
    if in_lake:
        return translated.kept
    return tuple(
        (name, UNLIMITED if written == "numeric" else kind)
        for (name, kind), (_, written) in zip(translated.kept, translated.columns, strict=True)
    )


def translate(
    sql: str, dialect: str, schema: Mapping[str, Mapping[str, str]], place: str = "query"
) -> Translated:
    """Return Spark SQL that returns the same rows as PostgreSQL; BadInput, naming `place`, if there is none.

    `schema` lists the datasets that a query may read, each with its columns and their PostgreSQL types.
    """
    statement = read_statement(sql, dialect, place)
    if dialect == "spark":
        return Translated(write_text(statement, place), _list_tables(statement, schema, place))
    tables = Tables(schema)
    work = Work(place, _HANDLERS, _FUNCTIONS)
    queries = Queries(tables)
    work.translate_query = queries.inner_query
    try:
        query = queries.query(work, statement)
    except RecursionError as error:
        raise BadInput(f"{place}: the query is nested too deeply. Simplify it.") from error
    for name, kind in query.columns:
        if not kind.storable:
            seconds = "Write extract(epoch from …) to get its seconds, or add ::text."
            hint = seconds if kind.name == "interval" else "Cast it, for example to text."
            what = f"column {quoted(name)} is {kind.postgres}, which a dataset cannot store"
            raise BadInput(f"{place}: {what}. {hint}")
    columns = tuple((name, kind.postgres) for name, kind in query.columns)
    kept = tuple((name, kept_type(kind)) for name, kind in query.columns)
    return Translated(query.sql, tuple(tables.named), tuple(work.used.values()), columns, kept)


def _list_tables(
    statement: exp.Query, schema: Mapping[str, Mapping[str, str]], place: str
) -> tuple[str, ...]:
    known = {name.lower(): name for name in schema}
    named: dict[str, None] = {}
    for table in list_tables(statement, "spark"):
        name = ".".join(part.name for part in table.parts)
        if name.lower() not in known:
            hint = did_you_mean(name, schema) or f" Known datasets: {', '.join(sorted(schema))}."
            kind = UnknownName if place == "query" else BadInput  # the class of a pipeline is wrong
            raise kind(f"{place}: unknown dataset {quoted(name)}.{hint}")
        named[known[name.lower()]] = None
    return tuple(named)
