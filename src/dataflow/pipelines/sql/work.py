"""What all parts of the translation share: typed pieces of Spark SQL, scopes, how a construct is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.sql.functions import Function
from dataflow.pipelines.sql.types import SqlType

MAX_SQL = 1_000_000


@record
class Typed:
    """A piece of Spark SQL and its PostgreSQL type; `constant` is what was written out in the query."""

    sql: str
    type: SqlType
    constant: str | None = None


Columns = Mapping[str, SqlType]
Handler = Callable[["Work", Any], Typed]


class Scope:
    """The columns a SELECT can name: those of its FROM by alias, then those of the SELECT around it."""

    def __init__(self, outer: Scope | None) -> None:
        self.outer = outer
        self.sources: dict[str, Columns] = {}
        self.merged: dict[str, Typed] = {}

    def find(self, name: str, table: str = "") -> Typed | None:
        """The column of that name, nearest scope first; BadInput when two tables of one scope have it."""
        if not table and name in self.merged:
            return self.merged[name]
        aliases = [
            alias for alias, columns in self.sources.items() if name in columns and table in ("", alias)
        ]
        if len(aliases) > 1:
            raise BadInput(
                f"column {quoted(name)} is in {' and in '.join(aliases)}. Write {aliases[0]}.{name}"
            )
        if aliases:
            return Typed(f"{quote(aliases[0])}.{quote(name)}", self.sources[aliases[0]][name])
        return self.outer.find(name, table) if self.outer and table not in self.sources else None

    def has(self, name: str) -> bool:
        """Whether a table of this scope itself has a column of that name."""
        return any(name in columns for columns in self.sources.values())

    def aliases(self) -> list[str]:
        """The names of tables here and outside."""
        return [*self.sources, *(self.outer.aliases() if self.outer else [])]

    def all_columns(self) -> list[tuple[str, Typed]]:
        """What `*` stands for: columns joined by USING first, then every table's own."""
        own = [
            (name, Typed(f"{quote(alias)}.{quote(name)}", kind))
            for alias, columns in self.sources.items()
            for name, kind in columns.items()
            if name not in self.merged
        ]
        return [*self.merged.items(), *own]

    def known(self, table: str = "") -> list[str]:
        """All column names here and outside, for messages."""
        here = [name for alias, columns in self.sources.items() if table in ("", alias) for name in columns]
        return here + (self.outer.known(table) if self.outer else [])


class Work:
    """One translation under way. `handlers` are tried by node class, `functions` by PostgreSQL name."""

    def __init__(
        self, place: str, handlers: Mapping[type, Handler], functions: Mapping[str, Handler]
    ) -> None:
        self.place = place
        self.handlers = handlers
        self.functions = functions
        self.scope = Scope(None)
        self.used: dict[str, Function] = {}
        self.guards: list[str] = []  # conditions under which the present expression is looked at
        self.suffix = ""  # FILTER and OVER of the aggregate being translated, and of none inside it
        self.suffixed: exp.Expr | None = None  # that aggregate
        self.translate_query: Callable[[Work, exp.Expr], Any]

    def expression(self, node: exp.Expr) -> Typed:
        """The Spark SQL of one PostgreSQL expression, meaning the same; BadInput if there is none."""
        handler = self.handlers.get(type(node))
        if isinstance(node, exp.Anonymous):
            handler = self.functions.get(node.name.lower())
        if handler is None:
            self.refuse(node, "has no translation to Spark SQL")
        guards, suffix = self.guards, self.suffix
        if isinstance(node, exp.AggFunc | exp.Window):
            self.guards = []  # whatever is around it, an aggregate looks at all of its rows
        if node is not self.suffixed:
            self.suffix = ""
        found = handler(self, node)
        self.guards, self.suffix = guards, suffix
        if len(found.sql) > MAX_SQL:
            raise BadInput(
                f"{self.place}: the translation is longer than {MAX_SQL} characters. Split the expression."
            )
        return found

    def column(self, node: exp.Column) -> Typed:
        """A column by name; BadInput with the nearest name if there is none."""
        if node.args.get("db"):
            self.refuse(node, "names a schema; write table.column")
        name, table = fold(node.this), fold(node.args.get("table"))
        found = self.scope.find(name, table)
        if found is None:
            whole = f"{table}.{name}" if table else name
            known = self.scope.known(table)
            hint = did_you_mean(name, known) or (f" There are: {', '.join(known)}." if known else "")
            raise BadInput(f"{self.place}: there is no column {quoted(whole)}.{hint}")
        return found

    def call(self, function: Function, *arguments: str) -> str:
        """A call of one of our own functions, which is then listed as used; its problem is Spark's error."""
        self.used[function.name] = function
        if self.guards:
            # Spark calls it for rows that a CASE excludes, too: there it gets NULLs.
            test = " AND ".join(self.guards)
            arguments = tuple(f"CASE WHEN {test} THEN {argument} END" for argument in arguments)
        call = f"{function.name}({', '.join(arguments)})"
        return f"CASE WHEN {call}.problem IS NOT NULL THEN RAISE_ERROR({call}.problem) ELSE {call}.value END"

    def guarded(self, node: exp.Expr, tests: list[str]) -> Typed:
        """An expression that is only looked at where these conditions hold."""
        before = self.guards
        self.guards = [*before, *tests]
        try:
            return self.expression(node)
        finally:
            self.guards = before

    def refuse(self, node: exp.Expr, why: str) -> NoReturn:
        """BadInput: this construct cannot be translated with the same meaning."""
        written = node.sql(dialect="postgres")
        raise BadInput(
            f"{self.place}: {quoted(written)} {why}. Write it another way, or the whole query for Spark: "
            'dialect = "spark"'
        )


def fold(identifier: Any) -> str:
    """A name as PostgreSQL reads it: lower case unless quoted."""
    if identifier is None:
        return ""
    text = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier)
    return text if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted") else text.lower()


def quote(name: str) -> str:
    """A name as a Spark identifier, whatever is in it."""
    if "${" in name:
        # Spark would put a setting in its place, even inside quotes.
        raise BadInput(f"name {quoted(name)} holds '${{'. Choose another.")
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """A text as a Spark literal, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
