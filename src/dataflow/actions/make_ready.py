"""Make ready, and withdraw: publish chunks that come from outside, or take them back, one or a million.

Each batch is one transaction, so nothing else waits long and memory stays bounded.
"""

from __future__ import annotations

import time
from contextlib import suppress

from dataflow.actions.dataset_rules import refuse_automatic
from dataflow.actions.names import get_dataset
from dataflow.actions.next_commands import move_command, why_command
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
"""Pause between two batches, so a claim that waits for the lock gets it."""
MANY = 100_000
"""Chunks in one call after which the planner needs new statistics."""


@record
class Publication:
    """How chunks are made ready: `again` publishes a new version of those that are; `why` is the reason."""

    again: bool = False
    why: str = ""


@record
class ReadyResult:
    """How many chunks became ready (or, with `again`, newer), and how many already were."""

    changed: int
    already: int


def make_ready(
    store: Store,
    dataset_name: str,
    dataids: Iterable[str],
    how: Publication | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadyResult:
    """Publish chunks of a dataset; a repeat changes nothing unless a new version is asked for.

    An invalid dataid raises BadInput, which says how many were made ready before it; none if they fit in
    one batch. `progress` receives the number done so far.
    """
    how = how or Publication()
    dataset_id, dataset = get_dataset(store, dataset_name)
    refuse_automatic(dataset_name, "needs no `ready`")
    _refuse_staged(dataset, store.read.find_producer(dataset_id) if dataset.staged else None)
    batches = batches_of(dataset, dataids, "made ready")
    changed, already = in_batches(
        batches,
        lambda batch: store.make_ready(dataset_id, dataset_name, batch, how.again, how.why),
        progress,
    )
    if changed >= MANY:
        with suppress(StoreError):  # everything is published; a busy server updates its statistics later
            store.count_rows()
    return ReadyResult(changed, already)


def in_batches(
    batches: Iterable[list[Pair]], verb: Callable[[list[Pair]], int], progress: Callable[[int], None] | None
) -> tuple[int, int]:
    """Process one batch after the other; return how many chunks changed, and how many did not."""
    changed = given = 0
    for batch in batches:
        if given:
            time.sleep(PAUSE_SECONDS)
        changed += verb(batch)
        given += len(batch)
        if progress is not None:
            progress(given)
    return changed, given - changed


def _refuse_staged(dataset: Dataset, producer: str | None) -> None:
    if dataset.staged:
        next_step = f"For chunks from outside, without {{run_id}}: {move_command(dataset.name)}"
        if producer is not None:
            next_step = f"How to get one from job {producer}: {why_command(producer)} DATAID"
        raise BadInput(
            f"Dataset {dataset.name} has {{run_id}} in its location, so only the run that wrote a chunk "
            f"knows its location and publishes it. {next_step}"
        )


def batches_of(dataset: Dataset, dataids: Iterable[str], done: str) -> Iterator[list[Pair]]:
    """Yield canonical dataids with sort keys, in batches without duplicates; BadInput for an invalid one."""
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
        if number == 1:
            return BadInput(f"{error} Nothing was changed.")
        return BadInput(f"{error} It is number {number} in the list; nothing was changed.")
    return BadInput(
        f"{error} It is number {number} in the list; the {before} before it were {done}. "
        "Correct it and run the same command again: finished dataids are left unchanged."
    )


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
