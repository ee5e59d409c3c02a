"""The ways a source cuts its rows into pages: where a page is, and what comes after it."""

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
    """Each page names the next one's URL under `next`; null or an empty text ends it. Keys may be dotted."""

    next: str = "next"
    results: str = "results"
    total: str = ""  # where a page says how many rows there are in all
    last_page_omits: bool = False  # the last page has no such key at all

    def locate(self, base: Address, position: Position) -> Address:
        """The address of the page at this position; the empty position is the first page."""
        return parse_address(str(position)) if position else base

    def following(self, document: Any, answer: HttpAnswer) -> Position | None:
        """The position after this page; None after the last."""
        address = answer.address
        link = _find_following(document, self.next, self.last_page_omits, address)
        if link is not None and not isinstance(link, str):
            raise FetchError(f"The page at {address} has a {kind_of(link)} under {self.next!r}, not a URL.")
        return join_address(address, link).url if link else None


@record
class LinkHeader:
    """Each answer names the next page's URL in its Link header, with rel="next"; the last one has none."""

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
        except BadLink:
            raise FetchError(
                f"The Link header of {address} cannot be read, so the next page is not known."
            ) from None
        # A link with an anchor is about another page, unless the anchor is this one.
        own = [link for link, anchor in links if not anchor or join_address(address, anchor) == address]
        found = {join_address(address, link).url for link in own}
        if len(found) > 1:
            raise FetchError(f"The Link header of {address} names {len(found)} different next pages.")
        return found.pop() if found else None


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

    def following(self, document: Any, answer: HttpAnswer) -> Position | None:
        """The position after this page; None after the last."""
        address = answer.address
        value = _find_following(document, self.next, self.last_page_omits, address)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise FetchError(
                f"The page at {address} has a {kind_of(value)} under {self.next!r}, not a cursor."
            )
        return value


@record
class PageNumber:
    """Pages are asked for by number, up to `total_pages` pages or `total` rows where the source tells them.

    Without them the end is an empty page, a 404, or the last page once more.
    """

    parameter: str = "page"
    first: int = 1
    size_parameter: str = ""
    size: int = 0
    results: str = "results"
    total: str = ""
    total_pages: str = ""  # where a page says how many pages there are in all

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


Chain = NextLink | LinkHeader | Cursor
Series = PageNumber | Offset
Pagination = Chain | Series


def _find_following(document: Any, dotted: str, may_be_missing: bool, address: Address) -> Any:
    try:
        return get_value(document, dotted, address)
    except FetchError:
        if may_be_missing:
            return None
        raise


# A target in angle brackets, then parameters: a name, and after `=` a token or a quoted text.
_LINK = re.compile(r"[\s,]*<([^<>]*)>\s*")
_PARAMETER = re.compile(r';\s*(?:([^\s=;,"<>]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,"]*))?)?\s*')


class BadLink(ValueError):
    """A Link header that is not of the standard's form."""


def list_targets(header: str, relation: str) -> list[tuple[str, str]]:
    """The targets of the links of this relation, each with its anchor ("" without one); BadLink."""
    found = []
    place = 0
    while header[place:].strip(" \t,"):
        link = _LINK.match(header, place)
        if link is None:
            raise BadLink
        parameters: dict[str, str] = {}
        place = link.end()
        while (parameter := _PARAMETER.match(header, place)) and header[place : place + 1] == ";":
            # Of a repeated parameter the first counts.
            parameters.setdefault((parameter[1] or "").lower(), _plain(parameter[2] or ""))
            place = parameter.end()
        if place < len(header) and header[place] != ",":
            raise BadLink
        if relation in parameters.get("rel", "").lower().split():
            found.append((link[1], parameters.get("anchor", "")))
    return found


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
