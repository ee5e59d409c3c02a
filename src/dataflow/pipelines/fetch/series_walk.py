"""Walks pages that are requested by number or row offset, several at once, up to the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future

from dataflow.errors import FetchError
from dataflow.model.record import replace
from dataflow.pipelines.fetch.page import Page
from dataflow.pipelines.fetch.pagination import Offset, PageNumber, Series
from dataflow.pipelines.fetch.series_end import Place, SeriesEnd
from dataflow.pipelines.fetch.way import Totals, Way, check_enough, most_rows, refuse_total


def walk_series(series: Series, way: Way) -> Iterator[Page]:
    """Yield the pages after those staged, in order; FetchError when they are inconsistent."""
    if not way.staged or way.staged[-1].next is not None:
        yield from _SeriesWalk(series, way).list_pages()


class _SeriesWalk:
    """One walk: the pages so far, and checks that the next page continues them."""

    def __init__(self, series: Series, way: Way) -> None:
        self._series = series
        self._way = way
        self._pages_key = series.total_pages if isinstance(series, PageNumber) else ""
        self._place = Place(way.staged)
        self._end = SeriesEnd(series, way, self._place)
        self._totals = Totals(most_rows(way.staged), way.limits.parallel)
        self._total_pages = Totals(0, way.limits.parallel, "pages")
        self._asked = self._place.count
        self._coming: deque[Future[Page]] = deque()
        self._latest: Page | None = None

    def list_pages(self) -> Iterator[Page]:
        """Yield each page as it arrives, the last one without a next position."""
        while True:
            try:
                page = self._next_page()
            except FetchError as wrong:
                if self._end.is_reached(wrong):
                    return
                raise self._end.explain(wrong) from wrong
            if not page.rows or self._end.is_repeated(page):
                self._check_end(page)
                if not self._place.count:  # a source without rows: its only page is empty
                    yield replace(page, following=None)
                return
            self._take(page)
            is_last = self._is_last(page)
            following = self._series.position(self._place.count, self._place.step)
            yield replace(page, following=None if is_last else following)
            if is_last:
                return

    def _next_page(self) -> Page:
        """The next page; once the first has arrived, several are requested ahead. FetchError."""
        step = self._place.step
        while not self._coming or (
            step and len(self._coming) < self._way.limits.parallel and self._has_more(step)
        ):
            position = self._series.position(self._asked, step)
            self._coming.append(self._way.pool.submit(self._way.get, position))
            self._asked += 1
        self._latest = self._coming.popleft().result()
        return self._latest

    def _has_more(self, step: int) -> bool:
        """False for pages beyond the source's stated end."""
        if self._latest is None:
            return True
        if self._latest.total_pages is not None:
            return self._asked < self._latest.total_pages
        return self._latest.total is None or self._asked * step < self._latest.total

    def _take(self, page: Page) -> None:
        """Count a page; FetchError when it contradicts earlier pages or its own totals."""
        if isinstance(self._series, Offset):
            self._check_even(page)
        self._check_pages(page)
        self._totals.check(page.total, page)
        self._place.add(page)
        if page.total is not None and self._place.rows > page.total:
            raise refuse_total(page, self._place.rows, page.total, self._series.total)
        self._end.remember(page)

    def _is_last(self, page: Page) -> bool:
        if page.total_pages is not None:
            if self._place.count == page.total_pages:
                check_enough(page, self._place.rows)
            return self._place.count == page.total_pages
        if page.total is None or self._place.rows < page.total:
            return False
        # The row count equals `total`. If `total` counts pages, this could be chance: a page of
        # 3 rows, and 3 pages. A page shorter than the others, or pages of one row, rule that out.
        if self._place.step > 1 and page.rows >= self._place.step:
            self._end.confirm(page)
        return True

    def _check_end(self, page: Page) -> None:
        """Raise FetchError when a source runs out of rows before its stated count."""
        self._totals.check(page.total, page)
        check_enough(page, self._place.rows)
        if page.total_pages is not None and self._place.count + 1 < page.total_pages:
            raise FetchError(
                f"The page at {page.address} has no rows, but the source has {page.total_pages:,} pages "
                f"according to {self._pages_key!r} and this is page {self._place.count + 1:,}. If "
                f"{self._pages_key!r} counts rows, set it as total. The next run starts with the first page.",
                start_again=True,
            )

    def _check_pages(self, page: Page) -> None:
        """Raise FetchError when there are fewer pages than before, or than have been fetched."""
        if page.total_pages is not None and page.total_pages <= self._place.count:
            raise FetchError(
                f"The source has {page.total_pages:,} pages according to {self._pages_key!r} of its page at "
                f"{page.address}, but this is page {self._place.count + 1:,}: that is not a count of its "
                "pages. Nothing is published.",
                start_again=True,
            )
        self._total_pages.check(page.total_pages, page)

    def _check_even(self, page: Page) -> None:
        if self._place.last_rows < self._place.step or (self._place.step and page.rows > self._place.step):
            raise FetchError(
                f"The pages up to {page.address} have {self._place.last_rows} rows, then {page.rows}, so the "
                "offset of the next page is unknown: rows would be lost or duplicated. Request fewer than "
                f"{self._place.step} rows per page.",
                start_again=True,
            )
