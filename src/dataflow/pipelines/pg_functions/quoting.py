"""Quotes names and literals for SQL, and format(), which uses them."""

from __future__ import annotations

import re

from dataflow.pipelines.pg_functions.integers import read_integer
from dataflow.pipelines.pg_functions.signatures import Signature, declare

PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)

# Words that cannot be names, at least not everywhere.
_WRITTEN_KEYWORDS = """
all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both
case cast char character check coalesce collate collation column concurrently constraint create cross
current_catalog current_date current_role current_schema current_time current_timestamp current_user dec
decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign
freeze from full grant greatest group grouping having ilike in initially inner inout int integer intersect
interval into is isnull join json json_array json_arrayagg json_exists json_object json_objectagg json_query
json_scalar json_serialize json_table json_value lateral leading least left like limit localtime
localtimestamp merge_action national natural nchar none normalize not notnull null nullif numeric offset on
only or order out outer overlaps overlay placing position precision primary real references returning right
row select session_user setof similar smallint some substring symmetric system_user table tablesample then
time timestamp to trailing treat trim true union unique user using values varchar variadic verbose when
where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi
xmlroot xmlserialize xmltable
"""
KEYWORDS = frozenset(_WRITTEN_KEYWORDS.split())

ARGUMENT_ZERO = "format specifies argument 0, but arguments are numbered from 1"
OUT_OF_RANGE = "number is out of range"


def quote_ident(name: str) -> str:
    """The name as an SQL identifier, in double quotes if necessary."""
    if PLAIN_NAME.fullmatch(name) and name not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """The string as an SQL literal."""
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"E{quoted}" if "\\" in text else quoted


def quote_nullable(text: str | None) -> str:
    """The string as an SQL literal, or the word NULL."""
    return "NULL" if text is None else quote_literal(text)


def format_text(template: str | None, *arguments: str | None) -> str | None:
    """format(): fill in the template with arguments that are already text."""
    return None if template is None else _Template(template, arguments).write()


class _Template:
    """The state of formatting one template."""

    def __init__(self, template: str, arguments: tuple[str | None, ...]) -> None:
        self._template = template
        self._arguments = arguments
        self._at = 0
        self._next = 1  # the number of the next argument

    def write(self) -> str:
        """Format the whole template."""
        written: list[str] = []
        while self._at < len(self._template):
            percent = self._template.find("%", self._at)
            end = len(self._template) if percent < 0 else percent
            written.append(self._template[self._at : end])
            self._at = end
            if percent >= 0:
                self._advance()
                written.append("%" if self._get() == "%" else self._write_argument())
                self._at += 1
        return "".join(written)

    def _get(self) -> str:
        return self._template[self._at]

    def _advance(self) -> None:
        self._at += 1
        if self._at >= len(self._template):
            raise ValueError("unterminated format() type specifier")

    def _write_argument(self) -> str:
        place, width, is_left = self._read_specifier()
        kind = self._get()
        if kind not in "sIL":
            raise ValueError(f'unrecognized format() type specifier "{kind}"')
        size = width if isinstance(width, int) else self._take_width(width[0])
        if place:
            self._next = place
        text = _convert(self._take(), kind)
        if size == 0:
            return text
        if size == -(2**31):
            raise ValueError(OUT_OF_RANGE)
        return text.ljust(-size if size < 0 else size) if size < 0 or is_left else text.rjust(size)

    def _read_specifier(self) -> tuple[int, int | tuple[int], bool]:
        """The argument number, the width (or in a tuple the number of its argument), and the minus flag."""
        place = 0
        number = self._read_number()
        if number is not None:
            if self._get() != "$":
                return 0, number, False
            place = self._check_number(number)
        is_left = False
        while self._get() == "-":
            is_left = True
            self._advance()
        if self._get() != "*":
            return place, self._read_number() or 0, is_left
        self._advance()
        number = self._read_number()
        if number is None:
            return place, (0,), is_left
        if self._get() != "$":
            raise ValueError('width argument position must be ended by "$"')
        return place, (self._check_number(number),), is_left

    def _check_number(self, number: int) -> int:
        if number == 0:
            raise ValueError(ARGUMENT_ZERO)
        self._advance()
        return number

    def _read_number(self) -> int | None:
        start = self._at
        while self._get() in "0123456789":
            if int(self._template[start : self._at + 1]) >= 2**31:
                raise ValueError(OUT_OF_RANGE)
            self._advance()
        return int(self._template[start : self._at]) if self._at > start else None

    def _take_width(self, number: int) -> int:
        if number:
            self._next = number
        width = self._take()
        return 0 if width is None else read_integer("integer", width)

    def _take(self) -> str | None:
        if self._next > len(self._arguments):
            raise ValueError("too few arguments for format()")
        self._next += 1
        return self._arguments[self._next - 2]


def _convert(argument: str | None, kind: str) -> str:
    if kind == "L":
        return quote_nullable(argument)
    if kind == "I":
        if argument is None:
            raise ValueError("null values cannot be formatted as an SQL identifier")
        return quote_ident(argument)
    return argument or ""


SIGNATURES: tuple[Signature, ...] = (
    *declare("quote_ident(text) -> text", quote_ident),
    *declare("quote_literal(text) -> text", quote_literal),
    *declare("quote_nullable(text) -> text", quote_nullable, strict=False),
    *declare("format(text) -> text", format_text, strict=False),
    *declare("format(text, variadic text) -> text", format_text, strict=False),
)
