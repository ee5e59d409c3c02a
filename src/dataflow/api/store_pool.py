"""A few connections to the store, lent to one request each."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataflow.errors import StoreError, StoreUnreachable
from dataflow.store.opener import refuse_missing
from dataflow.store.store import Store

if TYPE_CHECKING:
    from dataflow.store.database import Database

MOST = 8
"""Connections at a time: a server must leave the store to those who claim."""
PATIENCE_SECONDS = 10.0
WAIT_SECONDS = 10.0
REST_SECONDS = 1.0
"""After the store did not answer, requests fail at once for this long."""


class StorePool:
    """Lends stores; one that failed is closed, so the pool recovers when the store does."""

    def __init__(self, store: Store, most: int = MOST) -> None:
        self._first = store
        self._places = threading.Semaphore(most)
        self._idle: list[Database] = []
        self._trouble: tuple[float, StoreUnreachable] | None = None
        self._is_closed = False

    @contextmanager
    def lend(self, actor: str) -> Iterator[Store]:
        """Lend a store that acts in a name; StoreUnreachable if it does not answer or none is free."""
        self._refuse_trouble()
        refuse_missing(self._first.database.url)
        if not self._places.acquire(timeout=WAIT_SECONDS):
            raise StoreUnreachable(
                f"All connections to the store were busy for {WAIT_SECONDS:.0f} s. Try again."
            )
        try:
            yield from self._lend_one(actor)
        finally:
            self._places.release()

    def _lend_one(self, actor: str) -> Iterator[Store]:
        database: Database | None = None
        try:
            database = self._take()
            yield Store(database, actor)
            self._trouble = None
        except StoreError as error:
            if isinstance(error, StoreUnreachable):
                self._trouble = (time.monotonic() + REST_SECONDS, error)
            if database is not None:
                database.close()
            raise
        except BaseException:
            if database is not None:
                self._give_back(database)
            raise
        self._give_back(database)

    def _take(self) -> Database:
        try:
            return self._idle.pop()
        except IndexError:
            return self._first.separate(PATIENCE_SECONDS).database

    def _give_back(self, database: Database) -> None:
        if self._is_closed:
            database.close()
        else:
            self._idle.append(database)

    def _refuse_trouble(self) -> None:
        """Raise the last error again while the store had no time to recover: threads must not pile up."""
        if self._trouble is not None and time.monotonic() < self._trouble[0]:
            raise StoreUnreachable(str(self._trouble[1]))

    def close(self) -> None:
        """Close the idle connections; lent ones are closed when they come back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()
