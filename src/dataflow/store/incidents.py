"""Incidents of jobs, datasets and hosts, opened and closed in the transaction that changes their state.

An incident row is locked after all other rows. It is opened by the first chunk in trouble and closed with the
last one; the row of the outbox that tells of either is written with it.
"""

from __future__ import annotations

from dataflow.model.incident import OPENED, RECOVERED, IncidentKind
from dataflow.model.record import record
from dataflow.model.status import WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Transaction


@record
class Settled:
    """Work that is done or has failed, and why; `died`: its runs did, again and again."""

    job: str
    work_id: int
    dataid: str
    state: WorkState
    reason: str
    died: bool = False


def follow(tx: Transaction, settled: Settled) -> None:
    """Count work that has failed in the incident of its kind and job; take work that is done out of its own.

    The first opens the incident and the last closes it. This happens at the end of the transaction: every
    failing run waits for the same rows, so nothing else may be locked after them.
    """
    tx.at_end(lambda tx: _follow(tx, settled))


def _follow(tx: Transaction, settled: Settled) -> None:
    row = tx.find("watch.incident_of", work_id=settled.work_id)
    before: int | None = row[0] if row else None
    if settled.state is WorkState.DONE:
        if before is not None:
            tx.run("watch.set_incident", incident_id=None, work_id=settled.work_id)
            _close_if_empty(tx, before, recovered=True)
        return
    kind = IncidentKind.QUARANTINE if settled.died else IncidentKind(settled.state.lower())
    if before is not None:
        kept = tx.find("watch.kind_of", incident_id=before)
        if kept is not None and kept[0] == kind:
            return  # it failed again, and was counted the first time
    where = {"kind": kind.value, "job": settled.job, "dataid": settled.dataid, "reason": settled.reason}
    opened = tx.find("watch.enter", **where)
    assert opened is not None
    incident_id, items = opened
    tx.run("watch.set_incident", incident_id=incident_id, work_id=settled.work_id)
    if items == 1:
        _notify(tx, incident_id, OPENED)
    if before is not None:
        # It is in trouble of another kind now, so nothing has recovered.
        _close_if_empty(tx, before, recovered=False)


def close_left_behind(tx: Transaction, incident_id: int) -> None:
    """Close an incident whose work is gone, or was finished by a version that knows no incidents."""
    tx.lock("watch.lock_incident", incident_id=incident_id)
    tx.run("watch.drop_done", incident_id=incident_id)
    _close_if_empty(tx, incident_id, recovered=True)


def open_for(tx: Transaction, kind: str, dataset: str, dataid: str, reason: str) -> None:
    """Open an incident of a dataset unless it is open."""
    row = tx.find("watch.open", kind=kind, dataset=dataset, dataid=dataid, reason=reason)
    if row is not None:
        _notify(tx, row[0], OPENED)


def close_for(tx: Transaction, kind: str, dataset: str) -> None:
    """Close the open incident of a dataset, if there is one: it has recovered."""
    row = tx.find("watch.find_open", kind=kind, dataset=dataset, host="")
    if row is not None:
        _close(tx, row[0], recovered=True)


def open_asking(tx: Transaction, job_id: int, items: int, dataid: str) -> None:
    """Open the incident of a job whose stale results wait for a decision, unless it is open."""
    row = tx.find("watch.open_asking", job_id=job_id, items=items, dataid=dataid)
    if row is not None:
        _notify(tx, row[0], OPENED)


def close_answered(tx: Transaction, incident_id: int) -> None:
    """Close the incident of a job that asks no more: it has recovered."""
    _close(tx, incident_id, recovered=True)


def lose_worker(tx: Transaction, host: str, reason: str) -> None:
    """Count a worker that has vanished in the incident of its host; the first opens it."""
    # Taken before the caller looks for a worker that has joined since, and by those who join.
    tx.lock("watch.lock_outbox")
    opened = tx.find("watch.enter_host", kind=IncidentKind.WORKER_LOST.value, host=host, reason=reason)
    assert opened is not None
    incident_id, items = opened
    if items == 1:
        _notify(tx, incident_id, OPENED)


def close_host(tx: Transaction, host: str) -> None:
    """Close the open incident of a host whose workers were lost, if there is one: a worker is back."""
    tx.lock("watch.lock_outbox")
    row = tx.find("watch.find_open", kind=IncidentKind.WORKER_LOST.value, dataset="", host=host)
    if row is not None:
        _close(tx, row[0], recovered=True)


def forget(tx: Transaction, job: str = "", dataset: str = "") -> None:
    """Close the incidents of a job or dataset that is removed or no longer watched, without a word."""
    if tx.run("watch.close_of", job=job, dataset=dataset):
        tx.run("watch.silence_of", job=job, dataset=dataset)


def _close_if_empty(tx: Transaction, incident_id: int, recovered: bool) -> None:
    tx.lock("watch.lock_incident", incident_id=incident_id)
    # In a later statement than the lock: another process may have taken out the last but one.
    if tx.find("watch.find_left", incident_id=incident_id) is None:
        _close(tx, incident_id, recovered)


def _close(tx: Transaction, incident_id: int, recovered: bool) -> None:
    closed = tx.find("watch.close", incident_id=incident_id, recovered=recovered)
    if closed is not None and recovered:
        _notify(tx, incident_id, RECOVERED)


def _notify(tx: Transaction, incident_id: int, event: str) -> None:
    tx.lock("watch.lock_outbox")
    tx.run("watch.notify", incident_id=incident_id, event=event)
