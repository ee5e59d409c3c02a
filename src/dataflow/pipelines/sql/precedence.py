"""Checks that the tree groups operators like PostgreSQL, and refuses expressions where it does not."""

from __future__ import annotations

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.wording import quoted

# PostgreSQL's levels, loosest first. An adjacent operator never splits anything outside this table.
_LEVELS: dict[type, int] = {exp.Or: 1, exp.And: 2, exp.Not: 3, exp.Is: 4}
_LEVELS |= dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), 5)
_LEVELS |= dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), 4)  # IS [NOT] DISTINCT FROM
_LEVELS |= dict.fromkeys((exp.Between, exp.In, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape), 6)
_LEVELS |= dict.fromkeys((exp.Operator, exp.DPipe, exp.RegexpLike, exp.RegexpILike), 7)
_LEVELS |= dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), 7)
_LEVELS |= dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), 7)
_LEVELS |= dict.fromkeys((exp.Add, exp.Sub), 8)
_LEVELS |= dict.fromkeys((exp.Mul, exp.Div, exp.Mod), 9)
_LEVELS |= {exp.Pow: 10, exp.AtTimeZone: 11, exp.Collate: 12, exp.Neg: 13}
_NOT_ASSOCIATIVE = (4, 5, 6)


def refuse_ambiguous(tree: exp.Expr, place: str) -> None:
    """BadInput for an expression that PostgreSQL would group differently from the tree."""
    for node in tree.walk():
        level = _LEVELS.get(type(node))
        if level is None or isinstance(node, exp.Not | exp.Escape):
            continue
        left, right = node.args.get("this"), _right_of(node)
        if _is_looser(left, level, level in _NOT_ASSOCIATIVE) or _is_looser(right, level, True):
            written = node.sql(dialect="postgres")
            raise BadInput(f"{place}: {quoted(written)} can be read in two ways. Add parentheses.")


def _right_of(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.AtTimeZone):
        return node.args.get("zone")
    if isinstance(node, exp.Between | exp.In | exp.Is | exp.Escape | exp.Neg):
        return node.args.get("high")
    return node.args.get("expression")


def _is_looser(child: exp.Expr | None, level: int, also_same: bool) -> bool:
    found = _LEVELS.get(type(child)) if child is not None else None
    if found is None or (isinstance(child, exp.Not) and _is_written_inside(child)):
        found = _LEVELS.get(type(child.this)) if isinstance(child, exp.Not) else None
    return found is not None and (found < level or (also_same and found == level))


def _is_written_inside(node: exp.Not) -> bool:
    """Whether NOT belongs to its operator, as in `a NOT LIKE b`, `a IS NOT NULL` and `a !~ b`."""
    inside = isinstance(node.this, exp.Is | exp.RegexpLike | exp.RegexpILike)
    return inside or _LEVELS.get(type(node.this)) == 6
