"""Trigonometric, hyperbolic and error functions of PostgreSQL's double precision."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial

from dataflow.pipelines.pg_functions.floats import INFINITY, NAN, divide, multiply
from dataflow.pipelines.pg_functions.signatures import Calls, for_each

_DEGREE = 0.0174532925199432957692

_SIN_30 = math.sin(30.0 * _DEGREE)
_ONE_MINUS_COS_60 = 1.0 - math.cos(60.0 * _DEGREE)
_ASIN_HALF, _ACOS_HALF, _ATAN_ONE = math.asin(0.5), math.acos(0.5), math.atan(1.0)


def ranged(call: Callable[[float], float], low: float, high: float) -> Callable[[float], float]:
    """Wrap a function to refuse values outside its domain; NaN gives NaN."""

    def checked(value: float) -> float:
        if math.isnan(value):
            return NAN
        if not low <= value <= high:
            raise ValueError("input is out of range")
        return call(value)

    return checked


def finite(call: Callable[[float], float]) -> Callable[[float], float]:
    """Wrap a function to refuse infinity."""
    return ranged(call, -sys.float_info.max, sys.float_info.max)


def cotangent(value: float) -> float:
    tangent = math.tan(value)
    return 1.0 / tangent if tangent else math.copysign(INFINITY, tangent)


def _or_infinity(call: Callable[[float], float], value: float) -> float:
    """The function's value; infinity if that is out of range."""
    try:
        return call(value)
    except OverflowError:
        return math.copysign(INFINITY, value)


def area_tangent(value: float) -> float:
    return math.copysign(INFINITY, value) if abs(value) == 1 else math.atanh(value)


def arc_cosine_degrees(value: float) -> float:
    if value < 0:
        return 90.0 + _arc_sine_quarter(-value)
    if value <= 0.5:
        return 90.0 - (math.asin(value) / _ASIN_HALF) * 30.0
    return (math.acos(value) / _ACOS_HALF) * 60.0


def sine_degrees(value: float) -> float:
    angle, sign, _ = _reduced(value)
    return sign * _sine_quarter(angle)


def cosine_degrees(value: float) -> float:
    angle, _, sign = _reduced(value)
    return sign * _cosine_quarter(angle)


def tangent_degrees(value: float, is_inverse: bool = False) -> float:
    """The tangent, or its inverse, the cotangent."""
    angle, sine_sign, cosine_sign = _reduced(value)
    over, under, unit = _sine_quarter(angle), _cosine_quarter(angle), _TAN_45
    if is_inverse:
        over, under, unit = under, over, _COT_45
    found = over / under / unit if under else math.copysign(INFINITY, under)
    return sine_sign * cosine_sign * found + 0.0  # avoids minus zero


def _reduced(value: float) -> tuple[float, int, int]:
    """The angle in the first quadrant, and the signs of its sine and cosine."""
    angle, sine_sign, cosine_sign = math.fmod(value, 360.0), 1, 1
    if angle < 0:
        angle, sine_sign = -angle, -1
    if angle > 180:
        angle, sine_sign = 360.0 - angle, -sine_sign
    if angle > 90:
        angle, cosine_sign = 180.0 - angle, -1
    return angle, sine_sign, cosine_sign


def _arc_sine_quarter(value: float) -> float:
    if value <= 0.5:
        return (math.asin(value) / _ASIN_HALF) * 30.0
    return 90.0 - (math.acos(value) / _ACOS_HALF) * 60.0


def _sine_to_30(angle: float) -> float:
    return (math.sin(angle * _DEGREE) / _SIN_30) / 2.0


def _cosine_to_60(angle: float) -> float:
    return 1.0 - ((1.0 - math.cos(angle * _DEGREE)) / _ONE_MINUS_COS_60) / 2.0


def _sine_quarter(angle: float) -> float:
    return _sine_to_30(angle) if angle <= 30 else _cosine_to_60(90.0 - angle)


def _cosine_quarter(angle: float) -> float:
    return _cosine_to_60(angle) if angle <= 60 else _sine_to_30(90.0 - angle)


_TAN_45 = _sine_quarter(45.0) / _cosine_quarter(45.0)
_COT_45 = _cosine_quarter(45.0) / _sine_quarter(45.0)

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": finite(math.sin),
    "cos": finite(math.cos),
    "tan": finite(math.tan),
    "cot": finite(cotangent),
    "asin": ranged(math.asin, -1, 1),
    "acos": ranged(math.acos, -1, 1),
    "atan": math.atan,
    "sind": finite(sine_degrees),
    "cosd": finite(cosine_degrees),
    "tand": finite(tangent_degrees),
    "cotd": finite(partial(tangent_degrees, is_inverse=True)),
    "asind": ranged(lambda value: math.copysign(_arc_sine_quarter(abs(value)), value), -1, 1),
    "acosd": ranged(arc_cosine_degrees, -1, 1),
    "atand": lambda value: math.atan(value) / _ATAN_ONE * 45.0,
    "sinh": partial(_or_infinity, math.sinh),
    "cosh": lambda value: _or_infinity(math.cosh, abs(value)),
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": ranged(math.acosh, 1, INFINITY),
    "atanh": ranged(area_tangent, -1, 1),
    "erf": math.erf,
    "erfc": math.erfc,
    "degrees": lambda value: divide(value, _DEGREE),
    "radians": lambda value: multiply(value, _DEGREE),
}

SIGNATURES: Calls = {
    **for_each("{}(double) -> double", _FUNCTIONS),
    "atan2(double, double) -> double": math.atan2,
    "atan2d(double, double) -> double": lambda y, x: math.atan2(y, x) / _ATAN_ONE * 45.0,
    "pi() -> double": lambda: math.pi,
}
