"""Delivers what is due, each channel in a thread of its own: one that hangs holds up nobody.

Only the caller's thread uses the store. A delivery is taken in one transaction, sent, and recorded in
another; if the process dies in between, another takes it again when the lease has lapsed.
"""

from __future__ import annotations

import os
import queue
import random
import threading
import time

from dataflow import failpoints
from dataflow.model.record import record
from dataflow.model.retries import grown_delay, with_jitter
from dataflow.notify.failures import NotSent
from dataflow.notify.message import Origin, compose
from dataflow.store.outbox import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.incident import Notification
    from dataflow.notify.senders import Sender
    from dataflow.store.store import Store

SPARE_SECONDS = 20.0
"""How much longer than its time limit a channel has a delivery: it is given up before that."""
GRACE_SECONDS = 5.0
LONGEST_DELAY_SECONDS = 900.0


@record
class Outcome:
    """One attempt at a delivery: its error, empty if it was sent."""

    channel: str
    event: str
    what: str
    error: str
    state: str


@record
class _Sending:
    sender: Sender
    notification: Notification
    token: str
    until: float


class Deliverer:
    """Sends the deliveries of some channels; `step` is called again and again."""

    def __init__(self, store: Store, senders: Sequence[Sender], environment: str) -> None:
        self._store = store
        self._senders = list(senders)
        self._origin = Origin(store.read.get_store_id(), environment)
        self._active: dict[str, _Sending] = {}
        self._ended: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    @property
    def is_active(self) -> bool:
        """True while a channel is sending."""
        return bool(self._active)

    def step(self, patience_seconds: float) -> list[Outcome]:
        """Start what is due and record what has ended, waiting for that at most this long."""
        self._start_due()
        return self._wait(patience_seconds)

    def finish(self) -> list[Outcome]:
        """Record what is being sent, and start nothing more."""
        outcomes: list[Outcome] = []
        while self._active:
            outcomes += self._wait(1.0)
        return outcomes

    def _wait(self, patience_seconds: float) -> list[Outcome]:
        outcomes = []
        if self._active:
            nearest = min(one.until for one in self._active.values()) - time.monotonic()
            outcomes += self._collect(max(0.0, min(patience_seconds, nearest)))
        for one in [one for one in self._active.values() if one.until <= time.monotonic()]:
            # Its thread may be stuck in a name server; it is left alone and what it does is ignored.
            limit = one.sender.channel.timeout_seconds
            outcomes.append(self._record(one, f"no answer within {limit:g} s"))
        return outcomes

    def run_once(self) -> list[Outcome]:
        """Try everything that is due once, and return what became of it."""
        outcomes: list[Outcome] = []
        while (ended := self.step(1.0)) or self._active:
            outcomes += ended
        return outcomes

    def _start_due(self) -> None:
        idle = [one for one in self._senders if one.channel.name not in self._active]
        if not idle:
            return
        known = self._store.watching.list_channels()
        for sender in idle:
            name = sender.channel.name
            state = known.get(name)
            has_due = state is not None and state.has_due
            if state is None or state.has_news:
                has_due = bool(self._store.watching.fan_out(name, sender.channel.wants)) or has_due
            if has_due:
                self._start(sender)

    def _start(self, sender: Sender) -> None:
        token = os.urandom(16).hex()
        limit = sender.channel.timeout_seconds
        # Counted from before the claim: what is given up on in time is still ours.
        until = time.monotonic() + limit + GRACE_SECONDS
        taken = self._store.watching.take_delivery(sender.channel.name, token, limit + SPARE_SECONDS)
        if taken is None:
            return
        failpoints.reach("after_take")
        self._active[sender.channel.name] = _Sending(sender, taken, token, until)
        message = compose(taken, self._origin)

        def send() -> None:
            error = ""
            try:
                sender.send(message)
            except NotSent as not_sent:
                error = str(not_sent)
            self._ended.put((token, error))

        threading.Thread(target=send, name=f"notify {sender.channel.name}", daemon=True).start()

    def _collect(self, patience_seconds: float) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            token, error = self._ended.get(timeout=patience_seconds)
            while True:
                sending = next((one for one in self._active.values() if one.token == token), None)
                if sending is not None:
                    outcomes.append(self._record(sending, error))
                token, error = self._ended.get_nowait()
        except queue.Empty:
            return outcomes

    def _record(self, sending: _Sending, error: str) -> Outcome:
        channel, notification = sending.sender.channel, sending.notification
        failpoints.reach("after_send")
        del self._active[channel.name]
        number, watching = notification.notification_id, self._store.watching
        if not error:
            state = "sent" if watching.record_sent(number, channel.name, sending.token) else "taken over"
        else:
            delay = _delay_after(notification.attempts, channel.retry_delay_seconds)
            failure = Failure(error, delay, channel.attempts)
            state = watching.record_failed(number, channel.name, sending.token, failure) or "taken over"
        what = f"{notification.kind} {notification.subject}"
        return Outcome(channel.name, notification.event, what, error, state)


def _delay_after(attempts: int, first_seconds: float) -> float:
    """Return how long to wait after this many attempts: twice as long each time, never quite the same."""
    longest = max(first_seconds, LONGEST_DELAY_SECONDS)
    return with_jitter(grown_delay(first_seconds, 2.0, longest, attempts), random.random())
