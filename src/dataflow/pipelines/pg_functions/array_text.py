"""Parses and formats arrays: one dimension, numbered from 1."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeVar

from dataflow.pipelines.pg_functions.float_text import double_in, double_out, real_in, real_out
from dataflow.pipelines.pg_functions.integers import BITS, SPACE, read_integer
from dataflow.pipelines.pg_functions.signatures import Signature, declare_each
from dataflow.pipelines.pg_functions.value_text import boolean_in, boolean_out, bytea_in, bytea_out, uuid_in

Item = TypeVar("Item")

# One element and the delimiter after it. The first group is a quoted element, read before a bad delimiter.
ITEM = re.compile(
    r'[ \t-\r]*(?:"((?:[^"\\]|\\.)*)"[ \t-\r]*(?=[{,}])|((?:[^"\\{},]|\\.)*)(?=[,}]))([{,}])',
    re.DOTALL,
)
DIMENSIONS = re.compile(r"\[[-+0-9]")
NO_ITEMS = re.compile(r"\{[ \t-\r]*\}")
SUB_ARRAY = re.compile(r"[ \t-\r]*\{")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MUST_BE_QUOTED = re.compile(r'[{},"\\ \t-\r]|\A\Z|\A[nN][uU][lL][lL]\Z')
NEEDS_BACKSLASH = re.compile(r'(["\\])')


def array_in(read: Callable[[str], Item], text: str) -> list[Item | None]:
    """Parse an array, using the given function for its elements."""
    body = text.strip(SPACE)
    if not body.startswith("{"):
        if DIMENSIONS.match(body):
            raise ValueError(
                f'array literals with dimensions are not supported: "{text}"; write only the elements'
            )
        _refuse(text)
    end = NO_ITEMS.match(body)
    if end is not None:
        if end.end() < len(body):
            _refuse(text)
        return []
    return _read_items(text, body, read)


def _read_items(text: str, body: str, read: Callable[[str], Item]) -> list[Item | None]:
    items: list[Item | None] = []
    place, mark = 1, ","
    while mark == ",":
        found = ITEM.match(body, place)
        if found is None:
            if SUB_ARRAY.match(body, place):
                raise ValueError(
                    f'arrays of several dimensions are not supported: "{text}"; write jsonb instead'
                )
            _refuse(text)
        items.append(_read_item(text, found, read))
        place, mark = found.end(), found[3]
    if mark != "}" or place < len(body):
        _refuse(text)
    return items


def _read_item(text: str, found: re.Match[str], read: Callable[[str], Item]) -> Item | None:
    if found[1] is not None:
        return read(ESCAPED.sub(r"\1", found[1]))
    plain = found[2]
    # Trailing white space belongs to the element only after a backslash.
    kept = plain.rstrip(SPACE)
    if (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept = plain[: len(kept) + 1]
    if not kept:
        _refuse(text)
    return None if kept.upper() == "NULL" else read(ESCAPED.sub(r"\1", kept))


def _refuse(text: str) -> NoReturn:
    raise ValueError(f'malformed array literal: "{text}"')


def array_out(items: list[str | None]) -> str:
    """Format an array of elements that are already text."""
    return "{" + ",".join(map(_write_item, items)) + "}"


def _write_item(item: str | None) -> str:
    if item is None:
        return "NULL"
    quoted = NEEDS_BACKSLASH.sub(r"\\\1", item)
    return f'"{quoted}"' if MUST_BE_QUOTED.search(item) else item


def write_array(write: Callable[[Any], str], items: list[Any]) -> str:
    """Format an array, using the given function for its elements."""
    return array_out([None if item is None else write(item) for item in items])


READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    **{kind: partial(read_integer, kind) for kind in BITS},
    "real": real_in,
    "double": double_in,
    "boolean": boolean_in,
    "uuid": uuid_in,
    "bytea": bytea_in,
}
OUTPUTS: dict[str, Callable[[Any], str]] = dict.fromkeys(READERS, str) | {
    "real": real_out,
    "double": double_out,
    "boolean": boolean_out,
    "bytea": bytea_out,
}

SIGNATURES: tuple[Signature, ...] = (
    *declare_each("cast(text) -> {}[]", {kind: partial(array_in, read) for kind, read in READERS.items()}),
    *declare_each("cast({}[]) -> text", {kind: partial(write_array, out) for kind, out in OUTPUTS.items()}),
)
