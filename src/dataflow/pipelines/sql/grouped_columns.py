"""Checks the columns of a SELECT with groups or aggregates now, not when Spark runs the view."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.aggregates import is_aggregate
from dataflow.pipelines.sql.work import Work, fold

_AROUND = "compute it in a subquery in FROM, or in an outer query"


def check_places(work: Work, select: exp.Select) -> None:
    """BadInput for aggregates and window functions where PostgreSQL does not allow them."""
    group = select.args.get("group")
    for word, clause in (("WHERE", select.args.get("where")), ("GROUP BY", group)):
        for node in _walk(clause) if clause is not None else []:
            if is_aggregate(node) or isinstance(node, exp.Window):
                work.refuse(node, f"is not allowed in {word}; filter by it in an outer query")
    having = select.args.get("having")
    for node in _walk(having) if having is not None else []:
        if isinstance(node, exp.Window):
            work.refuse(node, "is not allowed in HAVING; filter by it in an outer query")


def check_grouped(work: Work, select: exp.Select, keys: set[str]) -> None:
    """BadInput for a column that is neither a key nor in an aggregate, and for what Spark cannot group."""
    having = select.args.get("having")
    order = select.args.get("order")
    sorting = [each.this for each in order.expressions] if order is not None else []
    parts = [*(item.unalias() for item in select.expressions), *filter(_is_computed, sorting)]
    found = [*parts, *([having.this] if having is not None else [])]
    if not (select.args.get("group") or having or any(map(_aggregates, found))):
        return
    check = _Check(work, keys)
    for part in parts:
        check.visit(part, outer=False)
    if having is not None:
        check.visit(having.this, outer=True)


def _aggregates(node: exp.Expr) -> bool:
    return any(is_aggregate(each) and not _is_window(each) for each in _walk(node))


def _is_computed(node: exp.Expr) -> bool:
    """Whether an ORDER BY key is more than the number or name of an output."""
    return not isinstance(node.unnest(), exp.Column | exp.Literal)


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
            elif not (isinstance(node, exp.Anonymous) and node.name.lower() == "grouping"):
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
                and not _names_table(self._work, node)
            ):
                self._work.refuse(
                    node,
                    f"is a column of the outer query in an aggregate, which Spark refuses; {_AROUND}",
                )

    def _look_at_query(self, node: exp.Expr, outer: bool) -> None:
        if id(node) not in self._work.reached and isinstance(node, exp.Subquery):
            self._work.expression(node)
        if self._work.reached.get(id(node)) and not outer and not self._is_key(node):
            self._work.refuse(
                node, f"is a subquery that uses a column of grouped rows, which Spark refuses; {_AROUND}"
            )


def _names_table(work: Work, node: exp.Column) -> bool:
    return not node.table and fold(node.this) in work.scope.sources
