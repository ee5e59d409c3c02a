"""What a notification says, as JSON and as text."""

from __future__ import annotations

import json

from dataflow.model.incident import OPENED
from dataflow.model.record import record
from dataflow.model.wording import counted, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.model.incident import Notification

LONGEST_REASON = 2000


@record
class Origin:
    """Where notifications come from."""

    store_id: str
    environment: str


@record
class Message:
    """One notification, ready to be sent; `key` is the same each time it is sent."""

    key: str
    headline: str
    text: str
    facts: dict[str, Any]

    def as_json(self) -> bytes:
        """All of it as JSON."""
        return json.dumps(self.facts, ensure_ascii=False).encode("utf-8", "backslashreplace")


def compose(notification: Notification, origin: Origin) -> Message:
    """Return what is said about an incident that has opened or recovered."""
    one = notification
    what = one.what
    reason = shortened(one.reason, LONGEST_REASON)
    items = "" if one.dataset else f", {counted(one.items, 'worker' if one.host else 'chunk')}"
    if one.event == OPENED:
        headline = f"{one.kind}: {what}{items}"
        first = (
            f" (first: {one.dataid})" if one.job and one.items > 1 else f" ({one.dataid})" if one.job else ""
        )
        text = f"{headline}{first}: {reason}" if reason else f"{headline}{first}"
        following = f"dataflow {'workers' if one.host else 'incidents'}; dataflow ack {one.incident_id}"
    else:
        headline = f"recovered: {what} ({one.kind}{items})"
        text = f"{headline}; it began at {one.opened_at}"
        following = "dataflow incidents --all"
    headline = f"[{origin.environment}] {headline}"
    key = f"{origin.store_id}-{one.notification_id}"
    facts = {
        "id": key,
        "event": one.event,
        "kind": one.kind,
        "incident": one.incident_id,
        "job": one.job or None,
        "dataset": one.dataset or None,
        "host": one.host or None,
        "dataid": one.dataid or None,
        "chunks": one.items,
        "reason": reason,
        "opened_at": one.opened_at,
        "closed_at": one.closed_at,
        "environment": origin.environment,
        "text": f"[{origin.environment}] {text}",
        "next": following,
    }
    return Message(key, headline, f"[{origin.environment}] {text}", facts)
