"""Looks for trouble once a minute and delivers what is due: once, until stopped, or in a thread."""

from __future__ import annotations

import os
import threading
import time
from functools import partial

from dataflow.actions.incidents import look
from dataflow.actions.workers import describe_lost
from dataflow.config.channels import LONGEST_TIMEOUT_SECONDS, find_channels
from dataflow.config.project import PROJECT_FILE
from dataflow.errors import StoreError
from dataflow.notify.deliverer import GRACE_SECONDS, Deliverer
from dataflow.notify.senders import make_senders
from dataflow.runjob.dead_workers import is_dead_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.notify.deliverer import Outcome
    from dataflow.notify.senders import Place
    from dataflow.store.store import Store

    Teller = Callable[[str], None]

LOOK_SECONDS = 60.0
PAUSE_SECONDS = 1.0
STORE_PAUSE_SECONDS = 5.0
PATIENCE_SECONDS = LONGEST_TIMEOUT_SECONDS + GRACE_SECONDS
"""How long a message that is being sent may take."""


class Notifier:
    """Tells people of incidents from this machine.

    A worker calls `start`, and `stop` when it ends. The thread holds nothing up: it opens a connection of its
    own, and each channel has a thread of its own.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        place: Place,
        tell: Teller = lambda text: None,
        quiet: bool = False,
    ) -> None:
        """`tell` gets what was sent, unless `quiet`, and what was not."""
        self._open_store = open_store
        self._place = place
        self._tell = tell
        self._quiet = quiet
        self._stopping = threading.Event()
        self._looks_last = False
        self._thread: threading.Thread | None = None
        self._problems: tuple[str, ...] = ()
        self._outage = ""
        self._stamp: tuple[int, ...] = ()  # of the dataflow.toml that the channels were read from

    def start(self) -> None:
        """Begin, in a thread."""
        self._thread = threading.Thread(target=self.run, name="notifier", daemon=True)
        self._thread.start()

    def stop(self, hurries: Callable[[], bool] = lambda: False, looks_last: bool = False) -> None:
        """End once what is being sent has been recorded, or somebody sends it again; now if it `hurries`.

        With `looks_last`, what is due now is sent first: nobody may come after this process.
        """
        self._looks_last = looks_last
        self.request_stop()
        until = time.monotonic() + PATIENCE_SECONDS
        while self._thread is not None and self._thread.is_alive():
            if hurries() or time.monotonic() >= until:
                break
            self._thread.join(0.1)

    def request_stop(self) -> None:
        """Have `run` return soon."""
        self._stopping.set()

    def run(self) -> None:
        """Watch and deliver until `stop`, also while the store comes and goes."""
        while not self._stopping.is_set():
            try:
                store = self._open_store()
                try:
                    self._run_on(store)
                finally:
                    store.close()
            except StoreError as error:
                if str(error) != self._outage:
                    self._tell(str(error))
                self._outage = str(error)
                self._stopping.wait(STORE_PAUSE_SECONDS)

    def run_once(self, store: Store) -> tuple[list[Outcome], tuple[str, ...]]:
        """Look for trouble, try what is due once; return what became of it, and problems of channels."""
        self._look(store)
        deliverer = self._make(store)
        return deliverer.run_once(), self._problems

    def _run_on(self, store: Store) -> None:
        deliverer, look_at, make_at = None, 0.0, 0.0
        while not self._stopping.is_set():
            if time.monotonic() >= look_at:
                self._look(store)
                self._outage = ""
                look_at = time.monotonic() + LOOK_SECONDS
            is_due = time.monotonic() >= make_at or self._read_stamp() != self._stamp
            if deliverer is None or (is_due and not deliverer.is_active):
                told = self._problems
                deliverer = self._make(store)  # dataflow.toml, or what it names, may have changed
                make_at = time.monotonic() + LOOK_SECONDS
                for problem in self._problems:
                    if problem not in told:
                        self._tell(problem)
            self._tell_of(deliverer.step(PAUSE_SECONDS))
            if not deliverer.is_active:
                self._stopping.wait(PAUSE_SECONDS)
        if self._looks_last:
            deliverer = deliverer or self._make(store)
            self._tell_of(deliverer.step(PAUSE_SECONDS))
        if deliverer is not None:
            self._tell_of(deliverer.finish())

    def _tell_of(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.error or not self._quiet:
                self._tell(describe(outcome))

    def _look(self, store: Store) -> None:
        for row in look(store, partial(is_dead_here, self._place.config)):
            self._tell(describe_lost(row))

    def _make(self, store: Store) -> Deliverer:
        self._stamp = self._read_stamp()
        found = find_channels(self._place.config.project_dir)
        senders, problems = make_senders(found.channels, self._place)
        self._problems = (*found.problems, *problems)
        return Deliverer(store, senders, self._place.config.environment)

    def _read_stamp(self) -> tuple[int, ...]:
        try:
            facts = os.stat(os.path.join(self._place.config.project_dir, PROJECT_FILE))
        except OSError:
            return ()
        return facts.st_ino, facts.st_mtime_ns, facts.st_size


def describe(outcome: Outcome) -> str:
    """Return one attempt in words."""
    what = f"{outcome.what} ({outcome.event})"
    if not outcome.error:
        return f"Sent to {outcome.channel}: {what}."
    end = {"due": "It is tried again later.", "failed": "It was the last attempt."}.get(outcome.state, "")
    return f"Not sent to {outcome.channel}: {what}: {outcome.error}. {end}".rstrip()
