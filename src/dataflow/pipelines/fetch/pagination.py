"""The ways a source cuts its rows into pages, and reading one page: how many rows, what comes next."""

from __future__ import annotations

import gc
from typing import Any

import orjson

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address, join_address, parse_address, with_query
from dataflow.pipelines.fetch.client import Answer
from dataflow.pipelines.shape.json_text import NotJson, parse_exactly

Position = str | int


@record
class NextLink:
    """Each page names the next one's URL under `next`; null or an empty text ends it. Keys may be dotted."""

    next: str = "next"
    results: str = "results"
    total: str = ""  # where a page says how many rows there are in all
    last_page_omits: bool = False  # the last page has no such key at all

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position; the empty position is the first page."""
        return parse_address(str(position)) if position else base

    def following(self, document: Any, address: Address) -> Position | None:
        """The position after this page; None after the last."""
        link = _find_following(document, self.next, self.last_page_omits, address)
        if link is not None and not isinstance(link, str):
            raise FetchError(f"The page at {address} has a {_kind(link)} under {self.next!r}, not a URL.")
        return join_address(address, link).url if link else None


@record
class Cursor:
    """Each page gives, under `next`, the value of `parameter` that asks for the next page."""

    parameter: str = "cursor"
    next: str = "next_cursor"
    results: str = "results"
    total: str = ""
    last_page_omits: bool = False

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position; the empty position is the first page."""
        return with_query(base, **{self.parameter: str(position)}) if position != "" else base

    def following(self, document: Any, address: Address) -> Position | None:
        """The position after this page; None after the last."""
        value = _find_following(document, self.next, self.last_page_omits, address)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise FetchError(f"The page at {address} has a {_kind(value)} under {self.next!r}, not a cursor.")
        return value


@record
class PageNumber:
    """Pages are asked for by number, up to `total` rows where pages tell it, else up to an empty page."""

    parameter: str = "page"
    first: int = 1
    size_parameter: str = ""
    size: int = 0
    results: str = "results"
    total: str = ""

    def position(self, index: int, step: int) -> int:
        """The number of the page with this index, counted from 0; the first page's rows do not matter."""
        return self.first + index

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position."""
        size = {self.size_parameter: str(self.size)} if self.size_parameter else {}
        return with_query(base, **size, **{self.parameter: str(position)})


@record
class Offset:
    """Pages are asked for by the number of rows before them, with `limit` rows each."""

    parameter: str = "offset"
    limit_parameter: str = "limit"
    limit: int = 1000
    results: str = "results"
    total: str = ""

    def position(self, index: int, step: int) -> int:
        """The rows before the page with this index; `step`, its first page's rows, may be under `limit`."""
        return index * step

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position."""
        return with_query(base, **{self.limit_parameter: str(self.limit), self.parameter: str(position)})


Chain = NextLink | Cursor
Series = PageNumber | Offset
Pagination = Chain | Series


@record
class Page:
    """One page as it goes to staging: `body` as received, `total` None when it does not tell."""

    address: Address
    body: bytes
    sha256: str
    rows: int
    total: int | None
    following: Position | None = None


def read_page(pagination: Pagination, answer: Answer) -> Page:
    """Reads an answer as a page; FetchError when it is no JSON or lacks a key it must have."""
    # A page's rows live only for this call and hold no cycles; looking for some takes a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _read_page(pagination, answer)
    finally:
        if collecting:
            gc.enable()


def _read_page(pagination: Pagination, answer: Answer) -> Page:
    address, body = answer.address, answer.body
    document = _parse(body.data, address)
    rows = get_value(document, pagination.results, address)
    if not isinstance(rows, list):
        where = f"under {pagination.results!r}" if pagination.results else "as its whole"
        raise FetchError(f"The page at {address} has a {_kind(rows)} {where}, not a list of rows.")
    total = get_value(document, pagination.total, address) if pagination.total else None
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise FetchError(
            f"The page at {address} has a {_kind(total)} under {pagination.total!r}, not a count of rows."
        )
    following = None
    if isinstance(pagination, NextLink | Cursor):
        following = pagination.following(document, address)
    return Page(address, body.data, body.sha256, len(rows), total, following)


def get_value(document: Any, dotted: str, address: Address) -> Any:
    """What stands under a dotted key; the empty key is the whole document. FetchError without such a key."""
    value = document
    for key in dotted.split(".") if dotted else ():
        if not isinstance(value, dict) or key not in value:
            raise FetchError(f"The page at {address} has no {dotted!r}: {_found(value)}.")
        value = value[key]
    return value


def _find_following(document: Any, dotted: str, may_be_missing: bool, address: Address) -> Any:
    try:
        return get_value(document, dotted, address)
    except FetchError:
        if may_be_missing:
            return None
        raise


def _parse(body: bytes, address: Address) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as wrong:
        if body.lstrip()[:1] == b"<":
            raise FetchError(
                f"{address} answered with HTML, not JSON, though with status 200: perhaps a login or "
                "maintenance page. Open it in a browser, or check the source's URL and credentials."
            ) from None
        try:
            return parse_exactly(body)  # numbers beyond double precision are the shaping's to judge
        except NotJson:
            size = f"{len(body):,} bytes"
            raise FetchError(f"The page at {address} ({size}) is no whole JSON document: {wrong}.") from None


def _found(value: Any) -> str:
    if not isinstance(value, dict):
        return f"there is a {_kind(value)}"
    names = ", ".join(repr(key[:50]) for key in list(value)[:10])
    return f"its keys are {names}" if names else "it is an empty object"


def _kind(value: Any) -> str:
    kinds = {dict: "JSON object", list: "list", str: "text", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")
