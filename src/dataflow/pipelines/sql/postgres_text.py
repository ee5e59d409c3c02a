"""PostgreSQL's dialect: its text as a tree that keeps functions and operators as written, and back."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import TokenType

WHOLE = re.compile(r"[+-]?[0-9]+")
WRITTEN = "written"
"""Marks parentheses of the text. The parser adds others around what it read first."""
_INTERVAL_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_SYNTAX = ("CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION", "OVERLAY", "STRING_AGG")
_JSON_OPERATORS = {
    TokenType.ARROW: "->",
    TokenType.DARROW: "->>",
    TokenType.HASH_ARROW: "#>",
    TokenType.DHASH_ARROW: "#>>",
    TokenType.PLACEHOLDER: "?",
}


class Positive(exp.Unary):
    """`+ x`, which is not a plain column any more."""


def _operator(text: str, parser: Any, this: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Operator(this=this, operator=text, expression=other)


def _write_operator(generator: Any, node: exp.Expr) -> str:
    return f"{generator.sql(node, 'this')} {node.args['operator']} {generator.sql(node, 'expression')}"


class PostgresAsWritten(Postgres):
    """PostgreSQL's dialect with every function, operator and subscript kept as written."""

    INDEX_OFFSET = 0

    class Parser(Postgres.Parser):  # type: ignore[valid-type, misc]
        FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: read for name, read in Postgres.Parser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }
        UNARY_PARSERS = {  # noqa: RUF012
            **Postgres.Parser.UNARY_PARSERS,
            TokenType.PLUS: lambda parser: Positive(this=parser._parse_unary()),
        }
        COLUMN_OPERATORS = {  # noqa: RUF012
            **Postgres.Parser.COLUMN_OPERATORS,
            **{token: partial(_operator, text) for token, text in _JSON_OPERATORS.items()},
        }

        # `->` is never a lambda: jsonb_typeof(notes -> 'a') reads a key of a column.
        LAMBDAS = {TokenType.FARROW: Postgres.Parser.LAMBDAS[TokenType.FARROW]}  # noqa: RUF012

        def _parse_substring(self) -> Any:
            """Read substring(x SIMILAR pattern ESCAPE mark) as substring(x FROM pattern FOR mark)."""
            index = self._index
            this = self._parse_bitwise()
            if self._match_text_seq("SIMILAR"):
                pattern = self._parse_bitwise()
                if self._match(TokenType.ESCAPE):
                    return exp.Substring(this=this, start=pattern, length=self._parse_bitwise())
            self._retreat(index)
            return super()._parse_substring()

        def _parse_paren(self) -> Any:
            found = super()._parse_paren()
            if isinstance(found, exp.Paren):
                found.meta[WRITTEN] = True
            return found

        def _parse_between(self, this: Any) -> Any:
            """Require the AND, without which `a BETWEEN b IS NULL AND c` would have IS as a column."""
            symmetric = self._match_text_seq("SYMMETRIC") or None
            if not symmetric:
                self._match_text_seq("ASYMMETRIC")
            low = self._parse_bitwise()
            if not self._match(TokenType.AND):
                self.raise_error("Expected AND after BETWEEN")
            return exp.Between(this=this, low=low, high=self._parse_bitwise(), symmetric=symmetric)

        def _parse_interval(self, require_interval: bool = True, **options: Any) -> Any:
            """Keep the whole text of an interval: for '1 day ago' the tree would contain only '1 day'."""
            index = self._index
            if require_interval and self._match(TokenType.INTERVAL) and self._match(TokenType.STRING):
                text = exp.Literal.string(self._prev.text)
                if self._curr is None or self._curr.text.lower() not in _INTERVAL_FIELDS:
                    return exp.Cast(this=text, to=exp.DataType.build("interval"))
                if not WHOLE.fullmatch(text.name):
                    self._advance()
                    return exp.Interval(this=text)
            self._retreat(index)
            return super()._parse_interval(require_interval, **options)

    class Generator(Postgres.Generator):  # type: ignore[valid-type, misc]
        TRANSFORMS = {  # noqa: RUF012
            **Postgres.Generator.TRANSFORMS,
            exp.Operator: _write_operator,
            Positive: lambda generator, node: f"+{generator.sql(node, 'this')}",
            exp.Pow: lambda generator, node: generator.binary(node, "^"),
        }


def write(node: exp.Expr) -> str:
    """The text of a part of a query."""
    return node.sql(dialect=PostgresAsWritten, comments=False)
