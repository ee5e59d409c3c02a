"""One page on its way to staging: its row count, its totals and its next position.

Of most pages only the outline is parsed: the few values that lead to the next page. Tasks parse the rows; the
driver only has to know that they are JSON, and how many they are.
"""

from __future__ import annotations

import gc
import hashlib
import threading
from contextlib import nullcontext
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.client import HttpAnswer
from dataflow.pipelines.fetch.page_document import Reading, check_memory, get_value, kind_of, parse_document
from dataflow.pipelines.fetch.pagination import Offset, PageNumber, Pagination, Position, list_keys
from dataflow.pipelines.shape.json_text import parse_exactly
from dataflow.pipelines.shape.outline import Outline

LARGE_BYTES = 8 << 20
_one_large_page = threading.Lock()
"""Parsed objects take many times the bytes of a page, so only one large page is parsed at a time."""


@record
class Page:
    """One page: `body` as received; `total` and `total_pages` are None where the page does not state them.

    `edges` is a hash of its first row, last row and row count: different edges mean different rows.
    """

    address: Address
    body: bytes
    sha256: str
    rows: int
    total: int | None
    total_pages: int | None = None
    edges: int = 0
    following: Position | None = None


def read_page(pagination: Pagination, answer: HttpAnswer, reading: Reading) -> Page:
    """Parse a response as a page; FetchError when it is not JSON or lacks a required key."""
    with _one_large_page if len(answer.body.data) >= LARGE_BYTES else nullcontext():
        # Rows live only for this call and hold no cycles; garbage collection would take a third of the time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return _read_page(pagination, answer, reading)
        finally:
            if collecting:
                gc.enable()


def have_same_rows(one: bytes, other: bytes, results: str) -> bool:
    """True if two pages have the same rows, digit for digit, whatever surrounds them."""
    return _list_rows(parse_exactly(one), results) == _list_rows(parse_exactly(other), results)


def hash_edges_of(body: bytes, results: str) -> int:
    """The `edges` of a staged page."""
    outline = find_outline(body, results, ())
    return _hash_edges(_list_rows(parse_exactly(body) if outline is None else outline, results))


def find_outline(body: bytes, results: str, others: tuple[str, ...]) -> Any:
    """The document with only these dotted keys, its rows unparsed; None if parsing all of it would say more.

    That is the case for anything but JSON in UTF-8 with a list of rows under `results`.
    """
    outline = _outline_of(results, others)
    return outline.decode(body) if outline and _is_utf8(body) else None


@cache
def _outline_of(results: str, others: tuple[str, ...]) -> Outline | None:
    """The decoder of these keys; None if one of them lies inside another."""
    kinds: dict[str, Any] = dict.fromkeys(filter(None, others), Any) | {results: list[msgspec.Raw]}
    inside = [(inner, outer) for inner in kinds for outer in kinds if inner.startswith(f"{outer}.")]
    return None if inside or ("" in kinds and len(kinds) > 1) else Outline(kinds)


def _is_utf8(body: bytes) -> bool:
    """True if the bytes are UTF-8; several times faster than decoding them."""
    if body.isascii():
        return True
    ends = pa.array([0, len(body)], pa.int64()).buffers()[1]
    try:
        pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(body)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _list_rows(document: Any, results: str) -> list[Any]:
    """The rows of a document that was already read as a page."""
    for key in results.split(".") if results else ():
        document = document[key]
    return list(document)


def _read_page(pagination: Pagination, answer: HttpAnswer, reading: Reading) -> Page:
    body = answer.body.data
    check_memory(body, answer.address, reading.memory_bytes)
    outline = find_outline(body, pagination.results, list_keys(pagination))
    if outline is not None:
        try:
            return _make_page(pagination, answer, outline, body)
        except FetchError:
            pass  # the whole document says more precisely what is wrong
    return _make_page(pagination, answer, *parse_document(answer, reading))


def _make_page(pagination: Pagination, answer: HttpAnswer, document: Any, body: bytes) -> Page:
    """The page of a parsed document, or of its outline."""
    address = answer.address
    rows = get_value(document, pagination.results, address)
    if not isinstance(rows, list):
        where = f"under {pagination.results!r}" if pagination.results else "at the top level"
        raise FetchError(f"The page at {address} has a {kind_of(rows)} {where}, not a list of rows.")
    total = _find_count(document, pagination.total, address, "rows")
    pages, following = None, None
    if isinstance(pagination, PageNumber):
        pages = _find_count(document, pagination.total_pages, address, "pages")
    elif not isinstance(pagination, Offset):
        following = pagination.following(document, answer)
    sha256 = answer.body.sha256 if body is answer.body.data else hashlib.sha256(body).hexdigest()
    return Page(address, body, sha256, len(rows), total, pages, _hash_edges(rows), following)


def _find_count(document: Any, key: str, address: Address, what: str) -> int | None:
    count = get_value(document, key, address) if key else None
    if count is not None and (type(count) is not int or count < 0):
        raise FetchError(
            f"The page at {address} has a {kind_of(count)} under {key!r}, not a count of {what}."
        )
    return count


def _hash_edges(rows: list[Any]) -> int:
    ends = rows[:1] + rows[-1:]
    edges = [parse_exactly(bytes(row)) if isinstance(row, msgspec.Raw) else row for row in ends]
    return hash((len(rows), *map(repr, edges))) if rows else 0
