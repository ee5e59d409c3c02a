"""Parses SQL text into a tree and refuses anything but one read-only SELECT. Does not know the schema."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dataflow.errors import BadInput
from dataflow.model.wording import quoted
from dataflow.pipelines.sql.postgres_text import WHOLE, PostgresAsWritten, write
from dataflow.pipelines.sql.precedence import group_negations, refuse_ambiguous
from dataflow.pipelines.sql.spark_text import SparkAsWritten, check_text, check_tree, describe_unclosed
from dataflow.pipelines.sql.work import fold

# It warns on stderr about statements it does not know. These are refused here anyway.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

_ESCAPE = re.compile(
    r"\\([\\'\"bfnrt]|[01][0-7]{2}|[0-7]{1,2}(?![0-7])|x[0-7][0-9a-fA-F]|x[0-9a-fA-F](?![0-9a-fA-F])"
    r"|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5})"
)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_OPERATORS: dict[type, str] = {
    exp.StartsWith: "^@",
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.ArrayOverlaps: "&&",
    exp.JSONBContainsAnyTopKeys: "?|",
    exp.JSONBContainsAllTopKeys: "?&",
    exp.JSONBDeleteAtPath: "#-",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
DIALECTS: dict[str, Any] = {"postgres": PostgresAsWritten, "spark": SparkAsWritten}

_STATEMENTS = (
    *(exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.QueryTransform, exp.Alter, exp.Drop),
    *(exp.Set, exp.Copy, exp.TruncateTable, exp.Grant, exp.Use, exp.Pragma, exp.Transaction),
)

_FUNCTIONS = """
nextval setval lastval set_config current_setting loread lowrite lo_import lo_export setseed random
gen_random_uuid uuid xpath_table crosstab connectby postgres_fdw_get_connections reflect java_method
try_reflect input_file_name read_files cloud_files from_avro to_avro raise_error assert_true rand randn
randstr uniform shuffle monotonically_increasing_id spark_partition_id version current_user session_user
user current_catalog current_database
"""
_PREFIXES = """
pg_ lo_ dblink txid_ brin_ gin_ has_ inet_ ts_stat currval query_to_xml table_to_xml cursor_to_xml
schema_to_xml database_to_xml
"""
_FORBIDDEN, _FORBIDDEN_PREFIXES = frozenset(_FUNCTIONS.split()), tuple(_PREFIXES.split())
"""Functions that write, wait, take locks, or access files, settings or other servers."""


def read_statement(sql: str, dialect: str, place: str, prefix: str = "") -> exp.Query:
    """Parse text that must be exactly one read-only SELECT; BadInput with `place` and the position if not.

    `prefix` is put on a line before the text and does not count toward positions.
    """
    if dialect not in DIALECTS:
        raise BadInput(f"{place}: unknown dialect {quoted(dialect)}. Write postgres or spark.")
    _refuse_characters(sql, dialect, place)
    if dialect == "spark":
        check_text(sql, place)
    statements = [each for each in _parse(sql, dialect, place, prefix) if each is not None]
    if len(statements) != 1:
        found = (
            f"{len(statements)} statements{_where_first_ends(sql, dialect)}" if statements else "no statement"
        )
        raise BadInput(f"{place}: {found}. Write exactly one SELECT.")
    statement = statements[0]
    if isinstance(statement, exp.Values):
        statement = _select_values(statement)
    if not isinstance(statement, exp.Query):
        raise BadInput(f"{place}: {_name(statement)} is not a SELECT. A query can only read.")
    if dialect == "spark":
        check_tree(statement, place)
    _refuse_writing(statement, place)
    if dialect == "postgres":
        _name_operators(statement)
        refuse_ambiguous(statement, place)
        group_negations(statement)
        _refuse_tokens(sql, place)
        _refuse_intervals(statement, place)
    return statement


def _select_values(values: exp.Values) -> exp.Select:
    """Wrap a top-level VALUES in a SELECT."""
    select = exp.select("*")
    for key in ("with_", "order", "limit", "offset"):
        select.set(key, values.args.pop(key, None))
    rows = exp.TableAlias(this=exp.to_identifier("rows"))
    return select.from_(exp.Subquery(this=values, alias=rows))


def _name_operators(statement: exp.Expr) -> None:
    """Replace operators that have their own classes in the tree by the one generic class."""
    found: list[exp.Expr] = list(statement.find_all(*_OPERATORS))
    for node in found:
        text = _OPERATORS[type(node)]
        node.replace(exp.Operator(this=node.this, operator=text, expression=node.expression))


def list_tables(statement: exp.Expr, dialect: str) -> list[exp.Table]:
    """The tables that a query reads, except those it defines in WITH."""
    # Spark names are not case-sensitive; quoted names are in PostgreSQL.
    read = str.lower if dialect == "spark" else str
    return [table for table in statement.find_all(exp.Table) if not _is_common(table, read)]


def _is_common(table: exp.Table, read: Callable[[str], str]) -> bool:
    """Whether a name refers to a WITH in scope; a qualified name never does."""
    if len(table.parts) != 1:
        return False
    node: exp.Expr | None = table
    while node is not None:
        if isinstance(node, exp.CTE):
            clause: Any = node.parent
            visible = clause.expressions
            if not clause.args.get("recursive"):
                visible = visible[: visible.index(node)]
            node = clause.parent.parent  # skip the query that this WITH belongs to
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
        raise BadInput(f"{place}: the query is nested too deeply. Simplify it.") from error


def _where_first_ends(sql: str, dialect: str) -> str:
    for token in sqlglot.tokenize(sql, read=DIALECTS[dialect]):
        if token.token_type == TokenType.SEMICOLON:
            return f", the first ending at line {token.line}, column {token.col}"
    return ""


def _refuse_writing(tree: exp.Expr, place: str) -> None:
    """BadInput if anything in the tree writes, locks, or calls a function with side effects."""
    for node in tree.walk():
        if isinstance(node, _STATEMENTS) and not isinstance(node, exp.Query):
            raise BadInput(f"{place}: {_name(node)} is not allowed. A query can only read.")
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise BadInput(f"{place}: function {node.sql()} is not allowed. Write it without a schema.")
        if isinstance(node, exp.Func) and _is_forbidden(node):
            raise BadInput(f"{place}: function {_name(node)} is not allowed. A query can only read datasets.")
        if isinstance(node, exp.Table) and not isinstance(node.this, (exp.Identifier, exp.Func)):
            raise BadInput(f"{place}: {node.sql()} is not a dataset name.")


def _refuse_tokens(sql: str, place: str) -> None:
    """BadInput for numbers, strings and escapes that the tree reads differently from PostgreSQL."""
    tokens = sqlglot.tokenize(sql, read=PostgresAsWritten)
    for token, following in pairwise([*tokens, Token(TokenType.SEMICOLON, "", start=len(sql))]):
        kind, written = token.token_type, sql[token.start : token.end + 1]
        between = sql[token.end + 1 : following.start]
        rest = following.text if following.token_type == TokenType.VAR and not between else ""
        if (kind == TokenType.NUMBER and rest) or (
            kind in (TokenType.HEX_STRING, TokenType.BIT_STRING) and written.startswith("0")
        ):
            raise BadInput(
                f"{place}: {written}{rest} is not a decimal number. Write it with the digits 0 to 9 only."
            )
        # Adjacent strings are one string only if a line break separates them.
        if kind == following.token_type == TokenType.STRING and not re.search(r"[\r\n]", between):
            raise BadInput(
                f"{place}: {quoted(sql[token.start : following.end + 1])} is two strings on one line, which "
                "PostgreSQL does not concatenate. Write || between them."
            )
        if kind == TokenType.BYTE_STRING and _unescape(written) != token.text:
            raise BadInput(f"{place}: {quoted(written)} has an escape that is not supported. Write U&'…'.")


def _unescape(written: str) -> str | None:
    """The value of E'…'; None if one of its escapes is not PostgreSQL's."""
    inner = written[2:-1].replace("''", "'")
    if _ESCAPE.sub("", inner).count("\\"):
        return None
    return _ESCAPE.sub(_read_escape, inner)


def _read_escape(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    return chr(int(code[1:], 16)) if code[0] in "xuU" else _ESCAPED.get(code, code)


def _refuse_intervals(tree: exp.Expr, place: str) -> None:
    """BadInput for an interval that the tree truncates or misreads."""
    for node in tree.find_all(exp.Interval):
        count, unit = node.this, node.args.get("unit")
        whole = isinstance(count, exp.Literal) and WHOLE.fullmatch(count.name)
        if not isinstance(node.parent, exp.DataType) and not (whole and isinstance(unit, exp.Var)):
            raise BadInput(
                f"{place}: {write(node)} is an interval in an unsupported format. "
                "Put its units inside the quotes, for example interval '1 day 2 hours'."
            )


def _refuse_characters(sql: str, dialect: str, place: str) -> None:
    if "\0" in sql:
        raise BadInput(f"{place}: NUL character at position {sql.index(chr(0)) + 1}. Remove it.")
    if dialect == "spark" and "${" in sql:
        # Spark substitutes settings and environment variables here, including secrets.
        raise BadInput(
            f"{place}: '${{' at position {sql.index('${') + 1} is not allowed. Use params instead."
        )


def _is_forbidden(node: exp.Func) -> bool:
    names = [node.name] if isinstance(node, exp.Anonymous) else node.sql_names()
    return any(name in _FORBIDDEN or name.startswith(_FORBIDDEN_PREFIXES) for name in map(str.lower, names))


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name
    if isinstance(node, exp.Func):
        return node.sql_name().lower()
    return str(node.this) if isinstance(node, exp.Command) else node.key.upper()


def _describe(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if not details:
        return describe_unclosed(error, lines_before=1)
    first = details[0]
    near = quoted((first.get("highlight") or "").strip() or "end of text")
    # The first line is the prefix.
    return f"SQL syntax error at line {first.get('line') - 1}, column {first.get('col')}, near {near}"
