"""Aggregates and their FILTER."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import call_function, cast, exact_text
from dataflow.pipelines.sql.comparison import numeric_limbs, sort_key
from dataflow.pipelines.sql.conditions import condition
from dataflow.pipelines.sql.json_values import to_document
from dataflow.pipelines.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    INTEGERS,
    INTERVAL,
    MAX_DIGITS,
    NUMBERS,
    NUMERIC,
    TEXT,
    TIMES,
    SqlType,
    as_numeric,
    exact_numeric,
    without_length,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work, text_literal

_SUM_DIGITS = 28  # of a decimal; leaves room to sum 10 billion rows
_REGRESSIONS = ("avgx", "avgy", "count", "intercept", "r2", "slope", "sxx", "sxy", "syy")
_WITHIN_GROUP = ("percentile_cont", "percentile_disc", "mode")
_SORTABLE = (*NUMBERS, *TIMES, "text", "varchar", "bpchar", "interval")


def _fed(work: Work, sql: str) -> str:
    """Return the aggregate's input: NULL, which it ignores, for rows that its FILTER excludes."""
    return f"CASE WHEN {work.filter} THEN {sql} END" if work.filter else sql


def _only(work: Work, node: exp.Anonymous) -> exp.Expr:
    if len(node.expressions) != 1:
        work.refuse(node, "takes one argument")
    only: exp.Expr = node.expressions[0]
    return only


def _argument(work: Work, node: exp.Anonymous) -> tuple[str, Typed]:
    """Return DISTINCT or an empty string, and the argument."""
    inner, word = _only(work, node), ""
    if isinstance(inner, exp.Order):
        inner = inner.this  # makes no difference to these aggregates
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1 or inner.args.get("on"):
            work.refuse(node, "takes only one DISTINCT argument")
        inner, word = inner.expressions[0], "DISTINCT "
        if work.over:
            work.refuse(node, "combines DISTINCT and OVER, which PostgreSQL does not support")
    return word, work.aggregate_argument(inner)


def _count(work: Work, node: exp.Anonymous) -> Typed:
    if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star):
        return Typed(f"COUNT({_fed(work, '1')}){work.over}", BIGINT)
    inner = node.expressions[0] if node.expressions else node
    if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
        work.refuse(node, f"counts rows of {inner.table}; count a column that is never NULL instead")
    if isinstance(inner, exp.Distinct) and isinstance(inner.expressions[0], exp.Tuple):
        items = [work.aggregate_argument(each) for each in inner.expressions[0].expressions]
        keys = [
            f"'k{number}', {sort_key(work, item, node, sorting=False)}" for number, item in enumerate(items)
        ]
        row = f"NAMED_STRUCT({', '.join(keys)})"
        return Typed(f"COUNT(DISTINCT {_fed(work, row)}){work.over}", BIGINT)
    word, value = _argument(work, node)
    key = sort_key(work, value, node, sorting=False) if word else value.sql
    return Typed(f"COUNT({word}{_fed(work, key)}){work.over}", BIGINT)


def _sum(work: Work, node: exp.Anonymous) -> Typed:
    word, value = _argument(work, node)
    name = value.type.name
    if name in ("smallint", "integer", "double"):
        added = f"SUM({word}{_fed(work, value.sql)}){work.over}"
        return Typed(added, DOUBLE if name == "double" else BIGINT)
    if name == "interval":
        return _sum_intervals(work, value, word, node)
    if name not in ("bigint", "numeric"):
        work.refuse(node, f"adds up {value.type.postgres}; cast it to double precision or numeric")
    return _total(work, word, value, node)


def _total(work: Work, word: str, value: Typed, node: exp.Expr) -> Typed:
    """The exact sum of integers or numerics."""
    kind = as_numeric(value.type)
    if kind.is_decimal and kind.precision <= _SUM_DIGITS:
        total = SqlType("numeric", min(kind.precision + 10, MAX_DIGITS), kind.scale)
        added = f"SUM({word}{_fed(work, cast(work, value, kind, node).sql)}){work.over}"
        return Typed(f"CAST({added} AS {total.spark})", total)
    if word:
        work.refuse(node, "adds up DISTINCT numerics without precision; cast them to numeric(p,s)")
    text = exact_text(value).sql
    whole, first, rest = numeric_limbs(text)
    sums = [f"SUM({_fed(work, limb)}){work.over}" for limb in (whole, first, rest)]
    digits = f"LENGTH(SPLIT_PART({text}, '.', 2))"
    scale = f"MAX({_fed(work, digits)}){work.over}"
    limbs = [Typed(f"CAST({each} AS STRING)", NUMERIC) for each in sums]
    found = call_function(work, "sum of limbs", [*limbs, Typed(scale, INTEGER)], node)
    return Typed(found.sql, exact_numeric(value.type.digits_after))


def _sum_intervals(work: Work, value: Typed, word: str, node: exp.Expr) -> Typed:
    if word:
        work.refuse(node, "adds up DISTINCT intervals; write SELECT DISTINCT in a subquery first")
    fields = []
    for field, kind in (("months", "INT"), ("days", "INT"), ("micros", "BIGINT")):
        part = _fed(work, f"{value.sql}.{field}")
        fields.append(f"'{field}', CAST(SUM({part}){work.over} AS {kind})")
    months = _fed(work, f"{value.sql}.months")
    some = f"COUNT({months}){work.over} > 0"
    return Typed(f"CASE WHEN {some} THEN NAMED_STRUCT({', '.join(fields)}) END", INTERVAL)


def _average(work: Work, node: exp.Anonymous) -> Typed:
    word, value = _argument(work, node)
    if value.type.is_float:
        return Typed(f"AVG({word}CAST({_fed(work, value.sql)} AS DOUBLE)){work.over}", DOUBLE)
    if not value.type.is_exact:
        hint = "; write avg(extract(epoch from …)) to get seconds" if value.type.name == "interval" else ""
        work.refuse(node, f"averages {value.type.postgres}{hint}")
    total = exact_text(_total(work, word, value, node))
    count = Typed(f"COUNT({word}{_fed(work, value.sql)}){work.over}", BIGINT)
    return call_function(work, "/", [total, exact_text(count)], node)


def _extreme(work: Work, node: exp.Anonymous) -> Typed:
    word, (_, value) = node.name.upper(), _argument(work, node)
    value = cast(work, value, TEXT, node) if value.type.name == "unknown" else value
    if value.type.name not in _SORTABLE:
        work.refuse(node, f"is not supported on Spark for values of type {value.type.postgres}")
    kind = without_length(value.type)
    kind = TEXT if kind.name == "varchar" else kind
    key = sort_key(work, value, node)
    if key == value.sql:
        return Typed(f"{word}({_fed(work, value.sql)}){work.over}", kind)
    return Typed(f"{word}_BY({value.sql}, {_fed(work, key)}){work.over}", kind)


def _of_one_kind(word: str, names: tuple[str, ...], wanted: str) -> Handler:
    """An aggregate that Spark computes like PostgreSQL; its result has the type of its values."""

    def handle(work: Work, node: exp.Anonymous) -> Typed:
        _, value = _argument(work, node)
        if value.type.name == "unknown" and "boolean" in names:
            value = cast(work, value, BOOLEAN, node)
        if value.type.name not in names:
            work.refuse(node, f"needs {wanted}, got {value.type.postgres}")
        return Typed(f"{word}({_fed(work, value.sql)}){work.over}", value.type)

    return handle


def _text_list(work: Work, node: exp.GroupConcat) -> Typed:
    separator = work.expression(node.args.get("separator") or exp.Null())
    if separator.constant is None:
        work.refuse(node, "has a separator that is not a literal")
    items = _ordered_items(work, node, node.this, keep_nulls=False)
    if items.type.element is None or items.type.element.family != "text":
        work.refuse(node, f"joins {items.type.postgres}; add ::text")
    return Typed(f"ARRAY_JOIN({items.sql}, {text_literal(separator.constant)})", TEXT)


def _json_list(work: Work, node: exp.Anonymous) -> Typed:
    name = node.name.lower()
    items = _ordered_items(work, node, _only(work, node), keep_nulls=True, json=name.removesuffix("_agg"))
    return call_function(work, name, [items], node)


def _json_object(work: Work, node: exp.Anonymous) -> Typed:
    """jsonb_object_agg: pairs in the given order, or pairs with distinct keys if no order is given."""
    if len(node.expressions) != 2 or isinstance(node.expressions[0], exp.Distinct):
        work.refuse(node, "needs a key and a value")
    key, value = node.expressions
    order = value.expressions if isinstance(value, exp.Order) else []
    key = exp.Cast(this=key.copy(), to=exp.DataType.build("text"))
    pair = exp.Anonymous(this="jsonb_build_array", expressions=[key, (value.this if order else value).copy()])
    keys = [each.copy() for each in order] or [exp.Ordered(this=key.copy())]
    items = _ordered_items(work, node, exp.Order(this=pair, expressions=keys), keep_nulls=True)
    name = "ordered pairs" if order else "pairs"
    return call_function(work, f"jsonb_object_agg of {name}", [items], node)


def _ordered_items(work: Work, node: exp.Expr, order: exp.Expr, keep_nulls: bool, json: str = "") -> Typed:
    """Collect the values into an array in their order; NULL if there are none."""
    if not isinstance(order, exp.Order) and work.over and work.over_order is not None:
        order = exp.Order(this=order, expressions=work.over_order.expressions)
    if not isinstance(order, exp.Order):
        work.refuse(node, "has no ORDER BY, so its result is undefined; add ORDER BY inside the parentheses")
    distinct = isinstance(order.this, exp.Distinct)
    value = work.aggregate_argument(order.this.expressions[0] if distinct else order.this)
    value = cast(work, value, TEXT, node) if value.type.name == "unknown" else value
    if value.type.element is not None:
        work.refuse(
            node, "builds an array of arrays, which a dataset cannot store; write jsonb_agg(…) instead"
        )
    keys = [(sort_key(work, work.aggregate_argument(each.this), node), each) for each in order.expressions]
    if distinct and [key for key, _ in keys] != [sort_key(work, value, node)]:
        work.refuse(node, "is DISTINCT but ordered by another expression; order it by its argument")
    if json:
        with work.aggregated_rows():
            value = to_document(work, value, json, node)
    if isinstance(node, exp.GroupConcat) and value.type.name == "bpchar":
        value = cast(work, value, TEXT, node)
    fields = "".join(f"'k{number}', {key}, " for number, (key, _) in enumerate(keys))
    item = f"NAMED_STRUCT({fields}'v', {value.sql})"
    collected = f"COLLECT_{'SET' if distinct else 'LIST'}({_fed(work, item)}){work.over}"
    kept = collected if keep_nulls else f"FILTER({collected}, i -> i.v IS NOT NULL)"
    comparison = "0"
    for number, (_, ordered) in reversed(list(enumerate(keys))):
        comparison = _compare(f"k{number}", ordered, comparison)
    items = f"TRANSFORM(ARRAY_SORT({kept}, (l, r) -> {comparison}), i -> i.v)"
    kind = without_length(value.type)
    return Typed(f"NULLIF({items}, CAST(ARRAY() AS ARRAY<{kind.spark}>))", SqlType("array", element=kind))


def _compare(key: str, ordered: exp.Expr, otherwise: str) -> str:
    less, more = (1, -1) if ordered.args.get("desc") else (-1, 1)
    left_null, right_null = (-1, 1) if ordered.args.get("nulls_first") else (1, -1)
    return (
        f"CASE WHEN l.{key} IS NULL AND r.{key} IS NULL THEN {otherwise} "
        f"WHEN l.{key} IS NULL THEN {left_null} WHEN r.{key} IS NULL THEN {right_null} "
        f"WHEN l.{key} < r.{key} THEN {less} WHEN l.{key} > r.{key} THEN {more} ELSE {otherwise} END"
    )


def _grouping(work: Work, node: exp.Anonymous) -> Typed:
    keys = [work.aggregate_argument(each).sql for each in node.expressions]
    if work.scope.is_total:
        return Typed(str(2 ** len(keys) - 1), INTEGER)
    word = "GROUPING" if len(keys) == 1 else "GROUPING_ID"
    return Typed(f"CAST({word}({', '.join(keys)}) AS INT)", INTEGER)


def _filter(work: Work, node: exp.Filter) -> Typed:
    inner = node.this.this if isinstance(node.this, exp.WithinGroup) else node.this
    if not is_aggregate(inner):
        work.refuse(node, "has a FILTER, but is not an aggregate that is supported on Spark")
    with work.aggregated_rows():
        test = condition(work, node.expression.this)
    with work.holding(filter=test, surrounded=node.this):
        return work.expression(node.this)


def _collected(work: Work, value: Typed) -> Typed:
    """Collect all non-NULL values of an aggregate as an array for one of our functions."""
    collected = f"COLLECT_LIST({_fed(work, value.sql)}){work.over}"
    return Typed(collected, SqlType("array", element=value.type))


def _statistic(work: Work, node: exp.Anonymous) -> Typed:
    """Variance and similar: exact from sums for numerics, from all values for floating-point numbers."""
    name, (word, value) = node.name.lower(), _argument(work, node)
    if word:
        work.refuse(node, "takes DISTINCT values; write SELECT DISTINCT in a subquery first")
    if value.type.is_float:
        values = _collected(work, cast(work, value, DOUBLE, node))
        return call_function(work, f"{name} of list", [values], node)
    if not value.type.is_exact:
        work.refuse(node, f"needs numbers, got {value.type.postgres}")
    number = exact_text(value)
    with work.aggregated_rows():
        square = call_function(work, "*", [number, number], node)
    count = Typed(f"COUNT({_fed(work, value.sql)}){work.over}", BIGINT)
    sums = [exact_text(_total(work, "", each, node)) for each in (number, square)]
    return call_function(work, f"{name} of sums", [count, *sums], node)


def _pairs(work: Work, node: exp.Anonymous) -> Typed:
    """corr, covar_pop, regr_…: over all pairs without a NULL."""
    if len(node.expressions) != 2:
        work.refuse(node, "needs two arguments")
    with work.aggregated_rows():
        one, other = (cast(work, work.expression(each), DOUBLE, node) for each in node.expressions)
    both = f"CASE WHEN {one.sql} IS NOT NULL AND {other.sql} IS NOT NULL THEN {{}} END"
    lists = [_collected(work, Typed(both.format(each.sql), DOUBLE)) for each in (one, other)]
    return call_function(work, f"{node.name.lower()} of lists", lists, node)


def _within_group(work: Work, node: exp.WithinGroup) -> Typed:
    """percentile_cont, percentile_disc and mode: over all values, sorted."""
    inner, order = node.this, node.expression
    name = inner.name.lower()
    if name not in _WITHIN_GROUP or len(order.expressions) != 1:
        work.refuse(node, "is not an aggregate that is supported on Spark")
    ordered = order.expressions[0]
    value = work.aggregate_argument(ordered.this)
    if name == "percentile_cont" and value.type.name in (*INTEGERS, "numeric", "real"):
        value = cast(work, value, DOUBLE, node)
    aggregate = exp.Order(this=ordered.this.copy(), expressions=[ordered.copy()])
    if work.surrounded is node:
        work.surrounded = inner
    items = _ordered_items(work, node, aggregate, keep_nulls=False)
    if value.type != (items.type.element or value.type):
        items = cast(work, items, SqlType("array", element=value.type), node)
    if items.type.element and items.type.element.name == "bpchar":
        items = Typed(items.sql, SqlType("array", element=TEXT))  # with its padding
    fractions = [work.expression(each) for each in inner.expressions]
    found = call_function(work, f"{name} of list", [*fractions, items], node)
    if TEXT in (found.type, found.type.element):
        kind = without_length(value.type)
        return Typed(found.sql, SqlType("array", element=kind) if found.type.element else kind)
    return found


AGGREGATES: dict[str, Handler] = {
    "count": _count,
    "sum": _sum,
    "avg": _average,
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("bool_and", "every"), _of_one_kind("BOOL_AND", ("boolean",), "conditions")),
    "bool_or": _of_one_kind("BOOL_OR", ("boolean",), "conditions"),
    "array_agg": lambda work, node: _ordered_items(work, node, _only(work, node), keep_nulls=True),
    **dict.fromkeys(("jsonb_agg", "json_agg"), _json_list),
    "jsonb_object_agg": _json_object,
    "bit_and": _of_one_kind("BIT_AND", INTEGERS, "integers"),
    "bit_or": _of_one_kind("BIT_OR", INTEGERS, "integers"),
    **dict.fromkeys(("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), _statistic),
    **dict.fromkeys(("corr", "covar_pop", "covar_samp"), _pairs),
    **dict.fromkeys((f"regr_{name}" for name in _REGRESSIONS), _pairs),
}


def is_aggregate(node: exp.Expr) -> bool:
    """Whether it is a call to an aggregate."""
    named = isinstance(node, exp.Anonymous) and node.name.lower() in (*AGGREGATES, *_WITHIN_GROUP)
    return named or isinstance(node, exp.GroupConcat)


HANDLERS: dict[type, Handler] = {
    exp.GroupConcat: _text_list,
    exp.Filter: _filter,
    exp.WithinGroup: _within_group,
}
FUNCTIONS: dict[str, Handler] = {**AGGREGATES, "grouping": _grouping}
