"""Prefetching of pages: one request until the first page states its row count, then several."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future

from dataflow.pipelines.fetch.page import Page
from dataflow.pipelines.fetch.pagination import Series
from dataflow.pipelines.fetch.way import Way


class PagesAhead:
    """Yields the pages after those staged in order, and requests no page beyond the source's stated end."""

    def __init__(self, series: Series, way: Way) -> None:
        self._series = series
        self._way = way
        self._asked = len(way.staged)
        self._step = way.staged[0].rows if way.staged else 0
        self._total: int | None = None
        self._total_pages: int | None = None
        self._coming: deque[Future[Page]] = deque()

    def next_page(self) -> Page:
        """The next page; raises the FetchError of its request."""
        while not self._coming or (
            self._step and len(self._coming) < self._way.limits.parallel and self._is_there()
        ):
            position = self._series.position(self._asked, self._step)
            self._coming.append(self._way.pool.submit(self._way.get, position))
            self._asked += 1
        page = self._coming.popleft().result()
        self._step = self._step or page.rows
        self._total, self._total_pages = page.total, page.total_pages
        return page

    def _is_there(self) -> bool:
        if self._total_pages is not None:
            return self._asked < self._total_pages
        return self._total is None or self._asked * self._step < self._total
