"""PostgreSQL's types as the translation sees them, and what each is in Spark; no expressions."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import quoted

MAX_DIGITS = 38  # of a Spark decimal
BARE_SCALE = 18  # of a PostgreSQL numeric without precision, as it is kept in Spark


@record
class SqlType:
    """A PostgreSQL type.

    `fixed` tells that every value of a numeric shows exactly `scale` digits, `own` that each shows as many as
    it has; of other numerics, results of arithmetic, only PostgreSQL knows how many they show.
    """

    name: str
    precision: int = 0
    scale: int = 0
    fixed: bool = True
    own: bool = False
    element: SqlType | None = None

    @property
    def spark(self) -> str:
        """The Spark type that holds it."""
        if self.name == "numeric":
            return f"DECIMAL({self.precision}, {self.scale})"
        if self.element is not None:
            return f"ARRAY<{self.element.spark}>"
        return _SPARK[self.name]

    @property
    def storable(self) -> bool:
        """Whether a column may have it."""
        return self.name == "numeric" or self.name in _SPARK or bool(self.element and self.element.storable)

    @property
    def postgres(self) -> str:
        """Its name in PostgreSQL."""
        if self.name == "numeric":
            return f"numeric({self.precision},{self.scale})" if self.fixed else "numeric"
        if self.element is not None:
            return f"{self.element.postgres}[]"
        return _POSTGRES.get(self.name, self.name)


_SPARK = {
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer": "INT",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "text": "STRING",
    "unknown": "STRING",
    "uuid": "STRING",
    "json": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
    "bytea": "BINARY",
}
_POSTGRES = {
    "double": "double precision",
    "timestamptz": "timestamp with time zone",
    "unknown": "text",
    "json": "jsonb",
}

BOOLEAN, SMALLINT, INTEGER, BIGINT = (SqlType(name) for name in ("boolean", "smallint", "integer", "bigint"))
REAL, DOUBLE, TEXT, UNKNOWN = (SqlType(name) for name in ("real", "double", "text", "unknown"))
DATE, TIMESTAMP, TIMESTAMPTZ = (SqlType(name) for name in ("date", "timestamp", "timestamptz"))
SPAN = SqlType("interval")  # the difference of two times, or a constant without months
MONTHS = SqlType("interval of months")  # may be added to a time; no number of days, so not to be compared
NUMERIC = SqlType("numeric", MAX_DIGITS, BARE_SCALE, fixed=False, own=True)

INTEGERS = ("smallint", "integer", "bigint")
NUMBERS = (*INTEGERS, "numeric", "real", "double")
TIMES = ("date", "timestamp", "timestamptz")
_DIGITS = {"smallint": 5, "integer": 10, "bigint": 19}

_ALIASES = {
    "boolean": ("boolean", "bool"),
    "smallint": ("smallint", "int2", "smallserial"),
    "integer": ("integer", "int", "int4", "serial"),
    "bigint": ("bigint", "int8", "bigserial"),
    "numeric": ("numeric", "decimal", "dec"),
    "real": ("real", "float4"),
    "double": ("double precision", "float8", "float", "double"),
    "text": ("text", "character varying", "varchar"),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamp without time zone"),
    "timestamptz": ("timestamptz", "timestamp with time zone"),
    "uuid": ("uuid",),
    "json": ("json", "jsonb"),
    "bytea": ("bytea",),
    "interval": ("interval",),
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}
_TYPE = re.compile(
    r"([a-z][a-z0-9 ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(with(?:out)? time zone)?", re.A
)


def read_type(text: str) -> SqlType:
    """The type of that PostgreSQL name; BadInput if views cannot work with it."""
    folded = " ".join(text.lower().split())
    if folded.endswith("]"):
        inner = read_type(re.sub(r"\s*\[\s*\d*\s*\]$", "", folded))
        return SqlType("array", element=inner)
    found = _TYPE.fullmatch(folded)
    name = _NAMES.get(" ".join(filter(None, (found[1], found[4])))) if found else None
    if not found or name is None:
        raise BadInput(f'type {quoted(text)} is not one that views can use. For others: dialect = "spark"')
    return numeric(int(found[2]), int(found[3] or 0)) if name == "numeric" and found[2] else _plain(name)


def _plain(name: str) -> SqlType:
    return NUMERIC if name == "numeric" else SqlType(name)


def numeric(precision: int, scale: int, fixed: bool = True) -> SqlType:
    """A numeric of that many digits; BadInput if Spark cannot hold them."""
    if not 0 <= scale <= precision <= MAX_DIGITS:
        raise BadInput(f"numeric({precision},{scale}) does not fit into the {MAX_DIGITS} digits Spark has")
    return SqlType("numeric", precision, scale, fixed)


def as_numeric(kind: SqlType) -> SqlType:
    """The numeric that holds every value of an integer or numeric type."""
    return kind if kind.name == "numeric" else SqlType("numeric", _DIGITS[kind.name])


def find_common(kinds: list[SqlType]) -> SqlType | None:
    """The type PostgreSQL gives to values of these types taken together; None if it has none."""
    known = [kind for kind in kinds if kind.name != "unknown"]
    if not known:
        return TEXT
    common = known[0]
    for kind in known[1:]:
        found = _join(common, kind)
        if found is None:
            return None
        common = found
    return common


def _join(left: SqlType, right: SqlType) -> SqlType | None:
    if left == right:
        return left
    names = {left.name, right.name}
    if names <= set(NUMBERS):
        return _join_numbers(left, right)
    if names <= set(TIMES):
        return SqlType(max(names, key=TIMES.index))
    if left.element and right.element and (element := _join(left.element, right.element)) == left.element:
        return SqlType("array", element=element)
    return None


def _join_numbers(left: SqlType, right: SqlType) -> SqlType:
    names = {left.name, right.name}
    if names & {"real", "double"}:
        return REAL if names == {"real"} else DOUBLE
    if "numeric" not in names:
        return SqlType(max(names, key=INTEGERS.index))
    first, second = as_numeric(left), as_numeric(right)
    scale = max(first.scale, second.scale)
    whole = max(first.precision - first.scale, second.precision - second.scale)
    fixed = first.fixed and second.fixed and first.scale == second.scale
    own = not fixed and all(kind.fixed or kind.own for kind in (first, second))
    return SqlType("numeric", min(whole + scale, MAX_DIGITS), scale, fixed, own)
