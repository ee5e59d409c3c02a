"""Spark's own dialect: parsed into a tree, then generated again; the user's text is never sent to Spark.

Functions stay as written. Each must be allowed by `spark_functions`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dataflow.errors import BadInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.sql.spark_functions import ALLOWED, REFUSED, WITHOUT_OPTIONS

_SPECIAL = ("CAST", "TRY_CAST", "OVERLAY", "SUBSTRING")
"""Functions with special syntax, which the tree keeps completely."""
_TYPED: tuple[type[exp.Expr], ...] = (exp.Anonymous, exp.Cast, exp.Case, exp.If, exp.Extract, exp.Overlay)
_TYPED += (exp.Substring, exp.Trim, exp.Exists, exp.Connector, exp.RegexpLike, exp.Collate)
_TYPED += (exp.CurrentDate, exp.CurrentTimestamp)
"""The function classes that a tree of this dialect may contain; any other class has an unknown origin."""
_REWRITTEN = (exp.Select, exp.BitwiseLeftShift, exp.BitwiseRightShift)
"""Expressions that the generator would rewrite for engines that lack them."""
_LITERALS = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ")
_REFUSED_TOKENS = {TokenType.RAW_STRING: "a raw string", TokenType.HINT: "a hint"}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_BETWEEN_TOKENS = re.compile(
    r"(?:\s|--[^\r\n]*(?<!\\)(?:[\r\n]|$)|/\*(?!\+)(?:(?!/\*|\*/).)*\*/)*", re.DOTALL
)
"""Spaces and comments that both parsers read alike: not nested, no hint, no backslash continuation."""


class SparkAsWritten(Spark):
    """Spark's dialect, with every function name in the tree as in the text."""

    NORMALIZE_NOT_NULL = False

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["\\", "'"]  # noqa: RUF012

    class Generator(Spark.Generator):  # type: ignore[valid-type, misc]
        TRANSFORMS = {  # noqa: RUF012
            kind: write for kind, write in Spark.Generator.TRANSFORMS.items() if kind not in _REWRITTEN
        }

    class Parser(Spark.Parser):  # type: ignore[valid-type, misc]
        FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012
        ARRAY_CONSTRUCTORS: dict[str, Any] = {}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            **{name: Spark.Parser.FUNCTION_PARSERS[name] for name in _SPECIAL},
            "EXTRACT": lambda self: self._parse_field_of_time(),
            "POSITION": lambda self: self._parse_place(),
            "TRIM": lambda self: self._parse_trimmed(),
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: Spark.Parser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "ANY")
        }
        TYPE_LITERAL_PARSERS = {  # noqa: RUF012
            exp.DType[name]: lambda self, this, kind: exp.Introducer(
                this=exp.var(kind.sql(dialect=Spark)), expression=this
            )
            for name in _LITERALS
        }
        UNARY_PARSERS = {  # noqa: RUF012
            **Spark.Parser.UNARY_PARSERS,
            TokenType.PLUS: lambda self: _call("positive", self._parse_unary()),
        }

        def _parse_field_of_time(self) -> exp.Expr:
            this = self._parse_var_or_string()
            if not self._match(TokenType.FROM):
                self.raise_error("Expected FROM after EXTRACT", self._prev)
            return exp.Extract(this=this, expression=self._parse_bitwise())

        def _parse_place(self) -> exp.Expr:
            arguments = self._parse_csv(self._parse_bitwise)
            if self._match(TokenType.IN):
                return _call("locate", *arguments, self._parse_bitwise())
            return _call("position", *arguments)

        def _parse_trimmed(self) -> Any:
            position = self._match_texts(self.TRIM_TYPES) and self._prev.text.upper()
            if position and self._match(TokenType.FROM):
                return _call(_TRIMS.get(position, "trim"), self._parse_bitwise())
            if position:
                self._retreat(self._index - 1)
            return self._parse_trim()


def check_text(sql: str, place: str) -> None:
    """BadInput for comments and quotes that Spark may read differently."""
    try:
        tokens = sqlglot.tokenize(sql, read=SparkAsWritten)
    except SqlglotError as error:
        raise BadInput(f"{place}: {describe_unclosed(error)}") from error
    end = 0
    for start, following in [*((token.start, token.end + 1) for token in tokens), (len(sql), len(sql))]:
        # The parts of 10L are tokens at the position of the whole.
        if start > end and not _BETWEEN_TOKENS.fullmatch(sql, end, start):
            raise BadInput(
                f"{place}: {quoted(sql[end:start].strip())} is a hint, a comment inside another, or a "
                "comment whose line ends with a backslash. Remove it."
            )
        end = max(end, following)
    for token in tokens:
        if what := _refused_token(token, sql):
            raise BadInput(f"{place}: {what} at line {token.line}, column {token.col} is not allowed.")
    for one, other in pairwise(tokens):
        if one.token_type == other.token_type == TokenType.STRING:
            raise BadInput(
                f"{place}: {quoted(sql[one.start : other.end + 1])} is two adjacent strings. Write || "
                "between them."
            )


def check_tree(statement: exp.Expr, place: str) -> None:
    """BadInput for functions that are not allowed, or if the tree's own text does not give the same tree."""
    for frame in statement.find_all(exp.WindowSpec):
        if frame.args.get("start") and not frame.args.get("end"):
            frame.set("end", "CURRENT ROW")  # its meaning, written out
    for node in statement.walk():
        if isinstance(node, exp.Func):
            _check_function(node, place)
        if isinstance(node, (exp.Placeholder, exp.Parameter, exp.Hint)):
            raise BadInput(f"{place}: {node.sql(dialect=SparkAsWritten)} is not allowed. Use params instead.")
    again = _parse(write_text(statement, place))
    if again != statement:
        kept = set(again.walk()) if again else set()
        lost = next((node for node in reversed(list(statement.walk())) if node not in kept), statement)
        raise BadInput(
            f"{place}: {quoted(lost.sql(dialect=SparkAsWritten))} cannot be read reliably. "
            "Write it differently."
        )


def write_text(statement: exp.Expr, place: str) -> str:
    """Generate Spark SQL, without comments, from a tree that `check_tree` accepted."""
    try:
        return statement.sql(dialect=SparkAsWritten, comments=False, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise BadInput(f"{place}: {error}. Write it differently.") from error


def _check_function(node: exp.Func, place: str) -> None:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
    if name in REFUSED:
        raise BadInput(
            f"{place}: function {name} is not allowed: it runs code, reads files, the network or the "
            "session, fails on purpose, or is not deterministic."
        )
    if len(node.expressions) > WITHOUT_OPTIONS.get(name, len(node.expressions)):
        raise BadInput(
            f"{place}: options of {name} are not allowed: they can name a file or host. Remove them."
        )
    if not isinstance(node, _TYPED) or (isinstance(node, exp.Anonymous) and name not in ALLOWED):
        raise BadInput(f"{place}: unknown function {quoted(name)}.{did_you_mean(name, ALLOWED)}")


def _refused_token(token: Token, sql: str) -> str:
    """Describe a token that is refused; empty for all others."""
    if token.token_type == TokenType.STRING and sql[token.start] == '"':
        # Spark reads two quote characters here; our parser reads one.
        return "'' in double quotes" if "''" in sql[token.start : token.end + 1] else ""
    return _REFUSED_TOKENS.get(token.token_type, "")


def describe_unclosed(error: SqlglotError, lines_before: int = 0) -> str:
    """Describe an error of the tokenizer.

    Without the text that it quotes, which may begin in the middle of a secret.
    """
    found = re.match(r"Missing (\S+) from (\d+):", str(error.__cause__))
    if not found:
        return "SQL syntax error: a string, quoted name or comment is not closed"
    return f"SQL syntax error: no closing {found[1]} for the one at line {int(found[2]) - lines_before}"


def _parse(text: str) -> exp.Expr | None:
    try:
        [tree] = sqlglot.parse(text, read=SparkAsWritten)
        return tree
    except SqlglotError:
        return None


def _call(name: str, *arguments: Any) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))
