"""Shared by all parts of the translation: typed pieces of Spark SQL, scopes, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.sql.calls import PREFIX, Function
from dataflow.pipelines.sql.postgres_text import write
from dataflow.pipelines.sql.types import SqlType

MAX_SQL = 1_000_000


@record
class Typed:
    """A piece of Spark SQL and its PostgreSQL type. `constant` is its literal value in the query, if any."""

    sql: str
    type: SqlType
    constant: str | None = None

    @property
    def calls_python(self) -> bool:
        """Whether it calls one of our Python functions."""
        return PREFIX in self.sql


_INSTEAD: dict[type, str] = {
    exp.CurrentTime: "is a time of day, which a dataset cannot store; write to_char(now(), 'HH24:MI:SS')",
    exp.Localtime: "is a time of day, which a dataset cannot store; write to_char(now(), 'HH24:MI:SS')",
    exp.Tuple: "is a row, which a dataset cannot store; list its columns instead",
    exp.JSONBPathExists: "is a JSON path; write ->, ->> and jsonb_array_elements instead",
    exp.Placeholder: "is a query parameter; write {{ params.name }} instead",
}
_WITHOUT_ARGUMENTS = (
    *("now", "transaction_timestamp", "statement_timestamp"),
    *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"),
    *("jsonb_build_object", "jsonb_build_array", "json_build_object", "json_build_array"),
)
Columns = Mapping[str, SqlType]
Handler = Callable[["Work", Any], Typed]


class Scope:
    """The columns a SELECT can name: those of its FROM by alias, then those of the enclosing SELECT."""

    def __init__(self, outer: Scope | None, is_level: bool = False) -> None:
        self.outer = outer
        self.is_level = is_level  # whether Spark must pass columns of the outer scope into it
        self.reached: set[str] = set()  # tables of the outer scope whose columns it uses
        self.sources: dict[str, Columns] = {}
        self.merged: dict[str, Typed] = {}
        self.functions: set[str] = set()  # aliases of set-returning functions that have one column
        self.windows: dict[str, exp.Expr] = {}  # WINDOW name AS (…)
        self.totals: dict[str, SqlType] = {}  # keys that are NULL in the grand total of GROUPING SETS
        self.is_total = False  # whether the grand total is being translated
        self.rows: dict[int, Typed] = {}  # columns that replace set-returning functions in SELECT, by node
        self.grouped: dict[str, str] = {}  # what replaces a GROUP BY expression outside aggregates

    def find(self, name: str, table: str = "") -> Typed | None:
        """Find a column by name, nearest scope first; BadInput if two tables of one scope have it."""
        found = self._find_here(name, table)
        if found is not None or self.outer is None or table in self.sources:
            return found
        return self.outer.find(name, table)

    def list_crossed(self, name: str, table: str = "") -> list[Scope]:
        """The scopes into which Spark must pass the column of that name."""
        here = self._find_here(name, table) is not None or (not table and name in self.functions)
        if here or self.outer is None:
            return []
        return [*([self] if self.is_level else []), *self.outer.list_crossed(name, table)]

    def _find_here(self, name: str, table: str) -> Typed | None:
        if not table and name in self.merged:
            return self.merged[name]
        aliases = [
            alias for alias, columns in self.sources.items() if name in columns and table in ("", alias)
        ]
        if len(aliases) > 1:
            raise BadInput(f"column {quoted(name)} is in {' and '.join(aliases)}. Write {aliases[0]}.{name}")
        if aliases:
            return Typed(f"{quote(aliases[0])}.{quote(name)}", self.sources[aliases[0]][name])
        return None

    def find_rows(self, alias: str) -> Typed | None:
        """What the name of a set-returning function in FROM stands for: its only column."""
        if alias in self.functions:
            ((name, kind),) = self.sources[alias].items()
            return Typed(f"{quote(alias)}.{quote(name)}", kind)
        return self.outer.find_rows(alias) if self.outer else None

    def is_inside(self) -> bool:
        """Whether an enclosing query has tables."""
        return self.outer is not None and (bool(self.outer.sources) or self.outer.is_inside())

    def is_own(self, column: exp.Column) -> bool:
        """Whether a column belongs to one of this scope's own tables."""
        name, table = fold(column.this), fold(column.args.get("table"))
        if table:
            return table in self.sources
        return name in self.merged or name in self.functions or self.has(name)

    def has(self, name: str) -> bool:
        """Whether one of this scope's own tables has a column of that name."""
        return any(name in columns for columns in self.sources.values())

    def aliases(self) -> list[str]:
        """The names of all tables in this scope and the enclosing ones."""
        return [*self.sources, *(self.outer.aliases() if self.outer else [])]

    def all_columns(self) -> list[tuple[str, Typed]]:
        """The columns `*` stands for: those joined by USING first, then each table's own."""
        own = [
            (name, Typed(f"{quote(alias)}.{quote(name)}", kind))
            for alias, columns in self.sources.items()
            for name, kind in columns.items()
            if name not in self.merged
        ]
        return [*self.merged.items(), *own]

    def known(self, table: str = "") -> list[str]:
        """All column names in this scope and the enclosing ones, for messages."""
        here = [name for alias, columns in self.sources.items() if table in ("", alias) for name in columns]
        return here + (self.outer.known(table) if self.outer else [])


class Work:
    """The state of one translation. `handlers` are found by node class, `functions` by PostgreSQL name."""

    def __init__(
        self, place: str, handlers: Mapping[type, Handler], functions: Mapping[str, Handler]
    ) -> None:
        self.place = place
        self.handlers = handlers
        self.functions = functions
        self.scope = Scope(None)
        self.common: dict[str, Columns] = {}  # CTEs in scope
        self.used: dict[str, Function] = {}
        self.guards: list[str] = []  # conditions under which the current expression is evaluated
        self.safe: set[str] = set()  # calls that never fail, so they need no guard
        self.calls: list[tuple[int, str]] = []  # all calls, each with the number of its guards
        # Calls that are computed before the current expression is: those under this many of its guards.
        self.computed: list[tuple[int, set[str]]] = []
        self.filter = ""  # FILTER of the aggregate being translated, but not of aggregates inside it
        self.over = ""  # its OVER
        self.over_order: exp.Expr | None = None  # the ORDER BY in it
        self.surrounded: exp.Expr | None = None  # the aggregate itself
        self.inside_aggregate = False
        self.reached: dict[int, set[str]] = {}  # tables whose columns a subquery uses, by its node
        self.translate_query: Callable[[Work, exp.Expr], Any]

    @contextmanager
    def holding(self, **state: Any) -> Iterator[None]:
        """Set fields of this object while a part is translated, then restore them."""
        before = {name: getattr(self, name) for name in state}
        vars(self).update(state)
        try:
            yield
        finally:
            vars(self).update(before)

    def expression(self, node: exp.Expr) -> Typed:
        """Translate a PostgreSQL expression to Spark SQL with the same meaning; BadInput if there is none."""
        handler = self.handlers.get(type(node))
        if isinstance(node, exp.Anonymous):
            name = node.name.lower()
            handler = self.functions.get(name) or handler
            if not node.expressions and name in self.functions and name not in _WITHOUT_ARGUMENTS:
                self.refuse(node, "is missing an argument")
        if handler is None:
            self.refuse(node, _INSTEAD.get(type(node), "is not supported on Spark"))
        around = self.filter, self.over
        if node is not self.surrounded:
            self.filter = self.over = ""
        try:
            found = handler(self, node)
        finally:
            self.filter, self.over = around
        if len(found.sql) > MAX_SQL:
            raise BadInput(
                f"{self.place}: the translated SQL is longer than {MAX_SQL} characters. Split the expression."
            )
        if not self.inside_aggregate and found.sql in self.scope.grouped:
            return Typed(self.scope.grouped[found.sql], found.type)
        return found

    def column(self, node: exp.Column) -> Typed:
        """Look up a column by name; BadInput with the nearest name if it is unknown."""
        if node.args.get("db"):
            self.refuse(node, "includes a schema name; write table.column instead")
        name, table = fold(node.this), fold(node.args.get("table"))
        try:
            found = self.scope.find(name, table) or (self.scope.find_rows(name) if not table else None)
        except BadInput as error:
            raise BadInput(f"{self.place}: {error}") from None
        if found is None and not table and name in self.scope.aliases():
            self.refuse(node, "is a table, not a column; list its columns, or write to_jsonb(…)")
        if found is None:
            whole = f"{table}.{name}" if table else name
            known = self.scope.known(table)
            hint = did_you_mean(name, known) or (f" Known columns: {', '.join(known)}." if known else "")
            raise BadInput(f"{self.place}: unknown column {quoted(whole)}.{hint}")
        crossed = self.scope.list_crossed(name, table)
        for each in crossed:
            each.reached.add(found.sql.rpartition(".")[0])
        if len(crossed) > 1:
            self.refuse(
                node,
                "is a column of a query two levels out, but Spark can only reach one level out; "
                "join its table in the query between, or compute the value there",
            )
        return found

    def aggregated_rows(self) -> AbstractContextManager[None]:
        """Translate what an aggregate reads: rows, not groups, and only those that its FILTER keeps."""
        guards = [f"({self.filter})"] if self.filter else []
        return self.holding(guards=guards, computed=[], inside_aggregate=True)

    def aggregate_argument(self, node: exp.Expr) -> Typed:
        """Translate an aggregate's argument."""
        with self.aggregated_rows():
            return self.expression(node)

    def guarded(self, node: exp.Expr, tests: list[str]) -> Typed:
        """Translate an expression that is evaluated only where these conditions hold."""
        with self.holding(guards=[*self.guards, *tests]):
            return self.expression(node)

    def refuse(self, node: exp.Expr, why: str) -> NoReturn:
        """Raise BadInput: this construct cannot be translated with the same meaning."""
        raise BadInput(
            f"{self.place}: {quoted(write(node))} {why}. Rewrite it, or write the whole query for Spark: "
            'dialect = "spark"'
        )


def fold(identifier: Any) -> str:
    """A name as PostgreSQL reads it: in lower case unless quoted."""
    if identifier is None:
        return ""
    text = str(identifier.this if isinstance(identifier, exp.Identifier) else identifier)
    return text if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted") else text.lower()


def quote(name: str) -> str:
    """Quote any name as a Spark identifier."""
    if "${" in name:
        # Spark would substitute a setting here, even inside quotes.
        raise BadInput(f"name {quoted(name)} contains '${{'. Choose another name.")
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """Write any string as a Spark literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
