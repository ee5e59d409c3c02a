"""Arithmetic with PostgreSQL's results: integer division, numerics without lost digits, rounding."""

from __future__ import annotations

from decimal import Context, Decimal

from sqlglot import exp

from dataflow.pipelines.sql import functions
from dataflow.pipelines.sql.casting import cast, read_beside, unify
from dataflow.pipelines.sql.times import add_times, scale_interval
from dataflow.pipelines.sql.types import (
    DOUBLE,
    INTEGERS,
    MAX_DIGITS,
    NUMBERS,
    SqlType,
    as_numeric,
    numeric,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work

_WORDS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_EXACTLY = {exp.Add: "add", exp.Sub: "subtract", exp.Mod: "remainder"}
_LEAST_SCALE, _SOME_SCALE, _MOST_SCALE = 20, 24, 28  # PostgreSQL shows 20 digits of 1/3, 28 of 1e-8/3
_LARGE_DOUBLE = "4503599627370496D"  # from here on every double is a whole number


def _arithmetic(work: Work, node: exp.Binary) -> Typed:
    left, right = work.expression(node.this), work.expression(node.expression)
    if found := _with_times(work, node, left, right):
        return found
    left, right = _both_numbers(work, node, left, right)
    if "numeric" in (left.type.name, right.type.name):
        return _numeric(work, node, left, right)
    left, right = unify(work, [left, right], node)
    kind = left.type
    if isinstance(node, exp.Div) and kind.name in INTEGERS:
        return Typed(f"CAST(({left.sql} DIV {right.sql}) AS {kind.spark})", kind)
    if isinstance(node, exp.Mod) and kind.name not in INTEGERS:
        work.refuse(node, "takes the remainder of floating point numbers")
    return Typed(f"({left.sql} {_WORDS[type(node)]} {right.sql})", kind)


def _with_times(work: Work, node: exp.Binary, left: Typed, right: Typed) -> Typed | None:
    if isinstance(node, exp.Add | exp.Sub):
        return add_times(work, node, left, right)
    return scale_interval(work, node, left, right) if isinstance(node, exp.Mul) else None


def _both_numbers(work: Work, node: exp.Binary, left: Typed, right: Typed) -> tuple[Typed, Typed]:
    left, right = (
        read_beside(work, left, right.type, node),
        read_beside(work, right, left.type, node),
    )
    if "unknown" in (left.type.name, right.type.name):
        left, right = unify(work, [left, right], node)
    if left.type.name not in NUMBERS or right.type.name not in NUMBERS:
        work.refuse(node, f"calculates with {left.type.postgres} and {right.type.postgres}")
    if {left.type.name, right.type.name} & {"real", "double"}:
        left, right = unify(work, [left, right], node)
    return left, right


def _numeric(work: Work, node: exp.Binary, left: Typed, right: Typed) -> Typed:
    left, right = (cast(work, each, as_numeric(each.type), node) for each in (left, right))
    if isinstance(node, exp.Div):
        return divide(work, node, left, right)
    if isinstance(node, exp.Mul):
        return _multiply(work, left, right)
    return _add(work, node, left, right)


def _add(work: Work, node: exp.Binary, left: Typed, right: Typed) -> Typed:
    """Sum, difference or remainder, exactly."""
    scale = max(left.type.scale, right.type.scale)
    whole = max(each.type.precision - each.type.scale for each in (left, right)) + 1
    fixed = left.type.fixed and right.type.fixed
    if whole + scale > MAX_DIGITS:
        # Spark would cut digits after the point.
        kind = SqlType("numeric", MAX_DIGITS, scale, fixed)
        return Typed(work.call(functions.exact(_EXACTLY[type(node)], scale), left.sql, right.sql), kind)
    kind = SqlType("numeric", whole + scale, scale, fixed)
    return Typed(f"CAST(({left.sql} {_WORDS[type(node)]} {right.sql}) AS {kind.spark})", kind)


def _multiply(work: Work, left: Typed, right: Typed) -> Typed:
    digits = left.type.precision + right.type.precision + 1
    full = left.type.scale + right.type.scale
    fixed = left.type.fixed and right.type.fixed
    if digits <= MAX_DIGITS:
        return Typed(f"({left.sql} * {right.sql})", SqlType("numeric", digits, full, fixed))
    scale = min(full, _SOME_SCALE)
    kind = SqlType("numeric", MAX_DIGITS, scale, fixed and scale == full)
    return Typed(work.call(functions.exact("multiply", scale), left.sql, right.sql), kind)


def divide(work: Work, node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """PostgreSQL's numeric division, which rounds to a number of digits that depends on the values."""
    for each in (left, right):
        if not each.type.fixed and not each.type.own:
            # How many digits PostgreSQL shows of it, and so how far it divides, is known to PostgreSQL alone.
            work.refuse(
                node, "divides a result that has no fixed scale; round it or cast it to numeric(p,s) first"
            )
    if found := _multiply_by_inverse(left, right):
        return found
    scale = quotient_scale(left, right)
    function = functions.division(scale, left.type.fixed, right.type.fixed)
    kind = SqlType("numeric", MAX_DIGITS, scale, fixed=False)
    return Typed(work.call(function, left.sql, right.sql), kind)


def quotient_scale(left: Typed, right: Typed) -> int:
    """Digits after the point to keep, of 38: enough for quotients of usual size; an error for others."""
    whole = left.type.precision - left.type.scale
    if right.constant is not None and (divisor := Decimal(right.constant)):
        whole -= divisor.adjusted()
    elif whole > MAX_DIGITS - _MOST_SCALE:
        return _SOME_SCALE
    return max(min(MAX_DIGITS - whole, _MOST_SCALE), _LEAST_SCALE)


def _multiply_by_inverse(left: Typed, right: Typed) -> Typed | None:
    """Division by a number written out, such as 100, where no value is so large that rounding sets in."""
    divisor = Decimal(right.constant) if right.constant is not None else Decimal(0)
    if not divisor or not _ends(divisor):
        return None
    inverse = Context(prec=100).divide(Decimal(1), divisor).normalize(Context(prec=100))
    digits = max(-int(inverse.as_tuple().exponent), 0)
    scale, whole = left.type.scale + digits, left.type.precision - left.type.scale
    fewest = 16 - 4 * ((whole + 3) // 4 - 1 - divisor.adjusted() // 4)
    size = max(inverse.adjusted() + 1, 0) + digits
    if scale > max(fewest, left.type.scale, right.type.scale) or left.type.precision + size + 1 > MAX_DIGITS:
        return None
    kind = SqlType("numeric", left.type.precision + size + 1, scale, fixed=False)
    return Typed(f"({left.sql} * CAST('{inverse:f}' AS DECIMAL({size}, {digits})))", kind)


def _ends(divisor: Decimal) -> bool:
    """Whether 1/divisor has an end: no prime factors other than 2 and 5."""
    rest = abs(divisor.as_integer_ratio()[0])
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return rest == 1


def _negate(work: Work, node: exp.Neg) -> Typed:
    value = _one_number(work, node)
    constant = f"-{value.constant}" if value.constant and not value.constant.startswith("-") else None
    if _is_long(value.type):
        return Typed(work.call(functions.exact("minus", value.type.scale), value.sql), value.type)
    return Typed(f"(- {value.sql})", value.type, constant)


def _is_long(kind: SqlType) -> bool:
    """Spark's minus and ABS round decimals to 34 digits."""
    return kind.name == "numeric" and kind.precision > 34


def _one_number(work: Work, node: exp.Expr) -> Typed:
    value = work.expression(node.this)
    if value.type.name == "unknown":
        value = cast(work, value, DOUBLE, node)
    if value.type.name not in NUMBERS:
        work.refuse(node, f"calculates with {value.type.postgres}")
    return value


def _absolute(work: Work, node: exp.Abs) -> Typed:
    value = _one_number(work, node)
    if _is_long(value.type):
        return Typed(work.call(functions.exact("abs", value.type.scale), value.sql), value.type)
    return Typed(f"ABS({value.sql})", value.type)


def _whole(word: str) -> Handler:
    """ceil and floor: numeric for numerics, double for all else, as in PostgreSQL."""

    def handle(work: Work, node: exp.Func) -> Typed:
        if node.args.get("decimals") is not None or node.args.get("to") is not None:
            work.refuse(node, "has no translation to Spark SQL")
        value = _one_number(work, node)
        if value.type.name == "numeric":
            kind = numeric(min(value.type.precision - value.type.scale + 1, MAX_DIGITS), 0)
            return Typed(f"CAST({word}({value.sql}) AS {kind.spark})", kind)
        value = cast(work, value, DOUBLE, node)
        whole = f"CAST({word}({value.sql}) AS DOUBLE)"
        return Typed(
            f"CASE WHEN ABS({value.sql}) >= {_LARGE_DOUBLE} THEN {value.sql} ELSE {whole} END", DOUBLE
        )

    return handle


def _round(work: Work, node: exp.Round) -> Typed:
    value, digits = _rounding(work, node)
    if value.type.name != "numeric":
        return Typed(f"RINT({value.sql})", DOUBLE)
    return _with_scale(f"ROUND({value.sql}, {digits})", value.type, digits)


def _truncate(work: Work, node: exp.Trunc) -> Typed:
    value, digits = _rounding(work, node)
    if value.type.name != "numeric":
        work.refuse(node, "cuts a floating point number; cast it to numeric")
    cut = f"CASE WHEN {value.sql} < 0 THEN CEIL({value.sql}, {digits}) ELSE FLOOR({value.sql}, {digits}) END"
    return _with_scale(cut, value.type, digits)


def _rounding(work: Work, node: exp.Func) -> tuple[Typed, int]:
    value, decimals = _one_number(work, node), node.args.get("decimals")
    if decimals is None:
        number = cast(work, value, DOUBLE, node) if value.type.name in (*INTEGERS, "real") else value
        return number, 0
    digits = work.expression(decimals).constant
    if digits is None:
        work.refuse(node, "rounds to a number of digits that is not written out")
    if value.type.name in ("real", "double"):
        work.refuse(node, "rounds a floating point number to digits; cast it to numeric")
    return cast(work, value, as_numeric(value.type), node), int(digits)


def _with_scale(sql: str, kind: SqlType, digits: int) -> Typed:
    scale = max(digits, 0)
    result = numeric(min(kind.precision - kind.scale + 1 + scale, MAX_DIGITS), min(scale, MAX_DIGITS))
    return Typed(f"CAST({sql} AS {result.spark})", result)


def _square_root(work: Work, node: exp.Sqrt) -> Typed:
    value = _one_number(work, node)
    if value.type.name == "numeric":
        work.refuse(node, "takes the root of a numeric; cast it to double precision")
    root = cast(work, value, DOUBLE, node).sql
    error = "RAISE_ERROR('cannot take square root of a negative number')"
    return Typed(f"CASE WHEN {root} < 0 THEN {error} ELSE SQRT({root}) END", DOUBLE)


def _sign(work: Work, node: exp.Sign) -> Typed:
    value = _one_number(work, node)
    if value.type.name == "numeric":
        return Typed(f"CAST(SIGN({value.sql}) AS DECIMAL(1, 0))", numeric(1, 0))
    return Typed(f"SIGN({cast(work, value, DOUBLE, node).sql})", DOUBLE)


HANDLERS: dict[type, Handler] = {
    **dict.fromkeys(_WORDS, _arithmetic),
    exp.Neg: _negate,
    exp.Abs: _absolute,
    exp.Ceil: _whole("CEIL"),
    exp.Floor: _whole("FLOOR"),
    exp.Round: _round,
    exp.Trunc: _truncate,
    exp.Sqrt: _square_root,
    exp.Sign: _sign,
}
