"""PostgreSQL's SQL to Spark's, by meaning: what has no equal there is refused, never changed in silence.

Both are taken to work in UTC, to compare text byte by byte (collation C), and Spark with ANSI rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.sql import aggregates, formats, numbers, operators, texts, times
from dataflow.pipelines.sql.functions import Function
from dataflow.pipelines.sql.parsing import list_tables, read_statement
from dataflow.pipelines.sql.queries import Queries, Tables
from dataflow.pipelines.sql.types import read_type
from dataflow.pipelines.sql.work import Handler, Work

_PARTS = (operators, numbers, times, texts, aggregates)
_HANDLERS: dict[type, Handler] = {kind: handler for part in _PARTS for kind, handler in part.HANDLERS.items()}
_FUNCTIONS: dict[str, Handler] = {
    name: handler for part in (times, formats, texts, aggregates) for name, handler in part.FUNCTIONS.items()
}


@record
class Translated:
    """Spark SQL, the datasets it names, the functions to register first, its columns and PostgreSQL types.

    Columns are known for the PostgreSQL dialect only.
    """

    sql: str
    tables: tuple[str, ...]
    functions: tuple[Function, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()


def translate(
    sql: str, dialect: str, schema: Mapping[str, Mapping[str, str]], place: str = "query"
) -> Translated:
    """Spark SQL that gives the rows PostgreSQL would give; BadInput, naming `place`, if there is none.

    `schema` has the datasets that may be named, each with its columns and their PostgreSQL types.
    """
    statement = read_statement(sql, dialect, place)
    if dialect == "spark":
        return Translated(sql.strip().rstrip("; \n\t"), _list_tables(statement, schema, place))
    typed = {
        name: {column: read_type(kind) for column, kind in columns.items()}
        for name, columns in schema.items()
    }
    tables = Tables(typed)
    work = Work(place, _HANDLERS, _FUNCTIONS)
    queries = Queries(tables)
    work.translate_query = queries.query
    try:
        query = queries.query(work, statement)
    except RecursionError as error:
        raise BadInput(f"{place}: nested too deeply to be translated") from error
    columns = tuple((name, kind.postgres) for name, kind in query.columns)
    return Translated(query.sql, tuple(tables.named), tuple(work.used.values()), columns)


def _list_tables(
    statement: exp.Query, schema: Mapping[str, Mapping[str, str]], place: str
) -> tuple[str, ...]:
    known = {name.lower(): name for name in schema}
    named: dict[str, None] = {}
    for table in list_tables(statement, "spark"):
        name = ".".join(part.name for part in table.parts)
        if name.lower() not in known:
            raise BadInput(f"{place}: there is no dataset {name!r}. There are: {', '.join(sorted(schema))}.")
        named[known[name.lower()]] = None
    return tuple(named)
