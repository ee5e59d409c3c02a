"""Withdraw: published chunks are taken out of use; work that waits for them waits on."""

from __future__ import annotations

from dataflow.actions.dataset_rules import refuse_automatic
from dataflow.actions.make_ready import batches_of, in_batches
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
    batches = batches_of(dataset, dataids, "withdrawn")
    return in_batches(batches, lambda batch: store.withdraw(dataset_id, dataset_name, batch, why), progress)
