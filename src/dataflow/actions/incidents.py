"""Incidents: opening and closing those that come from the clock, and silencing one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.store import Store


def watch_clocks(store: Store) -> int:
    """Open and close the incidents of datasets that are stale or overdue; return how many were looked at.

    Workers and `dataflow notify` call it about once a minute. When nothing can have become late since
    somebody last looked, it costs two short reads.
    """
    return store.watching.look_at_clocks()


def acknowledge(store: Store, incident_id: int, why: str) -> None:
    """Silence an open incident; UnknownName if there is none with this id."""
    store.watching.acknowledge(incident_id, why)
