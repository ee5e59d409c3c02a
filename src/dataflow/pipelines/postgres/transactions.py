"""Connections to a target or source database, one transaction each or cancellable, and their statements.

The driver's errors are translated into ours here. No message shows a password: connections are named, never
printed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from dataflow.errors import (
    ConfigError,
    Conflict,
    DataFlowError,
    FetchStopped,
    InvalidRows,
    TargetDenied,
    TargetError,
    TargetLocked,
    TargetUnreachable,
)
from dataflow.model.exposure import warn_if_exposed
from dataflow.pipelines.handover.connection import Connection
from dataflow.store.postgres_errors import message_of
from dataflow.store.queries import Queries

Session = psycopg.Connection[Any]
DENIED = (pg_errors.InsufficientPrivilege, pg_errors.InvalidAuthorizationSpecification)
INVALID = (psycopg.IntegrityError, psycopg.DataError, pg_errors.CardinalityViolation)
LOOK_SECONDS = 0.5

DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    "application_name": "dataflow",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}

_QUERIES = Queries("postgres", {}, (os.path.join(os.path.dirname(__file__), "sql"),))


def named(name: str) -> sql.SQL:
    """The statement `file.query` of sql/*.sql, with its placeholders; short ones stand where they run."""
    return sql.SQL(_QUERIES.text(name))


def fetch_named(session: Session, name: str, values: Any = None, **parts: sql.Composable) -> list[Any]:
    """The rows of a named statement with these values, and these parts for its placeholders."""
    return session.execute(named(name).format(**parts) if parts else named(name), values).fetchall()


@contextmanager
def transaction(connection: Connection, lock_seconds: float = 30) -> Iterator[Session]:
    """A new connection in one transaction: committed at the end, rolled back on any error."""
    try:
        with connect(connection) as session:
            # 0 would wait forever.
            limit = f"{max(1, int(lock_seconds * 1000))}ms"
            session.execute("select set_config('lock_timeout', %s, false)", (limit,))
            # A commit that the server may forget does not count: the store would name missing rows.
            session.execute(
                "select set_config('synchronous_commit', 'on', false) "
                "where current_setting('synchronous_commit') = 'off'"
            )
            yield session
    except psycopg.Error as error:
        raise translate(error, connection.name) from error


def connect(connection: Connection) -> Session:
    """A plain connection; READ COMMITTED, because we lock first and read in a later statement."""
    try:
        given: dict[str, Any] = dict(conninfo_to_dict(connection.url))
    except psycopg.Error:
        raise ConfigError(
            f"The URL of connection {connection.name} is malformed. "
            "It should look like postgresql://user:password@host:5432/database"
        ) from None  # the driver's text may quote the URL, including the password
    if connection.password is not None:
        given["password"] = connection.password
    session = psycopg.connect(prepare_threshold=None, **(DEFAULTS | given))
    warn_if_exposed(session.pgconn, f"The connection {connection.name}")
    session.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return session


def lock_name(session: Session, name: str) -> None:
    """Wait until no other transaction has locked this name, and lock it until the end of this one."""
    session.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (name,))


def exists(session: Session, schema: str, name: str) -> bool:
    """True if a table or view of that name exists."""
    found = session.execute(
        "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = %s and c.relname = %s",
        (schema, name),
    ).fetchone()
    return found is not None


class Sessions:
    """The sessions of one source or view; once `stop` is set, they are cancelled."""

    def __init__(self, connection: Connection, stop: threading.Event) -> None:
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
                    with suppress(psycopg.Error):  # it has ended, or the server does not answer
                        session.cancel_safe(timeout=LOOK_SECONDS)


def translate(error: psycopg.Error, name: str) -> DataFlowError:
    """Translate the driver's error for the connection `name`."""
    text = message_of(error)
    if isinstance(error, pg_errors.LockNotAvailable):
        return TargetLocked(f"Connection {name}: {text}. Run it again once the lock is released.")
    if isinstance(error, pg_errors.ForeignKeyViolation):
        return Conflict(
            f"Connection {name} answered: {_primary(error)}. {error.diag.message_detail or ''} "
            'Make the foreign key deferrable, or use write = "merge".'
        )
    if isinstance(error, INVALID):
        copying = [line for line in (error.diag.context or "").splitlines() if line.startswith("COPY")]
        detail = " ".join([error.diag.message_detail or "", *copying]).strip()
        told = f"Connection {name} rejected the rows: {_primary(error)}. {detail}".strip()
        return InvalidRows(told, detail)
    if isinstance(error, DENIED) or "authentication failed" in text or "no password" in text:
        return TargetDenied(f"Connection {name} was refused: {text}. Check user, password and privileges.")
    if isinstance(error, pg_errors.InvalidSchemaName):
        return TargetError(f"Connection {name} answered: {_primary(error)}. Create it, or name another.")
    if isinstance(error, psycopg.OperationalError) and not _has_answered(error):
        return TargetUnreachable(f"Connection {name} does not answer: {text}. Is the server running?")
    hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
    return TargetError(f"Connection {name} answered: {_primary(error)}.{hint}")


def _has_answered(error: psycopg.Error) -> bool:
    """True for errors of a server that keeps running, for example with a full disk."""
    return error.sqlstate is not None and not error.sqlstate.startswith(("08", "57P"))


def _primary(error: psycopg.Error) -> str:
    return (error.diag.message_primary or message_of(error)).rstrip(".")
