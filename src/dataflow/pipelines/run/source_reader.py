"""The source of one run: its parts, for every kind of source, and how they reach Spark as they arrive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import accumulate, chain
from typing import Generic, TypeVar

from dataflow.client import ClaimedRun
from dataflow.pipelines.declare.definitions import DatasetDefinition
from dataflow.pipelines.declare.sources import Files, Http
from dataflow.pipelines.fetch.file_source import get_kind, list_files
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.staging_folder import Staging
from dataflow.pipelines.handover.records import Part
from dataflow.pipelines.register.spans import Span
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.inference import read_beginning
from dataflow.pipelines.shape.shaper import Shaper

Result = TypeVar("Result")

PARTS_AT_ONCE = 16
BYTES_AT_ONCE = 64 << 20
"""A task waits for this many parts or bytes, since a Spark job costs more than a page. It then takes all that
has arrived, up to this many bytes: the work that is repeated when it fails."""
SHOWN_CHARACTERS = 50
"""Length of a shown problem: a progress line wider than the terminal could not be erased."""


class SourceReader:
    """The parts that a run reads; pages of an API continue where an earlier run of the same work stopped."""

    def __init__(
        self,
        definition: DatasetDefinition,
        span: Span,
        claimed: ClaimedRun,
        facilities: Facilities,
        stop: threading.Event,
    ) -> None:
        source = definition.source
        self._stop = stop
        self._folder = facilities.staging.of_run(claimed.run)
        self._staging: Staging | None = None
        self.kind, self.results_key = "page", ""
        if isinstance(source, Http):
            self.results_key = source.pages.results
            found = source.resolve(facilities.environ, claimed.dataid, (span.start, span.end))
            facilities.settings.secrets.add(*found.list_secrets())
            self._parts = self._fetch(found, claimed, facilities)
        elif isinstance(source, Files):
            self.kind = get_kind(source.path, source.format)
            self._parts = list_files(source.path, facilities.config.project_dir, claimed.dataid)
        else:
            from dataflow.pipelines.register.databases import read_table  # which needs the driver

            self.kind = "parquet"
            self._parts = read_table(source, self._folder, facilities.settings, stop)

    def parts(self) -> Iterator[Part]:
        """Each part, as soon as it is complete."""
        return self._parts

    @property
    def total(self) -> int | None:
        """How many rows the source has; None if it does not say."""
        return self._staging.total if self._staging else None

    def wait_for_first(self) -> Part | None:
        """The first part, or None; it is still returned with the others."""
        first = next(self._parts, None)
        if first is not None:
            self._parts = chain([first], self._parts)
        return first

    def first_body(self) -> bytes:
        """As much of the first part as shows its fields, b"" if there is none; `parts` still returns it."""
        first = self.wait_for_first()
        if first is None:
            return b""
        with open(first.path, "rb") as file:
            return read_beginning(file, self.kind)

    def shaper(self, fields: tuple[Field, ...], uuid_as_bytes: bool) -> Shaper:
        """The reader that makes batches of the parts."""
        return Shaper(fields, self.results_key, self.kind, uuid_as_bytes)

    def close(self, reason: str) -> None:
        """Marks the fetched pages as unusable: the next run starts with the first page."""
        if self._staging is not None:
            self._staging.close(reason)

    def _fetch(self, source: HttpSource, claimed: ClaimedRun, facilities: Facilities) -> Iterator[Part]:
        staging = self._staging = Staging(self._folder, source.fingerprint)

        def tell(trouble: str, following: str) -> None:
            shown = facilities.log.redact(trouble)[:SHOWN_CHARACTERS]
            facilities.progress.show(f"page {len(staging.entries) + 1}: {shown}, {following}")

        earlier = {
            facilities.staging.of_run(claimed.run, each): not each.called_since
            for each in facilities.store.read.list_earlier_runs(claimed.run.work_id, claimed.run_id)
        }
        taken = staging.continue_from(earlier)
        if taken:
            facilities.log.write(claimed.run, f"continues after page {taken}, which an earlier run fetched")
        yield from source.fetch(staging, self._stop, tell, facilities.settings.secrets.add)


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
