"""Resubmit: have work done again."""

from __future__ import annotations

import time

from dataflow.actions.make_ready import PAUSE_SECONDS
from dataflow.actions.selection import batches_of_work, refuse_running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.actions.selection import Selection
    from dataflow.model.records import Plan
    from dataflow.store.store import Store


def resubmit(
    store: Store,
    plan: Plan,
    selection: Selection,
    why: str = "",
    progress: Callable[[int], None] | None = None,
) -> int:
    """Have the selected work done again; return how much. Refused if any is RUNNING or unknown."""
    refuse_running(store, plan, selection)
    done = 0
    for batch in batches_of_work(store, plan, selection):
        if done:
            time.sleep(PAUSE_SECONDS)
        done += store.resubmit(plan, batch, why)
        if progress is not None:
            progress(done)
    return done
