"""Inputs with several chunks per work (`within`, `containing`, windows, `pairs`): counted chunk by chunk.

A job with such an input is updated here, one input at a time; all other jobs are updated in bulk by
consumers.py. `present` counts the ready chunks that the work needs: each of them calls for the work, so it
counts itself when it becomes ready, and the work exists from the first one on.
"""

from __future__ import annotations

from collections import Counter

from dataflow.model.completeness import deadline_of, required
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.mapping import ALL, PAIRS, SIMPLE, UNCALLING, needed_by
from dataflow.store import consumers, latest_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dataflow.model.records import Plan, PlanInput, Run
    from dataflow.store.consumers import ChunkChange, Consumer
    from dataflow.store.database import Call, Transaction

    Pair = tuple[str, str]

BATCH = 5000
"""Works per statement."""


def chunks_changed(tx: Transaction, consumer: Consumer, change: ChunkChange) -> list[Call]:
    """Count the changed chunks of one input; return the calls to work that must be done again."""
    again: list[Call] = []
    known = arrive(tx, consumer, change.gained)
    if forced := [dataid for dataid, _ in change.gained if consumer.is_forced(dataid)]:
        count_ready(tx, consumer.job_id, forced)
    for calls in _batches(known):
        if change.by_clock:
            tx.run("publish.call_by_clock", **tx.calls(calls))
        if change.published:
            # Work that a run had without the new chunk.
            again += [tuple(row) for row in tx.rows("publish.tried_among", **tx.calls(calls))]
    if change.lost and consumer.days:
        latest_inputs.lock(tx, consumer.job_id)
    for calls in _calls_of(tx, consumer, change.lost):
        _count(tx, [(*call[:4], -call[4]) for call in calls])
        tx.run("publish.depart", **tx.calls(calls))
    for calls in _calls_of(tx, consumer, change.renewed):
        again += calls
    return again


def arrive(tx: Transaction, consumer: Consumer, chunks: Sequence[Pair]) -> list[Call]:
    """Create or update the work that needs these ready chunks; return the work that existed before."""
    known: list[Call] = []
    if chunks and (consumer.covering or consumer.days):
        latest_inputs.lock(tx, consumer.job_id)
    for calls in _calls_of(tx, consumer, chunks):
        made = _create(tx, consumer, [call for call in calls if consumer.creates(call[2])])
        _count(tx, calls)
        tx.run("publish.arrive", **tx.calls(calls))
        known += [call for call in calls if call[2] not in made]
    return known


def _create(tx: Transaction, consumer: Consumer, calls: Sequence[Call]) -> set[str]:
    """Create the work that does not exist yet, with its inputs; return which."""
    if not calls:
        return set()
    # One more than the inputs: the work must wait until what it needs is counted.
    waiting = [(*call[:4], consumer.inputs + 1) for call in calls]
    rows = tx.rows("publish.insert_work", **tx.calls(waiting))
    new = {dataid: work_id for work_id, _, dataid in rows}
    made = [(*call[:4], new[call[2]]) for call in calls if call[2] in new]
    if made:
        # From no input: the chunks are counted in the next step.
        tx.run("publish.insert_work_input", **tx.calls([(call[0], -1, *call[2:]) for call in made]))
        set_needed(tx, consumer.job_id, list(new))
        if consumer.covering:
            latest_inputs.cover(tx, consumer.job_id, [(call[2], call[3]) for call in made])
    return set(new)


def set_needed(tx: Transaction, job_id: int, dataids: Sequence[str]) -> None:
    """Set how many chunks of each input some work waits for, and until when."""
    readers = consumers.list_consumers(tx, (), job_id)
    for some in _batches(dataids):
        records: list[dict[str, Any]] = []
        for reader in readers:
            if reader.mapping in UNCALLING:
                continue
            counts = _needed_counts(tx, reader, some)
            for dataid in some:
                needed = required(reader.rule, counts[dataid])
                if needed == 1 and not reader.rule:
                    continue  # as it was created
                deadline = deadline_of(reader.rule, dataid, reader.job_kind) if needed else None
                records.append(
                    {
                        "dataid": dataid,
                        "position": reader.position,
                        "needed": needed,
                        "deadline": deadline,
                    }
                )
        if records:
            tx.run("several.set_needed", job_id=job_id, **tx.records(records))
        due = [record for record in records if record["deadline"] is not None]
        if due:
            tx.run("several.insert_deadlines", job_id=job_id, **tx.records(due))
        calls = tx.calls(consumers.to_work(job_id, some))
        tx.run("publish.count_missing", **calls)
        tx.run("publish.arrive", **calls)


def count_ready(tx: Transaction, job_id: int, dataids: Sequence[str]) -> None:
    """Count the ready chunks that did not create this work, because its day is left out."""
    calls: list[Call] = []
    for reader in consumers.list_consumers(tx, (), job_id):
        if reader.mapping in UNCALLING:
            continue
        for dataid in dataids:
            needed = list_wanted(tx, reader, dataid)
            batch = tx.batch([(chunk, "") for chunk in needed])
            ready = tx.rows("publish.ready_among", dataset_id=reader.dataset_id, **batch) if needed else []
            calls.append((job_id, reader.position, dataid, "", len(ready)))
    if calls:
        tx.run("several.set_present", **tx.calls(calls))
    parameters = tx.calls(consumers.to_work(job_id, dataids))
    tx.run("publish.count_missing", **parameters)
    tx.run("publish.arrive", **parameters)


def relax(tx: Transaction, job_id: int) -> None:
    """Let work whose deadline has passed do with the chunks there are."""
    found = [row[0] for row in tx.rows("several.due_deadlines", job_id=job_id)]
    if not found:
        return
    ids = tx.ids(found)
    tx.run("several.relax", **ids)
    tx.run("several.end_deadlines", job_id=job_id, **ids)
    tx.run("several.relax_work", **ids)
    tx.run("several.promote", **ids)


def list_needed(tx: Transaction, plan: Plan, source: PlanInput, dataid: str) -> list[str]:
    """Return the dataids of one input that a work needs, in order; none of `latest` and `all`."""
    if source.mapping != PAIRS:
        return needed_by(plan, source, dataid)
    rows = tx.rows("several.needed", job_id=plan.job_id, dataset_id=source.dataset_id, dataid=dataid)
    grain = Grain(source.dataset.grain)
    return sorted([row[0] for row in rows], key=lambda chunk: sort_key(chunk, grain))


def has_unread(tx: Transaction, run: Run) -> bool:
    """Return whether a run did not read a ready chunk of an input with several that its work needs.

    By the job's inputs of now, which may be others than when the run was claimed.
    """
    for reader in consumers.list_consumers(tx, (), run.job_id):
        where = {"run_id": run.run_id, "position": reader.position, "dataset_id": reader.dataset_id}
        if reader.mapping == ALL:
            found = tx.find("several.unread", **where)
        elif reader.mapping in SIMPLE:
            continue
        else:
            needed = list_wanted(tx, reader, run.dataid)
            batch = tx.batch([(chunk, "") for chunk in needed])
            found = tx.find("several.unread_among", **where, **batch) if needed else None
        if found is not None:
            return True
    return False


def list_tried(tx: Transaction, consumer: Consumer) -> Iterator[list[Call]]:
    """Yield calls to all work of a job that a run has had."""
    after = ""
    while rows := tx.rows("several.tried_after", job_id=consumer.job_id, after=after, most=BATCH):
        yield consumer.calls([(dataid, key) for dataid, key in rows])
        after = rows[-1][0]


def list_wanted(tx: Transaction, reader: Consumer, dataid: str) -> list[str]:
    """Return the dataids of an input that a work needs, as the publisher sees it."""
    if reader.mapping != PAIRS:
        return reader.needed(dataid)
    where = {"job_id": reader.job_id, "dataset_id": reader.dataset_id, "dataid": dataid}
    return [row[0] for row in tx.rows("several.needed", **where)]


def _needed_counts(tx: Transaction, reader: Consumer, dataids: Sequence[str]) -> dict[str, int]:
    if reader.mapping != PAIRS:
        return {dataid: len(reader.needed(dataid)) for dataid in dataids}
    where = {"job_id": reader.job_id, "dataset_id": reader.dataset_id}
    rows = tx.rows("several.needed_counts", **where, **tx.batch([(dataid, "") for dataid in dataids]))
    return dict.fromkeys(dataids, 0) | {dataid: int(count) for dataid, count in rows}


def _count(tx: Transaction, calls: Sequence[Call]) -> None:
    """Add the numbers of some calls to what is present."""
    parameters = tx.calls(calls)
    tx.lock("publish.lock_work", **parameters)
    tx.run("several.count_present", **parameters)
    tx.run("publish.count_missing", **parameters)


def _calls_of(tx: Transaction, consumer: Consumer, chunks: Sequence[Pair]) -> Iterator[list[Call]]:
    """Yield the calls of an input's chunks to the work of its consumer, each with how many chunks call."""
    counts: Counter[str] = Counter()
    for dataids in _served(tx, consumer, chunks):
        counts.update(dataids)
        if len(counts) >= BATCH:
            yield _as_calls(consumer, counts)
            counts = Counter()
    if counts:
        yield _as_calls(consumer, counts)


def _as_calls(consumer: Consumer, counts: Counter[str]) -> list[Call]:
    grain = Grain(consumer.grain)
    where = (consumer.job_id, consumer.position)
    return [(*where, dataid, sort_key(dataid, grain), count) for dataid, count in counts.items()]


def _served(tx: Transaction, consumer: Consumer, chunks: Sequence[Pair]) -> Iterator[list[str]]:
    """Yield the work that each chunk calls for."""
    if consumer.mapping != PAIRS:
        for chunk, _ in chunks:
            yield consumer.called_by(chunk)
        return
    where = {"job_id": consumer.job_id, "dataset_id": consumer.dataset_id}
    for some in _batches(chunks):
        yield [row[0] for row in tx.rows("several.called", **where, **tx.batch(some))]


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
