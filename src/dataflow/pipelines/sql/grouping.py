"""GROUP BY and grouping sets."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dataflow.pipelines.sql.comparison import sort_key
from dataflow.pipelines.sql.names import column_name
from dataflow.pipelines.sql.types import SqlType
from dataflow.pipelines.sql.work import Typed, Work, fold

_SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
_GROUPINGS: dict[type, str] = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS"}


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
    keys = _Keys(work, node, several)
    parts = [
        _grouping_clause(each, keys.add) if isinstance(each, _SEVERAL) else keys.add(each)
        for part in group.expressions
        for each in (part.expressions if isinstance(part, exp.Tuple) else [part])
    ]
    if not parts:
        work.refuse(node, "groups by an empty list; remove GROUP BY ()")
    if several and any(_is_grouping(each) for each in (node.args.get("having") or exp.Having()).walk()):
        work.refuse(
            node,
            "has grouping(…) in HAVING; name it in SELECT, and filter by it in an outer query",
        )
    work.scope.grouped = keys.grouped
    work.scope.totals = keys.totals if any(map(_has_total, group.expressions)) else {}
    return f" GROUP BY {', '.join(parts)}", keys.values


class _Keys:
    """The keys of a GROUP BY, and what replaces each outside aggregates."""

    def __init__(self, work: Work, select: exp.Select, several: bool) -> None:
        self._work = work
        self._select = select
        self._several = several
        self.values: set[str] = set()
        self.grouped: dict[str, str] = {}
        self.totals: dict[str, SqlType] = {}

    def add(self, node: exp.Expr) -> str:
        """The expression by which Spark groups."""
        value = _find_key(self._work, self._select, node)
        found = sort_key(self._work, value, node, sorting=False)
        self.values.add(value.sql)
        if self._several:
            self.totals[value.sql] = value.type
        if found != value.sql:
            if self._several:
                self._work.refuse(
                    node, "uses a numeric without precision in grouping sets; cast it to numeric(p,s)"
                )
            self.grouped[value.sql] = f"MIN({value.sql})"
        return found


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
