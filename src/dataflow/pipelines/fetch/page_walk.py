"""What both walks over pages share, and the walk along a chain of pages, each of which names the next.

A walk knows which pages are staged, fetches the others, and checks totals against rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor

from dataflow.errors import FetchError
from dataflow.model.record import record, replace
from dataflow.model.wording import counted
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.client import Origins
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.page import Page
from dataflow.pipelines.fetch.pagination import Chain, Cursor, Position
from dataflow.pipelines.fetch.staging_folder import StagedPage


@record
class Way:
    """What both kinds of walk need: start, staged pages, and how to fetch a page."""

    base: Address
    origins: Origins
    limits: Limits
    staged: tuple[StagedPage, ...]
    get: Callable[[Position], Page]
    load: Callable[[int], bytes]  # the staged page with this index
    pool: Executor


class Totals:
    """Detects rows that disappear during a fetch: later rows move up, and some are missed."""

    def __init__(self, most: int, parallel: int, what: str = "rows") -> None:
        self.most = most
        self._parallel = parallel
        self._what = what
        self._recent: deque[int] = deque()

    def check(self, total: int | None, page: Page) -> None:
        """Raise FetchError when the source has fewer rows, or pages, than an earlier page stated."""
        if total is not None and total < self.most:
            raise FetchError(
                f"The source had {self.most:,} {self._what}, but has {total:,} according to its page at "
                f"{page.address}: some were deleted during the fetch, so later rows moved to other pages. "
                "The next run starts with the first page.",
                start_again=True,
            )
        self.remember(total)

    def remember(self, total: int | None) -> None:
        """Record the totals of a page."""
        if total is None:
            return
        # A page requested before another had arrived may have been answered before it.
        self._recent.append(total)
        if len(self._recent) >= self._parallel:
            self.most = max(self.most, self._recent.popleft())


def most_rows(staged: tuple[StagedPage, ...]) -> int:
    """The highest row count that the source stated during the fetch."""
    return max((entry.total or 0 for entry in staged), default=0)


def check_enough(page: Page, rows: int) -> None:
    """Raise FetchError when fewer rows arrived than the last page states."""
    if page.total is not None and rows < page.total:
        raise FetchError(
            f"The source has {counted(page.total, 'row')} according to its page at {page.address}, but only "
            f"{rows:,} arrived: it changed, or omitted pages. The next run starts with the first page.",
            start_again=True,
        )


def refuse_total(page: Page, rows: int, total: int, key: str) -> FetchError:
    """The error for more rows than the source states: its `total` does not count rows."""
    return FetchError(
        f"The source has {counted(total, 'row')} according to {key!r} of its page at {page.address}, but "
        f"{rows:,} arrived so far. If {key!r} counts pages, set page_number(total_pages={key!r}); if it is "
        "an estimate, leave total out. Nothing is published.",
        start_again=True,
    )


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
        own = page.address
        if page.sha256 == self._previous:
            raise FetchError(f"The page at {own} repeats the previous page: the pages do not advance.")
        if hash(address.url) in self._seen:
            raise FetchError(f"The page at {own} links back to {address}, which was already fetched.")
        if self._empty > self._way.limits.empty_pages:
            raise FetchError(
                f"{self._empty} consecutive empty pages up to {own}, and the source still names a "
                "next page; check the source, or raise its empty_pages."
            )
