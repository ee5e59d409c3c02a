"""Subqueries inside expressions: EXISTS, IN, ANY, ALL, ARRAY(…) and scalar subqueries."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import unify
from dataflow.pipelines.sql.comparison import COMPARISONS, compare, compare_rows, sort_key
from dataflow.pipelines.sql.types import BOOLEAN, SqlType
from dataflow.pipelines.sql.work import Handler, Typed, Work


def is_row(node: exp.Expr) -> bool:
    """Whether it is a row constructor: `(a, b)` or `row(a, b)`."""
    return isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row")


def in_query(work: Work, node: exp.In, query: exp.Expr) -> Typed:
    """`x IN (SELECT …)`: Spark's own IN as a condition of WHERE, EXISTS elsewhere."""
    if is_row(node.this) or not _is_plain_test(node):
        found = compare_with_query(work, exp.EQ(this=node.this), query, every=False)
        return Typed(f"(NOT {found.sql})", BOOLEAN) if node.args.get("negate") else found
    found = work.translate_query(work, query)
    if len(found.columns) != 1:
        work.refuse(node, "needs a subquery with one column")
    column = Typed("part.`c0`", found.columns[0][1])
    left, right = unify(work, [work.expression(node.this), column], node)
    keys = [sort_key(work, each, node, sorting=False) for each in (left, right)]
    inner = f"SELECT {keys[1]} FROM ({found.sql}) AS part(`c0`)"
    word = "NOT IN" if node.args.get("negate") else "IN"
    return Typed(f"({keys[0]} {word} ({inner}))", BOOLEAN)


def compare_with_query(work: Work, node: exp.Expr, query: exp.Expr, every: bool) -> Typed:
    """`x < ANY (SELECT …)` and similar.

    Spark's own IN returns false where PostgreSQL returns NULL, so EXISTS tests for each answer separately.
    """
    found = work.translate_query(work, query)
    sides = node.this.expressions if is_row(node.this) else [node.this]
    if len(found.columns) != len(sides):
        work.refuse(
            node.this, f"and its subquery have different column counts: {len(sides)} and {len(found.columns)}"
        )
    left = [work.expression(each) for each in sides]
    right = [Typed(f"part.`c{number}`", kind) for number, (_, kind) in enumerate(found.columns)]
    operator = COMPARISONS[type(node)]
    test = (
        compare_rows(work, operator, [left, right], node)
        if len(left) > 1
        else compare(work, operator, [left[0], right[0]], node)
    )
    if test.calls_python:
        work.refuse(
            node.this, "is compared with a subquery, which is not supported on Spark here; use a join instead"
        )
    if next(node.this.find_all(exp.Star), None) is not None:
        work.refuse(node.this, "is compared with rows of a subquery; compute it in a subquery in FROM first")
    source = f"SELECT 1 FROM ({found.sql}) AS part({', '.join(f'`c{n}`' for n, _ in enumerate(right))})"
    decided = f"NOT {test.sql}" if every else test.sql
    unknown = [f"EXISTS ({source} WHERE {test.sql} IS NULL)"]
    if len(left) == 1:  # the same, by tests that Spark can hash
        unknown = [f"({left[0].sql} IS NULL AND EXISTS ({source}))"]
        unknown.append(f"EXISTS ({source} WHERE {right[0].sql} IS NULL)")
    answers = ("FALSE", "TRUE") if every else ("TRUE", "FALSE")
    first = f"WHEN EXISTS ({source} WHERE {decided}) THEN {answers[0]}"
    return Typed(f"CASE {first} WHEN {' OR '.join(unknown)} THEN NULL ELSE {answers[1]} END", BOOLEAN)


def _is_plain_test(node: exp.In) -> bool:
    """Whether NULL counts as false here. Elsewhere Spark returns false where PostgreSQL returns NULL."""
    around, alternatives = node.parent, False
    negated = bool(node.args.get("negate"))
    if isinstance(around, exp.Not):
        negated, around = not negated, around.parent
    while isinstance(around, exp.Paren | exp.And | exp.Or):
        alternatives = alternatives or isinstance(around, exp.Or)
        around = around.parent
    return isinstance(around, exp.Where) and not (alternatives and negated)


def _exists(work: Work, node: exp.Exists) -> Typed:
    query = node.this
    if isinstance(query, exp.Select) and not query.expressions:
        query = query.copy().select("1")
    return Typed(f"EXISTS ({work.translate_query(work, query).sql})", BOOLEAN)


def _value(work: Work, node: exp.Subquery) -> Typed:
    found = work.translate_query(work, node)
    if len(found.columns) != 1:
        work.refuse(node, "needs a subquery with one column")
    return Typed(f"({found.sql})", found.columns[0][1])


def _array(work: Work, node: exp.Anonymous) -> Typed:
    """ARRAY(SELECT … ORDER BY …): array_agg of the same, or an empty array if there are no rows."""
    query = node.expressions[0].unnest() if len(node.expressions) == 1 else node
    if isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        work.refuse(node, "needs a SELECT with one column")
    order, distinct = query.args.get("order"), query.args.get("distinct")
    if order is None:
        work.refuse(node, "has no ORDER BY, so its result is undefined; add ORDER BY to the subquery")
    kept = ("expressions", "order", "distinct", "from_", "joins", "where")
    if any(value for key, value in query.args.items() if key not in kept) or (
        distinct and distinct.args.get("on")
    ):
        work.refuse(node, "is not supported on Spark here; write array_agg(… ORDER BY …) in the subquery")
    asked = query.copy()
    item = asked.expressions[0].unalias()
    listed = exp.Distinct(expressions=[item]) if distinct else item
    keys = [_sorted_by(each, item, asked.expressions[0].alias) for each in order.expressions]
    call = exp.Anonymous(this="array_agg", expressions=[exp.Order(this=listed, expressions=keys)])
    asked.set("expressions", [call])
    asked.set("order", None)
    asked.set("distinct", None)
    found = work.translate_query(work, asked)
    # Unlike array_agg, it keeps a declared length.
    plain = query.copy()
    plain.set("order", None)
    kind = SqlType("array", element=work.translate_query(work, plain).columns[0][1])
    return Typed(f"COALESCE(({found.sql}), CAST(ARRAY() AS {kind.spark}))", kind)


def _sorted_by(ordered: exp.Expr, item: exp.Expr, alias: str) -> exp.Expr:
    """A key of ORDER BY. It may name the only output by number or alias."""
    key, found = ordered.this, ordered.copy()
    if (isinstance(key, exp.Literal) and key.name == "1") or (
        isinstance(key, exp.Column) and not key.table and alias and key.name == alias
    ):
        found.set("this", item.copy())
    return found


HANDLERS: dict[type, Handler] = {exp.Exists: _exists, exp.Subquery: _value}
FUNCTIONS: dict[str, Handler] = {"array": _array}
