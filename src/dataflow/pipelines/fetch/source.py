"""A paginated HTTP source: its pages become part files of a staging folder, one after the other."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import parse_qsl, urlsplit

import orjson

from dataflow.errors import FetchError
from dataflow.model.record import names_of, record
from dataflow.pipelines.fetch.address import is_secret_name, parse_address
from dataflow.pipelines.fetch.authentication import NOBODY, Credentials, Headers
from dataflow.pipelines.fetch.client import Client, Origins
from dataflow.pipelines.fetch.limits import Limits, Stop, Tell, Watch, say_nothing
from dataflow.pipelines.fetch.pagination import Cursor, NextLink, Page, Pagination, Position, read_page
from dataflow.pipelines.fetch.staging import Staging
from dataflow.pipelines.fetch.walking import Way, walk_chain, walk_series
from dataflow.pipelines.records import Part

SHORTEST_GUESSED = 8
"""What is shorter than this is no secret only because of its name: `sort_key=id`."""

# A resumed position that these answer is no longer known to the server.
_FORGOTTEN = frozenset((400, 404, 410, 422))


@record
class HttpSource:
    """Where pages come from, how they hang together, and what getting them may cost."""

    url: str
    pagination: Pagination = NextLink()
    credentials: Credentials = NOBODY
    limits: Limits = Limits()
    headers: Headers = ()
    allowed_origins: tuple[str, ...] = ()
    _hidden = ("url", "headers")

    @property
    def fingerprint(self) -> str:
        """Equal for sources whose pages can be mixed: of URL, headers, pagination and who asks."""
        pagination = {name: getattr(self.pagination, name) for name in names_of(self.pagination)}
        kind = type(self.pagination).__name__
        asks = self.credentials.identity
        text = orjson.dumps([parse_address(self.url).url, self.headers, kind, pagination, asks])
        return hashlib.sha256(text).hexdigest()

    def list_secrets(self) -> list[str]:
        """All that no message may show: of the credentials, and of headers and parameters named for one."""
        parameters = parse_qsl(urlsplit(self.url).query)
        named = [value for name, value in (*self.headers, *parameters) if is_secret_name(name)]
        words = [word for value in named for word in (value, value.rpartition(" ")[2])]  # as in `Bearer …`
        return [self.credentials.secret, *(word for word in words if len(word) >= SHORTEST_GUESSED)]

    def fetch(
        self,
        staging: Staging,
        stop: Stop | None = None,
        tell: Tell = say_nothing,
    ) -> Iterator[Part]:
        """Gives every part as soon as its file is whole: first those staged already, then the missing pages.

        `tell` is told what is waited for while a request is tried again.
        Ends when all pages are here; FetchStopped when `stop` was set, FetchError when the source fails.
        """
        yield from staging.list_parts()
        if not staging.complete:
            watch = Watch(self.limits, stop or threading.Event(), tell)
            yield from self._fetch_missing(staging, watch)

    def _fetch_missing(self, staging: Staging, watch: Watch) -> Iterator[Part]:
        staged = len(staging.entries)
        try:
            with closing(self._walk(staging, watch)) as pages:
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
                    f"{error} An earlier run got this far, but the source no longer knows the place. The "
                    "next run starts with the first page.",
                    status=error.status,
                    start_again=True,
                ) from error
            raise

    def _walk(self, staging: Staging, watch: Watch) -> Generator[Page, None, None]:
        base = parse_address(self.url)
        origins = Origins(base.origin, frozenset(parse_address(url).origin for url in self.allowed_origins))
        pagination = self.pagination
        with (
            Client(origins, self.credentials, self.limits, watch, self.headers) as client,
            ThreadPoolExecutor(max(self.limits.parallel, 1), "fetch") as pool,
        ):

            def get(position: Position) -> Page:
                return read_page(pagination, client.get(pagination.locate(base, position)))

            way = Way(base, origins, self.limits, tuple(staging.entries), get, pool)
            try:
                if isinstance(pagination, NextLink | Cursor):
                    yield from walk_chain(pagination, way)
                else:
                    yield from walk_series(pagination, way)
            finally:
                # Also when the reader of the parts goes away: no request must outlive it.
                watch.end()
