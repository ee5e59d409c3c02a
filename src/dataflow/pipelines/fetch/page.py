"""One page on its way to staging: its row count, its totals and its next position."""

from __future__ import annotations

import gc
import hashlib
import threading
from contextlib import nullcontext
from typing import Any

import msgspec

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.client import HttpAnswer
from dataflow.pipelines.fetch.page_document import Reading, check_memory, get_value, kind_of, parse_document
from dataflow.pipelines.fetch.page_outline import find_outline
from dataflow.pipelines.fetch.pagination import Offset, PageNumber, Pagination, Position, list_keys
from dataflow.pipelines.shape.json_text import parse_exactly

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
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise FetchError(
            f"The page at {address} has a {kind_of(count)} under {key!r}, not a count of {what}."
        )
    return count


def _hash_edges(rows: list[Any]) -> int:
    edges = [
        parse_exactly(bytes(row)) if isinstance(row, msgspec.Raw) else row for row in rows[:1] + rows[-1:]
    ]
    return hash((len(rows), *map(repr, edges))) if rows else 0
