"""Conditions: AND, OR, NOT, comparisons, IS, BETWEEN and IN, evaluated in PostgreSQL's order."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast, list_items, read_beside, unify
from dataflow.pipelines.sql.comparison import COMPARISONS, compare, compare_rows, sort_key
from dataflow.pipelines.sql.precedence import is_quantified
from dataflow.pipelines.sql.subqueries import compare_with_query, in_query, is_row
from dataflow.pipelines.sql.types import BOOLEAN, NUMERIC, TEXT, SqlType, without_length
from dataflow.pipelines.sql.work import Handler, Scope, Typed, Work

_LONGEST_GUARDS = 4000  # characters of the conditions that guard an alternative of OR
_NESTED = 100  # conditions that may be nested without exhausting the stack of Spark's parser


def condition(work: Work, node: exp.Expr) -> str:
    """Translate an expression that must be a condition."""
    value = work.expression(node)
    if value.type.name == "unknown":
        value = cast(work, value, BOOLEAN, node)
    return _only_boolean(work, value, node)


def conditions_by_side(work: Work, node: exp.Expr, side: Scope) -> str:
    """Join conditions by AND, each guarded by the earlier ones that need no further side of the join.

    Spark evaluates our functions before a join, when the other side is not yet available.
    """
    found: list[tuple[str, set[bool]]] = []
    for part in list_conditions(node):
        needed = {side.is_own(column) for column in part.find_all(exp.Column)}
        earlier = [test for test, others in found if others <= needed]
        with work.holding(guards=[*work.guards, *earlier]):
            found.append((f"({condition(work, part)})", needed))
    return " AND ".join(test for test, _ in found)


def list_conditions(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins."""
    return list(node.flatten(unnest=False)) if isinstance(node, exp.And) else [node]


def _only_boolean(work: Work, value: Typed, node: exp.Expr) -> str:
    if value.type != BOOLEAN:
        work.refuse(node, f"is {value.type.postgres}, but a condition is expected here")
    return value.sql


def _connect(work: Work, node: exp.And | exp.Or) -> Typed:
    """Evaluate conditions from left to right, until one decides.

    Spark evaluates a condition of WHERE that calls Python last, wherever it is written. A CASE keeps the
    order, so that `x ~ '^[0-9]+$' and x::int > 5` only casts numbers.
    """
    word, decided = ("AND", "FALSE") if isinstance(node, exp.And) else ("OR", "TRUE")
    parts: list[str] = []
    is_filter = _is_filter(node)
    # In WHERE a NULL ends the list of conditions; elsewhere `NULL AND false` is false.
    needed = ("TRUE" if word == "AND" else "FALSE") if is_filter else f"NOT {decided}"
    guards, computed = list(work.guards), list(work.computed)
    for part in node.flatten(unnest=False):
        made = len(work.calls)
        with work.holding(guards=guards, computed=computed):
            parts.append(condition(work, part))
        own = {sql for given, sql in work.calls[made:] if given == len(guards)}
        computed = [*computed, (len(guards), own)]
        guard = f"(({parts[-1]}) IS {needed})"
        # Each guard repeats those before it: of many alternatives only the first protect the others.
        if word == "AND" or len("".join(guards)) + len(guard) <= _LONGEST_GUARDS:
            guards = [*guards, guard]
    calls = [number for number, part in enumerate(parts) if Typed(part, BOOLEAN).calls_python]
    first = calls[0] if calls and (word == "AND" or is_filter) else len(parts)
    rest = parts[-1]
    for number in range(len(parts) - 1, first, -1):
        before_it = f"({parts[number - 1]})"
        rest = f"CASE WHEN {before_it} IS {decided} THEN {decided} ELSE {before_it} {word} {rest} END"
    # Spark may use the conditions before the first such call to read less.
    plain = parts[:first] if first < len(parts) else parts[:-1]
    around = node.find_ancestor(exp.Query, exp.Where, exp.Having, exp.Join)
    if isinstance(around, exp.Query) and len(plain) <= _NESTED:
        # Of `a AND b AND c` in SELECT, Spark may compute what b and c share before a. Here it cannot see c.
        return Typed(reduce(lambda found, part: f"({part} {word} {found})", reversed(plain), rest), BOOLEAN)
    return Typed(f"({f' {word} '.join([*plain, rest])})", BOOLEAN)


def _is_filter(node: exp.Expr) -> bool:
    """Whether a NULL among these conditions excludes a row: AND in WHERE, HAVING or ON, and OR under NOT."""
    connector: type[exp.Expr] = exp.Or if isinstance(node, exp.Or) else exp.And
    around = node.parent
    while isinstance(around, exp.Paren | exp.Not | connector):
        if isinstance(around, exp.Not):
            connector = exp.And if connector is exp.Or else exp.Or
        around = around.parent
    return connector is exp.And and isinstance(around, exp.Where | exp.Having | exp.Join)


def _compare(work: Work, node: exp.Binary) -> Typed:
    right = node.expression
    if is_quantified(right):
        return _compare_items(work, node)
    if is_row(node.this) or is_row(right):
        return compare_rows(work, COMPARISONS[type(node)], _rows(work, node), node)
    values = [work.expression(node.this), work.expression(right)]
    return compare(work, COMPARISONS[type(node)], values, node)


def quantified(node: exp.Expr) -> tuple[bool, exp.Expr]:
    """Whether it is ALL, and the expression in the parentheses."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() == "all", node.expressions[0].unnest()
    return isinstance(node, exp.All), node.this.unnest()


def _row(work: Work, side: exp.Expr, node: exp.Expr) -> list[Typed]:
    if not is_row(side):
        work.refuse(node, "compares a row with a single value; compare it with a row of the same length")
    return [work.expression(each) for each in side.expressions]


def _rows(work: Work, node: exp.Binary) -> list[list[Typed]]:
    """Both sides; a pair is evaluated only if the pairs before it leave the result open, as in PostgreSQL."""
    sides, operator = (node.this, node.expression), COMPARISONS[type(node)]
    if len(node.this.expressions) != len(node.expression.expressions):
        return [_row(work, side, node) for side in sides]
    test = "({} IS NOT FALSE)" if operator in ("=", "<>") else "({})"
    pairs: list[list[Typed]] = []
    with work.holding(guards=work.guards):
        for pair in zip(*(side.expressions for side in sides), strict=True):
            pairs.append([work.expression(each) for each in pair])
            work.guards = [*work.guards, test.format(compare(work, "=", pairs[-1], node).sql)]
    return [list(row) for row in zip(*pairs, strict=True)]


def _compare_items(work: Work, node: exp.Binary) -> Typed:
    every, operand = quantified(node.expression)
    if isinstance(operand, exp.Query | exp.Subquery):
        return compare_with_query(work, node, operand, every)
    left, items = work.expression(node.this), work.expression(operand)
    if items.type.name == "unknown":
        kind = TEXT if left.type.name == "unknown" else without_length(left.type)
        kind = NUMERIC if kind.name == "numeric" else kind  # with all the digits as written
        items = cast(work, items, SqlType("array", element=kind), node)
    if items.type.element is None:
        work.refuse(node, "needs an array on its right side")
    word, operator = "FORALL" if every else "EXISTS", COMPARISONS[type(node)]
    if left.constant is not None and items.constant is not None:
        # PostgreSQL knows the result without computing what stands beside it, and so does Spark.
        tests = [compare(work, operator, [left, each], node).sql for each in list_items(work, items, node)]
        return Typed(f"({(' AND ' if every else ' OR ').join(tests or [str(every).upper()])})", BOOLEAN)
    item = Typed("item", items.type.element)
    test = compare(work, operator, [left, item], node)
    if not test.calls_python:
        return Typed(f"{word}({items.sql}, item -> {test.sql})", BOOLEAN)
    # Spark does not call Python inside a higher-order function, so both sides are computed first.
    left = read_beside(work, left, items.type.element, node)
    inner = compare(work, operator, [Typed("s.l", left.type), item], node)
    if inner.calls_python:
        work.refuse(node, f"is not supported on Spark for elements of type {items.type.postgres}")
    if inner.sql == ("(s.l <> item)" if every else "(s.l = item)"):
        # No lambda: it keeps Spark from calling Python around it in a UNION of a table with itself.
        found = f"{'NOT ' if every else ''}ARRAY_CONTAINS({items.sql}, {left.sql})"
        return Typed(f"CASE WHEN SIZE({items.sql}) = 0 THEN {str(every).upper()} ELSE {found} END", BOOLEAN)
    sides = f"NAMED_STRUCT('l', {left.sql}, 'a', {items.sql})"
    return Typed(f"TRANSFORM(ARRAY({sides}), s -> {word}(s.a, item -> {inner.sql}))[0]", BOOLEAN)


def _distinct_from(work: Work, node: exp.NullSafeNEQ) -> Typed:
    if is_row(node.this) and is_row(node.expression):
        rows = [_row(work, each, node) for each in (node.this, node.expression)]
        return Typed(f"(NOT {compare_rows(work, '<=>', rows, node).sql})", BOOLEAN)
    same = compare(work, "<=>", [work.expression(node.this), work.expression(node.expression)], node)
    return Typed(f"(NOT {same.sql})", BOOLEAN)


def _is(work: Work, node: exp.Is) -> Typed:
    word, tests_row = "IS NOT" if node.args.get("negate") else "IS", is_row(node.this)
    if isinstance(node.expression, exp.Null):
        if tests_row and isinstance(node.parent, exp.Not):
            work.refuse(node, "tests a row for NOT NULL; test each of its columns instead")
        values = _row(work, node.this, node) if tests_row else [work.expression(node.this)]
        # A row IS NULL if all of its columns are NULL, and IS NOT NULL if none of them is.
        return Typed(f"({' AND '.join(f'{value.sql} {word} NULL' for value in values)})", BOOLEAN)
    value = work.expression(node.this)
    if isinstance(node.expression, exp.Boolean):
        tested = _only_boolean(work, value, node)
        return Typed(f"({tested} {word} {'TRUE' if node.expression.this else 'FALSE'})", BOOLEAN)
    work.refuse(node, "is not supported on Spark")


def _between(work: Work, node: exp.Between) -> Typed:
    """Two comparisons joined by AND; both orders of the bounds if it is SYMMETRIC."""
    value, low, high = node.this, node.args["low"], node.args["high"]
    orders = [(low, high), (high, low)] if node.args.get("symmetric") else [(low, high)]
    tests: list[exp.Expr] = [
        exp.And(this=exp.GTE(this=value, expression=first), expression=exp.LTE(this=value, expression=last))
        for first, last in orders
    ]
    return _instead(work, node, tests)


def _in(work: Work, node: exp.In) -> Typed:
    if query := node.args.get("query"):
        return in_query(work, node, query)
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        return in_query(work, node, node.expressions[0])
    if not node.expressions or node.args.get("field") or node.args.get("unnest"):
        work.refuse(node, "is not supported on Spark")
    # Computing an item could fail for a row that an earlier item decides.
    if is_row(node.this) or any(
        _has_columns(item) and not isinstance(item, exp.Column) for item in node.expressions
    ):
        return _in_turn(work, node)
    values = [work.expression(each) for each in (node.this, *node.expressions)]
    floats = sum(value.type.is_float for value in values)
    if any(map(_has_columns, node.expressions)) and 0 < floats < len(values):
        return _in_turn(work, node)  # each item is compared in its own type
    value, *items = unify(work, values, node)
    key = sort_key(work, value, node, sorting=False)
    listed = ", ".join(sort_key(work, item, node, sorting=False) for item in items)
    return Typed(f"({key} IN ({listed}))", BOOLEAN)


def _in_turn(work: Work, node: exp.In) -> Typed:
    """`x IN (…)` as PostgreSQL evaluates it: the items without columns, then the others one by one."""
    items, tests = list(node.expressions), []
    fixed = [each for each in items if not _has_columns(each)]
    if len(fixed) > 1 and not is_row(node.this):
        tests = [exp.In(this=node.this, expressions=fixed)]
        items = [each for each in items if _has_columns(each)]
    return _instead(work, node, [*tests, *(exp.EQ(this=node.this, expression=each) for each in items)])


def _has_columns(node: exp.Expr) -> bool:
    return node.find(exp.Column) is not None


def _instead(work: Work, node: exp.Expr, tests: list[exp.Expr]) -> Typed:
    """Translate alternatives that mean the same, in the place of the node.

    They contain its own operands, not copies: scopes know subqueries and functions by their nodes.
    """
    found = reduce(lambda left, right: exp.Or(this=left, expression=right), tests)
    found.parent = node.parent
    return work.expression(found)


HANDLERS: dict[type, Handler] = {
    exp.Boolean: lambda work, node: Typed("TRUE" if node.this else "FALSE", BOOLEAN),
    **dict.fromkeys((exp.And, exp.Or), _connect),
    exp.Not: lambda work, node: Typed(f"(NOT {condition(work, node.this)})", BOOLEAN),
    exp.NullSafeNEQ: _distinct_from,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    **dict.fromkeys(COMPARISONS, _compare),
}
FUNCTIONS: dict[str, Handler] = {}
