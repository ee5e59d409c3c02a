"""The streams of one pipeline: threads that claim and run intervals until none is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.errors import DataFlowError

MARGIN_SECONDS = 5.0
"""Added to the grace of interrupted runs: they notice within a second, and record that they ended."""


class Outcome:
    """The results of the intervals that were run."""

    def __init__(self) -> None:
        self.done = self.failed = 0
        self.error: DataFlowError | None = None


class Streams:
    """What the streams share: when to claim again, the runs under way, and how they ended."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self._changed = threading.Condition()
        self._alive = 0  # threads
        self._busy = 0  # streams that claim or run
        self._runs: dict[int, ClaimedRun] = {}
        self._ended = 0  # runs
        self._is_exhausted = False  # nothing can be claimed until a run ends or a retry is due
        self._retries_at: list[float] = []
        self._is_broken = False
        self._error: BaseException | None = None  # that ended a stream
        self._interruption: BaseException | None = None

    def drain(self, run_one: Callable[[], bool]) -> None:
        """Calls `run_one`, which returns False when it claims nothing, until no stream finds more to do."""
        while self._begin():
            ended_before, found = self._ended, False
            try:
                found = run_one()
            finally:
                with self._changed:
                    self._busy -= 1
                    self._ended += found
                    # A run that ended since this claim began may have left more to claim.
                    self._is_exhausted = self._ended == ended_before
                    self._changed.notify_all()

    def drain_in_threads(self, streams: Sequence[Callable[[], None]], leave: Callable[[], None]) -> None:
        """Runs each stream in a thread; raises the first error once all have ended their current run.

        When this thread is interrupted, all runs are; `leave` is called for those that outlast their grace.
        """
        self._alive = len(streams)
        try:
            for number, stream in enumerate(streams, 1):
                name = f"stream-{number}"
                threading.Thread(target=self._run_stream, args=(stream,), name=name, daemon=True).start()
            self._wait_for_all(None)
        except BaseException as error:
            try:
                self._wait_for_all(self._interrupt(error))
            finally:
                if self._alive:
                    leave()
            raise
        if self._error is not None:
            raise self._error

    @contextmanager
    def running(self, claimed: ClaimedRun) -> Iterator[None]:
        """Lets an interruption of the main thread reach this run."""
        with self._changed:
            self._runs[claimed.run_id] = claimed
            if self._interruption is not None:  # it came while the claim was under way
                claimed.interrupt(self._interruption)
        try:
            claimed.refuse_interrupted()
            yield
        finally:
            with self._changed:
                del self._runs[claimed.run_id]

    def count_done(self) -> None:
        """Counts a published interval."""
        with self._changed:
            self.outcome.done += 1

    def count_failed(self, error: DataFlowError, retry_seconds: float | None) -> None:
        """Counts a failed interval; a drain waits for its retry if the time to that is given."""
        with self._changed:
            self.outcome.failed += 1
            self.outcome.error = error
            if retry_seconds is not None:
                self._retries_at.append(time.monotonic() + retry_seconds)

    def stop_claiming(self, error: DataFlowError) -> None:
        """Lets the runs under way end, and claims no more: the next ones would fail as well."""
        with self._changed:
            self.outcome.error = error
            self._is_broken = True

    def _begin(self) -> bool:
        """Waits until there may be something to claim; False when there is nothing more to do."""
        with self._changed:
            while not self._is_broken:
                now = time.monotonic()
                if any(at <= now for at in self._retries_at):
                    self._retries_at = [at for at in self._retries_at if at > now]
                    self._is_exhausted = False
                if not self._is_exhausted:
                    self._busy += 1
                    return True
                if not self._busy and not self._retries_at:
                    return False
                self._changed.wait(min(self._retries_at) - now if self._retries_at else None)
            return False

    def _run_stream(self, stream: Callable[[], None]) -> None:
        error: BaseException | None = None
        try:
            stream()
        except BaseException as raised:
            error = raised
        with self._changed:
            self._alive -= 1
            if error is not None:
                self._is_broken = True
                self._error = self._error or error
            self._changed.notify_all()

    def _wait_for_all(self, seconds: float | None) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._alive, seconds)

    def _interrupt(self, error: BaseException) -> float:
        """Interrupts all runs; returns how many seconds they get to end."""
        with self._changed:
            self._is_broken = True
            self._interruption = error
            for claimed in self._runs.values():
                claimed.interrupt(error)
            self._changed.notify_all()
            graces = [claimed.run.grace_seconds for claimed in self._runs.values()]
            return max(graces, default=0.0) + MARGIN_SECONDS
