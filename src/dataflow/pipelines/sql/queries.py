"""Translates SELECTs, CTEs and set operations from PostgreSQL's tree to Spark SQL text."""

from __future__ import annotations

from sqlglot import exp

from dataflow.model.record import record
from dataflow.pipelines.sql.calls import PREFIX
from dataflow.pipelines.sql.casting import cast, to_common, unify
from dataflow.pipelines.sql.comparison import sort_key
from dataflow.pipelines.sql.conditions import condition, conditions_by_side, list_conditions
from dataflow.pipelines.sql.grouping import check_grouped, check_places, group_by
from dataflow.pipelines.sql.names import column_name
from dataflow.pipelines.sql.ordering import Outputs, distinct_on, select_list, sorted_rows, sorted_select
from dataflow.pipelines.sql.rows import rows_beside
from dataflow.pipelines.sql.sources import Sources, Tables, refuse_case, refuse_cut_union
from dataflow.pipelines.sql.types import NUMERIC, TEXT, SqlType, find_common
from dataflow.pipelines.sql.work import Columns, Scope, Typed, Work, fold, quote

_SELECT_PARTS = {
    *("with_", "expressions", "distinct", "from_", "joins", "laterals", "where", "group", "having"),
    *("windows", "order", "limit", "offset"),
}
_SET_WORDS: dict[type, str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


@record
class Query:
    """A translated query: its text and its columns, in order."""

    sql: str
    columns: tuple[tuple[str, SqlType], ...]


class Queries:
    """Translates whole queries. Work translates the expressions in them, Sources the FROM clauses."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.sources = Sources(tables, self)

    def inner_query(self, work: Work, node: exp.Expr) -> Query:
        """Translate a query inside an expression. Spark passes columns of the enclosing query into it."""
        inside = Scope(work.scope, is_level=True)
        with work.holding(scope=inside):
            found = self.query(work, node)
        work.reached[id(node)] = inside.reached
        if inside.reached:
            refuse_cut_union(work, node)
        return found

    def query(self, work: Work, node: exp.Expr, kinds: list[SqlType] | None = None) -> Query:
        """Translate any query, in its own scope inside the current one.

        `kinds` are the types of columns that contain only string literals or NULLs: text, unless the query is
        one side of a UNION, whose other side may decide otherwise.
        """
        if isinstance(node, exp.Subquery):
            if any(value for key, value in node.args.items() if key not in ("this", "alias")):
                work.refuse(node, "has a clause after its parentheses; put it inside them")
            return self.query(work, node.this, kinds)
        inside = Scope(work.scope)
        with (
            work.holding(scope=inside, common=dict(work.common)),
            work.holding(guards=[], computed=[], inside_aggregate=False),
        ):
            prefix = self._common_tables(work, node)
            if isinstance(node, exp.SetOperation):
                found = self._combine(work, node)
            elif isinstance(node, exp.Select):
                found = self._select(work, node, kinds)
            elif isinstance(node, exp.Values):
                found = self._values(work, node)
            else:
                work.refuse(node, "is not a query that is supported on Spark; write SELECT")
            return Query(prefix + found.sql, found.columns)

    def _values(self, work: Work, node: exp.Values) -> Query:
        if any(node.args.get(key) for key in ("order", "limit", "offset")):
            work.refuse(node, "sorts or limits VALUES; write SELECT * FROM (VALUES …) AS v ORDER BY …")
        rows = [[work.expression(each) for each in row.expressions] for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            work.refuse(node, "has rows of different lengths; give each row the same number of values")
        columns = [unify(work, list(column), node) for column in zip(*rows, strict=True)]
        names = [f"column{number}" for number, _ in enumerate(columns, 1)]
        if next(node.find_all(exp.Column), None) is not None:
            sql = _inline(columns, names)
        else:
            lines = [", ".join(item.sql for item in row) for row in zip(*columns, strict=True)]
            listed = ", ".join(f"({line})" for line in lines)
            sql = f"SELECT * FROM (VALUES {listed}) AS v({', '.join(names)})"
        return Query(sql, tuple((name, column[0].type) for name, column in zip(names, columns, strict=True)))

    def _common_tables(self, work: Work, node: exp.Expr) -> str:
        clause = node.args.get("with_")
        if clause is None:
            return ""
        parts = []
        for each in clause.expressions:
            name = fold(each.args["alias"].this)
            refuse_case(work, each, name, [*self.tables.schema, *work.common])
            if clause.args.get("recursive") and _is_recursive(each):
                columns, sql = self._recursive_table(work, each)
            else:
                found = self.query(work, each.this)
                columns, sql = self.name_columns(work, each, found), found.sql
            work.common[name] = columns
            listed = ", ".join(quote(column) for column in columns)
            parts.append(f"{quote(name)}({listed}) AS ({sql})")
        word = "WITH RECURSIVE" if clause.args.get("recursive") else "WITH"
        return f"{word} {', '.join(parts)} "

    def _recursive_table(self, work: Work, node: exp.CTE) -> tuple[Columns, str]:
        """Columns and text of a CTE that reads itself. Its first part determines the types of all rows."""
        union = node.this
        if not isinstance(union, exp.Union) or union.args.get("distinct"):
            work.refuse(
                node, "reads itself; write it as SELECT … UNION ALL SELECT … with a condition that stops it"
            )
        if any(union.args.get(key) for key in ("order", "limit", "offset", "with_")):
            work.refuse(node, "reads itself and has ORDER BY or LIMIT; move them to the query that reads it")
        first = self.query(work, union.this)
        kinds = [NUMERIC if kind.is_decimal and not kind.declared else kind for _, kind in first.columns]
        columns = dict(zip(self.name_columns(work, node, first), kinds, strict=True))
        work.common[fold(node.args["alias"].this)] = columns
        second = self.query(work, union.expression, kinds)
        if [kind.postgres for _, kind in second.columns] != [kind.postgres for kind in kinds]:
            work.refuse(node, "reads itself with other types in its second part; add casts to its first part")
        sides = [self._recast(work, each, kinds, node) for each in (first, second)]
        return columns, f"({sides[0]}) UNION ALL ({sides[1]})"

    def name_columns(self, work: Work, node: exp.Expr, found: Query) -> Columns:
        """Name the columns of a query as the node's alias says; BadInput if two have the same name."""
        names = [fold(column) for column in node.args["alias"].args.get("columns") or []]
        names += [name for name, _ in found.columns[len(names) :]]
        if len(set(names)) != len(found.columns):
            work.refuse(node, "has two columns with the same name; give one of them another name")
        return {name: kind for name, (_, kind) in zip(names, found.columns, strict=True)}

    def _combine(self, work: Work, node: exp.SetOperation) -> Query:
        if node.args.get("by_name") or node.args.get("on") or node.args.get("match"):
            work.refuse(node, "matches columns by name, which PostgreSQL does not support")
        left, right = (self.query(work, each, []) for each in (node.this, node.expression))
        if len(left.columns) != len(right.columns):
            work.refuse(node, "combines queries with different numbers of columns")
        kinds = []
        for (name, first), (_, second) in zip(left.columns, right.columns, strict=True):
            common = find_common([first, second])
            if common is None:
                work.refuse(node, f"combines {first.postgres} and {second.postgres} in column {name}")
            kinds.append(common)
        left, right = (self.query(work, each, kinds) for each in (node.this, node.expression))
        columns = tuple((name, kind) for (name, _), kind in zip(left.columns, kinds, strict=True))
        sides = [self._recast(work, each, kinds, node) for each in (left, right)]
        sql = self._united(work, node, sides, columns)
        return Query(sorted_rows(work, node, sql, columns), columns)

    def _united(
        self, work: Work, node: exp.SetOperation, sides: list[str], columns: tuple[tuple[str, SqlType], ...]
    ) -> str:
        word, every = _SET_WORDS[type(node)], not node.args.get("distinct")
        names = [f"c{number}" for number, _ in enumerate(columns)]
        keys = names if every and word == "UNION" else _keys(work, [kind for _, kind in columns], node)
        if keys == names:
            return f"({sides[0]}) {word}{' ALL' if every else ''} ({sides[1]})"
        if every:
            work.refuse(node, f"compares numerics without precision in {word} ALL; cast them to numeric(p,s)")
        both = " UNION ALL ".join(
            f"(SELECT *, {side} AS side FROM ({sql}))" for side, sql in enumerate(sides)
        )
        test = {"UNION": "", "INTERSECT": " HAVING MIN(side) < MAX(side)", "EXCEPT": " HAVING MAX(side) = 0"}
        listed = ", ".join(
            f"MIN_BY({name}, side) AS {quote(given)}" for name, (given, _) in zip(names, columns, strict=True)
        )
        source = f"({both}) AS b({', '.join(names)}, side)"
        return f"SELECT {listed} FROM {source} GROUP BY {', '.join(keys)}{test[word]}"

    def _recast(self, work: Work, query: Query, kinds: list[SqlType], node: exp.Expr) -> str:
        """Return the text of the same query with its columns cast to these types."""
        if [kind for _, kind in query.columns] == kinds:
            return query.sql
        names = [f"c{number}" for number, _ in enumerate(kinds)]
        casts = [
            f"{to_common(work, Typed(name, given), kind, node).sql} AS {quote(called)}"
            for name, kind, (called, given) in zip(names, kinds, query.columns, strict=True)
        ]
        return f"SELECT {', '.join(casts)} FROM ({query.sql}) AS part({', '.join(names)})"

    def _select(self, work: Work, node: exp.Select, kinds: list[SqlType] | None) -> Query:
        unknown = [key for key, value in node.args.items() if value and key not in _SELECT_PARTS]
        if unknown:
            work.refuse(node, f"uses {unknown[0].rstrip('_').upper()}, which is not supported on Spark")
        if not node.expressions:
            work.refuse(node, "lists no columns; name at least one")
        source = self.sources.read(work, node)
        source += rows_beside(work, node, source)
        where = _where(work, node.args["where"].this) if node.args.get("where") else ""
        work.scope.windows = {fold(each.this): each for each in node.args.get("windows") or []}
        check_places(work, node)
        group, keys = group_by(work, node)
        outputs = self._outputs(work, node, kinds)
        having = f" HAVING {condition(work, node.args['having'].this)}" if node.args.get("having") else ""
        check_grouped(work, node, keys)
        columns = tuple((name, value.type) for name, value in outputs)
        rest = f"{source}{where}{group}{having}"
        distinct = node.args.get("distinct")
        if distinct and distinct.args.get("on"):
            return Query(distinct_on(work, node, outputs, rest), columns)
        if distinct:
            sql = self._distinct(work, node, outputs, rest)
            return Query(sorted_rows(work, node, sql, columns), columns)
        if work.scope.totals:
            outputs, rest = self._with_total(work, node, outputs, (source + where, rest), kinds)
        return Query(sorted_select(work, node, outputs, rest), columns)

    def _with_total(
        self,
        work: Work,
        node: exp.Select,
        outputs: Outputs,
        parts: tuple[str, str],
        kinds: list[SqlType] | None,
    ) -> tuple[Outputs, str]:
        """Add the grand total separately: over zero rows it is one row in PostgreSQL and none in Spark."""
        source, rest = parts
        work.scope.grouped = {sql: f"CAST(NULL AS {kind.spark})" for sql, kind in work.scope.totals.items()}
        work.scope.is_total = True
        total = self._outputs(work, node, kinds)
        tests = ["COUNT(*) = 0"]
        if node.args.get("having"):
            tests.append(f"({condition(work, node.args['having'].this)})")
        work.scope.grouped, work.scope.is_total = {}, False
        names = [f"c{number}" for number, _ in enumerate(outputs)]
        empty = f"SELECT {select_list(total)}{source} HAVING {' AND '.join(tests)}"
        both = f"(SELECT {select_list(outputs)}{rest}) UNION ALL ({empty})"
        found = [
            (given, Typed(f"t.{name}", value.type))
            for name, (given, value) in zip(names, outputs, strict=True)
        ]
        return found, f" FROM ({both}) AS t({', '.join(names)})"

    def _distinct(self, work: Work, node: exp.Select, outputs: Outputs, rest: str) -> str:
        plain = f"SELECT {select_list(outputs)}{rest}"
        names = [f"c{number}" for number, _ in enumerate(outputs)]
        keys = _keys(work, [value.type for _, value in outputs], node)
        if keys == names:
            return f"SELECT DISTINCT {select_list(outputs)}{rest}"
        listed = ", ".join(
            f"MIN({name}) AS {quote(given)}" for name, (given, _) in zip(names, outputs, strict=True)
        )
        return f"SELECT {listed} FROM ({plain}) AS d({', '.join(names)}) GROUP BY {', '.join(keys)}"

    def _outputs(self, work: Work, node: exp.Select, kinds: list[SqlType] | None) -> Outputs:
        outputs: Outputs = []
        for item in node.expressions:
            if isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                outputs += self._star(work, item)
            else:
                value = work.expression(item.unalias())  # first, because its errors are more specific
                outputs.append((column_name(item), value))
        if kinds == []:
            return outputs  # the types of the other side are not known yet
        wanted = kinds or [TEXT] * len(outputs)
        return [
            (name, cast(work, value, kind, node) if value.type.name == "unknown" else value)
            for (name, value), kind in zip(outputs, wanted, strict=True)
        ]

    def _star(self, work: Work, item: exp.Expr) -> Outputs:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            return work.scope.all_columns()
        table = fold(item.args.get("table"))
        if table not in work.scope.sources or any(value for key, value in item.this.args.items() if value):
            work.refuse(item, "is not a table in this FROM")
        columns = work.scope.sources[table]
        return [(name, Typed(f"{quote(table)}.{quote(name)}", kind)) for name, kind in columns.items()]


def _keys(work: Work, kinds: list[SqlType], node: exp.Expr) -> list[str]:
    """What to group the columns c0, c1, … by."""
    columns = [Typed(f"c{number}", kind) for number, kind in enumerate(kinds)]
    return [sort_key(work, column, node, sorting=False) for column in columns]


def _is_recursive(node: exp.CTE) -> bool:
    """Whether a CTE reads itself."""
    name = fold(node.args["alias"].this)
    return any(len(each.parts) == 1 and fold(each.this) == name for each in node.this.find_all(exp.Table))


def _inline(columns: list[list[Typed]], names: list[str]) -> str:
    """VALUES that use columns of earlier FROM items, for which Spark has no inline table."""
    rows = []
    for row in zip(*columns, strict=True):
        fields = [f"'{name}', {item.sql}" for name, item in zip(names, row, strict=True)]
        rows.append(f"NAMED_STRUCT({', '.join(fields)})")
    return f"SELECT INLINE(ARRAY({', '.join(rows)})) AS ({', '.join(names)})"


def _where(work: Work, test: exp.Expr) -> str:
    if not work.scope.is_inside():
        return f" WHERE {condition(work, test)}"

    found = f" WHERE {conditions_by_side(work, test, work.scope)}"
    if PREFIX in found:
        _refuse_mixed(work, test)
    return found


def _refuse_mixed(work: Work, test: exp.Expr) -> None:
    """Refuse conditions of a subquery that call Python and read columns of the outer query.

    Spark turns the subquery into a join and does not call Python in a join condition. It can only compute
    one side of an equality beforehand, and only if the other side belongs to the subquery.
    """
    for part in list_conditions(test):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else [part]
        if any(_is_outside(work, side) for side in sides) and not _joins(work, sides):
            work.refuse(
                part,
                "calls a function that Spark can only compute from columns of the subquery; "
                "compute it in the outer query first",
            )


def _is_outside(work: Work, side: exp.Expr) -> bool:
    """Whether it calls Python and reads more than the subquery's own columns."""
    columns = list(side.find_all(exp.Column))
    is_own = bool(columns) and all(work.scope.is_own(each) for each in columns)
    return not is_own and work.expression(side).calls_python


def _joins(work: Work, sides: list[exp.Expr]) -> bool:
    """Whether these are the two sides of an equality, one of the outer query and one of the subquery."""
    own = [{work.scope.is_own(each) for each in side.find_all(exp.Column)} for side in sides]
    return len(sides) == 2 and {True} in own and {False} in own
