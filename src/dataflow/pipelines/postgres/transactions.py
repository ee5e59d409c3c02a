"""Connections to a target or source database: one transaction each, with errors translated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dataflow.errors import ConfigError
from dataflow.model.exposure import warn_if_exposed
from dataflow.pipelines.postgres.failures import translate
from dataflow.pipelines.postgres.table import DatabaseLogin

Session = psycopg.Connection[Any]

DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    "application_name": "dataflow",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


@contextmanager
def transaction(connection: DatabaseLogin, lock_seconds: float = 30) -> Iterator[Session]:
    """A new connection in one transaction: committed at the end, rolled back on any error."""
    try:
        with connect(connection) as session:
            set_lock_limit(session, lock_seconds)
            yield session
    except psycopg.Error as error:
        raise translate(error, connection.name) from error


def connect(connection: DatabaseLogin) -> Session:
    """A plain connection; READ COMMITTED, because we lock first and read in a later statement."""
    try:
        given: dict[str, Any] = dict(conninfo_to_dict(connection.url))
    except psycopg.Error:
        raise ConfigError(
            f"The URL of connection {connection.name} is malformed. "
            "It should look like postgresql://user:password@host:5432/database"
        ) from None  # the driver's text may quote the URL, including the password
    session = psycopg.connect(prepare_threshold=None, **(DEFAULTS | given))
    warn_if_exposed(session.pgconn, f"The connection {connection.name}")
    session.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return session


def set_lock_limit(session: Session, seconds: float) -> None:
    """Limit how long this session waits for a lock. 0 would wait forever, so it becomes 1 ms."""
    session.execute("select set_config('lock_timeout', %s, false)", (f"{max(1, int(seconds * 1000))}ms",))
    # A commit that the server may forget does not count: the store would name missing rows.
    session.execute(
        "select set_config('synchronous_commit', 'on', false) "
        "where current_setting('synchronous_commit') = 'off'"
    )


def exists(session: Session, schema: str, name: str) -> bool:
    """True if a table or view of that name exists."""
    found = session.execute(
        "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = %s and c.relname = %s",
        (schema, name),
    ).fetchone()
    return found is not None
