"""What the runs of all kinds of pipelines have in common."""

from __future__ import annotations

import threading
from typing import Any

from dataflow.client import ClaimedRun
from dataflow.pipelines.handover.patience import Patience
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.leases import make_patience
from dataflow.pipelines.run.targets import find_last_rows


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
        return find_last_rows(self._claimed, dataset, self._facilities.store)

    def _make_patience(self) -> Patience:
        return make_patience(self._claimed, self._facilities.log, self._facilities.progress)
