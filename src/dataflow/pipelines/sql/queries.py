"""SELECTs, joins, CTEs and set operations of a query, from PostgreSQL's tree to Spark SQL text."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.sql.aggregates import direction
from dataflow.pipelines.sql.casting import cast
from dataflow.pipelines.sql.operators import condition, told_apart
from dataflow.pipelines.sql.types import TEXT, SqlType, find_common
from dataflow.pipelines.sql.work import Columns, Scope, Typed, Work, fold, quote

_SELECT_PARTS = {
    "with_",
    "expressions",
    "distinct",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
}
_SET_WORDS = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_JOINS = {("", ""): "CROSS", ("", "CROSS"): "CROSS", ("", "INNER"): "INNER"}
_JOINS |= {(side, kind): side for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")}
_RANK, _KEY = "dataflow rank", "dataflow key"


@record
class Query:
    """A translated query: its text and its columns, in order."""

    sql: str
    columns: tuple[tuple[str, SqlType], ...]

    def recast(self, kinds: list[SqlType]) -> str:
        """The text of the same query with its columns cast to these types."""
        if [kind for _, kind in self.columns] == kinds:
            return self.sql
        names = [f"c{number}" for number, _ in enumerate(kinds)]
        casts = [
            f"CAST({name} AS {kind.spark}) AS {quote(given)}"
            for name, kind, (given, _) in zip(names, kinds, self.columns, strict=True)
        ]
        return f"SELECT {', '.join(casts)} FROM ({self.sql}) AS part({', '.join(names)})"


class Tables:
    """The datasets a query may name, and those it did."""

    def __init__(self, schema: Mapping[str, Columns]) -> None:
        self.schema = schema
        self.named: dict[str, None] = {}
        self.common: dict[str, Columns] = {}  # CTEs in sight

    def find(self, work: Work, node: exp.Table) -> tuple[str, Columns]:
        """Name and columns of a table; BadInput with the nearest dataset if there is none."""
        name = ".".join(fold(part) for part in node.parts)
        if len(node.parts) == 1 and name in self.common:
            return name, self.common[name]
        if name not in self.schema:
            hint = did_you_mean(name, self.schema) or f" There are: {', '.join(sorted(self.schema))}."
            raise BadInput(f"{work.place}: there is no dataset {quoted(name)}.{hint}")
        self.named[name] = None
        return name, self.schema[name]


class Queries:
    """Translates whole queries; expressions in them are the work's."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def query(self, work: Work, node: exp.Expr) -> Query:
        """Any query, in a scope of its own inside the work's present one."""
        if isinstance(node, exp.Subquery):
            return self._parenthesised(work, node)
        outer, common, guards = work.scope, self.tables.common, work.guards
        work.scope, self.tables.common, work.guards = Scope(outer), dict(common), []
        try:
            prefix = self._common_tables(work, node)
            if isinstance(node, exp.SetOperation):
                found = self._combine(work, node)
            elif isinstance(node, exp.Select):
                found = self._select(work, node)
            else:
                work.refuse(node, "is not a query that is translated")
            return Query(prefix + found.sql, found.columns)
        finally:
            work.scope, self.tables.common, work.guards = outer, common, guards

    def _parenthesised(self, work: Work, node: exp.Subquery) -> Query:
        if any(value for key, value in node.args.items() if key not in ("this", "alias")):
            work.refuse(node, "has something after its parentheses")
        return self.query(work, node.this)

    def _common_tables(self, work: Work, node: exp.Expr) -> str:
        clause = node.args.get("with_")
        if clause is None:
            return ""
        if clause.args.get("recursive"):
            work.refuse(clause, "is recursive")
        parts = []
        for each in clause.expressions:
            name, found = fold(each.args["alias"].this), self.query(work, each.this)
            names = [fold(column) for column in each.args["alias"].args.get("columns") or []]
            _refuse_case(work, each, name, [*self.tables.schema, *self.tables.common])
            columns = self._named(work, each, found, names)
            self.tables.common[name] = columns
            listed = ", ".join(quote(column) for column in columns)
            parts.append(f"{quote(name)}({listed}) AS ({found.sql})")
        return f"WITH {', '.join(parts)} "

    def _named(self, work: Work, node: exp.Expr, found: Query, names: list[str]) -> Columns:
        names += [name for name, _ in found.columns[len(names) :]]
        if len(set(names)) != len(found.columns):
            work.refuse(node, "has two columns of one name")
        return {name: kind for name, (_, kind) in zip(names, found.columns, strict=True)}

    def _combine(self, work: Work, node: exp.SetOperation) -> Query:
        if node.args.get("by_name") or node.args.get("on") or node.args.get("match"):
            work.refuse(node, "matches columns by name")
        left, right = self.query(work, node.this), self.query(work, node.expression)
        if len(left.columns) != len(right.columns):
            work.refuse(node, "combines queries with different numbers of columns")
        kinds = []
        for (name, first), (_, second) in zip(left.columns, right.columns, strict=True):
            common = find_common([first, second])
            if common is None:
                work.refuse(node, f"combines {first.postgres} and {second.postgres} in column {name}")
            kinds.append(common)
        word = _SET_WORDS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        for kind in kinds if word != "UNION ALL" else []:
            told_apart(work, Typed("", kind), node)
        columns = tuple((name, kind) for (name, _), kind in zip(left.columns, kinds, strict=True))
        sql = f"({left.recast(kinds)}) {word} ({right.recast(kinds)})"
        return Query(
            sql + self._tail(work, node, [(name, Typed("", kind)) for name, kind in columns]), columns
        )

    def _select(self, work: Work, node: exp.Select) -> Query:
        unknown = [key for key, value in node.args.items() if value and key not in _SELECT_PARTS]
        if unknown:
            work.refuse(node, f"uses {unknown[0].rstrip('_').upper()}")
        source = self._source(work, node)
        outputs = self._outputs(work, node)
        where = f" WHERE {condition(work, node.args['where'].this)}" if node.args.get("where") else ""
        group = self._group(work, node, outputs)
        having = f" HAVING {condition(work, node.args['having'].this)}" if node.args.get("having") else ""
        columns = tuple((name, value.type) for name, value in outputs)
        listed = ", ".join(f"{value.sql} AS {quote(name)}" for name, value in outputs)
        rest = f"{source}{where}{group}{having}"
        distinct = node.args.get("distinct")
        if distinct and distinct.args.get("on"):
            return Query(self._distinct_on(work, node, outputs, f"SELECT {listed}", rest), columns)
        for _, value in outputs if distinct else []:
            told_apart(work, value, node)
        word = "SELECT DISTINCT" if distinct else "SELECT"
        return Query(f"{word} {listed}{rest}{self._tail(work, node, outputs)}", columns)

    def _source(self, work: Work, node: exp.Select) -> str:
        if node.args.get("from_") is None:
            return ""
        text = f" FROM {self._table(work, node.args['from_'].this)}"
        commas = 0
        for join in node.args.get("joins") or []:
            commas += not (join.side or join.kind or join.args.get("on") or join.args.get("using"))
            if commas and join.side in ("RIGHT", "FULL"):
                work.refuse(join, "follows a comma in FROM; write CROSS JOIN instead of the comma")
            text += self._join(work, join)
        return text

    def _table(self, work: Work, node: exp.Expr) -> str:
        alias = node.args.get("alias")
        names = [fold(column) for column in (alias.args.get("columns") or [] if alias else [])]
        if isinstance(node, exp.Table):
            extra = [
                key
                for key, value in node.args.items()
                if value and key not in ("this", "alias", "db", "catalog")
            ]
            if extra or names or not isinstance(node.this, exp.Identifier):
                work.refuse(node, "is more than a dataset's name")
            name, columns = self.tables.find(work, node)
            text, given = quote(name), fold(alias.this) if alias else fold(node.this)
        elif isinstance(node, exp.Subquery) and alias is not None:
            found = self.query(work, node.this)
            columns = self._named(work, node, found, names)
            text, given = f"({found.sql})", fold(alias.this)
        else:
            work.refuse(node, "is not a dataset or a subquery with a name")
        if given in work.scope.sources:
            raise BadInput(
                f"{work.place}: {quoted(given)} stands twice in FROM. Give one of them another name."
            )
        _refuse_case(work, node, given, work.scope.aliases())
        work.scope.sources[given] = columns
        renamed = (
            f"({', '.join(quote(column) for column in columns)})" if isinstance(node, exp.Subquery) else ""
        )
        return f"{text} AS {quote(given)}{renamed}"

    def _join(self, work: Work, node: exp.Join) -> str:
        side, kind = (node.side or "").upper(), (node.kind or "").upper()
        on, using = node.args.get("on"), node.args.get("using")
        if (on or using) and not side and not kind:
            kind = "INNER"
        word = _JOINS.get((side, kind))
        if word is None or node.args.get("method"):
            work.refuse(node, "is a kind of join that is not translated")
        before = Scope(None)
        before.sources, before.merged = dict(work.scope.sources), dict(work.scope.merged)
        text = f" {word} JOIN {self._table(work, node.this)}"
        if using:
            return f"{text} ON {self._using(work, node, before, word)}"
        return f"{text} ON {condition(work, on)}" if on is not None else text

    def _using(self, work: Work, node: exp.Join, before: Scope, word: str) -> str:
        alias = next(reversed(work.scope.sources))
        tests = []
        for column in node.args["using"]:
            name = fold(column.this if isinstance(column, exp.Column) else column)
            left, kind = before.find(name), work.scope.sources[alias].get(name)
            if left is None or kind is None or left.type != kind:
                work.refuse(node, f"joins by {name}, which is not in both with one type; write ON")
            told_apart(work, left, node)
            right = f"{quote(alias)}.{quote(name)}"
            tests.append(f"{left.sql} = {right}")
            merged = {"RIGHT": right, "FULL": f"COALESCE({left.sql}, {right})"}.get(word, left.sql)
            work.scope.merged[name] = Typed(merged, kind)
        return " AND ".join(tests)

    def _outputs(self, work: Work, node: exp.Select) -> list[tuple[str, Typed]]:
        outputs: list[tuple[str, Typed]] = []
        for item in node.expressions:
            if isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                outputs += self._star(work, item)
            else:
                outputs.append((_name(item), _kept(work, work.expression(item.unalias()), item)))
        return outputs

    def _star(self, work: Work, item: exp.Expr) -> list[tuple[str, Typed]]:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            return work.scope.all_columns()
        table = fold(item.args.get("table"))
        if table not in work.scope.sources or any(value for key, value in item.this.args.items() if value):
            work.refuse(item, "does not name a table of this FROM")
        columns = work.scope.sources[table]
        return [(name, Typed(f"{quote(table)}.{quote(name)}", kind)) for name, kind in columns.items()]

    def _group(self, work: Work, node: exp.Select, outputs: list[tuple[str, Typed]]) -> str:
        group = node.args.get("group")
        if group is None:
            return ""
        if any(value for key, value in group.args.items() if value and key != "expressions"):
            work.refuse(group, "groups in more than one way")
        return f" GROUP BY {', '.join(self._grouped(work, each, outputs) for each in group.expressions)}"

    def _grouped(self, work: Work, node: exp.Expr, outputs: list[tuple[str, Typed]]) -> str:
        node = node.unnest()
        if isinstance(node, exp.Literal) and node.is_int:
            told_apart(work, self._numbered(work, node, outputs), node)
            return node.name
        if isinstance(node, exp.Column) and not node.table and not work.scope.has(fold(node.this)):
            # A column goes before an output's name here, and after it in ORDER BY.
            for name, value in outputs:
                if name == fold(node.this):
                    return told_apart(work, value, node).sql
        return told_apart(work, work.expression(node), node).sql

    def _numbered(self, work: Work, node: exp.Expr, outputs: list[tuple[str, Typed]]) -> Typed:
        if not 1 <= int(node.name) <= len(outputs):
            work.refuse(node, f"names an output by its number; there are {len(outputs)}")
        return outputs[int(node.name) - 1][1]

    def _tail(self, work: Work, node: exp.Expr, outputs: list[tuple[str, Typed]]) -> str:
        text = ""
        if order := node.args.get("order"):
            keys = [
                f"{self._sorted(work, each.this, outputs)}{direction(each)}" for each in order.expressions
            ]
            text += f" ORDER BY {', '.join(keys)}"
        for key, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
            if clause := node.args.get(key):
                if not isinstance(clause, exp.Limit | exp.Offset) or not clause.expression.is_int:
                    work.refuse(node, f"has a {word} that is not a number written out")
                text += f" {word} {clause.expression.name}"
        return text

    def _sorted(self, work: Work, node: exp.Expr, outputs: list[tuple[str, Typed]]) -> str:
        """What ORDER BY or DISTINCT ON names: an output by its number, or the text of an expression."""
        node, names = node.unnest(), [name for name, _ in outputs]
        if isinstance(node, exp.Literal) and node.is_int:
            told_apart(work, self._numbered(work, node, outputs), node, sorting=True)
            return node.name
        if isinstance(node, exp.Column) and not node.table and fold(node.this) in names:
            number = names.index(fold(node.this))
            told_apart(work, outputs[number][1], node, sorting=True)
            return str(number + 1)
        sql = told_apart(work, work.expression(node), node, sorting=True).sql
        same = [number for number, (_, value) in enumerate(outputs, 1) if value.sql == sql]
        return str(same[0]) if same else sql

    def _distinct_on(
        self, work: Work, node: exp.Select, outputs: list[tuple[str, Typed]], select: str, rest: str
    ) -> str:
        order, on = node.args.get("order"), node.args["distinct"].args["on"]
        if order is None or node.args.get("limit") or node.args.get("offset") or node.args.get("group"):
            work.refuse(node, "uses DISTINCT ON with LIMIT or GROUP BY, or without ORDER BY")
        by_number = {str(number): value.sql for number, (_, value) in enumerate(outputs, 1)}
        named = [*(each.this for each in order.expressions), *(on.expressions or [on])]
        texts = [by_number.get(text, text) for text in (self._sorted(work, each, outputs) for each in named)]
        keys, parts = texts[: len(order.expressions)], dict.fromkeys(texts[len(order.expressions) :])
        if set(list(dict.fromkeys(keys))[: len(parts)]) - set(parts):
            work.refuse(node, "has an ORDER BY that does not begin with what is in DISTINCT ON")
        sorting = [f"{key}{direction(each)}" for key, each in zip(keys, order.expressions, strict=True)]
        window = f"PARTITION BY {', '.join(parts)} ORDER BY {', '.join(sorting)}"
        rank = f"ROW_NUMBER() OVER ({window}) AS {quote(_RANK)}"
        hidden = [quote(f"{_KEY} {number}") for number, _ in enumerate(keys)]
        kept = ", ".join(f"{key} AS {name}" for key, name in zip(keys, hidden, strict=True))
        names = ", ".join(quote(name) for name, _ in outputs)
        again = ", ".join(
            f"{name}{direction(each)}" for name, each in zip(hidden, order.expressions, strict=True)
        )
        inner = f"{select}, {rank}, {kept}{rest}"
        return f"SELECT {names} FROM ({inner}) WHERE {quote(_RANK)} = 1 ORDER BY {again}"


def _refuse_case(work: Work, node: exp.Expr, name: str, others: list[str]) -> None:
    if any(other != name and other.lower() == name.lower() for other in others):
        work.refuse(node, f"is called {name}, which Spark does not tell from another name by its case")


def _name(item: exp.Expr) -> str:
    if isinstance(item, exp.Alias):
        return fold(item.args["alias"])
    inner = item
    while isinstance(inner, exp.Paren | exp.Cast):
        inner = inner.this
    if isinstance(inner, exp.Column):
        return fold(inner.this)
    if isinstance(inner, exp.Anonymous):
        return inner.name.lower()
    return inner.sql_name().lower() if isinstance(inner, exp.Func) else "?column?"


def _kept(work: Work, value: Typed, node: exp.Expr) -> Typed:
    if value.type.name == "unknown":
        return cast(work, value, TEXT, node)
    if not value.type.storable:
        work.refuse(node, f"is {value.type.postgres}, which no dataset can keep")
    return value
