"""The end of a series of pages without a count: a confirmed 404 or repeated page."""

from __future__ import annotations

from dataflow.errors import FetchError
from dataflow.pipelines.fetch.page import Page, hash_edges_of, have_same_rows
from dataflow.pipelines.fetch.pagination import PageNumber, Series
from dataflow.pipelines.fetch.staging_folder import Entry
from dataflow.pipelines.fetch.way import Way, refuse_total

FAR = 1_000_000
"""Distance at which no source has further pages."""
_NOT_FOUND = 404
_REFUSALS = frozenset((400, _NOT_FOUND, 410, 416, 422))
"""Statuses that sources return for a page that does not exist."""


class Place:
    """Progress of a walk: the pages and rows so far."""

    def __init__(self, staged: tuple[Entry, ...]) -> None:
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


class SeriesEnd:
    """Distinguishes the end from a gap, and from a source that ignores its parameter."""

    def __init__(self, series: Series, way: Way, place: Place) -> None:
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
