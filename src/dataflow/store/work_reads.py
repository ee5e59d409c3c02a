"""Reads of work: its state, its order, its counts."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.records import OLDEST, WorkRow
from dataflow.model.status import WorkState
from dataflow.store.reads import Reads, first_of, record_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dataflow.store.database import Row

    Pair = tuple[str, str]


@record
class ClaimFlags:
    """What a claim checks of one work beside its state."""

    hold: bool
    job_hold: bool
    max_running: int
    ordered: bool
    sort_key: str


@record
class Unfinished:
    """The first unfinished work of an ordered job."""

    dataid: str
    state: WorkState
    run_id: int


@record
class OpenGroup:
    """Unfinished work of one job in one state; `since` is when the oldest was called for."""

    job_id: int
    state: str
    hold: bool
    count: int
    since: Any


@record
class OldestWork:
    """The unfinished work of a job that was called for first."""

    dataid: str
    reason: str


@record
class CalledWork:
    """WAITING work, and when it was called for."""

    dataid: str
    sort_key: str
    called_at: float
    reason: str


@record
class BadEnding:
    """Work that is FAILED or INVALID; `next` is the command that resubmits it."""

    job: str
    dataid: str
    state: str
    run_id: int | None
    reason: str
    modified_at: str
    quarantined: bool
    next: str = ""


@record
class AskingWork:
    """Done work of a job that asks what to do, because its inputs changed: how much, and the first of it."""

    count: int
    first: str


@record
class SkippedWork:
    """Waiting work of a job whose interval a calendar has skipped: how much, and the first of it."""

    count: int
    first: str


@record
class UnreadWork:
    """Done work that lacks no input: how much, and the first and last of it."""

    count: int
    first: str
    last: str


@record
class WrongWork:
    """Work whose kept facts contradict each other; `number` is the wrong count or run id."""

    job: str
    dataid: str
    number: int


@record
class Readiness:
    """What the store keeps about the inputs of one work."""

    dataid: str
    state: WorkState
    missing: int
    waits: bool


class WorkReads(Reads):
    """Reads of work."""

    def find_work(self, job_id: int, dataid: str) -> WorkRow | None:
        """Return one work, or None if no chunk has called for it."""
        return self._find_one(WorkRow, "reading.work", job_id=job_id, dataid=dataid)

    def find_work_state(self, job_id: int, dataid: str) -> WorkState | None:
        """Return the state of one work, or None if no chunk has called for it."""
        row = self._find("claim.state_of", job_id=job_id, dataid=dataid)
        return None if row is None else WorkState(row[0])

    def find_claim_flags(self, work_id: int) -> ClaimFlags | None:
        """Return what a claim checks of one work, or None if the work is gone."""
        return self._find_one(ClaimFlags, "explain.flags", work_id=work_id)

    def has_earlier_work(self, job_id: int, sort_key: str) -> bool:
        """Return whether a job has work before a sort key."""
        return self._find("claim.earlier_work", job_id=job_id, sort_key=sort_key) is not None

    def find_first_in_state(self, job_id: int, state: WorkState) -> str | None:
        """Return the dataid of the first work in a state that is not DONE, in claim order."""
        return _text(self._find("reading.first_open", job_id=job_id, state=state.value))

    def find_first_waiting(self, job_id: int) -> str | None:
        """Return the dataid of the first WAITING work, in claim order, that no calendar has skipped."""
        return _text(self._find("explain.first_waiting", job_id=job_id))

    def find_first_claimable(self, job_id: int, order: str = OLDEST) -> str | None:
        """Return the dataid that the next claim of an unordered job takes."""
        query = "explain.first_claimable" if order == OLDEST else "explain.last_claimable"
        return _text(self._find(query, job_id=job_id))

    def find_first_unfinished(self, job_id: int) -> Unfinished | None:
        """Return the only work that an ordered job may do next."""
        return self._find_one(Unfinished, "explain.first_unfinished", job_id=job_id)

    def find_last_done(self, job_id: int) -> str | None:
        """Return the dataid of the newest successful run, or of any DONE work if no such run is kept."""
        row = self._find("explain.last_done", job_id=job_id)
        return _text(row or self._find("explain.any_done", job_id=job_id))

    def find_unread_work(self, job_id: int) -> UnreadWork | None:
        """Return the DONE work that lacks no input, or None if there is none."""
        row = self._find("reading.unread_work", job_id=job_id)
        return UnreadWork(*row) if row and row[0] else None

    def find_oldest_work(self, group: OpenGroup) -> OldestWork | None:
        """Return the work of a group that was called for first; None if it has moved since."""
        where = {"job_id": group.job_id, "state": group.state}
        row = self._find("status.first_in_state", **where)
        if row is None or row[2] != group.since:
            row = self._find("status.work_since", **where, called_at=group.since)
        return None if row is None else OldestWork(row[0], row[1])

    def list_bad_endings(self, job_id: int, state: WorkState, most: int) -> list[BadEnding]:
        """Return the first FAILED or INVALID work of a job, in order."""
        return self._list(BadEnding, "status.ended_badly", job_id=job_id, state=state.value, most=most)

    def list_done_dataids(self, job_id: int, most: int) -> list[str]:
        """Return the dataids of DONE work, last first."""
        return [row[0] for row in self._rows("reading.done_work", job_id=job_id, most=most)]

    def list_open_dataids(self, job_id: int, most: int) -> list[str]:
        """Return the dataids of work that is not DONE, in order."""
        return [row[0] for row in self._rows("reading.open_work", job_id=job_id, most=most)]

    def list_known_dataids(self, job_id: int, pairs: Sequence[Pair]) -> set[str]:
        """Return the dataids among these that a job has work for."""
        rows = self._read(lambda tx: tx.rows("operate.list_named", job_id=job_id, **tx.batch(pairs)))
        return {row[1] for row in rows}

    def list_work_in_state(self, job_id: int, state: WorkState, after: str, most: int) -> list[Pair]:
        """Return dataid and sort key of a job's work in one state, in order, after a sort key."""
        where = {"job_id": job_id, "state": state.value, "after": after, "most": most}
        return [(row[0], row[1]) for row in self._rows("operate.list_in_state", **where)]

    def list_work_between(self, job_id: int, first: str, last: str) -> Iterator[Pair]:
        """Stream dataid and sort key of a job's work between two sort keys, both included."""
        for row in self._database.stream("operate.list_between", job_id=job_id, first=first, last=last):
            yield row[0], row[1]

    def count_work_by_job(self) -> dict[int, int]:
        """Count each job's work, by job id."""
        return {job_id: int(count) for job_id, count in self._rows("status.all_work")}

    def count_work_by_state(self, job_id: int) -> dict[WorkState, int]:
        """Count a job's work by state."""
        return {
            WorkState(state): int(count) for state, count in self._rows("reading.work_counts", job_id=job_id)
        }

    def count_open_work(self, job: str, state: WorkState) -> int:
        """Count a job's work in a state that is not DONE."""
        return sum([row[3] for row in self._rows("reading.open_counts") if row[:2] == (job, state)])

    def list_open_groups(self) -> list[OpenGroup]:
        """Count the unfinished work of all jobs by job, state and hold."""
        return self._list(OpenGroup, "status.open_work")

    def list_paced_jobs(self) -> set[int]:
        """Return the ids of the jobs that read a calendar or the previous chunk of their own output."""
        return {row[0] for row in self._rows("status.paced_jobs")}

    def find_first_called(self, job_id: int, is_paced: bool, before: str) -> CalledWork | None:
        """Return the WAITING work before a sort key that was called for first, if its turn has come."""
        query = "status.first_paced" if is_paced else "status.first_called"
        return self._find_one(CalledWork, query, job_id=job_id, before=before)

    def list_asking_work(self) -> dict[int, AskingWork]:
        """Return the DONE work that asks what to do because its inputs have changed, by job id."""
        rows = self._rows("status.asking_work")
        return {job_id: AskingWork(count, first) for job_id, count, first in rows}

    def list_skipped_work(self) -> dict[int, SkippedWork]:
        """Return the WAITING work whose interval a calendar has skipped, by job id."""
        rows = self._rows("status.skipped_work")
        return {job_id: SkippedWork(count, first) for job_id, count, first in rows}

    def list_miscounted_work(self, most: int) -> list[WrongWork]:
        """Return work whose count of missing inputs is not that of its own rows."""
        return self._list(WrongWork, "doctor.miscounted_work", most=most)

    def list_orphaned_work(self, most: int) -> list[WrongWork]:
        """Return RUNNING work whose run has ended or never existed."""
        return self._list(WrongWork, "doctor.orphaned_running", most=most)

    def list_readiness(self, job_id: int) -> Iterator[Readiness]:
        """Stream what the store keeps about the inputs of a job's work."""
        for row in self._database.stream("reading.kept_readiness", job_id=job_id):
            yield record_from(Readiness, row)

    def list_expected_missing(self, job_id: int) -> Iterator[tuple[str, int]]:
        """Stream each dataid that ready chunks call for, with its missing inputs; `same` inputs only."""
        for dataid, missing in self._database.stream("reading.oracle", job_id=job_id):
            yield dataid, int(missing)


def _text(row: Row | None) -> str | None:
    found = first_of(row)
    return None if found is None else str(found)
