"""What the runs of all kinds of pipelines have in common: a lease, without which they publish nothing."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dataflow.client import ClaimedRun
from dataflow.errors import LeaseLost, StoreUnreachable
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.records import PlanOutput
from dataflow.model.status import RunOutcome
from dataflow.pipelines.handover.patience import Patience
from dataflow.pipelines.run.facilities import Facilities
from dataflow.store.store import Store

WATCH_SECONDS = 1.0
WAITS = (1, 2, 4, 8, 16, *[30] * 9)
"""Seconds before each retry: five minutes in all, longer than a restart takes."""
SHOWN_CHARACTERS = 60


class PipelineRun:
    """One claimed run of any kind of pipeline."""

    def __init__(self, definition: Any, claimed: ClaimedRun, facilities: Facilities) -> None:
        self._definition = definition
        self._claimed = claimed
        self._facilities = facilities
        self._stop = threading.Event()
        self.warning = ""  # to report although the run succeeded

    @staticmethod
    def refuse_impossible(definition: Any, facilities: Facilities) -> None:
        """Raises an error for anything every run would lack, before one is claimed."""

    def execute(self) -> None:
        """Does the work; the claim publishes the output when this returns."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stops the work soon, on Spark, in a database or at a source; called from another thread."""
        self._stop.set()
        self._facilities.spark.interrupt()

    def log(self, text: str) -> None:
        """Adds a line to the run's log."""
        self._facilities.log.write(self._claimed.run, text)

    def _find_last_rows(self, dataset: str) -> int | None:
        """Row count of the previous version: of the same chunk, or of the newest snapshot before it."""
        output, dataid = output_of(self._claimed, dataset), self._claimed.dataid
        pair = (dataid, sort_key(dataid, Grain(output.dataset.grain)))
        is_snapshot = output.dataset.mode == "snapshot"
        return self._facilities.store.read.find_last_rows(output.dataset_id, pair, is_snapshot)


def output_of(claimed: ClaimedRun, dataset: str) -> PlanOutput:
    """The plan of one output of a run."""
    return next(item for item in claimed.prepared.plan.outputs if item.dataset.name == dataset)


def refuse_lost(claimed: ClaimedRun) -> None:
    """Raises LeaseLost, TimedOut or an interruption once it must stop: the last check before a publish."""
    claimed.refuse_interrupted()
    claimed.refuse_lost()
    claimed.refuse_timed_out()


def refuse_revoked(claimed: ClaimedRun, store: Store) -> None:
    """Also raises LeaseLost if the run has ended in the store, which this process may not know yet."""
    refuse_lost(claimed)
    try:
        found = store.read.find_run(claimed.run_id)
    except StoreUnreachable:
        return  # the lease's end is known without it
    if found is None or found.outcome != RunOutcome.RUNNING:
        raise LeaseLost(
            f"Run {claimed.run_id} has ended as {found.outcome if found else 'unknown'}. "
            f"Nothing was published. See: dataflow why {claimed.run.job} {claimed.dataid}"
        )


@contextmanager
def watched(claimed: ClaimedRun, cancel: Callable[[], None]) -> Iterator[None]:
    """Cancels the run's work once its lease is lost, its time is up or it is interrupted."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(WATCH_SECONDS):
            if claimed.is_over:
                # Repeatedly: a job may have been submitted meanwhile, or this attempt may have failed.
                with suppress(Exception):
                    cancel()

    watcher = threading.Thread(target=watch, name="watch", daemon=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        # otherwise the cancelled work would appear to have failed
        claimed.refuse_interrupted(error)
        claimed.refuse_timed_out(error)
        raise
    finally:
        is_over.set()
        watcher.join()


def make_patience(claimed: ClaimedRun, facilities: Facilities) -> Patience:
    """The retry policy of a run: it reports to the run's log and progress, and ends with its lease."""
    logged: list[str] = []

    def tell(trouble: str, left: float) -> None:
        refuse_lost(claimed)
        if trouble not in logged:
            logged.append(trouble)
            facilities.log.write(claimed.run, f"{trouble} The run waits and continues automatically.")
        shown = facilities.log.redact(trouble)[:SHOWN_CHARACTERS]
        facilities.progress.show(f"{shown}, again in {math.ceil(left)} s")

    return Patience(WAITS, tell)
