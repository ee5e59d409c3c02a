"""What inputs with several chunks need, worked out from the facts alone: slow, without any mapping's code.

Which chunks a work needs is decided by comparing intervals of time or numbers; nothing is counted ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dataflow.model.dataid import interval_of
from dataflow.model.grain import Grain
from tests.store.world import World

READY = "version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL"


def needs(mapping: str, work: str, grain: str, chunk: str, source: str, pairs: set[tuple[str, str]]) -> bool:
    """Return whether a work needs a chunk."""
    if mapping == "same":
        return work == chunk
    if mapping == "all":
        return True
    if mapping == "pairs":
        return (work, chunk) in pairs
    own, other = interval_of(work, Grain(grain), "UTC"), interval_of(chunk, Grain(source), "UTC")
    assert own is not None and other is not None
    if mapping == "within":
        return own[0] <= other[0] and other[1] <= own[1]
    if mapping == "containing":
        return other[0] <= own[0] and own[1] <= other[1]
    low, high = (int(bound) for bound in mapping.removeprefix("window(").removesuffix(")").split(", "))
    days = round((other[0] - own[0]).total_seconds() / 86400)  # windows of days only
    return low <= days <= high


def check(world: World, job: str, universe: Mapping[str, Sequence[str]]) -> None:
    """The stored counts, states and staleness of a job must follow from what is published.

    `universe` are all dataids that each dataset may have.
    """
    plan = world.plan(job)
    inputs = {source.position: source for source in plan.inputs}
    ready = {source.dataset.name: _ready(world, source.dataset_id) for source in plan.inputs}
    pairs = {(str(row[0]), str(row[1])) for row in world.select("SELECT dataid, chunk FROM job_pair")}
    called: set[str] = set()
    rows = world.select(
        "SELECT w.dataid, w.state, w.missing, x.position, x.needed, x.present, w.not_before IS NOT NULL "
        f"FROM work w JOIN work_input x ON x.work_id = w.work_id WHERE w.job_id = {plan.job_id}"
    )
    missing: dict[str, int] = {}
    states: dict[str, tuple[str, int, bool]] = {}
    for work, state, kept, position, needed, present, waits in rows:
        source = inputs[position]
        name = source.dataset.name
        wanted = [
            chunk
            for chunk in universe[name]
            if needs(source.mapping, work, plan.grain, chunk, source.dataset.grain, pairs)
        ]
        there = [chunk for chunk in wanted if chunk in ready[name]]
        where = (job, work, name, source.rule)
        if source.mapping == "all":
            assert present == (1 if len(there) >= needed else 0), where
        else:
            least = int(source.rule.split()[1]) if source.rule else len(wanted)
            assert (needed, present) == (min(least, len(wanted)), len(there)), where
            called.update([work] if there else [])
        missing[work] = missing.get(work, 0) + (present < needed)
        states[work] = (state, kept, bool(waits))
    for work, (state, kept, waits) in states.items():
        assert kept == missing[work], (job, work)
        assert not (state == "CLAIMABLE" and kept), (job, work)
        assert not (state == "WAITING" and not kept and not waits), (job, work)
    _check_called(world, job, universe, ready, pairs)
    _check_staleness(world, job, universe, pairs)


def _ready(world: World, dataset_id: int) -> dict[str, int]:
    rows = world.select(f"SELECT dataid, version FROM chunk WHERE dataset_id = {dataset_id} AND {READY}")
    return {str(dataid): int(version) for dataid, version in rows}


def _check_called(
    world: World,
    job: str,
    universe: Mapping[str, Sequence[str]],
    ready: dict[str, dict[str, int]],
    pairs: set[tuple[str, str]],
) -> None:
    """Every work of the universe that a ready chunk calls for exists."""
    plan = world.plan(job)
    existing = world.states(job)
    for source in plan.inputs:
        if source.mapping == "all":
            continue
        for work in universe[f"{job}'s work"]:
            for chunk in ready[source.dataset.name]:
                if needs(source.mapping, work, plan.grain, chunk, source.dataset.grain, pairs):
                    assert work in existing, (job, work, chunk)


def _check_staleness(
    world: World, job: str, universe: Mapping[str, Sequence[str]], pairs: set[tuple[str, str]]
) -> None:
    """What is not STALE was made from the current version of every ready chunk that it needs."""
    plan = world.plan(job)
    for output in plan.outputs:
        made = world.select(
            f"SELECT dataid, run_id FROM chunk WHERE dataset_id = {output.dataset_id} AND {READY}"
        )
        for work, run_id in made:
            for source in plan.inputs:
                pins = world.select(
                    "SELECT c.dataid, i.version, c.version FROM run_input i "
                    "JOIN chunk c ON c.chunk_id = i.chunk_id "
                    f"WHERE i.run_id = {run_id} AND i.position = {source.position}"
                )
                assert all(read == now for _, read, now in pins), (job, work, source.dataset.name)
                read = {str(pin[0]) for pin in pins}
                for chunk in _ready(world, source.dataset_id):
                    if needs(source.mapping, work, plan.grain, chunk, source.dataset.grain, pairs):
                        assert chunk in read, (job, work, chunk)
