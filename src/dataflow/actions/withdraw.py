"""Withdraw: published chunks are taken out of use; work that waits for them waits on."""

from __future__ import annotations

import time

from dataflow.actions.dataset_rules import refuse_automatic
from dataflow.actions.make_ready import PAUSE_SECONDS, batches_of
from dataflow.actions.names import get_dataset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dataflow.store.store import Store


def withdraw(
    store: Store,
    dataset_name: str,
    dataids: Iterable[str],
    why: str = "",
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Takes chunks out of use; gives how many were published, and how many were not."""
    dataset_id, dataset = get_dataset(store, dataset_name)
    refuse_automatic(dataset_name, "cannot be withdrawn. To keep a job from a day: dataflow hold JOB DATAID")
    changed = given = 0
    for batch in batches_of(dataset, dataids, "withdrawn"):
        if given:
            time.sleep(PAUSE_SECONDS)
        changed += store.withdraw(dataset_id, dataset_name, batch, why)
        given += len(batch)
        if progress is not None:
            progress(given)
    return changed, given - changed
