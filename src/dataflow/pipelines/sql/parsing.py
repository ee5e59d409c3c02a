"""Reads SQL text into a tree and refuses whatever is not one read-only SELECT; knows no schema."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from dataflow.errors import BadInput
from dataflow.model.wording import quoted
from dataflow.pipelines.sql.work import fold

# It warns on stderr of statements it does not know, which are refused here anyway.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

# Kept as written: the tree of these would hold a format in another notation, or forget which one it was.
_AS_WRITTEN = ("TO_CHAR", "TO_DATE", "TO_TIMESTAMP", "DATE_PART", "LOG", "DIV")


_WHOLE = re.compile(r"[+-]?[0-9]+")
_INTERVAL_FIELDS = ("year", "month", "day", "hour", "minute", "second")


class PostgresAsWritten(Postgres):
    """PostgreSQL's dialect, with the functions whose formats must not be rewritten left alone."""

    class Parser(Postgres.Parser):  # type: ignore[valid-type, misc]
        FUNCTIONS = {  # noqa: RUF012
            name: build for name, build in Postgres.Parser.FUNCTIONS.items() if name not in _AS_WRITTEN
        }
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: read for name, read in Postgres.Parser.FUNCTION_PARSERS.items() if name not in _AS_WRITTEN
        }

        def _parse_interval(self, require_interval: bool = True, **options: Any) -> Any:
            """Keeps the text of an interval whole: of '1 day ago' the tree would hold '1 day'."""
            index = self._index
            if require_interval and self._match(TokenType.INTERVAL) and self._match(TokenType.STRING):
                text = exp.Literal.string(self._prev.text)
                if self._curr is None or self._curr.text.lower() not in _INTERVAL_FIELDS:
                    return exp.Cast(this=text, to=exp.DataType.build("interval"))
                if not _WHOLE.fullmatch(text.name):
                    self._advance()
                    return exp.Interval(this=text)
            self._retreat(index)
            return super()._parse_interval(require_interval, **options)


DIALECTS: dict[str, Any] = {"postgres": PostgresAsWritten, "spark": "spark"}

_STATEMENTS = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.QueryTransform, exp.Alter, exp.Drop)
_MORE_STATEMENTS = (exp.Set, exp.Copy, exp.TruncateTable, exp.Grant, exp.Use, exp.Pragma, exp.Transaction)

# Functions that write, wait, take locks, or reach files, settings or other servers.
_FORBIDDEN_PREFIXES: tuple[str, ...] = (
    "pg_",
    "lo_",
    "dblink",
    "txid_",
    "brin_",
    "gin_",
    "has_",
    "inet_",
    "ts_stat",
    "currval",
)
_FORBIDDEN_PREFIXES += ("query_to_xml", "table_to_xml", "cursor_to_xml", "schema_to_xml", "database_to_xml")
_FORBIDDEN = frozenset(
    [
        "nextval",
        "setval",
        "lastval",
        "set_config",
        "current_setting",
        "loread",
        "lowrite",
        "lo_import",
        "lo_export",
        "setseed",
        "random",
        "gen_random_uuid",
        "uuid",
        "xpath_table",
        "crosstab",
        "connectby",
        "postgres_fdw_get_connections",
        "reflect",
        "java_method",
        "try_reflect",
        "input_file_name",
        "read_files",
        "cloud_files",
        "from_avro",
        "to_avro",
        "raise_error",
        "assert_true",
        "rand",
        "randn",
        "randstr",
        "uniform",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
        "version",
        "current_user",
        "session_user",
        "user",
        "current_catalog",
        "current_database",
    ]
)


def read_statement(sql: str, dialect: str, place: str, prefix: str = "") -> exp.Query:
    """Reads text that must be exactly one read-only SELECT; BadInput naming `place` and the position if not.

    `prefix` is put on a line before the text and does not count in positions.
    """
    if dialect not in DIALECTS:
        raise BadInput(f"{place}: dialect {quoted(dialect)} is unknown. Write postgres or spark.")
    _refuse_characters(sql, dialect, place)
    statements = [each for each in _parse(sql, dialect, place, prefix) if each is not None]
    if len(statements) != 1:
        found = (
            f"{len(statements)} statements{_where_first_ends(sql, dialect)}" if statements else "no statement"
        )
        raise BadInput(f"{place}: {found}; exactly one SELECT is wanted. Remove the rest.")
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        raise BadInput(f"{place}: {_name(statement)} is not a SELECT. Only reading is allowed.")
    _refuse_writing(statement, place)
    if dialect == "postgres":
        _refuse_numbers(sql, place)
        _refuse_neighbours(sql, place)
        _refuse_intervals(statement, place)
    return statement


def list_tables(statement: exp.Expr, dialect: str) -> list[exp.Table]:
    """The tables that a query reads, but for those it makes itself with WITH."""
    # Spark does not tell names apart by case; PostgreSQL does when they are quoted.
    read = str.lower if dialect == "spark" else str
    return [table for table in statement.find_all(exp.Table) if not _is_common(table, read)]


def _is_common(table: exp.Table, read: Callable[[str], str]) -> bool:
    """Whether a name is that of a WITH in whose sight it stands; a name with dots never is."""
    if len(table.parts) != 1:
        return False
    node: exp.Expr | None = table
    while node is not None:
        if isinstance(node, exp.CTE):
            clause: Any = node.parent
            visible = clause.expressions
            if not clause.args.get("recursive"):
                visible = visible[: visible.index(node)]
            node = clause.parent.parent  # past the query whose own WITH this is
        else:
            clause = node.args.get("with_")
            visible = clause.expressions if clause else []
            node = node.parent
        if any(read(fold(each.args["alias"].this)) == read(fold(table.this)) for each in visible):
            return True
    return False


def _parse(sql: str, dialect: str, place: str, prefix: str) -> list[exp.Expr | None]:
    try:
        return list(sqlglot.parse(f"{prefix}\n{sql}", read=DIALECTS[dialect]))
    except SqlglotError as error:
        raise BadInput(f"{place}: {_describe(error)}") from error
    except RecursionError as error:
        raise BadInput(f"{place}: nested too deeply to be read") from error


def _where_first_ends(sql: str, dialect: str) -> str:
    for token in sqlglot.tokenize(sql, read=DIALECTS[dialect]):
        if token.token_type == TokenType.SEMICOLON:
            return f", the first ending at line {token.line}, column {token.col}"
    return ""


def _refuse_writing(tree: exp.Expr, place: str) -> None:
    """BadInput if anything in the tree writes, locks, or calls a function about more than its values."""
    for node in tree.walk():
        if isinstance(node, (*_STATEMENTS, *_MORE_STATEMENTS)) and not isinstance(node, exp.Query):
            raise BadInput(f"{place}: {_name(node)} is not allowed. Only reading is allowed.")
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise BadInput(f"{place}: function {node.sql()} is called by schema, which is not allowed.")
        if isinstance(node, exp.Func) and _is_forbidden(node):
            raise BadInput(f"{place}: function {_name(node)} is not allowed. Only reading datasets is.")
        if isinstance(node, exp.Table) and not isinstance(node.this, (exp.Identifier, exp.Func)):
            raise BadInput(f"{place}: {node.sql()} is not a dataset's name.")


def _refuse_numbers(sql: str, place: str) -> None:
    """BadInput for 1_000, 0x1F and the like, which the tree holds as something else."""
    tokens = sqlglot.tokenize(sql, read=PostgresAsWritten)
    for number, token in enumerate(tokens):
        written = sql[token.start : token.end + 1]
        rest = "".join(
            following.text
            for following in tokens[number + 1 : number + 2]
            if following.start == token.end + 1 and following.token_type == TokenType.VAR
        )
        if (token.token_type == TokenType.NUMBER and rest) or (
            token.token_type in (TokenType.HEX_STRING, TokenType.BIT_STRING) and written.startswith("0")
        ):
            raise BadInput(
                f"{place}: {written}{rest} is not a number in decimal digits. Write it with 0 to 9 alone."
            )


def _refuse_neighbours(sql: str, place: str) -> None:
    """BadInput for two texts side by side, which are one only where a line ends between them."""
    for one, other in pairwise(sqlglot.tokenize(sql, read=PostgresAsWritten)):
        between = sql[one.end + 1 : other.start]
        if one.token_type == other.token_type == TokenType.STRING and not re.search(r"[\r\n]", between):
            raise BadInput(
                f"{place}: {quoted(sql[one.start : other.end + 1])} are two texts on one line, which "
                "PostgreSQL does not take for one. Write || between them."
            )


def _refuse_intervals(tree: exp.Expr, place: str) -> None:
    """BadInput for an interval of which the tree keeps a part, or that it reads otherwise."""
    for node in tree.find_all(exp.Interval):
        count, unit = node.this, node.args.get("unit")
        whole = isinstance(count, exp.Literal) and _WHOLE.fullmatch(count.name)
        if not isinstance(node.parent, exp.DataType) and not (whole and isinstance(unit, exp.Var)):
            raise BadInput(
                f"{place}: {node.sql(dialect='postgres')} is an interval that is not understood. "
                "Write it with its units inside the quotes, as in interval '1 day 2 hours'."
            )


def _refuse_characters(sql: str, dialect: str, place: str) -> None:
    if "\0" in sql:
        raise BadInput(f"{place}: a NUL character at position {sql.index(chr(0)) + 1}. Remove it.")
    if dialect == "spark" and "${" in sql:
        # Spark puts settings and environment variables in there, secrets among them.
        raise BadInput(
            f"{place}: '${{' at position {sql.index('${') + 1} is not allowed. Use params instead."
        )


def _is_forbidden(node: exp.Func) -> bool:
    names = (
        [node.name.lower()]
        if isinstance(node, exp.Anonymous)
        else [each.lower() for each in node.sql_names()]
    )
    return any(name in _FORBIDDEN or name.startswith(_FORBIDDEN_PREFIXES) for name in names)


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name
    if isinstance(node, exp.Func):
        return node.sql_name().lower()
    return str(node.this) if isinstance(node, exp.Command) else node.key.upper()


def _describe(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if not details:
        return f"cannot be read as SQL: {str(error).splitlines()[0]}"
    first = details[0]
    near = quoted((first.get("highlight") or "").strip() or "end of text")
    # The first line is the prefix's.
    return f"cannot be read as SQL at line {first.get('line') - 1}, column {first.get('col')}, near {near}"
