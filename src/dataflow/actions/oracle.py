"""The readiness rule in its plainest form, compared with the counts that the store keeps.

The claim never uses it: it trusts the counts that every publish updates. The doctor compares both.
"""

from __future__ import annotations

from dataflow.model.completeness import fewest, has_deadline, required
from dataflow.model.coverage import NOTHING, covers, kind_of
from dataflow.model.dataid import sort_key
from dataflow.model.days import has_day
from dataflow.model.grain import Grain
from dataflow.model.mapping import ALL, LATEST, PAIRS, SAME, called_by, creates_work, needed_by
from dataflow.model.record import record
from dataflow.model.status import WorkState
from dataflow.store.entries import recount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.model.records import Plan, PlanInput
    from dataflow.store.store import Store


@record
class Discrepancy:
    """Work whose kept readiness disagrees with its inputs."""

    dataid: str
    text: str


@record
class Facts:
    """What readiness follows from, by position: the ready dataids and the pairs of each input.

    `relaxed` are the (dataid, position) whose deadline has passed, as a claim has noticed.
    """

    ready: dict[int, set[str]]
    pairs: dict[int, list[tuple[str, str]]]
    relaxed: frozenset[tuple[str, int]]


def list_discrepancies(store: Store, plan: Plan) -> list[Discrepancy]:
    """Return the work of a job whose kept readiness is wrong.

    What is kept and what is published are read one after the other, so a move in between looks like an
    error; a second comparison removes it.
    """
    found = list(_compare(store, plan))
    if not found:
        return []
    again = set(_compare(store, plan))
    return [item for item in found if item in again]


def rebuild(store: Store, plan: Plan) -> None:
    """Recompute the input counts of a job's work, as registering the job does."""
    store.register(lambda tx: recount(tx, plan, store.actor))


def expected_missing(store: Store, plan: Plan) -> Iterator[tuple[str, int]]:
    """Yield each dataid that a ready chunk calls for, with the number of inputs that lack a chunk."""
    if all(source.mapping == SAME for source in plan.inputs) and not plan.days:
        yield from store.read.list_expected_missing(plan.job_id)
        return
    facts = _collect(store, plan)
    called: set[str] = set()
    first, grain = plan.job.start or None, Grain(plan.grain)
    for source in plan.inputs:
        for chunk in facts.ready[source.position]:
            works = called_by(plan, source, chunk)
            if source.mapping == PAIRS:
                works = [work for work, name in facts.pairs[source.position] if name == chunk]
            for dataid in works:
                if not creates_work(source.mapping, dataid, first, grain):
                    continue
                # A chunk that was forced on a day that its dataset leaves out calls for work, too.
                if has_day(plan.days, dataid) or not has_day(source.days, chunk):
                    called.add(dataid)
    for dataid in called:
        yield dataid, _count_missing(plan, dataid, facts)


def _count_missing(plan: Plan, dataid: str, facts: Facts) -> int:
    """Count the inputs of one work that lack chunks."""
    found = 0
    for source in plan.inputs:
        there = facts.ready[source.position]
        if source.mapping == LATEST:
            is_there = any(covers(chunk, kind_of(source.dataset), dataid, kind_of(plan)) for chunk in there)
        elif source.mapping == ALL:
            is_there = len(there) >= (fewest(source.rule) or 1)
        else:
            needed = needed_by(plan, source, dataid)
            if source.mapping == PAIRS:
                needed = [chunk for work, chunk in facts.pairs[source.position] if work == dataid]
            wanted = required(source.rule, len(needed), (dataid, source.position) in facts.relaxed)
            is_there = len(there.intersection(needed)) >= wanted
        found += not is_there
    return found


def _collect(store: Store, plan: Plan) -> Facts:
    pairs = {
        source.position: store.read.list_pairs(plan.job_id, source.dataset_id)
        for source in plan.inputs
        if source.mapping == PAIRS
    }
    may_relax = any(has_deadline(source.rule) for source in plan.inputs)
    relaxed = store.read.list_relaxed(plan.job_id) if may_relax else frozenset()
    return Facts(_ready_dataids(store, plan), pairs, relaxed)


def _newest(source: PlanInput, ready: set[str]) -> set[str]:
    grain = Grain(source.dataset.grain)
    return {max(ready, key=lambda dataid: sort_key(dataid, grain))} if ready else set()


def _ready_dataids(store: Store, plan: Plan) -> dict[int, set[str]]:
    """Return the ready dataids of each input; only the newest for `latest`, which covers most."""
    found = {}
    for source in plan.inputs:
        ready = store.read.list_ready_dataids(source.dataset_id)
        found[source.position] = _newest(source, ready) if source.mapping == LATEST else ready
    return found


def _compare(store: Store, plan: Plan) -> Iterator[Discrepancy]:
    kept: dict[str, int] = {}
    for work in store.read.list_readiness(plan.job_id):
        kept[work.dataid] = work.missing
        if work.state is WorkState.CLAIMABLE and work.missing:
            yield Discrepancy(work.dataid, f"is CLAIMABLE although {work.missing} inputs are missing")
        if work.state is WorkState.WAITING and not work.missing and not work.waits:
            yield Discrepancy(work.dataid, "is WAITING although nothing is missing")
    for dataid, expected in expected_missing(store, plan):
        found = kept.pop(dataid, None)
        if found is None:
            yield Discrepancy(dataid, "is called for by a ready chunk but does not exist")
        elif found != expected:
            yield Discrepancy(dataid, f"counts {found} missing inputs, {expected} are missing")
    yield from _compare_uncalled(store, plan, kept)
    yield from _compare_latest(store, plan)


def _compare_uncalled(store: Store, plan: Plan, kept: dict[str, int]) -> Iterator[Discrepancy]:
    """Check work that no ready chunk calls for any more, or that was forced."""
    if not kept:
        return
    facts = _collect(store, plan)
    for dataid, found in kept.items():
        expected = _count_missing(plan, dataid, facts)
        if found != expected:
            yield Discrepancy(dataid, f"counts {found} missing inputs, {expected} are missing")


def _compare_latest(store: Store, plan: Plan) -> Iterator[Discrepancy]:
    """Check the chunk that a claim would use as the newest of a `latest` input."""
    kept = store.read.list_newest_keys(plan.job_id)
    ready = _ready_dataids(store, plan) if kept else {}
    for source in plan.inputs:
        if source.position not in kept or source.mapping != LATEST:
            continue
        newest = next(iter(ready[source.position]), "")
        if kept[source.position] != (sort_key(newest, Grain(source.dataset.grain)) if newest else NOTHING):
            found = f"{source.dataset.name}/{newest}" if newest else f"no chunk of {source.dataset.name}"
            yield Discrepancy("*", f"does not use {found} as the latest")
