"""State shared by both walks: how a page is fetched, what is staged, and checks of totals against rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.model.wording import plural
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.client import Origins
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.page import Page
from dataflow.pipelines.fetch.pagination import Position
from dataflow.pipelines.fetch.staging_folder import Entry


@record
class Way:
    """What both kinds of walk need: start, staged pages, and how to fetch a page."""

    base: Address
    origins: Origins
    limits: Limits
    staged: tuple[Entry, ...]
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


def most_rows(staged: tuple[Entry, ...]) -> int:
    """The highest row count that the source stated during the fetch."""
    return max((entry.total or 0 for entry in staged), default=0)


def check_enough(page: Page, rows: int) -> None:
    """Raise FetchError when fewer rows arrived than the last page states."""
    if page.total is not None and rows < page.total:
        total = f"{page.total:,} {plural(page.total, 'row')}"
        raise FetchError(
            f"The source has {total} according to its page at {page.address}, but only {rows:,} "
            "arrived: it changed, or omitted pages. The next run starts with the first page.",
            start_again=True,
        )


def refuse_total(page: Page, rows: int, total: int, key: str) -> FetchError:
    """The error for more rows than the source states: its `total` does not count rows."""
    in_all = f"{total:,} {plural(total, 'row')}"
    return FetchError(
        f"The source has {in_all} according to {key!r} of its page at {page.address}, but {rows:,} "
        f"arrived so far. If {key!r} counts pages, set page_number(total_pages={key!r}); if it is "
        "an estimate, leave total out. Nothing is published.",
        start_again=True,
    )
