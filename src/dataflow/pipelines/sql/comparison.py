"""Compares, groups and sorts values like PostgreSQL, using keys where Spark's order differs."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import call_function, cast, read_beside, unify
from dataflow.pipelines.sql.catalogue import find_function
from dataflow.pipelines.sql.constants import is_null
from dataflow.pipelines.sql.types import (
    BOOLEAN,
    DOUBLE,
    FLOATS,
    INTEGERS,
    MAX_DIGITS,
    REAL,
    TIMES,
    SqlType,
    as_numeric,
)
from dataflow.pipelines.sql.work import Typed, Work

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_PLAIN = ("boolean", *INTEGERS, "text", "varchar", "uuid", *TIMES)
_LIMB = 28  # digits; leaves room to sum 10 billion rows
_SHORT = 100  # characters that may be repeated
_MONTH, _DAY = 2_592_000_000_000, 86_400_000_000


def compare(work: Work, operator: str, values: list[Typed], node: exp.Expr) -> Typed:
    """Compare two values in the type that PostgreSQL would use."""
    left, right = values
    if operator != "<=>" and (is_null(left) or is_null(right)):
        unify(work, values, node)
        return Typed("CAST(NULL AS BOOLEAN)", BOOLEAN)
    left, right = read_beside(work, left, right.type, node), read_beside(work, right, left.type, node)
    names = {left.type.name, right.type.name}
    if names <= {*INTEGERS, "numeric"} and "numeric" in names:
        return _compare_numerics(work, operator, left, right, node)
    if names & set(FLOATS) and names <= {*INTEGERS, "numeric", *FLOATS}:
        kind = REAL if names == {"real"} else DOUBLE
        left, right = cast(work, left, kind, node), cast(work, right, kind, node)
    else:
        left, right = unify(work, [left, right], node)
    if left.type.name in ("json", "jsonb", "array", "bytea"):
        return _by_function(work, operator, [left, right], node)
    keys = [sort_key(work, each, node, sorting=False) for each in (left, right)]
    return Typed(f"({keys[0]} {operator} {keys[1]})", BOOLEAN)


def _by_function(work: Work, operator: str, values: list[Typed], node: exp.Expr) -> Typed:
    kind = values[0].type
    if kind.element and kind.element.name in _PLAIN and operator in ("=", "<>", "<=>"):
        return Typed(f"({values[0].sql} {operator} {values[1].sql})", BOOLEAN)
    if operator == "<=>":
        same = _by_function(work, "=", values, node)
        nulls = [f"{value.sql} IS NULL" for value in values]
        return Typed(
            f"(CASE WHEN {nulls[0]} OR {nulls[1]} THEN {nulls[0]} AND {nulls[1]} ELSE {same.sql} END)",
            BOOLEAN,
        )
    if find_function(operator, tuple(value.type.family for value in values)) is None:
        work.refuse(
            node, f"compares values of type {kind.postgres}, which is not supported on Spark; cast them"
        )
    return call_function(work, operator, values, node)


def compares_plainly(kind: SqlType) -> bool:
    """Whether Spark compares its values like PostgreSQL."""
    return kind.is_decimal or kind.name in _PLAIN


def _compare_numerics(work: Work, operator: str, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    kinds = [as_numeric(each.type) for each in (left, right)]
    scale = max(kind.scale for kind in kinds)
    whole = max(kind.precision - kind.scale for kind in kinds)
    if all(kind.is_decimal for kind in kinds) and whole + scale <= MAX_DIGITS:
        target = SqlType("numeric", whole + scale, scale)
        keys = [f"CAST({each.sql} AS {target.spark})" for each in (left, right)]
    else:
        keys = [numeric_key(f"CAST({each.sql} AS STRING)") for each in (left, right)]
    return Typed(f"({keys[0]} {operator} {keys[1]})", BOOLEAN)


def compare_rows(work: Work, operator: str, rows: list[list[Typed]], node: exp.Expr) -> Typed:
    """`(a, b) < (c, d)`: the first pair that differs decides."""
    if len(rows[0]) != len(rows[1]) or not rows[0]:
        work.refuse(node, "compares rows of different lengths")
    pairs = list(zip(*rows, strict=True))
    if operator in ("=", "<>", "<=>"):
        tests = [compare(work, operator, list(pair), node).sql for pair in pairs]
        return Typed(f"({(' OR ' if operator == '<>' else ' AND ').join(tests)})", BOOLEAN)
    strictly, found = operator.removesuffix("="), ""
    for number, pair in enumerate(reversed(pairs)):
        last = compare(work, operator if number == 0 else strictly, list(pair), node).sql
        same = compare(work, "=", list(pair), node).sql
        found = last if number == 0 else f"CASE WHEN {same} THEN {found} ELSE {last} END"
    return Typed(f"({found})", BOOLEAN)


def sort_key(work: Work, value: Typed, node: exp.Expr, sorting: bool = True) -> str:
    """An expression that Spark can compare, group and sort by with the same result as PostgreSQL."""
    kind = value.type
    if kind.is_exact_text:
        return numeric_key(value.sql)
    if kind.name == "bpchar":
        return f"TRIM(TRAILING ' ' FROM {value.sql})"
    if kind.name == "interval":
        return _interval_key(value.sql)
    if kind.element and kind.element.name in _PLAIN and not sorting:
        return value.sql
    if kind.name in ("json", "jsonb", "array", "bytea"):
        work.refuse(
            node,
            f"{'sorts' if sorting else 'compares'} values of type {kind.postgres}, which is not supported "
            "on Spark; cast them",
        )
    return value.sql


def _interval_key(sql: str) -> str:
    parts = [f"CAST({sql}.{field} AS DECIMAL(20, 0))" for field in ("months", "days", "micros")]
    sizes = [f"CAST({size} AS DECIMAL(13, 0))" for size in (_MONTH, _DAY)]
    return f"({parts[0]} * {sizes[0]} + {parts[1]} * {sizes[1]} + {parts[2]})"


def numeric_key(sql: str) -> str:
    """Split the text of a number into whole and fractional parts that sort and add up correctly."""
    # Spark does not support subqueries inside a higher-order function.
    name = sql if len(sql) <= _SHORT or "SELECT" in sql else "x"
    whole, first, rest = numeric_limbs(name)
    # A struct of NULLs is not NULL.
    key = f"CASE WHEN {name} IS NOT NULL THEN NAMED_STRUCT('w', {whole}, 'f', {first}, 'r', {rest}) END"
    return key if name == sql else f"TRANSFORM(ARRAY({sql}), x -> {key})[0]"


def numeric_limbs(sql: str) -> tuple[str, str, str]:
    """The whole part of a number's text and the next two groups of 28 decimal digits, as decimals."""
    fraction = f"SPLIT_PART({sql}, '.', 2)"
    sign = f"CASE WHEN STARTSWITH({sql}, '-') THEN '-' ELSE '' END"
    whole = f"CAST(SPLIT_PART({sql}, '.', 1) AS DECIMAL({MAX_DIGITS}, 0))"

    def digits(start: int) -> str:
        part = f"RPAD(SUBSTRING({fraction}, {start}, {_LIMB}), {_LIMB}, '0')"
        return f"CAST(CONCAT({sign}, {part}) AS DECIMAL({_LIMB}, 0))"

    error = f"RAISE_ERROR(CONCAT('number with more than 56 digits after the point: ', {sql}))"
    rest = f"CASE WHEN LENGTH({fraction}) > {2 * _LIMB} THEN {error} ELSE {digits(_LIMB + 1)} END"
    return whole, digits(1), rest
