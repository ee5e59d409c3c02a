"""Declares functions, operators and casts of PostgreSQL: argument types, return type and Python code.

Values: `boolean` bool; `smallint integer bigint` int; `real double` float; `numeric` a Decimal whose
exponent is minus the digits shown after the point; `text` str; `uuid` its canonical text; `json jsonb` their
text, jsonb as PostgreSQL writes it; `bytea` bytes; `date` days and `timestamp timestamptz` microseconds since
1970-01-01 (UTC); `interval` an Interval; arrays (`text[]`) lists with None for NULL. An error in PostgreSQL
is a ValueError here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from dataflow.model.record import record

ANY, ANY_ARRAY = "any", "any[]"  # within one signature they all stand for the same type


class Interval(NamedTuple):
    """A PostgreSQL interval: three fields that do not carry over to each other."""

    months: int
    days: int
    micros: int


@record
class Signature:
    """One overload. `name` is the SQL name in lower case, an operator as written, or `cast`."""

    name: str
    takes: tuple[str, ...]
    gives: str
    call: Callable[..., Any]
    strict: bool = True  # a NULL argument gives NULL without a call
    variadic: bool = False  # the last type may repeat
    is_set: bool = False  # returns a list whose elements are rows


Calls = dict[str, Callable[..., Any]]
"""Functions by what they declare: `name(type, optional type?, variadic type) -> type`, or `-> setof type`.

Several names are separated by commas. A function `with nulls` is called even if an argument is NULL.
"""
_WRITTEN = re.compile(r"(.+?)\((.*)\) -> (setof )?(.+?)( with nulls)?")


def list_overloads(calls: Calls) -> Iterator[Signature]:
    """The overloads that the functions declare."""
    for written, call in calls.items():
        found = _WRITTEN.fullmatch(written)
        assert found, written
        names, types, rows, gives, nulls = found.groups()
        takes = tuple(re.findall(r"(?:variadic )?([^,? ]+)\??", types))
        for name in names.split(", "):
            for count in range(len(takes) - types.count("?"), len(takes) + 1):
                variadic = "variadic" in types and count == len(takes)
                yield Signature(name, takes[:count], gives, call, not nulls, variadic, bool(rows))


def for_each(written: str, calls: Mapping[str, Callable[..., Any]]) -> Calls:
    """The same declaration for several functions; `{}` stands for the type or the names of each."""
    return {written.replace("{}", key): call for key, call in calls.items()}


def swapped(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same operation with its operands swapped."""
    return lambda left, right: call(right, left)


def negated(call: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """The opposite condition."""
    return lambda left, right: not call(left, right)


def comparisons(kind: str, compare: Callable[[Any, Any], int]) -> Calls:
    """The comparison operators of a type, by a function that returns -1, 0 or 1."""
    tests = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
    calls = {name: partial(_compare, compare, test) for name, test in tests.items()}
    return for_each(f"{{}}({kind}, {kind}) -> boolean", calls)


def _compare(
    compare: Callable[[Any, Any], int], test: Callable[[int, int], bool], one: Any, other: Any
) -> bool:
    return test(compare(one, other), 0)
