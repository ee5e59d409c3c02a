"""Walks a chain of pages, each of which names the next, and detects chains that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from dataflow.errors import FetchError
from dataflow.model.record import replace
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.page import Page
from dataflow.pipelines.fetch.pagination import Chain, Cursor, Position
from dataflow.pipelines.fetch.way import Totals, Way, check_enough, most_rows, refuse_total


def walk_chain(chain: Chain, way: Way) -> Iterator[Page]:
    """Yield the pages after those staged; each is requested while the previous one is being staged."""
    guard = _ChainGuard(chain, way)
    position: Position | None = way.staged[-1].next if way.staged else ""
    coming = way.pool.submit(way.get, position) if position is not None else None
    while coming:
        page = guard.check(coming.result())
        coming = way.pool.submit(way.get, page.following) if page.following is not None else None
        yield page


class _ChainGuard:
    """Rejects a page, before it is staged, that links back, links elsewhere or is one empty page too many."""

    def __init__(self, chain: Chain, way: Way) -> None:
        self._chain = chain
        self._way = way
        positions = ["", *(entry.next for entry in way.staged if entry.next is not None)]
        # Hashes, since the URLs of a million pages would take more memory than the pages.
        self._seen = {hash(chain.locate(way.base, position).url) for position in positions}
        self._previous = way.staged[-1].sha256 if way.staged else ""
        self._rows = sum(entry.rows for entry in way.staged)
        self._totals = Totals(most_rows(way.staged), 1)
        self._at = chain.locate(way.base, positions[-1]).url
        self._empty = 0
        for entry in way.staged:
            self._empty = 0 if entry.rows else self._empty + 1

    def check(self, page: Page) -> Page:
        """The page, marked as the last if it names no next page; FetchError."""
        self._check_total(page)
        self._empty = 0 if page.rows else self._empty + 1
        if page.following is None:
            check_enough(page, self._rows)
            return page
        address = self._chain.locate(self._way.base, page.following)
        if not page.rows and address.url == self._at:
            # A cursor that does not advance: there is nothing more to fetch.
            check_enough(page, self._rows)
            return replace(page, following=None)
        self._way.origins.check(address, f"The next link of {page.address}")
        self._refuse_circle(page, address)
        self._seen.add(hash(address.url))
        self._previous, self._at = page.sha256, address.url
        return page

    def _check_total(self, page: Page) -> None:
        if isinstance(self._chain, Cursor):  # finds its position even if rows are deleted
            self._totals.remember(page.total)
        else:
            self._totals.check(page.total, page)
        self._rows += page.rows
        if page.total is not None and self._rows > self._totals.most:
            raise refuse_total(page, self._rows, self._totals.most, self._chain.total)

    def _refuse_circle(self, page: Page, address: Address) -> None:
        """Raise FetchError for a page that links back, or for too many empty pages."""
        if page.sha256 == self._previous:
            raise FetchError(
                f"The page at {page.address} repeats the previous page: the pages do not advance."
            )
        if hash(address.url) in self._seen:
            raise FetchError(
                f"The page at {page.address} links back to {address}, which was already fetched."
            )
        if self._empty > self._way.limits.empty_pages:
            raise FetchError(
                f"{self._empty} consecutive empty pages up to {page.address}, and the source still names a "
                "next page; check the source, or raise its empty_pages."
            )
