"""PostgreSQL's types as the translation sees them, and their Spark types; no expressions."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import quoted
from dataflow.pipelines.shape.sql_types import NAMES, TYPES

MAX_DIGITS = 38  # of a Spark decimal


@record
class SqlType:
    """A PostgreSQL type, and how Spark stores its values.

    A numeric with a precision is a Spark DECIMAL, and every value has exactly `scale` decimal digits. Without
    a precision it is PostgreSQL's text of the number, because each value has its own number of digits.
    `fraction` is then the number of decimal digits that can be nonzero, -1 if unlimited. `declared` says
    whether PostgreSQL also knows the precision, scale or length: the result of `price * 2` has none.
    """

    name: str
    precision: int = 0
    scale: int = 0
    length: int = 0
    declared: bool = False
    element: SqlType | None = None
    fraction: int = -1

    @property
    def digits_after(self) -> int:
        """How many decimal digits an integer or numeric can have, not counting trailing zeros."""
        return self.fraction if self.is_exact_text else self.scale

    @property
    def is_integer(self) -> bool:
        """Whether it is smallint, integer or bigint."""
        return self.name in INTEGERS

    @property
    def is_exact(self) -> bool:
        """Whether it is an integer or numeric."""
        return self.name == "numeric" or self.is_integer

    @property
    def is_float(self) -> bool:
        """Whether it is real or double precision."""
        return self.name in FLOATS

    @property
    def is_time(self) -> bool:
        """Whether it is a date or timestamp."""
        return self.name in TIMES

    @property
    def is_decimal(self) -> bool:
        """Whether it is a numeric that Spark stores as a DECIMAL."""
        return self.name == "numeric" and self.precision > 0

    @property
    def is_exact_text(self) -> bool:
        """Whether it is a numeric that Spark stores as text."""
        return self.name == "numeric" and not self.precision

    @property
    def spark(self) -> str:
        """The Spark type that stores it."""
        if self.is_decimal:
            return f"DECIMAL({self.precision}, {self.scale})"
        if self.element is not None:
            return f"ARRAY<{self.element.spark}>"
        return _SPARK[self.name]

    @property
    def family(self) -> str:
        """Its name in signatures, where length and precision make no difference."""
        if self.element is not None:
            return f"{self.element.family}[]"
        return "text" if self.name in TEXTS else self.name

    @property
    def storable(self) -> bool:
        """Whether a dataset column can have it."""
        if self.element is not None:
            return self.element.storable and self.element.name not in ("json", "jsonb")
        return self.name not in ("interval", "bytea", "unknown")

    @property
    def postgres(self) -> str:
        """Its name in PostgreSQL."""
        if self.element is not None:
            return f"{self.element.postgres}[]"
        name = _OFFICIAL.get(self.name, self.name)
        if not self.declared:
            return "bpchar" if self.name == "bpchar" else name  # "character" would have a length of 1
        return f"{name}({self.length})" if self.length else f"{name}({self.precision},{self.scale})"


# The types whose names in signatures are not PostgreSQL's.
_SHORT = {
    "double precision": "double",
    "character varying": "varchar",
    "character": "bpchar",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}
_OFFICIAL = {short: name for name, short in _SHORT.items()}
_OFFICIAL |= {"unknown": "text"}  # a literal, which is text where nothing else decides
_NAMES = {alias: _SHORT.get(name, name) for alias, name in NAMES.items()}
_NAMES |= {"smallserial": "smallint", "serial": "integer", "bigserial": "bigint", "double": "double"}
_NAMES |= {"bytea": "bytea", "varbinary": "bytea", "interval": "interval"}
_SPARK = {_SHORT.get(name, name): spark.upper() for name, (_, _, spark) in TYPES.items()}
_SPARK |= {"numeric": "STRING", "unknown": "STRING", "bytea": "BINARY"}
_SPARK |= {"interval": "STRUCT<months: INT, days: INT, micros: BIGINT>"}

BOOLEAN, INTEGER, BIGINT = (SqlType(name) for name in ("boolean", "integer", "bigint"))
REAL, DOUBLE, TEXT, UNKNOWN = (SqlType(name) for name in ("real", "double", "text", "unknown"))
DATE, TIMESTAMP, TIMESTAMPTZ = (SqlType(name) for name in ("date", "timestamp", "timestamptz"))
NUMERIC, INTERVAL, JSON, JSONB = (SqlType(name) for name in ("numeric", "interval", "json", "jsonb"))

INTEGERS = ("smallint", "integer", "bigint")
FLOATS = ("real", "double")
NUMBERS = (*INTEGERS, "numeric", *FLOATS)
TEXTS = ("text", "varchar", "bpchar")
TIMES = ("date", "timestamp", "timestamptz")
_DIGITS = {"smallint": 5, "integer": 10, "bigint": 19}

_TYPE = re.compile(
    r"([a-z][a-z0-9 ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(with(?:out)? time zone)?", re.A
)


def read_type(text: str) -> SqlType:
    """The type with that PostgreSQL name; BadInput if views do not support it."""
    folded = " ".join(text.lower().split()).replace("numeric(*)", "numeric")
    if folded.endswith("]"):
        return SqlType("array", element=read_type(re.sub(r"\s*\[\s*\d*\s*\]$", "", folded)))
    found = _TYPE.fullmatch(folded)
    name = _NAMES.get(" ".join(filter(None, (found[1], found[4])))) if found else None
    if not found or name is None:
        raise BadInput(f"type {quoted(text)} is not supported on Spark")
    first, second = int(found[2] or 0), int(found[3] or 0)
    if name in ("varchar", "bpchar"):
        length = first or (1 if name == "bpchar" and folded in ("character", "char") else 0)
        return SqlType(name, length=length, declared=bool(length))
    if name == "numeric":
        return numeric(first, second, declared=True) if found[2] else NUMERIC
    if found[2] and not (name == "double" and folded.startswith("float(")):
        raise BadInput(f"type {quoted(text)} is not supported on Spark; write {name} without ({found[2]})")
    return REAL if name == "double" and 0 < first <= 24 else SqlType(name)


def type_of(family: str) -> SqlType:
    """The type with that name in signatures."""
    if family.endswith("[]"):
        return SqlType("array", element=type_of(family[:-2]))
    return SqlType(family)


def numeric(precision: int, scale: int, declared: bool = False) -> SqlType:
    """A numeric of that precision; BadInput if Spark does not support a declared one."""
    if 0 <= scale <= precision <= MAX_DIGITS and precision:
        return SqlType("numeric", precision, scale, declared=declared)
    if declared:
        raise BadInput(f"numeric({precision},{scale}) has more than Spark's limit of {MAX_DIGITS} digits")
    return NUMERIC


def as_numeric(kind: SqlType) -> SqlType:
    """The numeric that can represent every value of an integer or numeric type."""
    return kind if kind.name == "numeric" else SqlType("numeric", _DIGITS[kind.name])


def find_common(kinds: list[SqlType]) -> SqlType | None:
    """The common type that PostgreSQL chooses for these types; None if there is none."""
    known = [kind for kind in kinds if kind.name != "unknown"]
    if not known:
        return TEXT
    common = known[0]
    for kind in known[1:]:
        found = _join(common, kind)
        if found is None:
            return None
        common = found
    return without_length(common) if len(known) < len(kinds) else common


def without_length(kind: SqlType) -> SqlType:
    """The same type as a computed result: PostgreSQL drops a declared precision or length."""
    if kind.element is not None:
        return SqlType("array", element=without_length(kind.element))
    if kind.name == "numeric":
        return SqlType("numeric", kind.precision, kind.scale, fraction=kind.fraction)
    return SqlType(kind.name) if kind.declared else kind


def exact_numeric(*fractions: int, product: bool = False) -> SqlType:
    """A numeric kept as text, computed from values with that many decimal digits."""
    if min(fractions) < 0:
        return NUMERIC
    return SqlType("numeric", fraction=sum(fractions) if product else max(fractions))


def _join(left: SqlType, right: SqlType) -> SqlType | None:
    if left == right:
        return left
    names = {left.name, right.name}
    if names <= set(NUMBERS):
        return _join_numbers(left, right)
    if names <= set(TIMES):
        return SqlType(max(names, key=TIMES.index))
    if names <= set(TEXTS):
        return SqlType(left.name)  # of another length or kind: PostgreSQL casts either way, so the first wins
    if left.element and right.element:
        element = _join(left.element, right.element)
        same = element is not None and element.family == left.element.family == right.element.family
        return SqlType("array", element=element) if same else None
    return None


def _join_numbers(left: SqlType, right: SqlType) -> SqlType:
    names = {left.name, right.name}
    if names & set(FLOATS):
        return REAL if names == {"real"} else DOUBLE
    if "numeric" not in names:
        return SqlType(max(names, key=INTEGERS.index))
    first, second = as_numeric(left), as_numeric(right)
    if first.is_exact_text or second.is_exact_text or first.scale != second.scale:
        return exact_numeric(first.digits_after, second.digits_after)  # each value keeps its digits
    return SqlType("numeric", max(first.precision, second.precision), first.scale)
