"""Limits of a fetch (time, retries, size), and the waits between its requests."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from dataflow.errors import FetchError, FetchStopped
from dataflow.model.record import record

# How long a stop or an expired time limit may go unnoticed.
SLICE_SECONDS = 0.2


@record
class Limits:
    """Limits of a fetch; `requests_per_second` 0 means unlimited."""

    request_seconds: float = 300.0
    total_seconds: float = 86_400.0
    connect_seconds: float = 15.0
    attempts: int = 6
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 300.0
    requests_per_second: float = 0.0
    body_bytes: int = 256 * 1024 * 1024
    page_memory_bytes: int = 1024 * 1024 * 1024
    parallel: int = 4
    empty_pages: int = 10


Tell = Callable[[str, str], None]
"""Receives, from any thread, what went wrong and what happens next."""


class Watch:
    """The clocks of one fetch, shared by its threads: stop signal, time limits and rate limit."""

    def __init__(
        self,
        limits: Limits,
        stop: threading.Event,
        tell: Tell = lambda trouble, following: None,
        count_staged: Callable[[], int] = lambda: 0,
    ) -> None:
        self._limits = limits
        self._stop = stop
        self._tell = tell
        self._count_staged = count_staged
        self._telling = threading.Lock()
        self._ended = threading.Event()
        self._deadline = time.monotonic() + limits.total_seconds
        self._request = threading.local()
        self._turn_lock = threading.Lock()
        self._next_turn = 0.0

    @property
    def has_staged(self) -> bool:
        """True if pages of this fetch are kept for a later run; never in a preview."""
        return self._count_staged() > 0

    def end(self) -> None:
        """Make every thread of the fetch stop soon."""
        self._ended.set()

    def begin_request(self) -> None:
        """Start the time limit of this thread's next request."""
        self._request.deadline = time.monotonic() + self._limits.request_seconds

    def get_request_seconds(self) -> float:
        """Seconds left for this thread's request, zero or less when expired; FetchStopped, FetchError."""
        self.check()
        return float(self._request.deadline) - time.monotonic()

    def check(self) -> None:
        """Raise FetchStopped after a stop signal; FetchError when the time for the whole fetch is up."""
        if self._stop.is_set() or self._ended.is_set():
            kept = "; the pages staged so far are kept for the next run" if self.has_staged else ""
            raise FetchStopped(f"Fetching was stopped{kept}.")
        if time.monotonic() >= self._deadline:
            kept = "; the pages staged so far are kept: run it again to continue, or raise"
            raise FetchError(
                f"Fetching took longer than its total limit of {self._limits.total_seconds:g} s"
                f"{kept if self.has_staged else '. Raise'} the source's total_seconds."
            )

    def wait(self, seconds: float) -> None:
        """Wait, unless stopped or out of time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            self._ended.wait(min(left, SLICE_SECONDS))
        self.check()

    def wait_to_retry(self, trouble: str, seconds: float) -> None:
        """Wait like `wait`; the first waiting thread reports the reason and the remaining time."""
        until = time.monotonic() + seconds
        is_first = self._telling.acquire(blocking=False)
        try:
            while (left := until - time.monotonic()) > 0:
                if is_first:
                    self._tell(trouble, f"retrying in {math.ceil(left)} s")
                self.wait(min(left, 1.0))
            if is_first:
                self._tell(trouble, "retrying")
        finally:
            if is_first:
                self._telling.release()

    def wait_for_turn(self) -> None:
        """Wait until the rate limit lets this thread send a request."""
        rate = self._limits.requests_per_second
        if rate <= 0:
            return self.check()
        with self._turn_lock:
            turn = max(self._next_turn, time.monotonic())
            self._next_turn = turn + 1 / rate
        self.wait(turn - time.monotonic())

    def get_retry_wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after this attempt, at least what the server asks; FetchError if over the limit."""
        longest = self._limits.longest_wait_seconds
        if asked is not None and asked > longest:
            kept = ", the pages staged so far are kept" if self.has_staged else ""
            raise FetchError(
                f"it asks to wait {asked:.0f} s, more than the limit of {longest:g} s; run it again "
                f"later{kept}"
            )
        wait = min(self._limits.first_wait_seconds * 2.0 ** min(attempt - 1, 60), longest)
        # Jitter: runs that failed together must not retry together.
        return max(wait * random.uniform(0.5, 1.0), asked or 0.0)


def find_retry_after(value: str, server_date: str) -> float | None:
    """The seconds requested by a Retry-After header, in either form; None when unreadable."""
    if value.strip().isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        # Relative to the server's clock, if it sends one: ours may differ.
        now = parsedate_to_datetime(server_date).timestamp() if server_date else time.time()
        return max(until.timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None
