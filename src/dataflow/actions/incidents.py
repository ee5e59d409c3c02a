"""Incidents: opening and closing those that somebody must look for, and silencing one."""

from __future__ import annotations

from dataflow.actions.workers import dismiss_lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.workers import IsDead
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


def acknowledge(store: Store, incident_id: int, why: str) -> None:
    """Silence an open incident; UnknownName if there is none with this id."""
    store.watching.acknowledge(incident_id, why)
