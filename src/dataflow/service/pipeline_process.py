"""The process that runs a worker's pipelines: threads that share one Spark session, started on first need.

It takes requests on its standard input, a socket, and ends when that is closed or after a long idle time.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from dataflow import failpoints
from dataflow.actions.passwords import open_store_password
from dataflow.client import Flow
from dataflow.config.settings import Config, load_config
from dataflow.errors import DataFlowError, SparkGone, StoreError
from dataflow.model.records import Run
from dataflow.pipelines.declare.catalog import Catalog, Definition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.register.project_jobs import register_project
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.streams import MARGIN_SECONDS, Outcome
from dataflow.pipelines.run.worker import PipelineWorker
from dataflow.runjob.presence import Presence
from dataflow.secrets.passphrase import get_passphrase
from dataflow.service.wire import Wire
from dataflow.store.opener import open_store
from dataflow.store.store import Store


class SilentProgress:
    """Shows nothing: a worker's runs are seen with `dataflow workers`."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Nothing is shown."""

    def end(self) -> None:
        """Nothing was shown."""

    def paused(self) -> nullcontext[None]:
        """Nothing else is shown meanwhile either."""
        return nullcontext()

    def beside(self) -> SilentProgress:
        """The same for another run."""
        return self


class ReportingFacilities(Facilities):
    """Facilities that report to the worker which run was claimed."""

    wire: Wire
    run_id = 0  # of the last run

    @contextmanager
    def running(self, run: Run) -> Iterator[None]:
        """Tells of the run and gives it what it needs."""
        self.run_id = run.run_id
        self.wire.send({"claimed": run.job, "run_id": run.run_id, "dataid": run.dataid})
        with super().running(run):
            yield


class PipelineProcess:
    """The project's pipelines as last loaded without an error, and the runs under way."""

    def __init__(self, wire: Wire, asked: dict[str, Any]) -> None:
        self._wire = wire
        self._quiet = bool(asked["quiet"])
        self._idle_seconds = float(asked["spark_idle_seconds"])
        self._place = str(asked["cwd"]), asked["store"]
        self.config = self._load_config()
        password = open_store_password(self.config, self._passphrase)
        config = self.config
        self._store: Store = open_store(config.store_url, config.actor, config.store_schema, password)
        self._password = password
        self._presence = Presence(self.config.lock_dir, self._store, asked["claimant"])
        self._definitions: dict[str, Definition] = {}
        self._facilities: ReportingFacilities | None = None
        self._flow: Flow | None = None
        self._seats: list[tuple[Flow, ReportingFacilities]] = []
        self._runs: set[threading.Thread] = set()
        self._keeps_old = False  # some definitions are no longer what the files say
        self._has_old_spark = False  # the Spark session has other settings than the files say
        self._is_broken = False
        self._changing = threading.Lock()

    def load(self) -> None:
        """Loads and registers the pipelines; what is broken now stays as it was."""
        self.config = self._load_config()
        catalog = Catalog(self.config.project_dir, os.environ)
        settings = PipelineSettings(self.config.project_dir, os.environ, self._passphrase)
        settings.secrets.add(self._password)
        for problem in catalog.problems:
            self._tell(settings.secrets.redact_text(f"warning: {problem}"), once=True)
        refused = register_project(
            self._store,
            catalog,
            settings,
            lambda text: self._tell(settings.secrets.redact_text(text), once=True),
        )
        good = {name: one for name, one in catalog.definitions.items() if name not in refused}
        kept = {
            name: one
            for name, one in self._definitions.items()
            if name not in good and (name in refused or one.file in catalog.broken_files)
        }
        self._definitions = kept | good
        self._keeps_old = bool(kept)
        facilities = ReportingFacilities(
            self.config, self._store, settings, catalog.constants, SilentProgress()
        )
        facilities.wire = self._wire
        if self._facilities is not None:
            if settings.spark != self._facilities.settings.spark:
                self._has_old_spark = True
                self._stop_old_spark()
            facilities.share_session(self._facilities)
        with self._changing:
            self._facilities = facilities
            self._flow = Flow(self.config, self._store, settings.secrets, self._presence)
            for flow, _ in self._seats:
                flow.close()
            self._seats.clear()  # runs under way keep theirs
        self._wire.send({"jobs": sorted(self._definitions)})

    def serve(self) -> None:
        """Takes requests until the worker is gone, or nothing was asked for a long time."""
        poller = select.poll()
        poller.register(self._wire.fileno(), select.POLLIN)
        idle_since = time.monotonic()
        while not (self._is_broken and not self._runs):
            if poller.poll(1000):
                messages = self._wire.receive()
                if messages is None:
                    return
                for message in messages:
                    self.take(message)
            self._stop_old_spark()
            if self._runs:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= self._idle_seconds:
                if not self._keeps_old:
                    return
                assert self._facilities is not None
                self._facilities.spark.shared.stop()

    def end(self, error: BaseException | None) -> None:
        """Hands back what still runs, and stops Spark."""
        if self._runs:
            until = time.monotonic() + self._presence.interrupt(error or SystemExit(1)) + MARGIN_SECONDS
            for thread in self._runs:
                thread.join(max(0.0, until - time.monotonic()))
            if any(thread.is_alive() for thread in self._runs):
                self._presence.leave_running()
        if self._facilities is not None:
            self._facilities.spark.shared.stop()
        self._presence.release()

    def take(self, message: dict[str, Any]) -> None:
        """Does what the worker asks for."""
        if "load" in message:
            try:
                self.load()
            except DataFlowError as error:
                self._tell(f"{error} The worker keeps the pipelines it has.", once=True)
                again = isinstance(error, StoreError)  # the next try may succeed with the same files
                self._wire.send({"jobs": sorted(self._definitions), "again": again})
        else:
            self._stop_old_spark()
            thread = threading.Thread(target=self._run, args=(message["run"],), daemon=True)
            self._runs.add(thread)
            thread.start()

    def _stop_old_spark(self) -> None:
        """Stops a session with old settings once no run uses it; the next one starts with the new ones."""
        self._runs = {thread for thread in self._runs if thread.is_alive()}
        if self._has_old_spark and not self._runs and self._facilities is not None:
            self._facilities.spark.shared.stop()
            self._has_old_spark = False

    def _run(self, job: str) -> None:
        """Claims and runs one interval in this thread."""
        outcome, run_id = Outcome(), 0
        try:
            definition = self._definitions[job]
            flow, facilities = self._take_seat()
            facilities.run_id = 0
            try:
                worker = PipelineWorker(flow, facilities, definition, self._tell, self._quiet)
                with facilities.settings.secrets.hidden_in_errors():
                    outcome = worker.run(drain=False, dataid=None)
            finally:
                run_id = facilities.run_id
                self._leave_seat(flow, facilities)
        except DataFlowError as error:
            self._tell(f"{job}: {error}", once=True)
        except Exception as error:
            self._tell(f"{job}: {type(error).__name__}: {error}", once=True)
        self._is_broken = self._is_broken or isinstance(outcome.broken, SparkGone)
        self._wire.send({"ended": job, "run_id": run_id, "found": bool(run_id), "done": bool(outcome.done)})

    def _take_seat(self) -> tuple[Flow, ReportingFacilities]:
        """A connection to the store and a stream of the Spark session for one thread."""
        with self._changing:
            if self._seats:
                return self._seats.pop()
            assert self._flow is not None and self._facilities is not None
            flow, facilities = self._flow, self._facilities
        store = self._store.separate()
        return flow.beside(store), facilities.beside(store)

    def _leave_seat(self, flow: Flow, facilities: ReportingFacilities) -> None:
        with self._changing:
            if self._facilities is not None and facilities.settings is self._facilities.settings:
                self._seats.append((flow, facilities))
                return
        flow.close()  # made for definitions that have been replaced

    def _load_config(self) -> Config:
        folder, store = self._place
        return load_config(folder, os.environ, store)

    def _passphrase(self) -> str:
        return get_passphrase(self.config.passkey, self.config.passkey_file, None)

    def _tell(self, text: str, once: bool = False) -> None:
        self._wire.send({"say": text, "once": once})


def main() -> int:
    """Serves one worker."""
    wire = Wire(socket.socket(fileno=os.dup(0)))
    asked = wire.receive()
    if not asked:
        return 0
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a pipeline starts must not read our requests
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    failpoints.arm(os.environ.get("DATAFLOW_FAILPOINT", ""))
    process: PipelineProcess | None = None
    error: BaseException | None = None
    try:
        process = PipelineProcess(wire, asked[0])
        process.load()
        for message in asked[1:]:
            process.take(message)
        process.serve()
    except DataFlowError as found:
        wire.send({"say": str(found), "once": True})
        return found.exit_code
    except (SystemExit, KeyboardInterrupt) as found:
        error = found
    finally:
        if process is not None:
            process.end(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
