"""The streams of one pipeline: threads that claim and run intervals until none is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from dataflow.errors import DataFlowError, InputMoved
from dataflow.model.records import WorkRow
from dataflow.model.retries import JITTER
from dataflow.model.status import WorkState
from dataflow.runjob.handoff import RETRY_WAIT_SECONDS
from dataflow.runjob.presence import Presence
from dataflow.runjob.report import Tally

MARGIN_SECONDS = 5.0
"""Added to the grace of interrupted runs: they notice within a second, and record that they ended."""


class Outcome(Tally):
    """The results of the intervals that were run, and the last error."""

    error: DataFlowError | None = None


class Streams:
    """What the streams share: when to claim again, the runs under way, and how they ended."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self._changed = threading.Condition()
        self._alive = 0  # threads
        self._busy = 0  # streams that claim or run
        self._ended = 0  # runs
        self._is_exhausted = False  # nothing can be claimed until a run ends or a retry is due
        self._retries_at: list[float] = []
        self._is_broken = False
        self._error: BaseException | None = None  # that ended a stream

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

    def drain_in_threads(self, streams: Sequence[Callable[[], None]], presence: Presence) -> None:
        """Runs each stream in a thread; raises the first error once all have ended their current run.

        When this thread is interrupted, all runs are; those that outlast their grace are left running.
        """
        try:
            for number, stream in enumerate(streams, 1):
                self._start(stream, f"stream-{number}")
            self._wait_for_all(None)
        except BaseException as error:
            try:
                with self._changed:
                    self._is_broken = True
                    self._changed.notify_all()
                self._wait_for_all(presence.interrupt(error) + MARGIN_SECONDS)
            finally:
                if self._alive:
                    presence.leave_running()
            raise
        if self._error is not None:
            raise self._error

    def count_done(self, work_id: int) -> None:
        """Counts a published interval."""
        with self._changed:
            self.outcome.note(work_id, WorkState.DONE)

    def count_failed(self, error: DataFlowError, work: WorkRow | None) -> None:
        """Counts a failed interval; a drain waits for its retry if that is due soon."""
        with self._changed:
            self.outcome.error = error
            if work is None:
                return
            self.outcome.note(work.work_id, work.state)
            is_retried = work.state is WorkState.WAITING and not isinstance(error, InputMoved)
            longest = RETRY_WAIT_SECONDS * (1 + JITTER)
            if is_retried and work.wait_seconds is not None and work.wait_seconds <= longest:
                self._retries_at.append(time.monotonic() + work.wait_seconds)

    def stop_claiming(self, error: DataFlowError) -> None:
        """Lets the runs under way end, and claims no more: the next ones would fail as well."""
        with self._changed:
            self.outcome.error = self.outcome.broken = error
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

    def _start(self, stream: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=self._run_stream, args=(stream,), name=name, daemon=True)
        with self._changed:
            self._alive += 1
        try:
            thread.start()
        except Exception:  # not an interruption, after which the thread may be running
            with self._changed:
                self._alive -= 1
            raise

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
