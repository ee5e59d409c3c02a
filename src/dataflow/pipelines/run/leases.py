"""A pipeline's run and its lease: who has lost it stops, and gives nothing out."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataflow.errors import LeaseLost, StoreUnreachable
from dataflow.model.status import RunOutcome
from dataflow.pipelines.handover.patience import Patience

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.store.store import Store

WATCH_SECONDS = 1.0
WAITS = (1, 2, 4, 8, 16, *[30] * 9)
"""Seconds before each further try: five minutes in all, and more than a restart takes."""
SHOWN_CHARACTERS = 60


def refuse_lost(claimed: ClaimedRun) -> None:
    """Raises LeaseLost once the lease is known to be lost: the last look before something is given out."""
    claimed.refuse_lost()


def refuse_revoked(claimed: ClaimedRun, store: Store) -> None:
    """Raises LeaseLost once the run has ended in the store, too, which nobody may have noticed here yet.

    A store that gives no answer changes nothing: the lease's end is known without it.
    """
    refuse_lost(claimed)
    try:
        found = store.read.find_run(claimed.run_id)
    except StoreUnreachable:
        return
    if found is None or found.outcome != RunOutcome.RUNNING:
        raise LeaseLost(
            f"Run {claimed.run_id} has ended as {found.outcome if found else 'unknown'}. "
            f"Nothing was published. See: dataflow why {claimed.run.job} {claimed.dataid}"
        )


@contextmanager
def watched(claimed: ClaimedRun, cancel: Callable[[], None]) -> Iterator[None]:
    """Ends the run's work once its lease is lost: nothing it does would be accepted any more."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(WATCH_SECONDS):
            if claimed.lost:
                cancel()  # again and again: a job may have been sent off meanwhile

    watcher = threading.Thread(target=watch, name="watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def make_patience(claimed: ClaimedRun, facilities: Facilities) -> Patience:
    """The patience of a run, which tells its log and its progress, and ends with its lease."""
    logged: list[str] = []

    def tell(trouble: str, left: float) -> None:
        refuse_lost(claimed)
        if trouble not in logged:
            logged.append(trouble)
            facilities.log(claimed.run, f"{trouble} The run waits for it and goes on by itself.")
        shown = facilities.redact(trouble)[:SHOWN_CHARACTERS]
        facilities.progress.show(f"{shown}, again in {math.ceil(left)} s")

    return Patience(WAITS, tell)
