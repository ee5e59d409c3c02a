"""What a change of chunks makes stale: exactly what was made from them, down the line, by the runs' pins.

A chunk is `outdated` if its own inputs changed, and stale if it is outdated or was made from a stale chunk.
"""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.records import IGNORE, RERUN
from dataflow.model.status import FINAL, WorkState
from dataflow.model.wording import utc_text
from dataflow.store import consumers
from dataflow.store.consumers import BATCH, ChunkChange, to_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dataflow.store.database import Call, Row, Transaction

    Work = tuple[int, str]

DONE = (WorkState.DONE,)
FAILED = tuple(FINAL - {WorkState.DONE})

NEWER = "an input has a newer version"
STALE_INPUT = "an input is STALE"
WRONG = "an input was found to be wrong"


@record
class Readers:
    """Who is concerned by a change: `made` results as rows (chunk_id, dataid, job_id), and work.

    `needing`: the work calls for a chunk published since. `tried`: its last run failed with an older version.
    """

    made: Sequence[Row]
    needing: Sequence[Work]
    tried: Sequence[Work]

    @property
    def works(self) -> list[Work]:
        """All work of them."""
        return list(dict.fromkeys([*_works(self.made), *self.needing, *self.tried]))


def outdate(tx: Transaction, dataset_id: int, change: ChunkChange, needing: Sequence[Call]) -> None:
    """Make stale what was made from renewed or wrong chunks, and have it made again as its jobs say.

    `needing` are calls to work that needs a chunk published since.
    """
    called = list(dict.fromkeys([(call[0], call[2]) for call in needing]))
    readers = _find_readers(tx, dataset_id, change, called)
    if not readers.works:
        return
    # Lock first, read in a later statement: some work may have read a newer chunk since.
    _lock(tx, readers.works)
    readers = _find_readers(tx, dataset_id, change, called)
    wrong = bool(change.wrong)
    kept = Policies.read(tx, readers.works, wrong)
    free = kept.without_protected(tx, [*_works(readers.made), *readers.needing])
    reason = WRONG if wrong else NEWER
    _redo(tx, free, reason, DONE)
    _redo(tx, readers.works, reason, FAILED)
    made = [*readers.made, *_outputs_of(tx, readers.needing)]
    ids = sorted({row[0] for row in made if not kept.ignores(row[2])})
    _pass_on(tx, ids, wrong)


def redo_readers(tx: Transaction, wrong: Sequence[int]) -> None:
    """Have work without outputs done again that read wrong chunks, or what was made from them."""
    query = "change.done_without_output"
    found = [(job_id, dataid) for job_id, dataid in tx.rows(query, **tx.ids(wrong))]
    if found:
        _lock(tx, found)  # what is no longer DONE with these chunks by then is left alone
        _redo(tx, [(job_id, dataid) for job_id, dataid in tx.rows(query, **tx.ids(wrong))], WRONG, DONE)


def _find_readers(tx: Transaction, dataset_id: int, change: ChunkChange, called: Sequence[Work]) -> Readers:
    made: list[Row] = []
    tried: list[Row] = []
    for pairs, wrong in ((change.renewed, False), (change.wrong, True)):
        if pairs:
            where = {"dataset_id": dataset_id, **tx.batch(pairs)}
            made += tx.rows("change.made_from", wrong=wrong, **where)
            tried += [] if wrong else tx.rows("change.tried_with", **where)
    done = [(job_id, dataid) for job_id, dataid, state in tried if state == WorkState.DONE]
    failed = [(job_id, dataid) for job_id, dataid, state in tried if state != WorkState.DONE]
    return Readers(made, list(dict.fromkeys([*called, *done])), failed)


def _pass_on(tx: Transaction, outdated: Sequence[int], wrong: bool) -> None:
    """Mark outdated chunks, and all current results made from them, as stale; count them as not ready."""
    if not outdated:
        return
    stale = _mark(tx, outdated)
    works: dict[Work, None] = {}
    roots = set(outdated) if wrong else {row[0] for row in stale}
    # Again until nothing is new: a run that read a chunk may have finished before it was marked.
    while found := _list_made_from(tx, roots, wrong):
        ids = [row[0] for row in found]
        # What ignores changes does not follow its inputs: only its own run or an operator makes it current.
        marked = _mark(tx, [row[0] for row in found if row[3]])
        marked += tx.rows("change.make_stale", outdated=False, **tx.ids(ids))
        stale += marked
        works |= dict.fromkeys(_works(found))
        roots |= set(ids)
    if wrong:
        tx.run("change.make_wrong", **tx.ids(sorted(roots)))
    _leave(tx, stale)
    kept = Policies.read(tx, works, wrong)
    _redo(tx, kept.without_protected(tx, works), STALE_INPUT, DONE)


def _mark(tx: Transaction, outdated: Sequence[int]) -> list[Row]:
    """Mark chunks as outdated; return those that were not stale yet."""
    if not outdated:
        return []
    stale = tx.rows("change.make_stale", outdated=True, **tx.ids(outdated))
    tx.run("change.make_outdated", **tx.ids(outdated))
    return stale


def _list_made_from(tx: Transaction, roots: set[int], wrong: bool) -> list[Row]:
    """Return the results made from some chunks, locked, down the line, that are not among them."""
    ids = tx.ids(sorted(roots))
    found = tx.rows("change.made_down_the_line", wrong=wrong, **ids) if roots else []
    if any(row[0] not in roots for row in found):
        _lock(tx, _works(found))
        found = tx.rows("change.made_down_the_line", wrong=wrong, **ids)
    return [row for row in found if row[0] not in roots]


def _leave(tx: Transaction, stale: Iterable[Row]) -> None:
    """Take the readiness of chunks away from the work that counts them."""
    lost: dict[int, list[tuple[str, str]]] = {}
    for _, dataset_id, dataid, key, was_ready in stale:
        if was_ready:
            lost.setdefault(dataset_id, []).append((dataid, key))
    if lost:
        consumers.move_inputs(tx, {key: ChunkChange(lost=pairs) for key, pairs in lost.items()})


@record
class Policies:
    """What some jobs do about a change, other than redo a result at once: (on_change, late after, now)."""

    of_job: dict[int, tuple[str, float, float]]

    @classmethod
    def read(cls, tx: Transaction, works: Iterable[Work], wrong: bool) -> Policies:
        """Return what the jobs of some work say; wrong data is redone whatever they say."""
        job_ids = [] if wrong else sorted({job_id for job_id, _ in works})
        rows = tx.rows("change.policies", **tx.ids(job_ids)) if job_ids else []
        return cls({row[0]: (row[1], float(row[2]), float(row[3])) for row in rows})

    def ignores(self, job_id: int) -> bool:
        """Return whether a job leaves its results as they are."""
        return job_id in self.of_job and self.of_job[job_id][0] == IGNORE

    def without_protected(self, tx: Transaction, works: Iterable[Work]) -> list[Work]:
        """Return the work that is redone if it is done: not where the job asks first, or ignores changes."""
        free = dict.fromkeys(works)
        for job_id, (on_change, late_after_seconds, now) in self.of_job.items():
            own = [work for work in free if work[0] == job_id]
            if on_change == RERUN and own:
                before = utc_text(now - late_after_seconds)
                own = [(row[0], row[1]) for row in _rows(tx, "change.late_among", own, before=before)]
            for work in own:
                free.pop(work, None)
        return list(free)


def _works(made: Iterable[Row]) -> list[Work]:
    return list(dict.fromkeys([(row[2], row[1]) for row in made]))


def _outputs_of(tx: Transaction, works: Sequence[Work]) -> list[Row]:
    return _rows(tx, "change.outputs_of", works)


def _lock(tx: Transaction, works: Sequence[Work]) -> None:
    """Lock work, then the registration of what its jobs produce."""
    for calls in _batches(works):
        tx.lock("publish.lock_work", **tx.calls(calls))
    tx.lock("change.lock_outputs", **tx.ids(sorted({job_id for job_id, _ in works})))


def _redo(tx: Transaction, works: Sequence[Work], reason: str, states: Sequence[str]) -> None:
    """Have work in one of some states done again. It is locked, so its state does not change meanwhile."""
    found = _rows(tx, "change.states_of", works)
    for calls in _batches([(job_id, dataid) for job_id, dataid, state in found if state in states]):
        consumers.do_again(tx, calls, reason)


def _rows(tx: Transaction, query: str, works: Sequence[Work], **parameters: str) -> list[Row]:
    return [row for calls in _batches(works) for row in tx.rows(query, **parameters, **tx.calls(calls))]


def _batches(works: Sequence[Work]) -> Iterator[list[Call]]:
    for start in range(0, len(works), BATCH):
        some = works[start : start + BATCH]
        yield [call for job_id, dataid in some for call in to_work(job_id, [dataid])]
