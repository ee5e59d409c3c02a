"""Going through a source's pages in order, ahead as far as may be, and noticing when they lead nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future

from dataflow.errors import FetchError
from dataflow.model.record import record, replace
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.client import Origins
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.manifest import Entry
from dataflow.pipelines.fetch.pagination import Chain, Cursor, Offset, Page, Position, Series


@record
class Way:
    """What both kinds of walk need: where they start, what is staged already, and how a page is got."""

    base: Address
    origins: Origins
    limits: Limits
    staged: tuple[Entry, ...]
    get: Callable[[Position], Page]
    pool: Executor


def walk_chain(chain: Chain, way: Way) -> Iterator[Page]:
    """The pages after those staged, each asked for while the one before it is being staged."""
    guard = _ChainGuard(chain, way)
    position: Position | None = way.staged[-1].next if way.staged else ""
    coming = way.pool.submit(way.get, position) if position is not None else None
    while coming:
        page = coming.result()
        guard.check(page)
        coming = way.pool.submit(way.get, page.following) if page.following is not None else None
        yield page


class _ChainGuard:
    """Refuses a page that leads back, elsewhere, or on and on without rows; before it is staged."""

    def __init__(self, chain: Chain, way: Way) -> None:
        self._chain = chain
        self._way = way
        positions = ["", *(entry.next for entry in way.staged if entry.next is not None)]
        # Hashes, since the URLs of a million pages would take more memory than the pages do.
        self._seen = {hash(chain.locate(way.base, position).url) for position in positions}
        self._previous = way.staged[-1].sha256 if way.staged else ""
        self._rows = sum(entry.rows for entry in way.staged)
        self._totals = _Totals(way, 1)
        self._empty = 0
        for entry in way.staged:
            self._empty = 0 if entry.rows else self._empty + 1

    def check(self, page: Page) -> None:
        if not isinstance(self._chain, Cursor):  # which finds its place whatever goes away
            self._totals.check(page)
        self._rows += page.rows
        self._empty = 0 if page.rows else self._empty + 1
        if page.following is None:
            return _check_total(page, self._rows)
        address = self._chain.locate(self._way.base, page.following)
        self._way.origins.check(address, f"The next link of {page.address}")
        if page.sha256 == self._previous:
            raise FetchError(
                f"The page at {page.address} is the one before it once more: its pages do not advance."
            )
        if hash(address.url) in self._seen:
            raise FetchError(
                f"The page at {page.address} leads back to {address}, which was fetched already."
            )
        if self._empty > self._way.limits.empty_pages:
            raise FetchError(
                f"{self._empty} pages without a row came in a row, up to {page.address}, and there are "
                "still more to come; check the source, or raise its empty_pages."
            )
        self._seen.add(hash(address.url))
        self._previous = page.sha256


def walk_series(series: Series, way: Way) -> Iterator[Page]:
    """The pages after those staged, several asked for at once, given in order up to the last."""
    if way.staged and way.staged[-1].next is None:
        return
    ahead = _Ahead(series, way)
    guard = _SeriesGuard(series, way)
    while True:
        page = ahead.next_page()
        ended = guard.check(page)
        if page.rows or ahead.is_first():
            yield replace(page, following=None if ended else ahead.get_position())
        if ended:
            return


class _Ahead:
    """The requests that run ahead of the walk: one until the first page tells its rows, then several."""

    def __init__(self, series: Series, way: Way) -> None:
        self._series = series
        self._way = way
        self._asked = self._given = len(way.staged)
        self._step = way.staged[0].rows if way.staged else 0
        self._total: int | None = None
        self._coming: deque[Future[Page]] = deque()

    def next_page(self) -> Page:
        self._ask()
        try:
            page = self._coming.popleft().result()
        except FetchError as wrong:
            raise self._explained(wrong) from wrong
        self._step = self._step or page.rows
        self._total = page.total
        self._given += 1
        return page

    def is_first(self) -> bool:
        return self._given == 1

    def get_position(self) -> int:
        return self._series.position(self._given, self._step)

    def _ask(self) -> None:
        while not self._coming or (
            self._step and len(self._coming) < self._way.limits.parallel and self._is_there()
        ):
            position = self._series.position(self._asked, self._step)
            self._coming.append(self._way.pool.submit(self._way.get, position))
            self._asked += 1

    def _is_there(self) -> bool:
        return self._total is None or self._asked * self._step < self._total

    def _explained(self, wrong: FetchError) -> FetchError:
        if wrong.status != 404 or not self._given or self._series.total:
            return wrong
        return FetchError(
            f"{wrong} If this is how the source answers after its last page, name the key of its row "
            "count as `total`.",
            status=404,
        )


class _SeriesGuard:
    """Refuses pages that repeat, or that cannot be told apart by counting rows; knows the last page."""

    def __init__(self, series: Series, way: Way) -> None:
        self._series = series
        self._rows = sum(entry.rows for entry in way.staged)
        self._step = way.staged[0].rows if way.staged else 0
        self._last_rows = way.staged[-1].rows if way.staged else 0
        self._previous = way.staged[-1].sha256 if way.staged else ""
        self._totals = _Totals(way, way.limits.parallel)

    def check(self, page: Page) -> bool:
        """True when this page is the last, or lies after it."""
        self._totals.check(page)
        self._rows += page.rows
        if page.rows == 0:
            _check_total(page, self._rows)
            return True
        if page.sha256 == self._previous:
            raise FetchError(
                f"The page at {page.address} is the one before it once more: the source ignores the "
                f"parameter {self._series.parameter!r}."
            )
        if isinstance(self._series, Offset):
            self._check_even(page)
        self._previous, self._last_rows = page.sha256, page.rows
        self._step = self._step or page.rows
        return page.total is not None and self._rows >= page.total

    def _check_even(self, page: Page) -> None:
        if self._last_rows < self._step or (self._step and page.rows > self._step):
            raise FetchError(
                f"The pages up to {page.address} have now {self._last_rows}, now {page.rows} rows, so "
                "counting rows does not find the next page: rows would be lost or come twice. Ask for fewer "
                f"rows than {self._step} at once.",
                start_again=True,
            )


class _Totals:
    """Notices rows that go away while pages are fetched: those after them move up, and some are missed."""

    def __init__(self, way: Way, parallel: int) -> None:
        self._most = max((entry.total or 0 for entry in way.staged), default=0)
        self._parallel = parallel
        self._recent: deque[int] = deque()

    def check(self, page: Page) -> None:
        """FetchError when the source has fewer rows than it had when an earlier page came."""
        if page.total is None:
            return
        if page.total < self._most:
            raise FetchError(
                f"The source had {self._most:,} rows, and has {page.total:,} by its page at {page.address}: "
                "some went away while it was fetched, and the rows after them changed their pages. The next "
                "run starts with the first page.",
                start_again=True,
            )
        # A page that was asked for before another had come may have been answered before it.
        self._recent.append(page.total)
        if len(self._recent) >= self._parallel:
            self._most = max(self._most, self._recent.popleft())


def _check_total(page: Page, rows: int) -> None:
    """FetchError when fewer rows came than the last page says there are."""
    if page.total is not None and rows < page.total:
        raise FetchError(
            f"The source has {page.total:,} rows, by its page at {page.address}, but only {rows:,} came: it "
            "changed while it was fetched, or left pages out. The next run starts with the first page.",
            start_again=True,
        )
