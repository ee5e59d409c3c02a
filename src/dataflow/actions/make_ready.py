"""Make ready: chunks that come from outside are published, a million as well as one.

Work goes in batches of one transaction each, so that nobody else waits long and memory stays bounded.
"""

from __future__ import annotations

import time
from contextlib import suppress

from dataflow.actions.dataset_rules import refuse_automatic
from dataflow.actions.names import get_dataset
from dataflow.errors import BadInput, StoreError
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.store.store import BULK_BATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dataflow.model.records import Dataset
    from dataflow.store.store import Store

    Pair = tuple[str, str]

PAUSE_SECONDS = 0.005
"""Between two batches, so that a claim which waits for the lock gets it."""
MANY = 100_000
"""Chunks at once that make a store another one to its planner."""


@record
class ReadyResult:
    """How many chunks became ready (or, with `again`, newer), and how many were ready already."""

    changed: int
    already: int


def make_ready(
    store: Store,
    dataset_name: str,
    dataids: Iterable[str],
    again: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ReadyResult:
    """Publishes chunks of a dataset; repeating it changes nothing, unless `again` asks for a new version.

    A dataid that cannot be taken stops it with BadInput, which says how many were made ready before; of an
    input shorter than one batch none are. `progress` is told how many are done so far.
    """
    dataset_id, dataset = get_dataset(store, dataset_name)
    refuse_automatic(dataset_name, "needs no `ready`")
    _refuse_staged(dataset)
    batches = batches_of(dataset, dataids, "made ready")
    changed, already = in_batches(
        batches, lambda batch: store.make_ready(dataset_id, dataset_name, batch, again), progress
    )
    if changed >= MANY:
        with suppress(StoreError):  # all is published; a server too busy for this does it later by itself
            store.count_rows()
    return ReadyResult(changed, already)


def in_batches(
    batches: Iterable[list[Pair]], verb: Callable[[list[Pair]], int], progress: Callable[[int], None] | None
) -> tuple[int, int]:
    """Does one batch after the other; gives how many chunks changed, and how many were so already."""
    changed = given = 0
    for batch in batches:
        if given:
            time.sleep(PAUSE_SECONDS)
        changed += verb(batch)
        given += len(batch)
        if progress is not None:
            progress(given)
    return changed, given - changed


def _refuse_staged(dataset: Dataset) -> None:
    if dataset.staged:
        raise BadInput(
            f"Dataset {dataset.name} has {{run_id}} in its location, so only the run that wrote a chunk "
            "knows its place and publishes it. To say by hand that one is good: "
            "dataflow mark JOB DATAID READY. For chunks from outside, without {run_id}: "
            f"dataflow dataset add {dataset.name} --location PLACE"
        )


def batches_of(dataset: Dataset, dataids: Iterable[str], done: str) -> Iterator[list[Pair]]:
    """Canonical dataids with their sort keys, in batches without repetitions; BadInput for a bad one."""
    grain = Grain(dataset.grain)
    batch: dict[str, str] = {}
    before = 0
    for number, text in enumerate(dataids, start=1):
        try:
            dataid = canonical_dataid(text, grain, dataset.timezone)
        except BadInput as error:
            raise _stopped(error, number, before, done) from error
        batch[dataid] = sort_key(dataid, grain)
        if len(batch) == BULK_BATCH:
            yield list(batch.items())
            before += len(batch)
            batch = {}
    if batch:
        yield list(batch.items())


def _stopped(error: BadInput, number: int, before: int, done: str) -> BadInput:
    if not before:
        return BadInput(f"{error} It is number {number} of those given; nothing was changed.")
    return BadInput(
        f"{error} It is number {number} of those given; the {before} before it were {done}. "
        "Correct it and give all of them again: what is done already stays as it is."
    )
