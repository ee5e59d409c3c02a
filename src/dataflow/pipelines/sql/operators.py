"""Literals, comparisons, logic and conditional expressions."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast, cast_node, number_literal, to_text, unify
from dataflow.pipelines.sql.times import cast_interval
from dataflow.pipelines.sql.types import BOOLEAN, MONTHS, NUMERIC, TEXT, UNKNOWN, SqlType
from dataflow.pipelines.sql.work import Handler, Typed, Work, text_literal

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_COMPARISONS |= {exp.NullSafeEQ: "<=>"}
_INCOMPARABLE = ("array", "json", "bytea", MONTHS.name)


def told_apart(work: Work, value: Typed, node: exp.Expr, sorting: bool = False) -> Typed:
    """A value by which rows are grouped or sorted, if Spark tells its values apart as PostgreSQL does."""
    kind = value.type
    while kind.element is not None and not sorting:
        kind = kind.element
    if kind.name == "json" or kind.element is not None:
        work.refuse(node, f"{'sorts' if sorting else 'compares'} values of type {value.type.postgres}")
    return value


def _literal(work: Work, node: exp.Literal) -> Typed:
    if node.is_string:
        return Typed(text_literal(node.this), UNKNOWN, node.this)
    return number_literal(node.this)


def _raw_text(work: Work, node: exp.RawString) -> Typed:
    return Typed(text_literal(node.this), UNKNOWN, node.this)


def _escaped_text(work: Work, node: exp.ByteString) -> Typed:
    if "\\" in node.this or node.this.startswith("0x"):
        work.refuse(node, "uses escapes that are not translated")
    return Typed(text_literal(node.this), UNKNOWN, node.this)


def _boolean(work: Work, node: exp.Boolean) -> Typed:
    return Typed("TRUE" if node.this else "FALSE", BOOLEAN)


def _null(work: Work, node: exp.Null) -> Typed:
    return Typed("NULL", UNKNOWN)


def _cast(work: Work, node: exp.Cast) -> Typed:
    if node.args["to"].is_type(exp.DataType.Type.INTERVAL):
        return cast_interval(work, node)
    return cast_node(work, node)


def _paren(work: Work, node: exp.Paren) -> Typed:
    inner = work.expression(node.this)
    return Typed(f"({inner.sql})", inner.type, inner.constant)


def condition(work: Work, node: exp.Expr) -> str:
    """An expression that must be a condition."""
    value = work.expression(node)
    return (
        cast(work, value, BOOLEAN, node).sql
        if value.type.name == "unknown"
        else _only_boolean(work, value, node)
    )


def _only_boolean(work: Work, value: Typed, node: exp.Expr) -> str:
    if value.type != BOOLEAN:
        work.refuse(node, f"is {value.type.postgres} where a condition is wanted")
    return value.sql


def _connect(work: Work, node: exp.And | exp.Or) -> Typed:
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts = [condition(work, part) for part in node.flatten(unnest=False)]
    return Typed(f"({f' {word} '.join(parts)})", BOOLEAN)


def _not(work: Work, node: exp.Not) -> Typed:
    return Typed(f"(NOT {condition(work, node.this)})", BOOLEAN)


def _compare(work: Work, node: exp.Binary) -> Typed:
    right = node.expression
    if isinstance(right, exp.Any) or (
        isinstance(right, exp.Anonymous) and right.name.lower() in ("all", "some")
    ):
        return _compare_items(work, node)
    left, other = unify(work, [work.expression(node.this), work.expression(right)], node)
    return Typed(f"({left.sql} {_operator(work, node, left.type)} {other.sql})", BOOLEAN)


def _operator(work: Work, node: exp.Expr, kind: SqlType) -> str:
    if kind.name in _INCOMPARABLE:
        work.refuse(node, f"compares values of type {kind.postgres}")
    return _COMPARISONS[type(node)]


def _compare_items(work: Work, node: exp.Binary) -> Typed:
    right = node.expression
    every = isinstance(right, exp.Anonymous) and right.name.lower() == "all"
    operand = (right.this if isinstance(right, exp.Any) else right.expressions[0]).unnest()
    if isinstance(operand, exp.Query | exp.Subquery):
        work.refuse(node, "compares with a subquery; write IN or EXISTS")
    left, items = work.expression(node.this), work.expression(operand)
    if items.type.name == "unknown":
        kind = {"unknown": TEXT, "numeric": NUMERIC}.get(left.type.name, left.type)
        items = cast(work, items, SqlType("array", element=kind), node)
    if items.type.element is None:
        work.refuse(node, "needs an array")
    left, item = unify(work, [left, Typed("item", items.type.element)], node)
    word = "FORALL" if every else "EXISTS"
    test = f"{left.sql} {_operator(work, node, left.type)} {item.sql}"
    return Typed(f"{word}({items.sql}, item -> {test})", BOOLEAN)


def _distinct_from(work: Work, node: exp.NullSafeNEQ) -> Typed:
    left, right = unify(work, [work.expression(node.this), work.expression(node.expression)], node)
    return Typed(f"(NOT ({left.sql} <=> {right.sql}))", BOOLEAN)


def _is(work: Work, node: exp.Is) -> Typed:
    value, word = work.expression(node.this), "IS NOT" if node.args.get("negate") else "IS"
    if isinstance(node.expression, exp.Null):
        return Typed(f"({value.sql} {word} NULL)", BOOLEAN)
    if isinstance(node.expression, exp.Boolean):
        tested = _only_boolean(work, value, node)
        return Typed(f"({tested} {word} {'TRUE' if node.expression.this else 'FALSE'})", BOOLEAN)
    work.refuse(node, "has no translation to Spark SQL")


def _between(work: Work, node: exp.Between) -> Typed:
    if node.args.get("symmetric"):
        work.refuse(node, "uses SYMMETRIC")
    value, low = unify(work, [work.expression(node.this), work.expression(node.args["low"])], node)
    other, high = unify(work, [work.expression(node.this), work.expression(node.args["high"])], node)
    word = "NOT " if node.args.get("negate") else ""
    return Typed(f"({word}({value.sql} >= {low.sql} AND {other.sql} <= {high.sql}))", BOOLEAN)


def _in(work: Work, node: exp.In) -> Typed:
    word = "NOT IN" if node.args.get("negate") else "IN"
    left = work.expression(node.this)
    if query := node.args.get("query"):
        if not _is_plain_test(node):
            work.refuse(node, "asks for IN with a subquery outside the conditions of WHERE; write EXISTS")
        found = work.translate_query(work, query)
        if len(found.columns) != 1:
            work.refuse(node, "needs a subquery of one column")
        left, wanted = unify(work, [left, Typed("", found.columns[0][1])], node)
        return Typed(f"({left.sql} {word} ({found.recast([wanted.type])}))", BOOLEAN)
    if not node.expressions or node.args.get("field") or node.args.get("unnest"):
        work.refuse(node, "has no translation to Spark SQL")
    left, *items = unify(work, [left, *map(work.expression, node.expressions)], node)
    if left.type.name in _INCOMPARABLE:
        work.refuse(node, f"compares values of type {left.type.postgres}")
    return Typed(f"({left.sql} {word} ({', '.join(item.sql for item in items)}))", BOOLEAN)


def _is_plain_test(node: exp.In) -> bool:
    """Whether NULL and false come to the same: elsewhere Spark gives false where PostgreSQL gives NULL."""
    around, alternatives = node.parent, False
    negated = bool(node.args.get("negate"))
    if isinstance(around, exp.Not):
        negated, around = not negated, around.parent
    while isinstance(around, exp.Paren | exp.And | exp.Or):
        alternatives = alternatives or isinstance(around, exp.Or)
        around = around.parent
    return isinstance(around, exp.Where) and not (alternatives and negated)


def _exists(work: Work, node: exp.Exists) -> Typed:
    return Typed(f"EXISTS ({work.translate_query(work, node.this).sql})", BOOLEAN)


def _subquery(work: Work, node: exp.Subquery) -> Typed:
    found = work.translate_query(work, node)
    if len(found.columns) != 1:
        work.refuse(node, "needs a subquery of one column")
    return Typed(f"({found.sql})", found.columns[0][1])


def _case(work: Work, node: exp.Case) -> Typed:
    tests: list[str] = []
    values: list[Typed] = []
    for branch in node.args["ifs"]:
        earlier = [f"NOT COALESCE({test}, FALSE)" for test in tests]
        before = work.guards
        work.guards = before + earlier
        tests.append(_case_test(work, node, branch.this))
        work.guards = before
        values.append(work.guarded(branch.args["true"], [*earlier, tests[-1]]))
    otherwise = [f"NOT COALESCE({test}, FALSE)" for test in tests]
    values.append(work.guarded(node.args.get("default") or exp.Null(), otherwise))
    *values, last = unify(work, values, node)
    branches = " ".join(f"WHEN {test} THEN {value.sql}" for test, value in zip(tests, values, strict=True))
    return Typed(f"CASE {branches} ELSE {last.sql} END", last.type)


def _case_test(work: Work, node: exp.Case, test: exp.Expr) -> str:
    if node.this is None:
        return condition(work, test)
    return work.expression(exp.EQ(this=node.this.copy(), expression=test.copy())).sql


def _first_of(word: str) -> Handler:
    def handle(work: Work, node: exp.Func) -> Typed:
        parts = [each for each in (node.this, *node.expressions) if each is not None]
        found: list[Typed] = []
        for part in parts:
            tests = [f"{each.sql} IS NULL" for each in found] if word == "COALESCE" else []
            found.append(work.guarded(part, tests))
        values = unify(work, found, node)
        if word != "COALESCE" and values[0].type.name in _INCOMPARABLE:
            work.refuse(node, f"compares values of type {values[0].type.postgres}")
        if len(values) == 1:
            return values[0]
        return Typed(f"{word}({', '.join(value.sql for value in values)})", values[0].type)

    return handle


def _nullif(work: Work, node: exp.Nullif) -> Typed:
    value = work.expression(node.this)
    left, right = unify(work, [value, work.expression(node.expression)], node)
    if value.type.name == "unknown":
        value = to_text(work, value, node)
    return Typed(f"CASE WHEN {left.sql} = {right.sql} THEN NULL ELSE {value.sql} END", value.type)


HANDLERS: dict[type, Handler] = {
    exp.Literal: _literal,
    exp.RawString: _raw_text,
    exp.ByteString: _escaped_text,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Column: Work.column,
    exp.Cast: _cast,
    exp.And: _connect,
    exp.Or: _connect,
    exp.Not: _not,
    exp.NullSafeNEQ: _distinct_from,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Subquery: _subquery,
    exp.Case: _case,
    exp.Coalesce: _first_of("COALESCE"),
    exp.Greatest: _first_of("GREATEST"),
    exp.Least: _first_of("LEAST"),
    exp.Nullif: _nullif,
    **dict.fromkeys(_COMPARISONS, _compare),
}
