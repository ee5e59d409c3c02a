"""Fetches and shapes concurrently: parts go to Spark as they arrive, several tasks at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import accumulate
from typing import Generic, TypeVar

from dataflow.pipelines.handover.records import Part

Result = TypeVar("Result")

PARTS_AT_ONCE = 16
BYTES_AT_ONCE = 64 << 20
"""A task waits for this many parts or bytes, since a Spark job costs more than a page. It then takes all that
has arrived, up to this many bytes: the work that is repeated when it fails."""


class Feeder(Generic[Result]):
    """Takes parts from one thread and passes them in batches to a few worker threads."""

    def __init__(
        self, work: Callable[[tuple[Part, ...]], Result], streams: int, stop: threading.Event
    ) -> None:
        self._work = work
        self._streams = streams
        self._stop = stop
        self._arrived: queue.SimpleQueue[Part | BaseException | None] = queue.SimpleQueue()

    def run(self, parts: Iterator[Part]) -> list[Result]:
        """Processes all parts; the first error on either side stops both and is raised."""
        fetching = threading.Thread(target=self._fetch, args=(parts,), name="fetch", daemon=True)
        fetching.start()
        try:
            with ThreadPoolExecutor(self._streams, "stage") as pool:
                return self._distribute(pool)
        finally:
            self._stop.set()
            fetching.join()

    def _fetch(self, parts: Iterator[Part]) -> None:
        try:
            for part in parts:
                self._arrived.put(part)
            self._arrived.put(None)
        except BaseException as error:
            self._arrived.put(error)

    def _distribute(self, pool: ThreadPoolExecutor) -> list[Result]:
        running: set[Future[Result]] = set()
        results: list[Result] = []
        waiting: list[Part] = []
        is_over = False
        try:
            while not is_over or waiting or running:
                if not is_over:
                    is_over = self._take(waiting)
                while waiting and len(running) < self._streams and (is_over or _is_worth_a_task(waiting)):
                    share = -(-len(waiting) // (self._streams - len(running))) if is_over else len(waiting)
                    parts = _fitting(waiting[:share])
                    running.add(pool.submit(self._work, parts))
                    del waiting[: len(parts)]
                ended, running = wait(running, 0 if not is_over else None, FIRST_COMPLETED)
                results += [future.result() for future in ended]
        except BaseException:
            self._stop.set()
            raise
        return results

    def _take(self, waiting: list[Part]) -> bool:
        """Takes what has arrived, waiting briefly for the first part; True when no more will come."""
        try:
            found = self._arrived.get(timeout=0.05)
            while found is not None:
                if isinstance(found, BaseException):
                    raise found
                waiting.append(found)
                found = self._arrived.get_nowait()
            return True
        except queue.Empty:
            return False


def _is_worth_a_task(waiting: list[Part]) -> bool:
    return len(waiting) >= PARTS_AT_ONCE or sum(part.size for part in waiting) >= BYTES_AT_ONCE


def _fitting(parts: list[Part]) -> tuple[Part, ...]:
    """The first parts, as many as one task may take but at least one."""
    sizes = accumulate(part.size for part in parts)
    return tuple(parts[: max(1, sum(size <= BYTES_AT_ONCE for size in sizes))])
