"""Walks pages that are requested by number or row offset, several at once, up to the last.

Without a count, the end is a confirmed 404 or repeated page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future

from dataflow.errors import FetchError
from dataflow.model.record import replace
from dataflow.pipelines.fetch.page import Page, hash_edges_of, have_same_rows
from dataflow.pipelines.fetch.page_walk import Totals, Way, check_enough, most_rows, refuse_total
from dataflow.pipelines.fetch.pagination import Offset, PageNumber, Series
from dataflow.pipelines.fetch.staging_folder import StagedPage

FAR = 1_000_000
"""Distance at which no source has further pages."""
_NOT_FOUND = 404
_REFUSALS = frozenset((400, _NOT_FOUND, 410, 416, 422))
"""Statuses that sources return for a page that does not exist."""


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
        self._place = _Place(way.staged)
        self._end = _SeriesEnd(series, way, self._place)
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


class _Place:
    """Progress of a walk: the pages and rows so far."""

    def __init__(self, staged: tuple[StagedPage, ...]) -> None:
        self.count = len(staged)
        self.rows = sum(entry.rows for entry in staged)
        self.step = staged[0].rows if staged else 0  # row count of the first page
        self.last_rows = staged[-1].rows if staged else 0

    def add(self, page: Page) -> None:
        """Count a page."""
        self.count += 1
        self.rows += page.rows
        self.step = self.step or page.rows
        self.last_rows = page.rows


class _SeriesEnd:
    """Distinguishes the end from a gap, and from a source that ignores its parameter."""

    def __init__(self, series: Series, way: Way, place: _Place) -> None:
        self._series = series
        self._way = way
        self._place = place
        self._counted = bool(series.total or (isinstance(series, PageNumber) and series.total_pages))
        staged = {0, len(way.staged) - 1} if way.staged else set()
        self._edges = {index: hash_edges_of(way.load(index), series.results) for index in staged}

    def remember(self, page: Page) -> None:
        """Record a staged page; only the first and the latest are compared later."""
        self._edges = {0: self._edges.get(0, page.edges), self._place.count - 1: page.edges}

    def is_reached(self, wrong: FetchError) -> bool:
        """True if a page that is not found lies after the last; FetchError when it lies between others."""
        if wrong.status != _NOT_FOUND or not self._place.count or self._counted:
            return False
        after = self._find(self._place.count + 1)
        if after is not None:
            raise FetchError(
                f"{wrong} The page after it, {after.address}, has rows, so a page is missing in between. Try "
                "again later, or contact the operator of the source.",
                status=_NOT_FOUND,
            )
        # The source itself may be gone: then earlier pages are not found, either.
        if self._find(self._place.count - 1) is None:
            raise FetchError(f"{wrong} The page before it is not found any more, either.", status=_NOT_FOUND)
        return True

    def is_repeated(self, page: Page) -> bool:
        """True if a page repeats an earlier one, as some sources do after the last; FetchError if unsure."""
        is_previous = self._is_twin(page, self._place.count - 1)
        if not is_previous and not self._is_twin(page, 0):
            return False
        far = self._find(self._place.count + FAR)
        is_for_all = far is not None and have_same_rows(far.body, page.body, self._series.results)
        if is_for_all and self._place.count > 1 and not self._counted:
            return True
        if not is_previous and not is_for_all:
            return False  # rows without a key may repeat, but hardly a whole page of them
        raise FetchError(self._tell_repeat(page, is_for_all), start_again=True)

    def confirm(self, page: Page) -> None:
        """Raise FetchError when there are rows after the page that is the last one according to `total`."""
        try:
            after = self._way.get(self._series.position(self._place.count, self._place.step))
        except FetchError as refusal:
            if refusal.status >= 400:
                return
            raise
        if not after.rows or (self._place.count > 1 and self._is_twin(after, 0)):
            return
        is_same = after.edges == page.edges and have_same_rows(after.body, page.body, self._series.results)
        if not is_same:
            total = page.total or 0
            raise refuse_total(after, total + after.rows, total, self._series.total)

    def explain(self, wrong: FetchError) -> FetchError:
        """The error, with advice added when a page after the first is refused."""
        if not self._place.count or wrong.status not in _REFUSALS:
            return wrong
        if self._counted:
            told = f"It came after {self._place.count:,} pages, but the source's own count is higher."
        else:
            told = f"If the source returns this after its last page, set {self._name_counts()}."
        return FetchError(f"{wrong} {told}", status=wrong.status, start_again=wrong.start_again)

    def _find(self, index: int) -> Page | None:
        """The page with this index; None when it is not found or empty."""
        try:
            page = self._way.get(self._series.position(index, self._place.step))
        except FetchError as wrong:
            if wrong.status == _NOT_FOUND:
                return None
            raise
        return page if page.rows else None

    def _is_twin(self, page: Page, index: int) -> bool:
        """True if this page has the rows of the staged page with that index."""
        if index not in self._edges or self._edges[index] != page.edges:
            return False
        return have_same_rows(self._way.load(index), page.body, self._series.results)

    def _tell_repeat(self, page: Page, is_for_all: bool) -> str:
        parameter = repr(self._series.parameter)
        if not is_for_all:
            return (
                f"The page at {page.address} has the same rows as the previous page: the source repeats "
                f"them, or ignores the parameter {parameter}. If its rows do repeat, request larger pages."
            )
        told = (
            f"The page at {page.address} has the same rows as an earlier one, and so do later pages: the "
            f"source ignores the parameter {parameter}"
        )
        if self._counted or self._place.count > 1:
            return f"{told}, or has fewer rows than it states."
        return f"{told}, or has only this page. If so, set {self._name_counts()}."

    def _name_counts(self) -> str:
        pages = ", or `total_pages` to the key of its page count" * isinstance(self._series, PageNumber)
        return f"`total` to the key of its row count{pages}"
