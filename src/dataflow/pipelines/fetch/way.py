"""What walks through pages share: how a page is got, what is staged, whether counts agree with the rows."""

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
from dataflow.pipelines.fetch.part_list import Entry


@record
class Way:
    """What both kinds of walk need: where they start, what is staged already, and how a page is got."""

    base: Address
    origins: Origins
    limits: Limits
    staged: tuple[Entry, ...]
    get: Callable[[Position], Page]
    load: Callable[[int], bytes]  # the page with this index, which was staged
    pool: Executor


class Totals:
    """Notices what goes away while pages are fetched: the rows after it move up, and some are missed."""

    def __init__(self, most: int, parallel: int, what: str = "rows") -> None:
        self.most = most
        self._parallel = parallel
        self._what = what
        self._recent: deque[int] = deque()

    def check(self, total: int | None, page: Page) -> None:
        """FetchError when the source has fewer rows, or pages, than it had when an earlier page came."""
        if total is not None and total < self.most:
            raise FetchError(
                f"The source had {self.most:,} {self._what}, and has {total:,} by its page at "
                f"{page.address}: some went away while it was fetched, and the rows after them changed "
                "their pages. The next run starts with the first page.",
                start_again=True,
            )
        self.remember(total)

    def remember(self, total: int | None) -> None:
        """Takes in what a page says of all."""
        if total is None:
            return
        # A page that was asked for before another had come may have been answered before it.
        self._recent.append(total)
        if len(self._recent) >= self._parallel:
            self.most = max(self.most, self._recent.popleft())


def most_rows(staged: tuple[Entry, ...]) -> int:
    """The most rows that the source was said to have while these came."""
    return max((entry.total or 0 for entry in staged), default=0)


def check_enough(page: Page, rows: int) -> None:
    """FetchError when fewer rows came than the last page says there are."""
    if page.total is not None and rows < page.total:
        total = f"{page.total:,} {plural(page.total, 'row')}"
        raise FetchError(
            f"The source has {total}, by its page at {page.address}, but only {rows:,} came: it "
            "changed while it was fetched, or left pages out. The next run starts with the first page.",
            start_again=True,
        )


def refuse_total(page: Page, rows: int, total: int, key: str) -> FetchError:
    """The error for more rows than the source says there are in all: its `total` is not a count of rows."""
    in_all, came = f"{total:,} {plural(total, 'row')}", "row has" if rows == 1 else "rows have"
    return FetchError(
        f"The source has {in_all} in all by {key!r} of its page at {page.address}, but {rows:,} {came} come "
        f"so far. If {key!r} counts pages, name it as page_number(total_pages={key!r}); if it is an "
        "estimate, leave total out. Nothing is published.",
        start_again=True,
    )
