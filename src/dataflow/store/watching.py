"""The store's verbs and reads about incidents and their notifications; each verb is one transaction.

`store.watching` imports this module on first use: a run that does not fail needs none of it.
"""

from __future__ import annotations

import os

from dataflow import errors
from dataflow.model.incident import DeliveryRow, Incident
from dataflow.model.record import record
from dataflow.store import dataset_clocks, incidents, operator_moves, outbox
from dataflow.store.dataset_clocks import Watched
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.reads import Reads, record_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.freshness import Lateness
    from dataflow.model.incident import Notification
    from dataflow.store.database import Database, Transaction
    from dataflow.store.outbox import Failure, Wish


@record
class ChannelState:
    """Whether notifications are new to a channel, and whether one of its deliveries is due."""

    channel: str
    has_news: bool
    has_due: bool


class Watching(Reads):
    """Incidents, the clocks that open some of them, and the outbox."""

    def __init__(self, database: Database, actor: str) -> None:
        super().__init__(database)
        self._actor = actor

    # incidents

    def list_incidents(self, closed: bool, most: int) -> list[Incident]:
        """Return the open incidents, and the `closed` ones after them, newest first."""
        return self._list(Incident, "watch.list_incidents", closed=closed, most=most)

    def list_deliveries(self, incident_ids: Sequence[int]) -> list[DeliveryRow]:
        """Return what became of the notifications of some incidents."""

        def verb(tx: Transaction) -> list[DeliveryRow]:
            rows = tx.rows("watch.list_deliveries", **tx.ids(incident_ids))
            return [record_from(DeliveryRow, row) for row in rows]

        return self._read(verb)

    def list_failed(self) -> list[DeliveryRow]:
        """Return the deliveries of open incidents that have failed: given up, or to be tried again."""
        return self._list(DeliveryRow, "watch.list_failed")

    def acknowledge(self, incident_id: int, why: str) -> None:
        """Silence an open incident: no notification of it is sent any more, except of its recovery."""
        token = os.urandom(16).hex()

        def verb(tx: Transaction) -> None:
            row = tx.find("watch.acknowledge", incident_id=incident_id, actor=self._actor, why=why)
            if row is None:
                raise errors.UnknownName(f"No open incident {incident_id}. List: dataflow incidents")
            tx.run("watch.silence", incident_id=incident_id)
            kind, job, dataset, dataid, host = row
            if host:  # it may never come back, and nothing else would close the incident
                tx.run("watch.close", incident_id=incident_id, recovered=False)
            said = f"incident {incident_id} ({kind})" + (f": {why}" if why else "")
            write_journal(tx, JournalEntry("ack", self._actor, job, dataset, dataid, why=said))

        self._database.write(lambda tx: operator_moves.once(tx, token, "ack", lambda: verb(tx)))

    # clocks

    def list_late(self) -> list[Lateness]:
        """Return the datasets that are stale or overdue now, whether or not an incident is open."""

        def verb(tx: Transaction) -> list[Lateness]:
            now = dataset_clocks.now_of(tx)
            watched = [Watched(*row) for row in tx.rows("watch.list_watched", dataset_id=None)]
            return [late for one in watched for late in dataset_clocks.judge(tx, one, now)]

        return self._read(verb)

    def look_at_clocks(self) -> int:
        """Open and close the incidents that come from the clock; return how many datasets were looked at.

        Each is one transaction; of several processes, one looks at a dataset. Reading its chunks may take
        long, so the transaction does it only if an incident opens or closes.
        """
        due = [int(row[0]) for row in self._rows("watch.list_due_watches")]
        for dataset_id in due:
            self._look_at_clock(dataset_id)
        for row in self._rows("watch.list_left_behind"):
            self._database.write(
                lambda tx, one=row[0]: incidents.close_left_behind(tx, one)  # type: ignore[misc]
            )
        self._look_at_asking()
        return len(due)

    def _look_at_clock(self, dataset_id: int) -> None:
        found = self._read(lambda tx: dataset_clocks.examine(tx, dataset_id))
        if found is not None and found.is_change:
            self._database.write(lambda tx: dataset_clocks.look(tx, dataset_id))
        elif found is not None:
            self._database.write(lambda tx: dataset_clocks.postpone(tx, dataset_id, found.check_at))

    def _look_at_asking(self) -> None:
        """Open the incidents of jobs with results to decide about, and close those that are decided."""
        asking = {job_id: (count, first) for job_id, count, first in self._rows("status.asking_work")}
        known = {row[0]: row[1] for row in self._rows("watch.list_asking")}
        for job_id in asking.keys() - known.keys():
            self._database.write(
                lambda tx, one=job_id: incidents.open_asking(tx, one, *asking[one])  # type: ignore[misc]
            )
        for job_id in known.keys() - asking.keys():
            self._database.write(
                lambda tx, one=known[job_id]: incidents.close_answered(tx, one)  # type: ignore[misc]
            )

    # the outbox

    def list_channels(self) -> dict[str, ChannelState]:
        """Return the channels that have been used, by name."""
        return {one.channel: one for one in self._list(ChannelState, "outbox.channels")}

    def fan_out(self, channel: str, wants: Wish) -> int:
        """Give a channel a delivery for each new notification that it wants; return how many."""
        return self._database.write(lambda tx: outbox.fan_out(tx, channel, wants))

    def take_delivery(self, channel: str, token: str, lease_seconds: float) -> Notification | None:
        """Take the next delivery of a channel that is due, or None; nobody else sends it meanwhile."""
        return self._database.write(lambda tx: outbox.take(tx, channel, token, lease_seconds))

    def record_sent(self, notification_id: int, channel: str, token: str) -> bool:
        """Record that a delivery was sent; False if it is no longer the token's."""
        return self._database.write(lambda tx: outbox.record_sent(tx, notification_id, channel, token))

    def record_failed(self, notification_id: int, channel: str, token: str, failure: Failure) -> str | None:
        """Record that a delivery failed and return its state; None if it is no longer the token's."""
        return self._database.write(
            lambda tx: outbox.record_failed(tx, notification_id, channel, token, failure)
        )
