"""Withdraw: take published chunks out of use; work that waits for them keeps waiting."""

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
    """Withdraw chunks; return how many were published, and how many were not."""
    dataset_id, dataset = get_dataset(store, dataset_name)
    instead = "To keep a job from running for a day: dataflow hold JOB DATAID"
    refuse_automatic(dataset_name, f"cannot be withdrawn. {instead}")
    batches = batches_of(dataset, dataids, "withdrawn")
    return in_batches(batches, lambda batch: store.withdraw(dataset_id, dataset_name, batch, why), progress)
