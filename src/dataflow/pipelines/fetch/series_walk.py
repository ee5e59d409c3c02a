"""Walks pages that are requested by number or row offset, several at once, up to the last."""

from __future__ import annotations

from collections.abc import Iterator

from dataflow.errors import FetchError
from dataflow.model.record import replace
from dataflow.pipelines.fetch.page import Page
from dataflow.pipelines.fetch.pages_ahead import PagesAhead
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
        self._pages_key = series.total_pages if isinstance(series, PageNumber) else ""
        self._ahead = PagesAhead(series, way)
        self._end = SeriesEnd(series, way)
        self._totals = Totals(most_rows(way.staged), way.limits.parallel)
        self._total_pages = Totals(0, way.limits.parallel, "pages")
        self._count = len(way.staged)
        self._rows = sum(entry.rows for entry in way.staged)
        self._step = way.staged[0].rows if way.staged else 0
        self._last_rows = way.staged[-1].rows if way.staged else 0

    def list_pages(self) -> Iterator[Page]:
        """Yield each page as it arrives, the last one without a next position."""
        while True:
            try:
                page = self._ahead.next_page()
            except FetchError as wrong:
                if self._end.is_reached(wrong, self._place()):
                    return
                raise self._end.explain(wrong, self._place()) from wrong
            if not page.rows or self._end.is_repeated(page, self._place()):
                self._check_end(page)
                if not self._count:  # a source without rows: its only page is empty
                    yield replace(page, following=None)
                return
            self._take(page)
            is_last = self._is_last(page)
            yield replace(page, following=None if is_last else self._series.position(self._count, self._step))
            if is_last:
                return

    def _place(self) -> Place:
        return Place(self._count, self._step)

    def _take(self, page: Page) -> None:
        """Count a page; FetchError when it contradicts earlier pages or its own totals."""
        if isinstance(self._series, Offset):
            self._check_even(page)
        self._check_pages(page)
        self._totals.check(page.total, page)
        self._count += 1
        self._rows += page.rows
        self._step = self._step or page.rows
        self._last_rows = page.rows
        if page.total is not None and self._rows > page.total:
            raise refuse_total(page, self._rows, page.total, self._series.total)
        self._end.remember(page, self._count - 1)

    def _is_last(self, page: Page) -> bool:
        if page.total_pages is not None:
            if self._count == page.total_pages:
                check_enough(page, self._rows)
            return self._count == page.total_pages
        if page.total is None or self._rows < page.total:
            return False
        # The row count equals `total`. If `total` counts pages, this could be chance: a page of
        # 3 rows, and 3 pages. A page shorter than the others, or pages of one row, rule that out.
        if self._step > 1 and page.rows >= self._step:
            self._end.confirm(page, self._place())
        return True

    def _check_end(self, page: Page) -> None:
        """Raise FetchError when a source runs out of rows before its stated count."""
        self._totals.check(page.total, page)
        check_enough(page, self._rows)
        if page.total_pages is not None and self._count + 1 < page.total_pages:
            raise FetchError(
                f"The page at {page.address} has no rows, but the source has {page.total_pages:,} pages "
                f"according to {self._pages_key!r} and this is page {self._count + 1:,}. If "
                f"{self._pages_key!r} counts rows, set it as total. The next run starts with the first page.",
                start_again=True,
            )

    def _check_pages(self, page: Page) -> None:
        """Raise FetchError when there are fewer pages than before, or than have been fetched."""
        if page.total_pages is not None and page.total_pages <= self._count:
            raise FetchError(
                f"The source has {page.total_pages:,} pages according to {self._pages_key!r} of its page at "
                f"{page.address}, but this is page {self._count + 1:,}: that is not a count of its pages. "
                "Nothing is published.",
                start_again=True,
            )
        self._total_pages.check(page.total_pages, page)

    def _check_even(self, page: Page) -> None:
        if self._last_rows < self._step or (self._step and page.rows > self._step):
            raise FetchError(
                f"The pages up to {page.address} have {self._last_rows} rows, then {page.rows}, so the "
                "offset of the next page is unknown: rows would be lost or duplicated. Request fewer than "
                f"{self._step} rows per page.",
                start_again=True,
            )
