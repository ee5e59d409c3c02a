"""Long-running sessions of a source or view, which another thread can cancel at any point."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from dataflow.errors import FetchStopped
from dataflow.pipelines.postgres.failures import translate
from dataflow.pipelines.postgres.table import DatabaseLogin
from dataflow.pipelines.postgres.transactions import Session, connect

LOOK_SECONDS = 0.5


class Sessions:
    """The sessions of one source or view; once `stop` is set, they are cancelled."""

    def __init__(self, connection: DatabaseLogin, stop: threading.Event) -> None:
        self._connection = connection
        self._stop = stop
        self._is_ending = threading.Event()
        self._is_over = threading.Event()
        self._live: list[Session] = []
        self._watcher = threading.Thread(target=self._watch, name="watch source", daemon=True)

    def __enter__(self) -> Sessions:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._watcher.join()

    def end(self) -> None:
        """Cancel all its sessions."""
        self._is_ending.set()

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """A read-only transaction on one snapshot of the database."""
        try:
            self._refuse_stopped()
            with connect(self._connection) as session:
                session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                session.read_only = True
                with self.watched(session):
                    yield session
        except psycopg.Error as error:
            self._refuse_stopped()
            raise translate(error, self._connection.name) from error

    @contextmanager
    def watched(self, session: Session) -> Iterator[None]:
        """Include a session in cancellation while it works."""
        self._live.append(session)
        try:
            yield
        finally:
            self._live.remove(session)

    def _refuse_stopped(self) -> None:
        if self._stop.is_set() or self._is_ending.is_set():
            raise FetchStopped(f"Reading from connection {self._connection.name} was stopped.")

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            if self._stop.is_set() or self._is_ending.is_set():
                for session in tuple(self._live):  # repeatedly: one may have begun meanwhile
                    self._cancel(session)

    def _cancel(self, session: Session) -> None:
        try:
            session.cancel_safe(timeout=LOOK_SECONDS)
        except psycopg.Error:
            pass  # it has ended, or the server does not answer and is tried again
