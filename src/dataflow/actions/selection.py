"""The work an operator selects: some dataids, all in one state, or a range."""

from __future__ import annotations

from dataflow.errors import Conflict, UnknownName
from dataflow.model.dataid import refuse_backwards, sort_key
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import job_dataid
from dataflow.model.record import record
from dataflow.store.store import BULK_BATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.model.records import Plan
    from dataflow.model.status import WorkState
    from dataflow.store.store import Store

    Pair = tuple[str, str]

MANY = 1 << 30
PATIENCE_SECONDS = 30.0


@record
class Selection:
    """Work by its dataids, or else by its state, or else from `first` to `last`, both included."""

    dataids: tuple[str, ...] = ()
    state: WorkState | None = None
    first: str = ""
    last: str = ""


def count_selected(store: Store, plan: Plan, selection: Selection) -> int:
    """Count the selected work; UnknownName or Conflict if some cannot be changed."""
    if selection.state is not None and not selection.dataids:
        return store.read.count_open_work(plan.job.name, selection.state)
    return sum(map(len, batches_of_work(store, plan, selection)))


def batches_of_work(store: Store, plan: Plan, selection: Selection) -> Iterator[list[Pair]]:
    """Yield the work in bounded batches of (dataid, sort_key); it may change meanwhile."""
    if selection.dataids:
        return _named(store, plan, selection.dataids)
    if selection.state is not None:
        return _in_state(store, plan, selection.state)
    return _between(store, plan, selection)


def refuse_running(store: Store, plan: Plan, selection: Selection) -> None:
    """Raise Conflict if a live run holds any of the work."""
    for run in store.read.list_runs(MANY, job=plan.job.name, outcome="RUNNING"):
        if _is_meant(plan, selection, run.dataid):
            raise Conflict(
                f"{plan.job.name}/{run.dataid} is RUNNING under run {run.run_id} on {run.host}; "
                f"nothing was changed. Wait for it, or: dataflow cancel {run.run_id}"
            )


def _is_meant(plan: Plan, selection: Selection, dataid: str) -> bool:
    if selection.dataids:
        return dataid in {pair[0] for pair in _pairs(plan, selection.dataids)}
    if selection.state is not None:
        return False
    first, last = _ends(plan, selection)
    return first <= sort_key(dataid, Grain(plan.grain)) <= last


def _pairs(plan: Plan, dataids: tuple[str, ...]) -> list[Pair]:
    grain = Grain(plan.grain)
    canonical = dict.fromkeys([job_dataid(text, plan) for text in dataids])
    return [(dataid, sort_key(dataid, grain)) for dataid in canonical]


def _named(store: Store, plan: Plan, dataids: tuple[str, ...]) -> Iterator[list[Pair]]:
    pairs = _pairs(plan, dataids)
    batches = [pairs[start : start + BULK_BATCH] for start in range(0, len(pairs), BULK_BATCH)]
    for batch in batches:
        _refuse_missing(store, plan, batch)
    return iter(batches)


def _refuse_missing(store: Store, plan: Plan, batch: list[Pair]) -> None:
    known = store.read.list_known_dataids(plan.job_id, batch)
    missing = [dataid for dataid, _ in batch if dataid not in known]
    if missing:
        others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise UnknownName(
            f"Job {plan.job.name} has no work {missing[0]}{others}; nothing was changed. "
            f"See: dataflow why {plan.job.name} {missing[0]}"
        )


def _in_state(store: Store, plan: Plan, state: WorkState) -> Iterator[list[Pair]]:
    after = ""
    while True:
        batch = store.read.list_work_in_state(plan.job_id, state, after, BULK_BATCH)
        if not batch:
            return
        yield batch
        after = batch[-1][1]


def _between(store: Store, plan: Plan, selection: Selection) -> Iterator[list[Pair]]:
    first, last = _ends(plan, selection)
    # On a separate connection: the other one is written to while this one is read.
    reader = store.separate(PATIENCE_SECONDS)
    try:
        batch: list[Pair] = []
        for pair in reader.read.list_work_between(plan.job_id, first, last):
            batch.append(pair)
            if len(batch) == BULK_BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
    finally:
        reader.close()


def _ends(plan: Plan, selection: Selection) -> tuple[str, str]:
    grain = Grain(plan.grain)
    first, last = job_dataid(selection.first, plan), job_dataid(selection.last, plan)
    keys = sort_key(first, grain), sort_key(last, grain)
    if keys[1] < keys[0]:
        raise refuse_backwards(first, last)
    return keys
