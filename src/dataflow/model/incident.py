"""Incidents: trouble with one job, dataset or host that people should hear of once."""

from __future__ import annotations

from enum import StrEnum

from dataflow.model.record import record


class IncidentKind(StrEnum):
    """What is wrong."""

    FAILED = "failed"  # work of a job is FAILED
    INVALID = "invalid"  # work of a job is INVALID
    QUARANTINE = "quarantine"  # work of a job is FAILED because its runs died again and again
    STALE = "stale"  # the newest chunk of a dataset is older than fresh_within allows
    ASKING = "asking"  # results of a job are STALE, and the job asks before it makes them again
    OVERDUE = "overdue"  # a chunk of a dataset was not published by due_by
    WORKER_LOST = "worker_lost"  # a worker on a host has vanished without ending


OPENED, RECOVERED = "opened", "recovered"
"""The events of an incident that notifications tell of."""

EVENTS = (*[kind.value for kind in IncidentKind], RECOVERED)
"""What a channel may ask for: incidents of a kind when they open, and all of them when they recover."""


@record
class Incident:
    """One incident as `dataflow incidents` lists it; `items` counts its chunks, the first is `dataid`.

    Of lost workers, `items` counts the workers.
    """

    incident_id: int
    kind: str
    job: str
    dataset: str
    host: str
    dataid: str
    reason: str
    items: int
    opened_at: str
    closed_at: str | None
    recovered: bool
    acknowledged_at: str | None
    acknowledged_by: str
    acknowledged_why: str

    @property
    def subject(self) -> str:
        """The name of the job, dataset or host that is in trouble."""
        return self.job or self.dataset or self.host

    @property
    def what(self) -> str:
        """What is in trouble, in words."""
        return f"{'job' if self.job else 'dataset' if self.dataset else 'host'} {self.subject}"


@record
class DeliveryRow:
    """What became of one event of an incident on one channel."""

    incident_id: int
    event: str
    channel: str
    state: str
    attempts: int
    sent_at: str | None
    error: str


@record
class Notification:
    """What one delivery tells: an incident has opened or recovered."""

    notification_id: int
    attempts: int
    event: str
    at: str
    incident_id: int
    kind: str
    job: str
    dataset: str
    host: str
    dataid: str
    reason: str
    items: int
    opened_at: str
    closed_at: str | None

    @property
    def subject(self) -> str:
        """The name of the job, dataset or host that is in trouble."""
        return self.job or self.dataset or self.host

    @property
    def what(self) -> str:
        """What is in trouble, in words."""
        return f"{'job' if self.job else 'dataset' if self.dataset else 'host'} {self.subject}"
