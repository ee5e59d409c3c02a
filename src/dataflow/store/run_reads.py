"""Reads of runs: one, the newest, those at work, those that read a chunk."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.records import RunRow
from dataflow.store.reads import Reads, first_of, seconds_of


@record
class EarlierRun:
    """An earlier run of the same work.

    `called_since`: an operator has since resubmitted the work, or forced it after a failure.
    """

    run_id: int
    claimant: str
    called_since: bool


@record
class OpenRun:
    """A run that has not ended."""

    run_id: int
    job: str
    dataid: str
    host: str
    claimant: str


@record
class StartedRun:
    """A run that has not ended and when it started, in seconds since 1970."""

    job_id: int
    run_id: int
    dataid: str
    started_at: float


@record
class LiveRun:
    """A run that has not ended, as `dataflow top` shows it."""

    run_id: int
    job: str
    dataid: str
    host: str
    started_at: float


@record
class RecentRun:
    """When a successful run of a job started and ended."""

    job_id: int
    started_at: float
    ended_at: float


class RunReads(Reads):
    """Reads of runs."""

    def find_run(self, run_id: int) -> RunRow | None:
        """Return one run, or None."""
        return self._find_one(RunRow, "reading.run", run_id=run_id)

    def list_runs(self, most: int = 50, job: str = "", dataid: str = "", outcome: str = "") -> list[RunRow]:
        """Return runs, newest first."""
        return self._list(RunRow, "reading.runs", most=most, job=job, dataid=dataid, outcome=outcome)

    def get_newest_run_id(self) -> int:
        """Return the id of the newest run; 0 if there is none."""
        return int(self._get("reading.newest_run"))

    def list_earlier_runs(self, work_id: int, run_id: int) -> list[EarlierRun]:
        """Return earlier runs of the same work since it was last DONE, newest first."""
        return self._list(EarlierRun, "reading.earlier_runs", work_id=work_id, run_id=run_id)

    def list_runs_at_work(self, job_id: int, outliving: bool) -> list[int]:
        """Return the runs of a job that may be at work; `outliving` adds what may outlive its process."""
        return [row[0] for row in self._rows("claim.at_work", job_id=job_id, outliving=outliving)]

    def has_kill_command(self, run_id: int) -> bool:
        """Return whether the work of a run may outlive its process."""
        return bool(first_of(self._find("explain.has_kill_command", run_id=run_id)))

    def find_ended_claimant(self, run_id: int, dataset_id: int, dataid: str) -> str | None:
        """Return the claimant of a run that is known to have made this chunk and can write no more."""
        where = {"run_id": run_id, "dataset_id": dataset_id, "dataid": dataid}
        found = self._find("versions.ended_claimant", **where)
        return str(found[0]) if found else None

    def list_lapsed_runs(self) -> list[OpenRun]:
        """Return runs whose lease has lapsed and that no claim has freed yet."""
        return self._list(OpenRun, "reading.lapsed_runs")

    def list_live_runs(self) -> list[OpenRun]:
        """Return runs whose lease is good."""
        return self._list(OpenRun, "doctor.live_runs")

    def list_started_runs(self) -> list[StartedRun]:
        """Return the runs that have not ended, oldest first."""
        return self._list(StartedRun, "status.open_runs")

    def list_durations(self, job_id: int, most: int) -> list[float]:
        """Return how many seconds the last successful runs of a job took, newest first."""
        rows = self._rows("status.last_durations", job_id=job_id, most=most)
        return [seconds_of(ended_at) - seconds_of(started_at) for started_at, ended_at in rows]

    def list_live_streams(self) -> list[LiveRun]:
        """Return the runs that have not ended, with where they are, oldest first."""
        return self._list(LiveRun, "status.live_streams")

    def list_recent_runs(self, most: int) -> list[RecentRun]:
        """Return the last successful runs of all jobs, newest first."""
        return self._list(RecentRun, "status.recent_runs", most=most)

    def list_chunk_readers(self, chunk_id: int) -> list[int]:
        """Return the runs that read a chunk and may be at work."""
        return [row[0] for row in self._rows("claim.readers", chunk_id=chunk_id, run_id=0)]

    def list_dataset_readers(self, dataset_id: int) -> list[int]:
        """Return the runs that read any chunk of a dataset and may be at work."""
        return [row[0] for row in self._rows("claim.place_readers", dataset_id=dataset_id, run_id=0)]

    def is_chunk_read(self, dataset_id: int, dataid: str) -> bool:
        """Return whether a live run reads any version of a chunk."""
        return self._find("versions.readers", dataset_id=dataset_id, dataid=dataid) is not None
