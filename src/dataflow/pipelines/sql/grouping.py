"""GROUP BY, grouping sets, and which columns a SELECT with groups or aggregates may name."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dataflow.pipelines.sql.aggregates import is_aggregate
from dataflow.pipelines.sql.comparison import sort_key
from dataflow.pipelines.sql.names import column_name
from dataflow.pipelines.sql.types import SqlType
from dataflow.pipelines.sql.work import Typed, Work, fold

_SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
_GROUPINGS: dict[type, str] = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS"}
_AROUND = "compute it in a subquery in FROM, or in an outer query"


def group_by(work: Work, node: exp.Select) -> tuple[str, set[str]]:
    """GROUP BY and its keys. A numeric without precision is grouped by value; one of its texts is shown."""
    group = node.args.get("group")
    if group is None:
        return "", set()
    if group.args.get("all") is False:
        work.refuse(node, "has GROUP BY DISTINCT; list each set once in GROUPING SETS (…) instead")
    if any(value for key, value in group.args.items() if value and key not in ("expressions", "all")):
        work.refuse(group, "groups in a way that PostgreSQL does not support")
    several = any(isinstance(each, _SEVERAL) for each in group.expressions)
    keys: dict[str, SqlType] = {}
    grouped: dict[str, str] = {}  # what replaces a key outside aggregates

    def add(key: exp.Expr) -> str:
        value = _find_key(work, node, key)
        found = sort_key(work, value, key, sorting=False)
        keys[value.sql] = value.type
        if found != value.sql:
            if several:
                work.refuse(key, "uses a numeric without precision in grouping sets; cast it to numeric(p,s)")
            grouped[value.sql] = f"MIN({value.sql})"
        return found

    parts = [
        _grouping_clause(each, add) if isinstance(each, _SEVERAL) else add(each)
        for part in group.expressions
        for each in (part.expressions if isinstance(part, exp.Tuple) else [part])
    ]
    if not parts:
        work.refuse(node, "groups by an empty list; remove GROUP BY ()")
    if several and any(_is_grouping(each) for each in (node.args.get("having") or exp.Having()).walk()):
        work.refuse(node, "has grouping(…) in HAVING; name it in SELECT, and filter by it in an outer query")
    work.scope.grouped = grouped
    work.scope.totals = keys if several and any(map(_has_total, group.expressions)) else {}
    return f" GROUP BY {', '.join(parts)}", set(keys)


def _is_grouping(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "grouping"


def _find_key(work: Work, select: exp.Select, node: exp.Expr) -> Typed:
    node = node.unnest()
    if isinstance(node, exp.Literal) and node.is_int:
        items = select.expressions
        if not 1 <= int(node.name) <= len(items) or any(item.is_star for item in items):
            work.refuse(node, f"is not a valid output column number; there are {len(items)}")
        return work.expression(items[int(node.name) - 1].unalias())
    if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
        work.refuse(node, "is a constant in GROUP BY, which PostgreSQL does not support; remove it")
    if isinstance(node, exp.Column) and not node.table and not work.scope.has(fold(node.this)):
        # Here a column takes precedence over an output name; in ORDER BY it is the other way around.
        for item in select.expressions:
            if column_name(item) == fold(node.this):
                return work.expression(item.unalias())
    return work.expression(node)


def _has_total(node: exp.Expr) -> bool:
    """Whether one of the grouping sets is the grand total."""
    if isinstance(node, exp.GroupingSets):
        return any(map(_has_total, node.expressions))
    return isinstance(node, exp.Rollup | exp.Cube) or (isinstance(node, exp.Tuple) and not node.expressions)


def _grouping_clause(clause: exp.Expr, key: Callable[[exp.Expr], str]) -> str:
    word = _GROUPINGS[type(clause)]
    sets = []
    for each in clause.expressions:
        if isinstance(each, _SEVERAL):
            sets.append(_grouping_clause(each, key))
        elif isinstance(each, exp.Tuple):
            sets.append(f"({', '.join(key(item) for item in each.expressions)})")
        else:
            found = key(each)
            sets.append(found if not word.startswith("GROUPING") or found.startswith("(") else f"({found})")
    return f"{word} ({', '.join(sets)})"


def check_places(work: Work, select: exp.Select) -> None:
    """BadInput for aggregates and window functions where PostgreSQL does not allow them."""
    for key, word in (("where", "WHERE"), ("group", "GROUP BY"), ("having", "HAVING")):
        clause = select.args.get(key)
        for node in _walk(clause) if clause is not None else []:
            if isinstance(node, exp.Window) or (key != "having" and is_aggregate(node)):
                work.refuse(node, f"is not allowed in {word}; filter by it in an outer query")


def check_grouped(work: Work, select: exp.Select, keys: set[str]) -> None:
    """BadInput for a column that is neither a key nor in an aggregate, and for what Spark cannot group."""
    having = select.args.get("having")
    order = select.args.get("order")
    sorting = [each.this for each in order.expressions] if order is not None else []
    # Not the number or name of an output.
    computed = [each for each in sorting if not isinstance(each.unnest(), exp.Column | exp.Literal)]
    parts = [*(item.unalias() for item in select.expressions), *computed]
    nodes = (node for part in parts for node in _walk(part))
    if not (select.args.get("group") or having or any(is_aggregate(n) and not _is_window(n) for n in nodes)):
        return
    check = _Check(work, keys)
    for part in parts:
        check.visit(part, outer=False)
    if having is not None:
        check.visit(having.this, outer=True)


def _is_window(node: exp.Expr) -> bool:
    around = node.parent
    return isinstance(around, exp.Window) or (
        isinstance(around, exp.Filter | exp.WithinGroup) and around.this is node and _is_window(around)
    )


def _walk(node: exp.Expr) -> list[exp.Expr]:
    """A node and its descendants, except subqueries."""
    return list(node.walk(prune=lambda each: isinstance(each, exp.Query | exp.Subquery)))


def _is_grouped_aggregate(node: exp.Expr) -> bool:
    """Whether it is an aggregate without OVER, including its FILTER or WITHIN GROUP."""
    inner = node
    while isinstance(inner, exp.Filter | exp.WithinGroup):
        inner = inner.this
    return is_aggregate(inner) and not _is_window(node)


class _Check:
    """Walks expressions down to their columns."""

    def __init__(self, work: Work, keys: set[str]) -> None:
        self._work = work
        self._keys = keys | set(work.scope.grouped.values())

    def visit(self, node: exp.Expr, outer: bool) -> None:
        """Check one expression; `outer` is whether Spark accepts columns of the outer query there."""
        if _is_grouped_aggregate(node):
            self._look_into(node)
        elif isinstance(node, exp.Query | exp.Subquery):
            self._look_at_query(node, outer or isinstance(node.parent, exp.Exists))
        elif node.find(exp.Column) is not None and not self._is_key(node):
            if isinstance(node, exp.Column):
                self._look_at(node, outer)
            elif not _is_grouping(node):
                for child in node.iter_expressions():
                    self.visit(child, outer)

    def _is_key(self, node: exp.Expr) -> bool:
        inside = any(isinstance(each, exp.Window | exp.Star) or is_aggregate(each) for each in _walk(node))
        known = type(node) in self._work.handlers and not inside
        return known and not _is_window(node) and self._work.expression(node).sql in self._keys

    def _look_at(self, node: exp.Column, outer: bool) -> None:
        if self._work.scope.is_own(node):
            self._work.refuse(node, "is neither in GROUP BY nor in an aggregate; add it to one of them")
        if self._work.scope.is_inside() and not outer:
            self._work.refuse(
                node,
                f"is a column of the outer query in a SELECT with aggregates, which Spark refuses; {_AROUND}",
            )

    def _look_into(self, aggregate: exp.Expr) -> None:
        for node in _walk(aggregate):
            around = isinstance(node.parent, exp.Filter | exp.WithinGroup) and node.parent.this is node
            if node is not aggregate and not around and (is_aggregate(node) or isinstance(node, exp.Window)):
                self._work.refuse(node, "is inside an aggregate; compute it in a subquery in FROM")
            if (
                isinstance(node, exp.Column)
                and not isinstance(node.this, exp.Star)
                and self._work.scope.is_inside()
                and not self._work.scope.is_own(node)
                and (node.table or fold(node.this) not in self._work.scope.sources)
            ):
                self._work.refuse(
                    node, f"is a column of the outer query in an aggregate, which Spark refuses; {_AROUND}"
                )

    def _look_at_query(self, node: exp.Expr, outer: bool) -> None:
        if id(node) not in self._work.reached and isinstance(node, exp.Subquery):
            self._work.expression(node)
        if self._work.reached.get(id(node)) and not outer and not self._is_key(node):
            self._work.refuse(
                node, f"is a subquery that uses a column of grouped rows, which Spark refuses; {_AROUND}"
            )
