"""Incidents: opening and closing those that come from the clock, and silencing one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.incident import DeliveryRow, Incident
    from dataflow.store.store import Store

MOST = 1000


def watch_clocks(store: Store) -> int:
    """Open and close the incidents of datasets that are stale or overdue; return how many were looked at.

    Workers and `dataflow notify` call it about once a minute. When nothing can have become late since
    somebody last looked, it costs two short reads.
    """
    return store.watching.look_at_clocks()


def list_incidents(store: Store, with_closed: bool) -> list[tuple[Incident, list[DeliveryRow]]]:
    """Return the incidents, each with who was notified, after a look at what the clock has made late."""
    watch_clocks(store)
    found = store.watching.list_incidents(with_closed, MOST)
    deliveries: dict[int, list[DeliveryRow]] = {}
    for one in store.watching.list_deliveries([incident.incident_id for incident in found]):
        deliveries.setdefault(one.incident_id, []).append(one)
    return [(incident, deliveries.get(incident.incident_id, [])) for incident in found]


def acknowledge(store: Store, incident_id: int, why: str) -> None:
    """Silence an open incident; UnknownName if there is none with this id."""
    store.watching.acknowledge(incident_id, why)
