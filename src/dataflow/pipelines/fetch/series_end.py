"""Where a series of pages ends if no count says so: at a 404 or a repeated page, once that is certain."""

from __future__ import annotations

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.page import Page, hash_edges_of, have_same_rows
from dataflow.pipelines.fetch.pagination import PageNumber, Series
from dataflow.pipelines.fetch.way import Way, refuse_total

FAR = 1_000_000
"""So many pages further on no source has any."""
_NOT_FOUND = 404
_REFUSALS = frozenset((400, _NOT_FOUND, 410, 416, 422))
"""How sources answer for a page that they do not have."""


@record
class Place:
    """How far a walk has come: how many pages, and the rows of the first."""

    count: int
    step: int


class SeriesEnd:
    """Tells the end from a gap, and from a source that does not understand its parameter."""

    def __init__(self, series: Series, way: Way) -> None:
        self._series = series
        self._way = way
        self._counted = bool(series.total or (isinstance(series, PageNumber) and series.total_pages))
        staged = {0, len(way.staged) - 1} if way.staged else set()
        self._edges = {index: hash_edges_of(way.load(index), series.results) for index in staged}

    def remember(self, page: Page, index: int) -> None:
        """Takes in a page that was staged; only the first and the latest are looked at again."""
        self._edges = {each: edges for each, edges in self._edges.items() if each == 0} | {index: page.edges}

    def is_reached(self, wrong: FetchError, place: Place) -> bool:
        """Whether a page that is not found lies after the last; FetchError when it lies between others."""
        if wrong.status != _NOT_FOUND or not place.count or self._counted:
            return False
        after = self._find(place, place.count + 1)
        if after is not None:
            raise FetchError(
                f"{wrong} The page after it, {after.address}, has rows, so a page is missing in between. Try "
                "again later, or ask those who run the source.",
                status=_NOT_FOUND,
            )
        # Perhaps the source itself went away: then the pages that came are not found any more, either.
        if self._find(place, place.count - 1) is None:
            raise FetchError(f"{wrong} Nor is the page before it found any more.", status=_NOT_FOUND)
        return True

    def is_repeated(self, page: Page, place: Place) -> bool:
        """Whether a page repeats one that came, as some sources do after the last; FetchError if unsure."""
        is_previous = self._is_twin(page, place.count - 1)
        if not is_previous and not self._is_twin(page, 0):
            return False
        far = self._find(place, place.count + FAR)
        is_for_all = far is not None and have_same_rows(far.body, page.body, self._series.results)
        if is_for_all and place.count > 1 and not self._counted:
            return True
        if not is_previous and not is_for_all:
            return False  # rows without a key may well come again, though hardly a whole page at once
        raise FetchError(self._tell_repeat(page, place, is_for_all), start_again=True)

    def confirm(self, page: Page, place: Place) -> None:
        """FetchError when there are further rows after the page that is the last one by its `total`."""
        try:
            after = self._way.get(self._series.position(place.count, place.step))
        except FetchError as refusal:
            if refusal.status >= 400:
                return
            raise
        if not after.rows or (place.count > 1 and self._is_twin(after, 0)):
            return
        is_same = after.edges == page.edges and have_same_rows(after.body, page.body, self._series.results)
        if not is_same:
            total = page.total or 0
            raise refuse_total(after, total + after.rows, total, self._series.total)

    def explain(self, wrong: FetchError, place: Place) -> FetchError:
        """The error with what may help, where a page after the first is refused."""
        if not place.count or wrong.status not in _REFUSALS:
            return wrong
        if self._counted:
            told = f"It came after {place.count:,} pages, though there are more by the source's own count."
        else:
            told = f"If this is how the source answers after its last page, name {self._name_counts()}."
        return FetchError(f"{wrong} {told}", status=wrong.status, start_again=wrong.start_again)

    def _find(self, place: Place, index: int) -> Page | None:
        """The page with this index; None when it is not found, or has no rows."""
        try:
            page = self._way.get(self._series.position(index, place.step))
        except FetchError as wrong:
            if wrong.status == _NOT_FOUND:
                return None
            raise
        return page if page.rows else None

    def _is_twin(self, page: Page, index: int) -> bool:
        """Whether this page has the rows of the one with that index, which was staged."""
        if index not in self._edges or self._edges[index] != page.edges:
            return False
        return have_same_rows(self._way.load(index), page.body, self._series.results)

    def _tell_repeat(self, page: Page, place: Place, is_for_all: bool) -> str:
        parameter = repr(self._series.parameter)
        if not is_for_all:
            return (
                f"The page at {page.address} has the same rows as the one before it: the source repeats "
                f"them, or ignores the parameter {parameter}. If its rows do repeat, ask for larger pages."
            )
        told = (
            f"The page at {page.address} has the same rows as an earlier one, and so has any later one: the "
            f"source ignores the parameter {parameter}"
        )
        if self._counted or place.count > 1:
            return f"{told}, or has fewer rows than it says."
        return f"{told}, or has this one page. If so, name {self._name_counts()}."

    def _name_counts(self) -> str:
        pages = ", or that of its page count as `total_pages`" * isinstance(self._series, PageNumber)
        return f"the key of its row count as `total`{pages}"
