"""A pipeline's run and its lease: who has lost it stops, and gives nothing out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun

WATCH_SECONDS = 1.0


def refuse_lost(claimed: ClaimedRun) -> None:
    """Raises LeaseLost once the lease is known to be lost: the last look before something is given out."""
    claimed.refuse_lost()


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
