"""Literals, comparisons, logic and conditional expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast, cast_node, read_beside, to_common, to_text, unify
from dataflow.pipelines.sql.comparison import COMPARISONS, compare, compare_rows, compares_plainly, sort_key
from dataflow.pipelines.sql.constants import number_literal
from dataflow.pipelines.sql.subqueries import compare_with_query, in_query, is_row
from dataflow.pipelines.sql.types import (
    BOOLEAN,
    FLOATS,
    INTEGER,
    INTEGERS,
    NUMERIC,
    TEXT,
    UNKNOWN,
    SqlType,
    without_length,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work, text_literal


def _literal(work: Work, node: exp.Literal | exp.RawString | exp.ByteString) -> Typed:
    if isinstance(node, exp.Literal) and not node.is_string:
        return number_literal(node.this)
    return Typed(text_literal(node.this), UNKNOWN, node.this)


def _unicode_text(work: Work, node: exp.UnicodeString) -> Typed:
    """U&'…': code points after a backslash, or after the UESCAPE character."""
    given = node.args.get("escape")
    mark = re.escape(given.name if given else "\\")
    code = rf"{mark}(?:({mark})|([0-9a-fA-F]{{4}})|\+([0-9a-fA-F]{{6}}))"
    if re.search(mark, re.sub(code, "", node.this)):
        work.refuse(node, "has an escape that is not followed by 4 hex digits, or by + and 6 hex digits")
    text = re.sub(code, lambda found: found[1] or chr(int(found[2] or found[3], 16)), node.this)
    if re.search(r"[\ud800-\udfff\0]", text):
        work.refuse(node, "contains half of a surrogate pair; write the character itself")
    return Typed(text_literal(text), UNKNOWN, text)


def _paren(work: Work, node: exp.Paren) -> Typed:
    inner = work.expression(node.this)
    return inner if inner.sql.startswith("(") else Typed(f"({inner.sql})", inner.type, inner.constant)


def _collate(work: Work, node: exp.Collate) -> Typed:
    if node.expression.name not in ("C", "C.UTF-8", "ucs_basic", "pg_c_utf8"):
        work.refuse(node, 'uses a collation that is not supported on Spark; write COLLATE "C" instead')
    value = work.expression(node.this)
    if (value.type.element or value.type).family not in ("text", "unknown"):
        work.refuse(node, f"has a collation for {value.type.postgres}; only text has a collation")
    return value


def condition(work: Work, node: exp.Expr) -> str:
    """Translate an expression that must be a condition."""
    value = work.expression(node)
    if value.type.name == "unknown":
        value = cast(work, value, BOOLEAN, node)
    return _only_boolean(work, value, node)


def conditions_by_side(work: Work, node: exp.Expr, sides: Callable[[exp.Expr], set[str]]) -> str:
    """Join conditions by AND, each guarded by the earlier ones that need no further side of the join.

    Spark evaluates our functions before a join, when the other side is not yet available.
    """
    found: list[tuple[str, set[str]]] = []
    for part in list_conditions(node):
        needed = sides(part)
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


def _and(work: Work, node: exp.And) -> Typed:
    """Evaluate conditions from left to right.

    Spark evaluates a condition that calls Python last, wherever it is written. A CASE keeps the order, so
    that `x ~ '^[0-9]+$' and x::int > 5` only casts numbers.
    """
    parts: list[str] = []
    # In WHERE a NULL ends the list of conditions; elsewhere `NULL AND false` is false.
    test = "({})" if _is_filter(node) else "(({}) IS NOT FALSE)"
    for part in list_conditions(node):
        with work.holding(guards=[*work.guards, *map(test.format, parts)]):
            parts.append(condition(work, part))
    first = next((n for n, part in enumerate(parts) if Typed(part, BOOLEAN).calls_python), len(parts))
    rest = parts[-1]
    for number in range(len(parts) - 1, first, -1):
        before_it = f"({parts[number - 1]})"
        rest = f"CASE WHEN {before_it} IS FALSE THEN FALSE ELSE {before_it} AND {rest} END"
    # Spark may use the conditions before the first such call to read less.
    plain = parts[:first] if first < len(parts) else parts[:-1]
    return Typed(f"({' AND '.join([*plain, rest])})", BOOLEAN)


def _is_filter(node: exp.Expr) -> bool:
    """Whether it is a complete condition of WHERE, HAVING, ON or FILTER, where NULL counts as false."""
    around = node.parent
    while isinstance(around, exp.Paren | exp.And):
        around = around.parent
    return isinstance(around, exp.Where | exp.Having | exp.Join)


def _or(work: Work, node: exp.Or) -> Typed:
    parts = [condition(work, part) for part in node.flatten(unnest=False)]
    return Typed(f"({' OR '.join(parts)})", BOOLEAN)


def _not(work: Work, node: exp.Not) -> Typed:
    return Typed(f"(NOT {condition(work, node.this)})", BOOLEAN)


def _compare(work: Work, node: exp.Binary) -> Typed:
    right = node.expression
    if is_quantified(right):
        return _compare_items(work, node)
    if is_row(node.this) or is_row(right):
        return compare_rows(work, COMPARISONS[type(node)], _rows(work, node), node)
    values = [work.expression(node.this), work.expression(right)]
    return compare(work, COMPARISONS[type(node)], values, node)


def is_quantified(node: exp.Expr) -> bool:
    """Whether it is ANY (…), SOME (…) or ALL (…)."""
    named = isinstance(node, exp.Anonymous) and node.name.lower() in ("all", "some", "any")
    return named or isinstance(node, exp.Any | exp.All)


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
    if is_row(node.this) and isinstance(node.expression, exp.Null):
        return _row_is_null(work, node)
    value, word = work.expression(node.this), "IS NOT" if node.args.get("negate") else "IS"
    if isinstance(node.expression, exp.Null):
        return Typed(f"({value.sql} {word} NULL)", BOOLEAN)
    if isinstance(node.expression, exp.Boolean):
        tested = _only_boolean(work, value, node)
        return Typed(f"({tested} {word} {'TRUE' if node.expression.this else 'FALSE'})", BOOLEAN)
    work.refuse(node, "is not supported on Spark")


def _row_is_null(work: Work, node: exp.Is) -> Typed:
    """A row IS NULL if all of its columns are NULL, and IS NOT NULL if none of them is."""
    word = "IS NOT" if node.args.get("negate") else "IS"
    if isinstance(node.parent, exp.Not):
        work.refuse(node, "tests a row for NOT NULL; test each of its columns instead")
    tests = [f"{value.sql} {word} NULL" for value in _row(work, node.this, node)]
    return Typed(f"({' AND '.join(tests)})", BOOLEAN)


def _between(work: Work, node: exp.Between) -> Typed:
    value, low, high = (work.expression(each) for each in (node.this, node.args["low"], node.args["high"]))

    def within(first: Typed, last: Typed) -> str:
        lower, upper = compare(work, ">=", [value, first], node), compare(work, "<=", [value, last], node)
        return f"({lower.sql} AND {upper.sql})"

    found = within(low, high)
    if node.args.get("symmetric"):
        found = f"({found} OR {within(high, low)})"
    return Typed(f"(NOT {found})" if node.args.get("negate") else found, BOOLEAN)


def _in(work: Work, node: exp.In) -> Typed:
    if query := node.args.get("query"):
        return in_query(work, node, query)
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        return in_query(work, node, node.expressions[0])
    if not node.expressions or node.args.get("field") or node.args.get("unnest"):
        work.refuse(node, "is not supported on Spark")
    if is_row(node.this):
        left = _row(work, node.this, node)
        tests = [compare_rows(work, "=", [left, _row(work, each, node)], node) for each in node.expressions]
        return _negated(node, f"({' OR '.join(test.sql for test in tests)})")
    value, *items = unify(work, [work.expression(node.this), *map(work.expression, node.expressions)], node)
    key = sort_key(work, value, node, sorting=False)
    listed = ", ".join(sort_key(work, item, node, sorting=False) for item in items)
    return _negated(node, f"({key} IN ({listed}))")


def _negated(node: exp.Expr, test: str) -> Typed:
    return Typed(f"(NOT {test})" if node.args.get("negate") else test, BOOLEAN)


def _case(work: Work, node: exp.Case) -> Typed:
    tests: list[str] = []
    values: list[Typed] = []
    for branch in node.args["ifs"]:
        earlier = [f"NOT COALESCE({test}, FALSE)" for test in tests]
        with work.holding(guards=[*work.guards, *earlier]):
            tests.append(_case_test(work, node, branch.this))
        values.append(work.guarded(branch.args["true"], [*earlier, tests[-1]]))
    otherwise = [f"NOT COALESCE({test}, FALSE)" for test in tests]
    values.append(work.guarded(node.args.get("default") or exp.Null(), otherwise))
    # PostgreSQL looks at ELSE first to determine the type.
    last, *values = unify(work, [values[-1], *values[:-1]], node)
    branches = " ".join(f"WHEN {test} THEN {value.sql}" for test, value in zip(tests, values, strict=True))
    return Typed(f"CASE {branches} ELSE {last.sql} END", last.type)


def _case_test(work: Work, node: exp.Case, test: exp.Expr) -> str:
    if node.this is None:
        return condition(work, test)
    return work.expression(exp.EQ(this=node.this.copy(), expression=test.copy())).sql


def _coalesce(work: Work, node: exp.Anonymous) -> Typed:
    found: list[Typed] = []
    for part in node.expressions:
        found.append(work.guarded(part, [f"{each.sql} IS NULL" for each in found]))
    values = unify(work, found, node)
    if len(values) == 1:
        return values[0]
    return Typed(f"COALESCE({', '.join(value.sql for value in values)})", values[0].type)


def _extreme(word: str) -> Handler:
    def handle(work: Work, node: exp.Anonymous) -> Typed:
        values = unify(work, [work.expression(part) for part in node.expressions], node)
        kind = values[0].type
        if len(values) == 1:
            return values[0]
        if compares_plainly(kind):
            return Typed(f"{word}({', '.join(value.sql for value in values)})", kind)
        # Spark compares the text of numbers byte by byte. PostgreSQL takes the first of equal values.
        places = [number if word == "LEAST" else -number for number, _ in enumerate(values)]
        keyed = [
            f"CASE WHEN {value.sql} IS NOT NULL THEN NAMED_STRUCT('k', {sort_key(work, value, node)}, "
            f"'n', {place}, 'v', {value.sql}) END"
            for place, value in zip(places, values, strict=True)
        ]
        return Typed(f"{word}({', '.join(keyed)}).v", kind)

    return handle


def _nullif(work: Work, node: exp.Anonymous) -> Typed:
    if len(node.expressions) != 2:
        work.refuse(node, "needs two arguments")
    value, other = (work.expression(each) for each in node.expressions)
    value = read_beside(work, value, other.type, node)
    test = compare(work, "=", [value, other], node)
    if value.type.name in ("unknown", "varchar") or (
        value.type.name == "bpchar" and other.type.name not in ("bpchar", "unknown")
    ):
        value = to_text(work, value, node)  # because its = compares text
    elif (value.type.name in INTEGERS and other.type.name == "numeric") or (
        value.type.name in (*INTEGERS, "numeric") and other.type.name in FLOATS
    ):
        value = to_common(work, value, without_length(unify(work, [value, other], node)[0].type), node)
    return Typed(f"CASE WHEN {test.sql} THEN NULL ELSE {value.sql} END", value.type)


def _count_nulls(word: str) -> Handler:
    def handle(work: Work, node: exp.Anonymous) -> Typed:
        values = [work.expression(each).sql for each in node.expressions]
        if not values:
            work.refuse(node, "needs at least one argument")
        return Typed(f"({' + '.join(f'INT({each} IS {word})' for each in values)})", INTEGER)

    return handle


HANDLERS: dict[type, Handler] = {
    **dict.fromkeys((exp.Literal, exp.RawString, exp.ByteString), _literal),
    exp.UnicodeString: _unicode_text,
    exp.Boolean: lambda work, node: Typed("TRUE" if node.this else "FALSE", BOOLEAN),
    exp.Null: lambda work, node: Typed("NULL", UNKNOWN),
    exp.Paren: _paren,
    exp.Collate: _collate,
    exp.Column: Work.column,
    exp.Cast: cast_node,
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.NullSafeNEQ: _distinct_from,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Case: _case,
    **dict.fromkeys(COMPARISONS, _compare),
}
FUNCTIONS: dict[str, Handler] = {
    "coalesce": _coalesce,
    "greatest": _extreme("GREATEST"),
    "least": _extreme("LEAST"),
    "nullif": _nullif,
    "num_nulls": _count_nulls("NULL"),
    "num_nonnulls": _count_nulls("NOT NULL"),
}
