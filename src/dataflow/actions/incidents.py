"""Incidents: opening and closing those that somebody must look for, and silencing one."""

from __future__ import annotations

from dataflow.actions.workers import dismiss_lost
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.actions.workers import IsDead
    from dataflow.config.channels import Channel
    from dataflow.model.incident import DeliveryRow, Incident
    from dataflow.model.worker_rows import WorkerRow
    from dataflow.store.store import Store

MOST = 1000


def look(store: Store, is_dead: IsDead) -> list[WorkerRow]:
    """Open and close the incidents of late datasets and lost workers; return the workers found lost.

    Workers and `dataflow notify` call it about once a minute. When nothing can have become late since
    somebody last looked, it costs a few short reads.
    """
    store.watching.look_at_clocks()
    return dismiss_lost(store, is_dead)


def list_incidents(
    store: Store, with_closed: bool, is_dead: IsDead
) -> list[tuple[Incident, list[DeliveryRow]]]:
    """Return the incidents, each with who was notified, after a look for new ones."""
    look(store, is_dead)
    found = store.watching.list_incidents(with_closed, MOST)
    deliveries: dict[int, list[DeliveryRow]] = {}
    for one in store.watching.list_deliveries([incident.incident_id for incident in found]):
        deliveries.setdefault(one.incident_id, []).append(one)
    return [(incident, deliveries.get(incident.incident_id, [])) for incident in found]


def list_unmatched(store: Store, channels: Sequence[Channel]) -> list[str]:
    """Return, in words, the patterns of channels that match no job or dataset of the store."""
    from fnmatch import fnmatchcase  # start-up: only `dataflow doctor` asks

    known = {
        "job": [job.job for job in store.read.list_job_holds()],
        "dataset": [dataset.name for dataset in store.read.list_datasets()],
    }
    return [
        f"channel {channel.name}: {kind}s = {quoted(pattern)} matches no {kind}"
        for channel in channels
        for kind, patterns in (("job", channel.jobs), ("dataset", channel.datasets))
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in known[kind])
    ]


def acknowledge(store: Store, incident_id: int, why: str) -> None:
    """Silence an open incident; UnknownName if there is none with this id."""
    store.watching.acknowledge(incident_id, why)
