"""The FROM clause: datasets, subqueries, set-returning functions, and joins.

Values of a dataset's files are converted to the values that PostgreSQL would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.shape.sql_types import UNLIMITED
from dataflow.pipelines.sql.casting import cast, unify
from dataflow.pipelines.sql.catalogue import instead_of
from dataflow.pipelines.sql.comparison import sort_key
from dataflow.pipelines.sql.conditions import condition, conditions_by_side, list_conditions
from dataflow.pipelines.sql.rows import rows_of
from dataflow.pipelines.sql.types import JSONB, TEXT, SqlType, exact_numeric, read_type
from dataflow.pipelines.sql.work import Columns, Scope, Typed, Work, fold, quote

if TYPE_CHECKING:
    from dataflow.pipelines.sql.queries import Queries, Query

_FIXED_DIGITS = 18  # after the point, for a numeric without precision that files store as a decimal
_JOINS = {("", ""): "CROSS", ("", "CROSS"): "CROSS", ("", "INNER"): "INNER"}
_JOINS |= {(side, kind): side for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")}


class Tables:
    """The datasets that a query may read, and those it does read."""

    def __init__(self, schema: Mapping[str, Mapping[str, str]]) -> None:
        self.written = schema
        self.schema: dict[str, Columns] = {
            name: {column: stored_type(kind) for column, kind in columns.items()}
            for name, columns in schema.items()
        }
        self.named: dict[str, None] = {}

    def find(self, work: Work, node: exp.Table) -> tuple[str, Columns]:
        """Return the name and columns of a table; BadInput with the nearest dataset if it is unknown."""
        name = ".".join(fold(part) for part in node.parts)
        if len(node.parts) == 1 and name in work.common:
            return name, work.common[name]
        if name not in self.schema:
            hint = did_you_mean(name, self.schema) or f" Known datasets: {', '.join(sorted(self.schema))}."
            raise BadInput(f"{work.place}: unknown dataset {quoted(name)}.{hint}")
        self.named[name] = None
        return name, self.schema[name]

    def read(self, work: Work, name: str, columns: Columns) -> str:
        """A dataset or CTE as an item of FROM; a dataset's values are converted to PostgreSQL's."""
        if columns is not self.schema.get(name):
            return quote(name)
        written = self.written[name]
        stored = {
            column: read_stored(work, column, kind, written[column]) for column, kind in columns.items()
        }
        if all(sql == quote(column) for column, sql in stored.items()):
            return quote(name)
        listed = ", ".join(f"{sql} AS {quote(column)}" for column, sql in stored.items())
        return f"(SELECT {listed} FROM {quote(name)})"


class Sources:
    """Translates FROM, and adds its columns to the current scope."""

    def __init__(self, tables: Tables, queries: Queries) -> None:
        self.tables = tables
        self.queries = queries

    def read(self, work: Work, node: exp.Select) -> str:
        """Translate FROM with all of its joins; empty if there is none."""
        if node.args.get("laterals"):
            work.refuse(node, "has LATERAL VIEW, which PostgreSQL does not support; write LATERAL (…)")
        if node.args.get("from_") is None:
            return ""
        text = f" FROM {self._item(work, node.args['from_'].this)}"
        commas = 0
        for join in node.args.get("joins") or []:
            commas += not (join.side or join.kind or join.args.get("on") or join.args.get("using"))
            if commas and join.side in ("RIGHT", "FULL"):
                work.refuse(join, "follows a comma in FROM; write CROSS JOIN instead of the comma")
            text += self._join(work, join)
        return text

    def _item(self, work: Work, node: exp.Expr) -> str:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Join):
            work.refuse(node, "has a join in parentheses; write it as a named subquery instead")
        # A function in FROM is LATERAL to the items before it.
        with work.holding(scope=Scope(work.scope, is_level=True) if work.scope.sources else work.scope):
            rows = rows_of(work, node)
        if rows is not None:
            given = self._bring(work, node, rows.alias, rows.columns)
            if len(rows.columns) == 1:
                work.scope.functions.add(rows.alias)
            return f"LATERAL ({rows.sql}) AS {given}{_listed(rows.columns)}"
        named = node.args.get("alias") is not None
        if isinstance(node, exp.Lateral):
            if not isinstance(node.this, exp.Subquery) or not named:
                work.refuse(node, "is neither a named subquery nor a named set-returning function")
            return f"LATERAL {self._subquery(work, node, self.queries.inner_query(work, node.this))}"
        if isinstance(node, exp.Table):
            return self._table(work, node)
        if isinstance(node, exp.Subquery | exp.Values) and named:
            return self._subquery(work, node, self.queries.query(work, node))
        work.refuse(node, "is neither a dataset nor a named subquery")

    def _table(self, work: Work, node: exp.Table) -> str:
        alias = node.args.get("alias")
        kept = ("this", "alias", "db", "catalog")
        extra = [key for key, value in node.args.items() if value and key not in kept]
        if isinstance(node.this, exp.Anonymous):
            hint = instead_of(node.this.name.lower())
            work.refuse(node, f"is a function in FROM that is not supported on Spark{hint}")
        if extra or not isinstance(node.this, exp.Identifier):
            work.refuse(node, "is more than a dataset name; write only the name")
        name, columns = self.tables.find(work, node)
        given = fold(alias.this) if alias else fold(node.this)
        names = [fold(column) for column in (alias.args.get("columns") or [] if alias else [])]
        table = self.tables.read(work, name, columns)
        if not names:
            return f"{table} AS {self._bring(work, node, given, columns)}"
        renamed = dict(zip([*names, *list(columns)[len(names) :]], columns.values(), strict=True))
        return f"{table} AS {self._bring(work, node, given, renamed)}{_listed(renamed)}"

    def _subquery(self, work: Work, node: exp.Expr, found: Query) -> str:
        columns = self.queries.name_columns(work, node, found)
        given = self._bring(work, node, fold(node.args["alias"].this), columns)
        return f"({found.sql}) AS {given}{_listed(columns)}"

    def _bring(self, work: Work, node: exp.Expr, given: str, columns: Columns) -> str:
        if given in work.scope.sources:
            raise BadInput(f"{work.place}: {quoted(given)} is in FROM twice. Give one of them another alias.")
        refuse_case(work, node, given, work.scope.aliases())
        work.scope.sources[given] = columns
        return quote(given)

    def _join(self, work: Work, node: exp.Join) -> str:
        side, kind = (node.side or "").upper(), (node.kind or "").upper()
        on, using = node.args.get("on"), node.args.get("using")
        natural = (node.args.get("method") or "").upper() == "NATURAL"
        if (on or using or natural) and not side and not kind:
            kind = "INNER"
        word = _JOINS.get((side, kind))
        if word is None or (node.args.get("method") and not natural):
            work.refuse(node, "is a join type that is not supported on Spark; write JOIN … ON instead")
        before = Scope(None)
        before.sources, before.merged = dict(work.scope.sources), dict(work.scope.merged)
        text = f" {word} JOIN {self._item(work, node.this)}"
        if natural:
            using = self._shared(work, before)
        if using:
            return f"{text} ON {self._using(work, node, before, (word, using))}"
        if on is None:
            return text
        if (
            word == "FULL"
            and on.find(exp.Column)
            and not any(isinstance(each, exp.EQ) for each in list_conditions(on))
        ):
            work.refuse(
                node, "is a FULL JOIN without =, which PostgreSQL does not support; write LEFT JOIN … UNION"
            )
        outer = word in ("LEFT", "RIGHT", "FULL")
        test = conditions_by_side(work, on, before) if outer else condition(work, on)
        self._refuse_correlated(work, on)
        if outer and Typed(test, None).calls_python:  # type: ignore[arg-type]
            self._refuse_python(work, node, on, before)
        return f"{text} ON {test}"

    def _refuse_correlated(self, work: Work, on: exp.Expr) -> None:
        """Spark supports a subquery in ON only if it needs columns of one side, and only to filter rows."""
        for query in on.find_all(exp.Query, exp.Subquery):
            reached = work.reached.get(id(query), set())
            if len(reached) > 1 or (reached and isinstance(query, exp.Subquery)):
                work.refuse(
                    query,
                    "is a subquery in ON that uses columns of the join; move it to WHERE or LATERAL",
                )

    def _refuse_python(self, work: Work, node: exp.Join, on: exp.Expr, before: Scope) -> None:
        """Spark does not support an outer join by a Python function of both sides."""
        for part in list_conditions(on):
            if not work.expression(part).calls_python:
                continue
            sides = [part.this, part.expression] if isinstance(part, exp.EQ) else [part]
            for each in sides:
                names = {fold(column.args.get("table")) for column in each.find_all(exp.Column)}
                if "" in names or (names & set(before.sources) and names - set(before.sources)):
                    work.refuse(
                        node,
                        "is an outer join on a condition that Spark cannot compute from both sides together; "
                        "compute each side in a subquery first",
                    )

    def _shared(self, work: Work, before: Scope) -> list[exp.Identifier]:
        """The columns that NATURAL JOIN compares."""
        alias = next(reversed(work.scope.sources))
        known = [name for name, _ in before.all_columns()]
        return [exp.to_identifier(name, quoted=True) for name in work.scope.sources[alias] if name in known]

    def _using(
        self, work: Work, node: exp.Join, before: Scope, joined: tuple[str, Sequence[exp.Expr]]
    ) -> str:
        word, columns = joined
        alias = next(reversed(work.scope.sources))
        tests = []
        for column in columns:
            name = fold(column.this if isinstance(column, exp.Column) else column)
            left, kind = before.find(name), work.scope.sources[alias].get(name)
            if left is None or kind is None:
                work.refuse(node, f"joins by {name}, which is not a column of both sides")
            left, right = unify(work, [left, Typed(f"{quote(alias)}.{quote(name)}", kind)], node)
            keys = [sort_key(work, each, node, sorting=False) for each in (left, right)]
            tests.append(f"{keys[0]} = {keys[1]}")
            merged = {"RIGHT": right.sql, "FULL": f"COALESCE({left.sql}, {right.sql})"}.get(word, left.sql)
            work.scope.merged[name] = Typed(merged, left.type)
        return " AND ".join(tests)


def _listed(columns: Columns) -> str:
    return f"({', '.join(quote(column) for column in columns)})"


def stored_type(written: str) -> SqlType:
    """The type of a column that the manifest lists as `written`."""
    kind = read_type(written)
    return exact_numeric(_FIXED_DIGITS) if kind.is_exact_text and not written.startswith(UNLIMITED) else kind


def read_stored(work: Work, name: str, kind: SqlType, written: str) -> str:
    """Spark SQL that reads a column of the files; `written` is its type in the manifest."""
    column = quote(name)
    if kind.name == "bpchar" and kind.length:
        return f"RPAD({column}, {kind.length}, ' ')"
    if kind.name == "jsonb":
        return cast(work, Typed(column, TEXT), JSONB, exp.column(name)).sql
    if kind.is_exact_text and not written.startswith(UNLIMITED):
        return _shown_digits(column)
    if kind.element is not None and kind.element.is_exact_text and not written.startswith(UNLIMITED):
        return f"TRANSFORM({column}, e -> {_shown_digits('e')})"
    return column


def _shown_digits(sql: str) -> str:
    """Format a decimal of fixed scale as text, without the zeros that only pad it."""
    return f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST({sql} AS STRING)))"


def kept_type(kind: SqlType) -> str:
    """The type in which files store a result column: a numeric as Spark represents it."""
    if kind.element is not None:
        return f"{kept_type(kind.element)}[]"
    if kind.name != "numeric":
        return kind.postgres
    if kind.is_decimal:
        return f"numeric({kind.precision},{kind.scale})"
    return "numeric" if 0 <= kind.fraction <= _FIXED_DIGITS else UNLIMITED


def refuse_cut_union(work: Work, node: exp.Expr) -> None:
    """BadInput for a subquery that returns other rows on Spark: LIMIT applies to all outer rows together."""
    if node.find(exp.SetOperation) is not None and node.find(exp.Limit, exp.Fetch, exp.Offset) is not None:
        work.refuse(
            node,
            "uses a column of the outer query and LIMIT with UNION, INTERSECT or EXCEPT, which is not "
            "supported on Spark; write min(…), max(…) or array_agg(…) instead of LIMIT",
        )


def refuse_case(work: Work, node: exp.Expr, name: str, others: list[str]) -> None:
    """BadInput for a name that Spark confuses with another one."""
    if any(other != name and other.lower() == name.lower() for other in others):
        work.refuse(node, f"is called {name}, which differs from another name only in case; rename it")
