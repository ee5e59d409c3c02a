"""Reads of datasets and jobs: what is registered, who produces what, which schedules are due."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.store import calendars, registry
from dataflow.store.reads import Reads, first_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Dataset, Plan
    from dataflow.store.calendars import DueCalendar


@record
class HoldLine:
    """Who put something on hold, and why."""

    actor: str
    why: str


@record
class JobHold:
    """A job, its kind, whether it is on hold, and how its dataids are read."""

    job_id: int
    job: str
    kind: str
    hold: bool
    grain: str
    timezone: str


@record
class DatasetGrain:
    """A dataset and how its dataids are made."""

    dataset_id: int
    dataset: str
    grain: str
    timezone: str
    is_calendar: bool
    days: str  # of the job that produces it


@record
class JobCalendar:
    """A calendar with intervals to add, and the name and one job that reads it."""

    job: str
    dataset: str
    calendar: DueCalendar


class JobReads(Reads):
    """Reads of what is registered."""

    def list_datasets(self) -> list[Dataset]:
        """Return all datasets, by name."""
        return [registry.dataset_from_row(row[1:]) for row in self._rows("registration.list_datasets")]

    def list_dataset_grains(self) -> list[DatasetGrain]:
        """Return the grain of each dataset, by name."""
        return self._list(DatasetGrain, "status.datasets")

    def list_plans(self) -> list[Plan]:
        """Return all jobs, by name."""
        return self._read(registry.list_plans)

    def list_names(self, kind: str) -> list[str]:
        """Return the names of all datasets or of all jobs."""
        return self._read(lambda tx: registry.list_names(tx, kind))

    def list_job_holds(self) -> list[JobHold]:
        """Return all jobs, by name, with their kind and whether each is on hold."""
        return self._list(JobHold, "status.job_ids")

    def is_job_held(self, job_id: int) -> bool:
        """Return whether a job is on hold."""
        return bool(first_of(self._find("explain.job_hold", job_id=job_id)))

    def find_hold(self, job: str, dataid: str) -> HoldLine | None:
        """Return the last hold of a job ("" as dataid) or of one work; None if the journal has none."""
        return self._find_one(HoldLine, "explain.held_by", job=job, dataid=dataid)

    def find_producer(self, dataset_id: int) -> str | None:
        """Return the job that produces a dataset, or None if its chunks come from outside."""
        row = self._find("publish.producer", dataset_id=dataset_id)
        return None if row is None else str(row[1])

    def list_producers(self) -> dict[str, str]:
        """Return the job that produces each dataset, by dataset."""
        return dict(self._rows("reading.producers"))

    def find_calendar(self, dataset_id: int) -> DueCalendar | None:
        """Return a calendar, or None if the dataset is not one."""
        return self._read(lambda tx: calendars.find_calendar(tx, dataset_id))

    def list_due_calendars(self) -> list[JobCalendar]:
        """Return each job's calendars that have intervals to add, by job."""
        return [
            JobCalendar(job, dataset, calendars.DueCalendar(*rest))
            for job, dataset, *rest in self._rows("reading.due_calendars")
        ]

    def list_newest_keys(self, job_id: int) -> dict[int, str]:
        """Return the sort key of the newest chunk kept for each input mapped `latest`, by position."""
        return {row[0]: row[1] for row in self._rows("cover.reaches", job_id=job_id)}

    def list_suspect_jobs(self) -> list[str]:
        """Return the jobs whose readiness the oracle must check one by one."""
        return [row[0] for row in self._rows("doctor.suspect_jobs")]
