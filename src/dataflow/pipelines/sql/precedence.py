"""Checks that the tree groups operators like PostgreSQL, and refuses expressions where it does not."""

from __future__ import annotations

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.model.wording import quoted
from dataflow.pipelines.sql.postgres_text import WRITTEN, write

# PostgreSQL's levels, loosest first. An adjacent operator never splits anything outside this table.
_LEVELS: dict[type, int] = {exp.Or: 1, exp.And: 2, exp.Not: 3, exp.Is: 4}
_LEVELS |= dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), 5)
_LEVELS |= dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), 4)  # IS [NOT] DISTINCT FROM
_LEVELS |= dict.fromkeys((exp.Between, exp.In, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape), 6)
_LEVELS |= dict.fromkeys((exp.Operator, exp.DPipe, exp.RegexpLike, exp.RegexpILike), 7)
_LEVELS |= dict.fromkeys((exp.Add, exp.Sub), 8)
_LEVELS |= dict.fromkeys((exp.Mul, exp.Div, exp.Mod), 9)
_LEVELS |= {exp.Pow: 10, exp.AtTimeZone: 11, exp.Collate: 12, exp.Neg: 13}
_NOT_ASSOCIATIVE = (4, 5, 6)
_SUBSCRIPTED = (exp.Column, exp.Paren, exp.Bracket, exp.Subquery)


def refuse_ambiguous(tree: exp.Expr, place: str) -> None:
    """BadInput for an expression that PostgreSQL rejects, or would group differently from the tree."""
    for node in tree.walk():
        if reason := _ambiguity(node):
            raise BadInput(f"{place}: {quoted(write(node))} {reason}. Add parentheses.")


def _ambiguity(node: exp.Expr) -> str:
    """Why a node needs parentheses; empty if it does not."""
    level = _LEVELS.get(type(node), 0)
    if isinstance(node, exp.Bracket) and (
        not isinstance(node.this, _SUBSCRIPTED) or isinstance(node.parent, exp.Any | exp.All | exp.Collate)
    ):
        return "has a subscript after something other than a column"
    if not level or isinstance(node, exp.Not | exp.Escape):
        return ""
    left, right = _left_of(node), _right_of(node)
    looser = _is_looser(left, level, level in _NOT_ASSOCIATIVE) or _is_looser(right, level, True)
    if looser or (left is not None and is_quantified(left)):
        return "can be read in two ways"
    if isinstance(node, exp.Between) and _has_loose(node.args["low"]):
        return "has an operator after BETWEEN that PostgreSQL accepts only in parentheses"
    return ""


def is_quantified(node: exp.Expr) -> bool:
    """Whether it is ANY (…), SOME (…) or ALL (…)."""
    named = isinstance(node, exp.Anonymous) and node.name.lower() in ("all", "some", "any")
    return named or isinstance(node, exp.Any | exp.All)


def group_negations(tree: exp.Expr) -> None:
    """Put `a NOT IN (b)` in parentheses where it is an operand: the text of the tree begins with NOT."""
    for node in list(tree.find_all(exp.Not)):
        around = node.parent
        if around is not None and _LEVELS.get(type(around), 0) > _LEVELS[exp.Not]:
            group = exp.Paren()
            node.replace(group)
            group.set("this", node)


def _left_of(node: exp.Expr) -> exp.Expr | None:
    left = node.args.get("this")
    if not isinstance(left, exp.Paren) or left.meta.get(WRITTEN):
        return left
    inner = left.this
    # Nothing follows NULL in `a IS NULL`, so it can be an operand: `a IS NULL = b`.
    return None if isinstance(inner.this if isinstance(inner, exp.Not) else inner, exp.Is) else inner


def _has_loose(low: exp.Expr) -> bool:
    """Whether PostgreSQL would not find the AND of a BETWEEN after this."""
    parts = low.walk(prune=lambda each: type(each) not in _LEVELS)
    return any(isinstance(each, exp.AtTimeZone | exp.Collate | exp.Not) for each in parts)


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
