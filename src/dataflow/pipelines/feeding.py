"""Fetching and shaping at the same time: parts go to Spark as they arrive, several tasks side by side."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from dataflow.pipelines.records import Part

Result = TypeVar("Result")

PARTS_AT_ONCE = 16
"""A task gets so many parts, or fewer when no more will come: a Spark job costs more than a page."""


class Feeder(Generic[Result]):
    """Takes parts from one thread and gives them, a handful at a time, to a few others that work on them."""

    def __init__(
        self, work: Callable[[tuple[Part, ...]], Result], streams: int, stop: threading.Event
    ) -> None:
        self._work = work
        self._streams = streams
        self._stop = stop
        self._arrived: queue.SimpleQueue[Part | BaseException | None] = queue.SimpleQueue()

    def run(self, parts: Iterator[Part]) -> list[Result]:
        """Works on all parts; the first error of either side stops both and is raised."""
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
                while waiting and len(running) < self._streams and (is_over or len(waiting) >= PARTS_AT_ONCE):
                    share = self._share(waiting, self._streams - len(running)) if is_over else PARTS_AT_ONCE
                    running.add(pool.submit(self._work, tuple(waiting[:share])))
                    del waiting[:share]
                ended, running = wait(running, 0 if not is_over else None, FIRST_COMPLETED)
                results += [future.result() for future in ended]
        except BaseException:
            self._stop.set()
            raise
        return results

    def _take(self, waiting: list[Part]) -> bool:
        """Takes what has arrived, waiting a moment for the first; True when no more will come."""
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

    @staticmethod
    def _share(waiting: list[Part], streams: int) -> int:
        """What is left, evenly among the streams that are free, but never more than usual."""
        return max(1, min(PARTS_AT_ONCE, -(-len(waiting) // max(streams, 1))))
