"""The PostgreSQL types a column may have, parsed from a field mapping, and their Arrow and Spark types.

DDL contains only text generated from the parsed record, never the text written in the mapping.
"""

from __future__ import annotations

import re

import pyarrow as pa

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted

# Arrow's decimal128 and Spark's decimal both end at 38 digits. In the lake a bare `numeric` is centred:
# 20 digits before the point and 18 after. A value that does not fit is rejected, never rounded.
MOST_DIGITS = 38
BARE_NUMERIC = (38, 18)
UNLIMITED = "numeric(*)"
"""A numeric kept as text, because its values keep as many digits as they have."""

TYPES: dict[str, tuple[tuple[str, ...], pa.DataType, str]] = {
    "character varying": (("varchar",), pa.string(), "string"),
    "character": (("char", "bpchar"), pa.string(), "string"),
    "text": ((), pa.string(), "string"),
    "uuid": ((), pa.string(), "string"),
    "smallint": (("int2",), pa.int16(), "smallint"),
    "integer": (("int", "int4"), pa.int32(), "int"),
    "bigint": (("int8",), pa.int64(), "bigint"),
    "numeric": (("decimal", "dec"), pa.decimal128(*BARE_NUMERIC), "decimal"),
    "boolean": (("bool",), pa.bool_(), "boolean"),
    "date": ((), pa.date32(), "date"),
    "timestamp with time zone": (("timestamptz",), pa.timestamp("us", "UTC"), "timestamp"),
    "timestamp without time zone": (("timestamp",), pa.timestamp("us"), "timestamp_ntz"),
    "double precision": (("float8", "float"), pa.float64(), "double"),
    "real": (("float4",), pa.float32(), "float"),
    "json": ((), pa.string(), "string"),
    "jsonb": ((), pa.string(), "string"),
}
"""The types by full name: aliases, Arrow type, Spark type. The digits of a numeric depend on the column."""

INTEGERS = ("smallint", "integer", "bigint")
FLOATS = ("double precision", "real")
NUMBERS = (*INTEGERS, "numeric", *FLOATS)
TEXTS = ("text", "character varying", "character")
TIMES = ("date", "timestamp with time zone", "timestamp without time zone")

NAMES = {alias: name for name, (aliases, *_) in TYPES.items() for alias in (name, *aliases)}
_CONSTRAINT_WORDS = {
    "not", "null", "primary", "unique", "default", "check", "references",
    "collate", "generated", "constraint", "deferrable", "exclude",
}  # fmt: skip
# These match tokens joined by spaces. PostgreSQL allows a size in the brackets and ignores it.
_ARRAY = re.compile(r"(?:^| )(?:array|\[(?: [0-9]+)? \])$")
_TYPE = re.compile(r"((?:[a-z_]\w* ?)+)(?:\( ([0-9]+) (?:, ([0-9]+) )?\))?((?: [a-z_]\w*)*)")
_CONSTRAINT = re.compile(r"(not null|null|primary key|unique)(?: |$)")
_LONGEST_TEXT = 10_485_760  # PostgreSQL's limit for character varying(n)


@record
class ColumnType:
    """A PostgreSQL type by its full name; `element` is set for an array, whose name is `array`."""

    name: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    element: ColumnType | None = None
    unlimited: bool = False

    @property
    def sql(self) -> str:
        """The type as PostgreSQL writes it, except for a numeric that is kept as text."""
        if self.element is not None:
            return f"{self.element.sql}[]"
        if self.unlimited:
            return UNLIMITED
        if self.length is not None:
            return f"{self.name}({self.length})"
        return self.name if self.precision is None else f"{self.name}({self.precision},{self.scale})"

    @property
    def ddl(self) -> str:
        """The type of the column in a table."""
        return self.sql.replace(UNLIMITED, "numeric")

    @property
    def exact(self) -> ColumnType:
        """The same type, keeping every digit of a bare numeric, for a database that stores them."""
        if self.element is not None:
            return ColumnType(self.name, element=self.element.exact)
        is_bare = self.name == "numeric" and self.precision is None
        return ColumnType("numeric", unlimited=True) if is_bare else self

    @property
    def digits(self) -> tuple[int, int]:
        """Precision and scale of a numeric in batches."""
        return BARE_NUMERIC if self.precision is None or self.scale is None else (self.precision, self.scale)

    @property
    def arrow(self) -> pa.DataType:
        """The column's type in batches for the lake; a uuid is lower-case text."""
        return self.arrow_type(uuid_as_bytes=False)

    def arrow_type(self, uuid_as_bytes: bool) -> pa.DataType:
        """The column's type in batches; with `uuid_as_bytes` a uuid is 16 bytes, as COPY requires."""
        if self.element is not None:
            return pa.list_(self.element.arrow_type(uuid_as_bytes))
        if self.name == "numeric":
            return pa.string() if self.unlimited else pa.decimal128(*self.digits)
        return pa.binary(16) if self.name == "uuid" and uuid_as_bytes else TYPES[self.name][1]

    @property
    def spark(self) -> str:
        """The same type in Spark's DDL; types that Spark lacks (uuid, json) are string."""
        if self.element is not None:
            return f"array<{self.element.spark}>"
        if self.name == "numeric":
            return "string" if self.unlimited else "decimal({},{})".format(*self.digits)
        return TYPES[self.name][2]


@record
class Definition:
    """A column's type and its constraints."""

    type: ColumnType
    not_null: bool = False
    primary_key: bool = False
    unique: bool = False


def parse_definition(text: str) -> Definition:
    """Parse `character varying(100) PRIMARY KEY` and the like; raises BadInput listing what is supported."""
    if not isinstance(text, str):
        raise BadInput(f"SQL type {text!r} is not a string such as 'character varying(100) NOT NULL'")
    tokens = _tokens(text)
    end = next((place for place, token in enumerate(tokens) if token in _CONSTRAINT_WORDS), len(tokens))
    made = Definition(_parse_type(tokens[:end], text), **_parse_constraints(tokens[end:], text))
    if made.type.name == "json" and (made.primary_key or made.unique):
        raise BadInput(
            f"SQL type {quoted(text)}: json values cannot be compared and cannot be a key; use jsonb"
        )
    return made


def parse_sql_type(text: str) -> ColumnType:
    """Parse a type alone, without constraints."""
    if text.startswith(UNLIMITED):
        return parse_sql_type(text.replace(UNLIMITED, "numeric")).exact
    return _parse_type(_tokens(text), text)


def _tokens(text: str) -> list[str]:
    if rest := re.search(r"(?s)[^A-Za-z0-9_\s(),\[\]].*", text.rstrip()):
        raise BadInput(f"SQL type {quoted(text)}: {quoted(rest[0])} is not part of a type or constraint")
    return re.findall(r"[a-z_][a-z0-9_]*|[0-9]+|[(),\[\]]", text.lower())


def _parse_type(tokens: list[str], text: str) -> ColumnType:
    written = " ".join(tokens)
    plain = _ARRAY.sub("", written)
    if "[" in plain:
        raise BadInput(
            f"SQL type {quoted(text)}: only one-dimensional arrays are supported, written like text[]"
        )
    found = _TYPE.fullmatch(plain)
    if found is None:
        raise BadInput(f"SQL type {quoted(text)} is malformed; write it like numeric(12,2)")
    words = (found[1] + found[4]).split()
    name = NAMES.get(" ".join(words))
    if name is None:
        known = did_you_mean(" ".join(words), NAMES)
        supported = ", ".join(TYPES)
        raise BadInput(f"SQL type {quoted(text)} is not supported.{known} Supported: {supported}, and arrays")
    made = _with_modifiers(name, words, [int(number) for number in found.group(2, 3) if number], text)
    if plain == written:
        return made
    if name in ("json", "jsonb"):
        raise BadInput(f"SQL type {quoted(text)}: arrays of {name} are not supported; use {name}")
    return ColumnType("array", element=made)


def _with_modifiers(name: str, words: list[str], numbers: list[int], text: str) -> ColumnType:
    if name in ("character varying", "character"):
        # Without a length `character` is one character; `bpchar` and `character varying` are unlimited.
        lengths = numbers or ([1] if words[0] in ("char", "character") and name == "character" else [])
        if len(lengths) > 1 or not all(0 < number <= _LONGEST_TEXT for number in lengths):
            raise BadInput(f"SQL type {quoted(text)}: the length must be a number from 1 to {_LONGEST_TEXT}")
        return ColumnType(name, length=lengths[0] if lengths else None)
    if name == "numeric" and numbers:
        precision, scale, *_ = (*numbers, 0)
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            raise BadInput(f"SQL type {quoted(text)}: numeric(p,s) needs 1 <= p <= {MOST_DIGITS} and s <= p")
        return ColumnType("numeric", precision=precision, scale=scale)
    if words == ["float"] and len(numbers) == 1 and 1 <= numbers[0] <= 53:
        return ColumnType("real" if numbers[0] <= 24 else "double precision")
    if numbers:
        raise BadInput(f"SQL type {quoted(text)}: {name} does not take a number in parentheses")
    return ColumnType(name)


def _parse_constraints(words: list[str], text: str) -> dict[str, bool]:
    rest, found = " ".join(words), set()
    while rest:
        constraint = _CONSTRAINT.match(rest)
        if constraint is None:
            word = quoted(rest.partition(" ")[0].upper())
            raise BadInput(
                f"SQL type {quoted(text)}: constraint {word} is not supported in a mapping. "
                "Supported: NOT NULL, NULL, PRIMARY KEY, UNIQUE; declare other conditions in `checks`"
            )
        found.add(constraint[1])
        rest = rest[constraint.end() :]
    not_null = bool(found & {"not null", "primary key"})
    if not_null and "null" in found:
        raise BadInput(f"SQL type {quoted(text)} says both NULL and NOT NULL or PRIMARY KEY")
    return {"not_null": not_null, "primary_key": "primary key" in found, "unique": "unique" in found}
