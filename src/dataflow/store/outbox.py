"""Deliveries of notifications to channels: each is taken by one process, under a lease and a token."""

from __future__ import annotations

from dataflow.model.incident import OPENED, Notification
from dataflow.model.record import record
from dataflow.store.reads import record_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.store.database import Row, Transaction

    Wish = Callable[[str, str, str, str], bool]
    """Whether a channel wants to hear of (event, kind, job, dataset)."""

BATCH = 500
NEW = -1
"""What a channel has seen that has just been added."""


@record
class Failure:
    """Why a delivery failed, after how long it is tried again, and how often it is tried at most."""

    error: str
    delay_seconds: float
    most_attempts: int


def fan_out(tx: Transaction, channel: str, wants: Wish) -> int:
    """Give a channel a delivery for each new notification that it wants; return how many."""
    tx.run("outbox.add_channel", channel=channel)
    tx.lock("outbox.lock_channel", channel=channel)
    seen = tx.find("outbox.seen", channel=channel)
    assert seen is not None
    if seen[0] == NEW:
        # Nothing is committed with a lower number than the last one while the outbox is locked.
        tx.lock("watch.lock_outbox")
        seen = tx.find("outbox.seen", channel=channel)
        assert seen is not None
        rows, seen_id = tx.rows("outbox.open_notifications"), seen[1]
    else:
        rows = tx.rows("outbox.new_notifications", seen_id=seen[0], most=BATCH)
        seen_id = rows[-1][0] if len(rows) == BATCH else max(seen[0], seen[1])
    added = sum([_add(tx, channel, row, wants) for row in rows])
    tx.run("outbox.set_seen", channel=channel, seen_id=seen_id)
    return added


def take(tx: Transaction, channel: str, token: str, lease_seconds: float) -> Notification | None:
    """Take the next delivery of a channel that is due; None if there is none. Once per token."""
    found = tx.find("outbox.find_taken", channel=channel, token=token)
    if found is None:
        found = tx.find("outbox.next_due", channel=channel)
        if found is None:
            return None
        where = {"notification_id": found[0], "channel": channel}
        if not tx.run("outbox.take", token=token, lease_seconds=lease_seconds, **where):
            return None
    row = tx.find("outbox.facts", notification_id=found[0], channel=channel)
    return None if row is None else record_from(Notification, row)


def record_sent(tx: Transaction, notification_id: int, channel: str, token: str) -> bool:
    """Record that a delivery was sent; False if another process has taken it or it was silenced."""
    where = {"notification_id": notification_id, "channel": channel, "token": token}
    return tx.find("outbox.record_sent", **where) is not None


def record_failed(
    tx: Transaction, notification_id: int, channel: str, token: str, failure: Failure
) -> str | None:
    """Record that a delivery failed and return its state; None if another process has taken it."""
    row = tx.find(
        "outbox.record_failed",
        notification_id=notification_id,
        channel=channel,
        token=token,
        error=failure.error,
        delay_seconds=failure.delay_seconds,
        most_attempts=failure.most_attempts,
    )
    return None if row is None else str(row[0])


def _add(tx: Transaction, channel: str, row: Row, wants: Wish) -> bool:
    notification_id, incident_id, event, kind, job, dataset, came_to_nothing = row
    if came_to_nothing or not wants(event, kind, job, dataset):
        return False
    # Nobody hears that something is well again who was not told of it.
    if event != OPENED and tx.find("outbox.was_told", incident_id=incident_id, channel=channel) is None:
        return False
    where = {"notification_id": notification_id, "channel": channel, "incident_id": incident_id}
    return bool(tx.run("outbox.add_delivery", **where))
