"""Casts, explicit and implied, as PostgreSQL does them; constants are read here, not by Spark."""

from __future__ import annotations

import re
import sys
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.pipelines.sql import functions
from dataflow.pipelines.sql.types import (
    BIGINT,
    INTEGER,
    INTEGERS,
    NUMERIC,
    TIMES,
    SqlType,
    as_numeric,
    find_common,
    numeric,
    read_type,
)
from dataflow.pipelines.sql.work import Typed, Work, text_literal

_DATE = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
_OFFSET = r"(Z|[+-]\d{2}(:?\d{2})?)?"
_TIME_PATTERNS = {
    "date": _DATE,
    "timestamp": f"{_DATE}({_CLOCK})?",
    "timestamptz": f"{_DATE}({_CLOCK}{_OFFSET})?",
}
_BOOLEANS = {
    text: text[0] in "ty1" or text == "on"
    for text in (["true", "t", "yes", "y", "on", "1", "false", "f", "no", "n", "off", "0"])
}


def cast_node(work: Work, node: exp.Cast) -> Typed:
    """`x::type` and `cast(x as type)`."""
    target = node.args["to"]
    written = target.sql(dialect="postgres")
    length = re.fullmatch(r"(?:VARCHAR|CHARACTER VARYING)\((\d+)\)", written, re.IGNORECASE)
    try:
        kind = read_type(written)
    except BadInput:
        work.refuse(node, "casts to a type that has no equal in Spark")
    if (kind.element and not isinstance(node.this, exp.Literal)) or (kind.name in TIMES and "(" in written):
        work.refuse(node, "casts to a type that has no equal in Spark")
    value = work.expression(node.this)
    found = cast(work, value, kind, node)
    return Typed(f"SUBSTRING({found.sql}, 1, {length[1]})", found.type) if length else found


def cast(work: Work, value: Typed, target: SqlType, node: exp.Expr) -> Typed:
    """The value in another type, by PostgreSQL's rules; BadInput where Spark has no equal."""
    if value.type == target:
        return value
    if value.type.name == "unknown":
        return _read_constant(work, value, target, node)
    if target.name == "numeric":
        return _to_numeric(work, value, target, node)
    if target.name == "text":
        return to_text(work, value, node)
    plain = f"CAST({value.sql} AS {target.spark})" if target.name != "interval" else ""
    source = value.type.name
    if source == "text" and target.name in TIMES:
        return Typed(_guarded(value.sql, _TIME_PATTERNS[target.name], plain, target), target)
    if target.name in INTEGERS and source in ("numeric", "real", "double"):
        rounded = f"ROUND({value.sql}, 0)" if source == "numeric" else f"RINT({value.sql})"
        return Typed(f"CAST({rounded} AS {target.spark})", target)
    if source == "double" and target.name == "real":
        return Typed(_in_range_of_real(value.sql, plain), target)
    if (source, target.name) in _PLAIN or (source in TIMES and target.name in TIMES):
        return Typed(plain, target)
    work.refuse(node, f"casts {value.type.postgres} to {target.postgres}, which has no equal in Spark")


def _in_range_of_real(double: str, real: str) -> str:
    """PostgreSQL refuses what only became infinite or zero; Spark gives it out."""
    infinite = "ABS({}) = DOUBLE('Infinity')"
    lost = f"({infinite.format(real)} AND NOT {infinite.format(double)}) OR ({real} = 0 AND {double} <> 0)"
    return f"CASE WHEN {lost} THEN RAISE_ERROR('value out of range of real') ELSE {real} END"


_INTEGER_PAIRS = {(source, target) for source in INTEGERS for target in (*INTEGERS, "real", "double")}
_PLAIN = _INTEGER_PAIRS | {
    (source, target) for source in ("real", "double", "numeric") for target in ("real", "double")
}
_PLAIN |= {("text", target) for target in (*INTEGERS, "boolean")}
_PLAIN |= {("integer", "boolean"), ("boolean", "integer"), ("text", "json"), ("uuid", "json")}


def to_text(work: Work, value: Typed, node: exp.Expr) -> Typed:
    """The value as PostgreSQL writes it."""
    name, text = value.type.name, read_type("text")
    if name in ("text", "unknown"):
        return Typed(value.sql, text, value.constant)
    if name in ("uuid", *INTEGERS, "boolean") or (name == "numeric" and value.type.fixed):
        return Typed(f"CAST({value.sql} AS STRING)", text)
    if name in TIMES:
        # Spark puts a sign before the year 10000.
        written = f"TRIM(LEADING '+' FROM CAST({value.sql} AS STRING))"
        written = f"CONCAT({written}, '+00')" if name == "timestamptz" else written
        error = "RAISE_ERROR('a year before 1 is not turned into text')"
        return Typed(f"CASE WHEN YEAR({value.sql}) < 1 THEN {error} ELSE {written} END", text)
    work.refuse(node, f"turns {value.type.postgres} into text, which Spark writes differently")


def unify(work: Work, values: list[Typed], node: exp.Expr) -> list[Typed]:
    """All values in the one type PostgreSQL would give them together."""
    common = find_common([value.type for value in values])
    if common is not None and common.name == "numeric":
        # A text written out becomes a numeric with all of its digits, whatever the column beside it keeps.
        values = [read_beside(work, value, common, node) for value in values]
        common = find_common([value.type for value in values])
    if common is None:
        kinds = ", ".join(dict.fromkeys(value.type.postgres for value in values))
        work.refuse(node, f"mixes types that do not go together ({kinds}); add a cast")
    return [cast(work, value, common, node) for value in values]


def read_beside(work: Work, value: Typed, other: SqlType, node: exp.Expr) -> Typed:
    """A text written out beside a value of another type, read as that type; anything else as it is."""
    if value.type.name != "unknown" or value.constant is None or other.name == "unknown":
        return value
    return cast(work, value, NUMERIC if other.name == "numeric" else other, node)


def number_literal(text: str) -> Typed:
    """A number written in SQL: integer, bigint or numeric, never floating."""
    value = Decimal(text)
    if re.fullmatch(r"\d+", text) and value < 2**63:
        small = value < 2**31
        return Typed(text if small else f"{text}L", INTEGER if small else BIGINT, text)
    return Typed(*_numeric_literal(value), text)


def _numeric_literal(value: Decimal, target: SqlType | None = None) -> tuple[str, SqlType]:
    scale = max(-int(value.as_tuple().exponent), 0)
    kind = target or numeric(max(value.adjusted() + 1 + scale, scale, 1), scale)
    return f"CAST('{value:f}' AS {kind.spark})", kind


def _to_numeric(work: Work, value: Typed, target: SqlType, node: exp.Expr) -> Typed:
    source, bare = value.type.name, target == NUMERIC
    if source in (*INTEGERS, "numeric"):
        # Without precision the cast changes nothing in PostgreSQL: the digits stay those of the source.
        kind = as_numeric(value.type) if bare else target
        return Typed(
            f"CAST({value.sql} AS {kind.spark})", kind, value.constant if bare or source in INTEGERS else None
        )
    if source in ("real", "double"):
        function = functions.number_from_double(NUMERIC.scale, 15 if source == "double" else 6)
        exact = work.call(function, f"CAST({value.sql} AS DOUBLE)")
        return Typed(exact if bare else f"CAST({exact} AS {target.spark})", target)
    if source == "text":
        exact = work.call(functions.number_from_text(NUMERIC.scale), value.sql)
        return Typed(exact if bare else f"CAST({exact} AS {target.spark})", target)
    work.refuse(node, f"casts {value.type.postgres} to numeric, which PostgreSQL does not do")


def _read_constant(work: Work, value: Typed, target: SqlType, node: exp.Expr) -> Typed:
    if value.constant is None:
        return Typed(f"CAST(NULL AS {target.spark})", target)
    text = value.constant
    try:
        sql, kind = _write_constant(text, target)
    except (ValueError, InvalidOperation, KeyError):
        work.refuse(node, f"holds {text!r}, which cannot be read as {target.postgres}")
    return Typed(sql, kind, text)


def _write_constant(text: str, target: SqlType) -> tuple[str, SqlType]:
    name, stripped = target.name, text.strip()
    if name in ("text", "json"):
        return text_literal(text), target
    if name == "uuid":
        return f"'{uuid.UUID(stripped)}'", target
    if name == "boolean":
        return str(_BOOLEANS[stripped.lower()]).upper(), target
    if name in INTEGERS:
        return f"CAST({int(stripped)} AS {target.spark})", target
    if name in ("real", "double"):
        return f"CAST('{_read_float(stripped, name)!r}' AS {target.spark})", target
    if name == "numeric":
        number = Decimal(stripped)
        return _numeric_literal(number, None if target == NUMERIC else target)
    if name in TIMES:
        return _write_time(stripped, name), target
    if target.element and re.fullmatch(r'\{[^"\\{}]*\}', stripped):
        return _write_array(stripped[1:-1].strip(), target, target.element)
    raise ValueError(text)


def _read_float(text: str, name: str) -> float:
    value = float(text)
    largest, smallest = (3.4028235e38, 1.4e-45) if name == "real" else (sys.float_info.max, 5e-324)
    # PostgreSQL refuses what its type cannot hold, also what is too near to zero.
    if Decimal(text).is_finite() and Decimal(text) and not smallest <= abs(value) <= largest:
        raise ValueError(text)
    return value


def _write_array(text: str, target: SqlType, element: SqlType) -> tuple[str, SqlType]:
    parts = [part.strip() for part in text.split(",")] if text else []
    if any(part.lower() in ("", "null") for part in parts):
        raise ValueError(text)
    items = [_write_constant(part, element) for part in parts]
    common = find_common([kind for _, kind in items]) if items else element
    kind = SqlType("array", element=common)
    return f"CAST(ARRAY({', '.join(sql for sql, _ in items)}) AS {kind.spark})", kind


def _write_time(text: str, name: str) -> str:
    if not re.fullmatch(_TIME_PATTERNS["timestamptz"], text, re.ASCII):
        raise ValueError(text)
    if name == "date":
        return f"DATE '{date.fromisoformat(text[:10])}'"
    time = datetime.fromisoformat(text)
    if name == "timestamp":
        # PostgreSQL does not heed an offset here.
        return f"TIMESTAMP_NTZ '{time.replace(tzinfo=None)}'"
    return f"TIMESTAMP '{(time.replace(tzinfo=time.tzinfo or UTC)).astimezone(UTC)}'"


def _guarded(sql: str, pattern: str, converted: str, target: SqlType) -> str:
    message = text_literal(f"text that is not a {target.postgres} written like 2020-12-31 12:30:00: ")
    test = f"{sql} RLIKE {text_literal(f'^{pattern}' + chr(92) + 'z')}"
    return (
        f"CASE WHEN {sql} IS NULL OR {test} THEN {converted} ELSE RAISE_ERROR(CONCAT({message}, {sql})) END"
    )
