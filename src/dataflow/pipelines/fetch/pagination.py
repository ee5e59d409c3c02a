"""The kinds of pagination: the address of a page, and the position after it."""

from __future__ import annotations

import re
from typing import Any

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address, join_address, parse_address, with_query
from dataflow.pipelines.fetch.client import HttpAnswer
from dataflow.pipelines.fetch.page_document import get_value, kind_of

Position = str | int


@record
class NextLink:
    """Each page holds the next page's URL under `next`; null or "" ends the chain. Keys may be dotted."""

    next: str = "next"
    results: str = "results"
    total: str = ""  # key of the total row count
    last_page_omits: bool = False  # the last page omits the key

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position; the empty position is the first page."""
        return parse_address(str(position)) if position else base

    def following(self, document: Any, answer: HttpAnswer) -> Position | None:
        """The position after this page; None after the last."""
        address = answer.address
        link = get_value(document, self.next, address, self.last_page_omits)
        if link is not None and not isinstance(link, str):
            raise FetchError(f"The page at {address} has a {kind_of(link)} under {self.next!r}, not a URL.")
        return join_address(address, link).url if link else None


@record
class LinkHeader:
    """Each response names the next page's URL in its Link header, with rel="next"; the last has none."""

    results: str = ""
    total: str = ""

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position; the empty position is the first page."""
        return parse_address(str(position)) if position else base

    def following(self, document: Any, answer: HttpAnswer) -> Position | None:
        """The position after this page; None after the last."""
        address = answer.address
        try:
            links = list_targets(answer.link, "next")
        except ValueError:
            raise FetchError(
                f"The Link header of {address} is malformed, so the next page is unknown."
            ) from None
        # A link with an anchor describes another page, unless the anchor is this page.
        own = [link for link, anchor in links if not anchor or join_address(address, anchor) == address]
        found = {join_address(address, link).url for link in own}
        if len(found) > 1:
            raise FetchError(f"The Link header of {address} names {len(found)} different next pages.")
        return found.pop() if found else None


@record
class Cursor:
    """Each page holds, under `next`, the value of `parameter` that requests the next page."""

    parameter: str = "cursor"
    next: str = "next_cursor"
    results: str = "results"
    total: str = ""
    last_page_omits: bool = False

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position; the empty position is the first page."""
        return with_query(base, **{self.parameter: str(position)}) if position != "" else base

    def following(self, document: Any, answer: HttpAnswer) -> Position | None:
        """The position after this page; None after the last."""
        address = answer.address
        value = get_value(document, self.next, address, self.last_page_omits)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise FetchError(
                f"The page at {address} has a {kind_of(value)} under {self.next!r}, not a cursor."
            )
        return value


@record
class PageNumber:
    """Pages are requested by number, up to `total_pages` pages or `total` rows where the source states them.

    Without them the end is an empty page, a 404, or a repetition of the last page.
    """

    parameter: str = "page"
    first: int = 1
    size_parameter: str = ""
    size: int = 0
    results: str = "results"
    total: str = ""
    total_pages: str = ""  # key of the total page count

    def position(self, index: int, step: int) -> int:
        """The number of the page with this index, counted from 0; the first page's row count is ignored."""
        return self.first + index

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position."""
        size = {self.size_parameter: str(self.size)} if self.size_parameter else {}
        return with_query(base, **size, **{self.parameter: str(position)})


@record
class Offset:
    """Pages are requested by the number of rows before them, with `limit` rows each."""

    parameter: str = "offset"
    limit_parameter: str = "limit"
    limit: int = 1000
    results: str = "results"
    total: str = ""

    def position(self, index: int, step: int) -> int:
        """The rows before the page with this index; `step`, the first page's rows, may be below `limit`."""
        return index * step

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position."""
        return with_query(base, **{self.limit_parameter: str(self.limit), self.parameter: str(position)})


Chain = NextLink | LinkHeader | Cursor
Series = PageNumber | Offset
Pagination = Chain | Series


def list_keys(pagination: Pagination) -> tuple[str, ...]:
    """The dotted keys that are read from a page beside its rows; empty ones are unused."""
    return tuple(getattr(pagination, name, "") for name in ("next", "total", "total_pages"))


# A target in angle brackets, then parameters: a name and, after `=`, a token or a quoted string.
_LINK = re.compile(r"[\s,]*<([^<>]*)>\s*")
_PARAMETER = re.compile(r';\s*(?:([^\s=;,"<>]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,"]*))?)?\s*')


def list_targets(header: str, relation: str) -> list[tuple[str, str]]:
    """The targets of the links with this relation, each with its anchor ("" if none).

    ValueError for a malformed header.
    """
    found = []
    place = 0
    while header[place:].strip(" \t,"):
        link = _LINK.match(header, place)
        if link is None:
            raise ValueError("no target in angle brackets")
        parameters: dict[str, str] = {}
        place = link.end()
        while (parameter := _PARAMETER.match(header, place)) and header[place : place + 1] == ";":
            # The first of repeated parameters counts.
            parameters.setdefault((parameter[1] or "").lower(), _plain(parameter[2] or ""))
            place = parameter.end()
        if place < len(header) and header[place] != ",":
            raise ValueError("no comma between two links")
        if relation in parameters.get("rel", "").lower().split():
            found.append((link[1], parameters.get("anchor", "")))
    return found


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
