"""Inputs mapped `latest`: which chunk is the newest, and which work of the job it covers.

Work up to `reach` has the input, later work does not. Both are stored with the job's input. So is the
reach of inputs mapped `all`: everything, or nothing while too few chunks are ready.
"""

from __future__ import annotations

from dataflow.model.coverage import EVERYTHING, NOTHING, Kind, find_dataid_bounds, find_reach, kind_of
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.mapping import ALL, LATEST
from dataflow.model.records import Pin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.records import Plan, PlanInput
    from dataflow.store.consumers import ChunkChange, Consumer
    from dataflow.store.database import Transaction

    Pair = tuple[str, str]


def lock(tx: Transaction, job_id: int) -> None:
    """Lock what a job's inputs cover, and the creation of its work."""
    tx.lock("cover.lock", job_id=job_id)


def move_reach(tx: Transaction, consumer: Consumer, change: ChunkChange) -> tuple[list[Pair], list[Pair]]:
    """Switch to the newest chunk; return the work that it now covers, and the work no longer covered."""
    lock(tx, consumer.job_id)
    where = {"job_id": consumer.job_id, "position": consumer.position}
    row = tx.find("cover.reach", **where)
    assert row is not None
    found, before = row
    if consumer.mapping == ALL:
        reach = _reach_of_all(tx, consumer.dataset_id, consumer.rule)
        if reach == before:
            return [], []
        tx.run("cover.set_reach", newest=NOTHING, reach=reach, **where)
        return _work_between(tx, consumer, before, reach), _work_between(tx, consumer, reach, before)
    newest: Pair | None = None
    if any(key == found for _, key in change.lost):
        newest = _newest_ready(tx, consumer.dataset_id, found) or ("", NOTHING)
    best = max(change.gained, key=lambda pair: pair[1], default=None)
    if best is not None and best[1] > (newest[1] if newest else found):
        newest = best
    if newest is None:
        return [], []
    source = Kind(Grain(consumer.source_grain), consumer.source_timezone)
    job = Kind(Grain(consumer.grain), consumer.timezone)
    reach = find_reach(newest[0], source, job) if newest[0] else NOTHING
    tx.run("cover.set_reach", newest=newest[1], reach=reach, **where)
    return _work_between(tx, consumer, before, reach), _work_between(tx, consumer, reach, before)


def measure(tx: Transaction, plan: Plan) -> None:
    """Recompute what each input mapped `latest` or `all` covers."""
    for source in plan.inputs:
        where = {"job_id": plan.job_id, "position": source.position}
        if source.mapping == ALL:
            reach = _reach_of_all(tx, source.dataset_id, source.rule)
            tx.run("cover.set_reach", newest=NOTHING, reach=reach, **where)
        if source.mapping != LATEST:
            continue
        newest = _newest_ready(tx, source.dataset_id, EVERYTHING)
        tx.run(
            "cover.set_reach",
            newest=newest[1] if newest else NOTHING,
            reach=find_reach(newest[0], kind_of(source.dataset), kind_of(plan)) if newest else NOTHING,
            **where,
        )


def cover(tx: Transaction, job_id: int, pairs: Sequence[Pair]) -> None:
    """Apply the current inputs mapped `latest` to new work, created under the lock."""
    for position, _, reach in tx.rows("cover.reaches", job_id=job_id):
        covered = [(job_id, position, dataid, key, 0) for dataid, key in pairs if key <= reach]
        if covered:
            tx.run("publish.count_present", delta=1, **tx.calls(covered))
    calls = tx.calls([(job_id, 0, dataid, key, 0) for dataid, key in pairs])
    tx.run("publish.count_missing", **calls)
    tx.run("publish.arrive", **calls)


def find_pin(tx: Transaction, plan: Plan, source: PlanInput, dataid: str) -> Pin | None:
    """Return the newest ready chunk of an input if it covers the work."""
    key = sort_key(dataid, Grain(plan.grain))
    row = tx.find("cover.pin", job_id=plan.job_id, position=source.position, sort_key=key)
    return None if row is None else Pin(*row)


def _reach_of_all(tx: Transaction, dataset_id: int, rule: str) -> str:
    """Return what an input mapped `all` covers: everything once enough of its chunks are ready."""
    from dataflow.model.completeness import fewest  # start-up: few jobs have such inputs

    least = fewest(rule) or 1
    row = tx.find("several.ready_count", dataset_id=dataset_id, most=least)
    return EVERYTHING if row is not None and row[0] >= least else NOTHING


def _newest_ready(tx: Transaction, dataset_id: int, before: str) -> Pair | None:
    row = tx.find("cover.newest_ready", dataset_id=dataset_id, before=before)
    return None if row is None else (row[0], row[1])


def _work_between(tx: Transaction, consumer: Consumer, after: str, until: str) -> list[Pair]:
    if until <= after:
        return []
    first, last = find_dataid_bounds(after, until, Grain(consumer.grain))
    where = {"first": first, "last": last, "after": after, "until": until}
    return [(dataid, key) for dataid, key in tx.rows("cover.work_between", job_id=consumer.job_id, **where)]
