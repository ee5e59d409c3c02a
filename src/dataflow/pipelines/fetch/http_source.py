"""A paginated HTTP source: its pages become part files of a staging folder, in order."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import orjson

from dataflow.errors import FetchError
from dataflow.model.record import as_dict, record
from dataflow.model.url_text import SHORTEST_GUESSED, is_secret_name, list_secret_parameters
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.authentication import NOBODY, Credentials, Headers
from dataflow.pipelines.fetch.client import Access, Client, Origins
from dataflow.pipelines.fetch.limits import Limits, Tell, Watch
from dataflow.pipelines.fetch.page import Page, read_page
from dataflow.pipelines.fetch.page_document import Reading
from dataflow.pipelines.fetch.page_walk import Way, walk_chain
from dataflow.pipelines.fetch.pagination import NextLink, Offset, PageNumber, Pagination, Position
from dataflow.pipelines.fetch.proxies import DIRECT, Proxies
from dataflow.pipelines.fetch.series_walk import walk_series
from dataflow.pipelines.fetch.signer import Hide
from dataflow.pipelines.fetch.staging_folder import Staging
from dataflow.pipelines.handover.records import Part

# Statuses that mean the server no longer knows a resumed position.
_FORGOTTEN = frozenset((400, 404, 410, 422))


@record
class HttpSource:
    """Where pages come from, how they are linked, and the limits of fetching them."""

    url: str
    pagination: Pagination = NextLink()
    credentials: Credentials = NOBODY
    limits: Limits = Limits()
    headers: Headers = ()
    allowed_origins: tuple[str, ...] = ()
    proxies: Proxies = DIRECT
    nan: str = ""
    _hidden = ("url", "headers")

    @property
    def fingerprint(self) -> str:
        """Equal for sources whose pages can be mixed: based on URL, headers, pagination and identity."""
        pages = type(self.pagination).__name__, as_dict(self.pagination)
        asks = self.credentials.identity
        text = orjson.dumps([parse_address(self.url).url, self.headers, *pages, asks, self.nan])
        return hashlib.sha256(text).hexdigest()

    def list_secrets(self) -> list[str]:
        """Values that no message may show: credentials, and headers and parameters with secret-like names."""
        named = [value for name, value in self.headers if is_secret_name(name)]
        # As in `Bearer …` and `session=…; theme=…`: the values alone could appear elsewhere.
        words = [
            word for value in named for word in (value, *re.split(r"[;,\s]+(?:[\w.-]+=)?|^[\w.-]+=", value))
        ]
        guessed = [word for word in words if len(word) >= SHORTEST_GUESSED]
        return [
            self.credentials.secret,
            *self.proxies.list_secrets(),
            *guessed,
            *list_secret_parameters(self.url),
        ]

    @property
    def reading(self) -> Reading:
        """How its pages are parsed."""
        return Reading(self.pagination.results, self.limits.page_memory_bytes, self.nan)

    def open_client(self, watch: Watch, hide: Hide) -> Client:
        """The client for its requests; `hide` receives each secret it learns."""
        own = parse_address(self.url).origin
        origins = Origins(own, frozenset(parse_address(url).origin for url in self.allowed_origins))
        asks = (self.credentials, self.limits, self.headers, self.proxies, tuple(self.list_secrets()))
        return Client(Access(origins, *asks), watch, hide)

    def fetch(
        self,
        staging: Staging,
        stop: threading.Event | None = None,
        tell: Tell = lambda trouble, following: None,
        hide: Hide = lambda secret: None,
    ) -> Iterator[Part]:
        """Yield each part as soon as its file is complete: first those already staged, then missing pages.

        `tell` receives the reason while a request is retried, `hide` each secret that is learned.
        Ends when all pages are staged; FetchStopped when `stop` was set, FetchError when the source fails.
        """
        yield from staging.list_parts()
        if not staging.complete:
            watch = Watch(self.limits, stop or threading.Event(), tell, lambda: len(staging.entries))
            yield from self._fetch_missing(staging, watch, hide)

    def _fetch_missing(self, staging: Staging, watch: Watch, hide: Hide) -> Iterator[Part]:
        staged = len(staging.entries)
        try:
            with closing(self._walk(staging, watch, hide)) as pages:
                for page in pages:
                    yield staging.add(page.body, page.sha256, page.rows, page.following, page.total)
            staging.finish()
        except FetchError as error:
            went_on = len(staging.entries) > staged
            if error.start_again:
                staging.close(str(error))
            elif staged and not went_on and error.status in _FORGOTTEN:
                staging.close(str(error))
                raise FetchError(
                    f"{error} An earlier run got this far, but the source no longer knows this position. The "
                    "next run starts with the first page.",
                    status=error.status,
                    start_again=True,
                ) from error
            raise

    def _walk(self, staging: Staging, watch: Watch, hide: Hide) -> Generator[Page, None, None]:
        base, pagination, reading = parse_address(self.url), self.pagination, self.reading
        with (
            self.open_client(watch, hide) as client,
            ThreadPoolExecutor(max(self.limits.parallel, 1), "fetch") as pool,
        ):

            def get(position: Position) -> Page:
                return read_page(pagination, client.get(pagination.locate(base, position)), reading)

            staged = tuple(staging.entries)
            way = Way(base, client.origins, self.limits, staged, get, staging.read, pool)
            try:
                if isinstance(pagination, PageNumber | Offset):
                    yield from walk_series(pagination, way)
                else:
                    yield from walk_chain(pagination, way)
            finally:
                # Also when the consumer stops early: no request must outlive it.
                watch.end()
