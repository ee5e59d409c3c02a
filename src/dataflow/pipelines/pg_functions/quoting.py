"""Quotes names and literals for SQL, and format(), which uses them."""

from __future__ import annotations

import re
from collections.abc import Callable

from dataflow.pipelines.pg_functions.integers import read_integer
from dataflow.pipelines.pg_functions.signatures import Calls

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
SPECIFIER = re.compile(
    r"%%|%(?:(?P<place>[0-9]+)\$)?(?P<minus>-*)"
    r"(?:(?P<width>[0-9]+)|(?P<star>\*)(?:(?P<width_place>[0-9]+)(?P<dollar>\$)?)?)?(?P<kind>.)?",
    re.DOTALL,
)


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
    if template is None:
        return None
    taken = 0

    def take(number: int | None) -> str | None:
        """The argument with that number, or the one after the last that was taken."""
        nonlocal taken
        taken = number or taken + 1
        if taken > len(arguments):
            raise ValueError("too few arguments for format()")
        return arguments[taken - 1]

    return SPECIFIER.sub(lambda found: "%" if found[0] == "%%" else _write_argument(found, take), template)


def _write_argument(found: re.Match[str], take: Callable[[int | None], str | None]) -> str:
    place = _read_number(found["place"], is_place=True)
    size = _read_number(found["width"])
    width_place = _read_number(found["width_place"], is_place=found["dollar"] is not None)
    kind = found["kind"]
    if kind is None:
        raise ValueError("unterminated format() type specifier")
    if width_place is not None and not found["dollar"]:
        raise ValueError('width argument position must be ended by "$"')
    if kind not in "sIL":
        raise ValueError(f'unrecognized format() type specifier "{kind}"')
    if found["star"]:
        width = take(width_place)
        size = 0 if width is None else read_integer("integer", width)
    text = _convert(take(place), kind)
    if size == -(2**31):
        raise ValueError(OUT_OF_RANGE)
    is_left = bool(found["minus"]) or (size or 0) < 0
    return text.ljust(abs(size or 0)) if is_left else text.rjust(size or 0)


def _read_number(digits: str | None, is_place: bool = False) -> int | None:
    number = None if digits is None else int(digits)
    if number is not None and number >= 2**31:
        raise ValueError(OUT_OF_RANGE)
    if number == 0 and is_place:
        raise ValueError(ARGUMENT_ZERO)
    return number


def _convert(argument: str | None, kind: str) -> str:
    if kind == "L":
        return quote_nullable(argument)
    if kind == "I":
        if argument is None:
            raise ValueError("null values cannot be formatted as an SQL identifier")
        return quote_ident(argument)
    return argument or ""


SIGNATURES: Calls = {
    "quote_ident(text) -> text": quote_ident,
    "quote_literal(text) -> text": quote_literal,
    "quote_nullable(text) -> text with nulls": quote_nullable,
    "format(text, variadic text?) -> text with nulls": format_text,
}
