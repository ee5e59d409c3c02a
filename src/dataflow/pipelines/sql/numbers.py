"""Arithmetic: Spark's own where it matches PostgreSQL digit for digit, our functions elsewhere."""

from __future__ import annotations

from decimal import Context, Decimal

from sqlglot import exp

from dataflow.pipelines.sql.casting import call_function, cast, exact_text, read_beside, unify
from dataflow.pipelines.sql.postgres_text import Positive
from dataflow.pipelines.sql.times import add_times
from dataflow.pipelines.sql.types import (
    BIGINT,
    DOUBLE,
    FLOATS,
    INTEGER,
    MAX_DIGITS,
    NUMBERS,
    SqlType,
    as_numeric,
    exact_numeric,
    numeric,
    without_length,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work

WORDS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^"}
_EXACT = Context(prec=100)
# Literals whose type is smaller when negated.
_SMALLEST = {"2147483648": INTEGER, "9223372036854775808": BIGINT}
_TO_DIGITS = {
    "round": "ROUND({0}, {1})",
    "trunc": "CASE WHEN {0} < 0 THEN CEIL({0}, {1}) ELSE FLOOR({0}, {1}) END",
}
_FEW_DIGITS = 10  # after the point, which leaves 28 before it
_SHORT = 600  # characters; longer operands are not repeated


def _arithmetic(work: Work, node: exp.Binary) -> Typed:
    left, right = work.expression(node.this), work.expression(node.expression)
    return calculate(work, WORDS[type(node)], left, right, node)


def calculate(work: Work, word: str, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """Apply an operator to two values of any type."""
    if word in "+-" and (found := add_times(work, word, left, right, node)):
        return found
    if {left.type.name, right.type.name} <= {*NUMBERS, "unknown"}:
        left, right = read_beside(work, left, right.type, node), read_beside(work, right, left.type, node)
    names = {left.type.name, right.type.name}
    if not names <= set(NUMBERS):
        return call_function(work, word, [left, right], node)
    if word == "^":
        if "numeric" in names and not names & set(FLOATS):
            return call_function(work, "^", [exact_text(left), exact_text(right)], node)
        return call_function(work, "^", [cast(work, each, DOUBLE, node) for each in (left, right)], node)
    compute = _floating if names & set(FLOATS) else _numeric if "numeric" in names else _whole_numbers
    return compute(work, word, left, right, node)


def _floating(work: Work, word: str, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """PostgreSQL raises an error for overflow and underflow; Spark returns infinity or zero."""
    kind = left.type if left.type == right.type else DOUBLE
    values = [cast(work, each, kind, node) for each in (left, right)]
    if word == "%":
        work.refuse(node, "takes the remainder of floating-point numbers, which PostgreSQL does not support")
    one, other = (each.sql for each in values)
    if len(one) + len(other) > _SHORT:
        return call_function(work, word, values, node)
    result, infinite = f"({one} {word} {other})", "DOUBLE('Infinity')"
    lost = [f"ABS({result}) = {infinite} AND ABS({one}) <> {infinite} AND ABS({other}) <> {infinite}"]
    if word in "*/":
        zero = f"{other} <> 0" if word == "*" else f"ABS({other}) <> {infinite}"
        lost.append(f"{result} = 0 AND {one} <> 0 AND {zero}")
    error = "RAISE_ERROR('value out of range: overflow or underflow')"
    return Typed(f"CASE WHEN {' OR '.join(lost)} THEN {error} ELSE {result} END", kind)


def _whole_numbers(work: Work, word: str, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    left, right = unify(work, [left, right], node)
    kind = left.type
    if word == "/":
        return Typed(f"CAST(({left.sql} DIV {right.sql}) AS {kind.spark})", kind)
    return Typed(f"({left.sql} {word} {right.sql})", kind)


def _numeric(work: Work, word: str, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    kinds = [as_numeric(each.type) for each in (left, right)]
    if all(kind.is_decimal for kind in kinds):
        operands = [cast(work, each, kind, node) for each, kind in zip((left, right), kinds, strict=True)]
        if found := _decimal(word, *operands):
            return found
    found = call_function(work, word, [exact_text(left), exact_text(right)], node)
    return Typed(found.sql, _digits_of(word, left, right) or found.type, found.constant)


def _digits_of(word: str, left: Typed, right: Typed) -> SqlType | None:
    """The type of a result with a bounded number of decimal digits; None if that is unknown."""
    digits = [each.type.digits_after for each in (left, right)]
    if word != "/":
        return exact_numeric(*digits, product=word == "*")
    divisor = Decimal(right.constant or 0)
    inverse = _EXACT.divide(Decimal(1), divisor).normalize(_EXACT) if divisor else Decimal(0)
    if digits[0] < 0 or _EXACT.multiply(inverse, divisor) != 1:
        return None
    # However far PostgreSQL divides, a finite result ends there.
    return exact_numeric(digits[0] + max(-int(inverse.as_tuple().exponent), 0))


def _decimal(word: str, left: Typed, right: Typed) -> Typed | None:
    """Compute with Spark's decimals; None if they could lose a digit or show different ones."""
    first, second = left.type, right.type
    scale = max(first.scale, second.scale)
    whole = max(kind.precision - kind.scale for kind in (first, second)) + 1
    if word == "/":
        return None  # the digits PostgreSQL shows for a quotient depend on the values
    if word == "*":
        digits = first.precision + second.precision + 1
        kind = SqlType("numeric", digits, first.scale + second.scale)
        return Typed(f"({left.sql} * {right.sql})", kind) if digits <= MAX_DIGITS else None
    if whole + scale > MAX_DIGITS:
        return None
    kind = SqlType("numeric", whole + scale, scale)
    return Typed(f"CAST(({left.sql} {word} {right.sql}) AS {kind.spark})", kind)


def _negate(work: Work, node: exp.Neg) -> Typed:
    if isinstance(node.this, exp.Literal) and node.this.name in _SMALLEST and not node.this.is_string:
        kind = _SMALLEST[node.this.name]
        return Typed(f"CAST('-{node.this.name}' AS {kind.spark})", kind, f"-{node.this.name}")
    value = one_number(work, node.this, node)
    constant = f"-{value.constant}" if value.constant and not value.constant.startswith("-") else None
    if value.type.name == "interval" or _is_long(value.type):
        found = call_function(work, "-", [value], node)
        kind = value.type if found.type.is_exact_text else found.type
        sql = f"CAST({found.sql} AS {kind.spark})" if kind.is_decimal else found.sql
        return Typed(sql, kind, found.constant)
    return Typed(f"(- {value.sql})", without_length(value.type), constant)


def _positive(work: Work, node: Positive) -> Typed:
    value = one_number(work, node.this, node)
    return Typed(value.sql, without_length(value.type), value.constant)


def _is_long(kind: SqlType) -> bool:
    """Whether our functions compute its minus and ABS: Spark's round decimals to 34 digits."""
    return kind.name == "numeric" and (kind.precision > 34 or not kind.precision)


def one_number(work: Work, argument: exp.Expr, node: exp.Expr) -> Typed:
    """An argument that is a number or an interval; a string literal is read as double precision."""
    value = work.expression(argument)
    if value.type.name == "unknown":
        value = cast(work, value, DOUBLE, node)
    if value.type.name not in (*NUMBERS, "interval"):
        work.refuse(node, f"needs a number or an interval, got {value.type.postgres}")
    return value


def _absolute(work: Work, node: exp.Anonymous) -> Typed:
    value = one_number(work, node.expressions[0], node)
    if _is_long(value.type):
        found = call_function(work, "abs", [value], node)
        return Typed(found.sql, exact_numeric(value.type.digits_after), found.constant)
    return Typed(f"ABS({value.sql})", without_length(value.type))


def _whole(work: Work, node: exp.Anonymous) -> Typed:
    """ceil and floor: numeric for numerics, double precision for all other types, as in PostgreSQL."""
    name = node.name.lower().removesuffix("ing")
    value = one_number(work, node.expressions[0], node)
    if value.type.is_exact_text:
        return call_function(work, name, [value], node)
    if value.type.is_decimal:
        kind = numeric(min(value.type.precision - value.type.scale + 1, MAX_DIGITS), 0)
        return Typed(f"CAST({name.upper()}({value.sql}) AS {kind.spark})", kind)
    return call_function(work, name, [cast(work, value, DOUBLE, node)], node)


def _to_digits(work: Work, node: exp.Anonymous) -> Typed:
    name = node.name.lower()
    value, digits = one_number(work, node.expressions[0], node), "0"
    if len(node.expressions) > 1:
        digits = work.expression(node.expressions[1]).constant or ""
        value = exact_text(value) if value.type.is_integer else value
    kind = value.type
    if kind.is_decimal and digits.lstrip("-").isdigit() and 0 <= int(digits) <= kind.scale:
        result = numeric(min(kind.precision - kind.scale + 1 + int(digits), MAX_DIGITS), int(digits))
        return Typed(f"CAST({_TO_DIGITS[name].format(value.sql, digits)} AS {result.spark})", result)
    if kind.is_integer:
        value = cast(work, value, DOUBLE, node)
    found = call_function(work, name, [value, *map(work.expression, node.expressions[1:])], node)
    if found.type.is_exact_text and digits.isdigit() and int(digits) <= _FEW_DIGITS:
        # All values now have this many digits, so files can store them as decimals.
        result = numeric(MAX_DIGITS, int(digits))
        return Typed(f"CAST({found.sql} AS {result.spark})", result)
    return found


HANDLERS: dict[type, Handler] = {
    **dict.fromkeys(WORDS, _arithmetic),
    exp.Neg: _negate,
    Positive: _positive,
    exp.BitwiseNot: lambda work, node: call_function(work, "~", [work.expression(node.this)], node),
}
FUNCTIONS: dict[str, Handler] = {
    "abs": _absolute,
    **dict.fromkeys(("ceil", "ceiling", "floor"), _whole),
    **dict.fromkeys(_TO_DIGITS, _to_digits),
}
