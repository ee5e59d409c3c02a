"""What a run holds after its claim: the versions it reads and the locations it writes to."""

from __future__ import annotations

from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.mapping import ALL, LATEST, SIMPLE, needed_by
from dataflow.model.record import replace
from dataflow.model.records import Lacking, OutputChunk, Pin
from dataflow.store import chunks, latest_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.model.records import Plan, PlanInput, Run
    from dataflow.store.database import Transaction


def list_pins(tx: Transaction, plan: Plan, run_id: int) -> tuple[Pin, ...]:
    """Return what a run has pinned, as it is now."""
    rows = tx.rows("claim.pins_of", run_id=run_id)
    return tuple(_with_places(tx, plan, [Pin(*row) for row in rows]))


def pin_inputs(tx: Transaction, plan: Plan, run_id: int, claimant: str, dataid: str) -> tuple[Pin, ...]:
    """Pin the current versions of a run's inputs, whatever is published later."""
    found = []
    for pin in _readable(tx, plan, dataid):
        facts = {"position": pin.position, "chunk_id": pin.chunk_id, "version": pin.version}
        tx.run("claim.pin", run_id=run_id, **facts)
        found.append(_with_place(tx, plan, pin))
    several = [source for source in plan.inputs if has_several(source)]
    for source in several:
        where = {"run_id": run_id, "position": source.position, "dataset_id": source.dataset_id}
        if source.mapping == ALL:
            tx.run("claim.pin_ready", claimant=claimant, **where)
        elif needed := _list_needed(tx, plan, source, dataid):
            tx.run("several.pin", **where, **tx.batch([(chunk, "") for chunk in needed]))
    return list_pins(tx, plan, run_id) if several else tuple(found)


def has_several(source: PlanInput) -> bool:
    """Return whether the work may need several chunks of an input, which are pinned in one statement."""
    return source.mapping not in SIMPLE or source.mapping == ALL


def list_lacking(tx: Transaction, plan: Plan, dataid: str, pinned: tuple[Pin, ...]) -> tuple[Lacking, ...]:
    """Return the chunks of inputs with several that the work needs and are not pinned, in order."""
    found = []
    for source in plan.inputs:
        if source.mapping in SIMPLE:
            continue
        there = {pin.dataid for pin in pinned if pin.position == source.position}
        needed = _list_needed(tx, plan, source, dataid)
        found += [Lacking(source.position, chunk) for chunk in needed if chunk not in there]
    return tuple(found)


def list_readable(tx: Transaction, plan: Plan, dataid: str) -> tuple[Pin, ...]:
    """Return what pin_inputs would pin, without pinning it."""
    found = [_with_place(tx, plan, pin) for pin in _readable(tx, plan, dataid)]
    for source in plan.inputs:
        if not has_several(source):
            continue
        where = {"position": source.position, "dataset_id": source.dataset_id}
        if source.mapping == ALL:
            rows = tx.rows("several.all_readable", **where)
        else:
            needed = _list_needed(tx, plan, source, dataid)
            rows = tx.rows("several.readable", **where, **tx.batch([(chunk, "") for chunk in needed]))
        found += _with_places(tx, plan, [Pin(*row) for row in rows])
    return tuple(sorted(found, key=lambda pin: pin.position))


def _list_needed(tx: Transaction, plan: Plan, source: PlanInput, dataid: str) -> list[str]:
    from dataflow.store import several_inputs  # start-up: few jobs have such inputs

    return several_inputs.list_needed(tx, plan, source, dataid)


def _readable(tx: Transaction, plan: Plan, dataid: str) -> Iterator[Pin]:
    for source in plan.inputs:
        if has_several(source):
            continue
        if source.mapping == LATEST:
            if latest := latest_inputs.find_pin(tx, plan, source, dataid):
                yield latest
            continue
        for needed in needed_by(plan, source, dataid):
            row = tx.find("claim.pin_chunk", dataset_id=source.dataset_id, dataid=needed)
            if row is not None:
                yield Pin(source.position, row[0], needed, *row[1:])


def pin_ready(tx: Transaction, plan: Plan, run: Run, source: PlanInput) -> tuple[Pin, ...]:
    """Pin all chunks of an input that are ready now; return them in order.

    Not done by the claim, whose cost must not grow with the number of chunks. A chunk
    published between the two statements is read newer than it is pinned, which makes the run's output stale.
    """
    where = {"run_id": run.run_id, "claimant": run.claimant}
    tx.run("claim.pin_ready", position=source.position, dataset_id=source.dataset_id, **where)
    pins = [pin for pin in list_pins(tx, plan, run.run_id) if pin.position == source.position]
    grain = Grain(source.dataset.grain)
    return tuple(sorted(pins, key=lambda pin: sort_key(pin.dataid, grain)))


def close_outputs(tx: Transaction, plan: Plan, dataid: str, run_id: int) -> tuple[OutputChunk, ...]:
    """Return what is published where the run will write, with its live readers.

    A chunk that the run overwrites in place is closed to new readers.
    """
    found, in_place = _list_replaced(tx, plan, dataid, run_id)
    for dataset_id, pair, chunk_id in in_place:
        chunks.make_dirty(tx, dataset_id, pair, chunk_id, run_id)
    return found


def refresh(tx: Transaction, plan: Plan, run: Run) -> Run:
    """Return the run with its current pins and what it replaces.

    A claim takes no lock on inputs, so a reader and an in-place writer may each have missed the other; after
    both have committed, at least one of them sees the other here.
    """
    pins = list_pins(tx, plan, run.run_id)
    replaces, _ = _list_replaced(tx, plan, run.dataid, run.run_id)
    return replace(run, pins=pins, replaces=replaces)


def _list_replaced(
    tx: Transaction, plan: Plan, dataid: str, run_id: int
) -> tuple[tuple[OutputChunk, ...], list[tuple[int, tuple[str, str], int]]]:
    """Return what a run replaces, with live readers, and the chunks among it that it overwrites in place.

    In a location that all dataids share, the newest chunk is replaced, and any dataid may have readers.
    """
    shared = {
        output.dataset_id: output.dataset.name for output in plan.outputs if output.dataset.is_overwritten
    }
    found, in_place = [], []
    rows = tx.rows("claim.output_chunks", job_id=plan.job_id, dataid=dataid)
    for dataset_id, name, location, chunk_id, key, version in rows:
        if dataset_id not in shared:
            readers = tx.rows("claim.readers", chunk_id=chunk_id, run_id=run_id)
            found.append(OutputChunk(name, version, tuple(row[0] for row in readers)))
        if "{run_id}" not in location:
            in_place.append((dataset_id, (dataid, key), chunk_id))
    for dataset_id, name in shared.items():
        newest = tx.find("claim.in_place", dataset_id=dataset_id)
        readers = tx.rows("claim.place_readers", dataset_id=dataset_id, run_id=run_id)
        found.append(OutputChunk(name, newest[3] if newest else 0, tuple(row[0] for row in readers)))
        if newest is not None:
            in_place.append((dataset_id, (newest[1], newest[2]), newest[0]))
    return tuple(found), in_place


def _with_places(tx: Transaction, plan: Plan, pins: list[Pin]) -> list[Pin]:
    """Return pins as _with_place does; a query per pin only where dataids share a location."""
    shared = {source.position for source in plan.inputs if source.dataset.is_overwritten}
    return [_with_place(tx, plan, pin) if pin.position in shared else pin for pin in pins]


def _with_place(tx: Transaction, plan: Plan, pin: Pin) -> Pin:
    """Return the pin of a chunk whose location other dataids share: overwriting one overwrites all."""
    source = next(item for item in plan.inputs if item.position == pin.position)
    if not source.dataset.is_overwritten:
        return pin
    row = tx.find("claim.in_place", dataset_id=source.dataset_id)
    if row is None:
        return pin
    newest, dirty_run_id = row[1], row[4]
    return replace(pin, dirty_run_id=dirty_run_id, written_over_by="" if newest == pin.dataid else newest)
