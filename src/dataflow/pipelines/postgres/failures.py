"""Translates the driver's errors between a run and its target database into ours.

No message shows a password: connections are named, never printed.
"""

from __future__ import annotations

import psycopg
from psycopg import errors as pg_errors

from dataflow.errors import (
    Conflict,
    DataFlowError,
    InvalidRows,
    TargetDenied,
    TargetError,
    TargetLocked,
    TargetUnreachable,
)
from dataflow.store.postgres_errors import message_of

DENIED = (pg_errors.InsufficientPrivilege, pg_errors.InvalidAuthorizationSpecification)
INVALID = (psycopg.IntegrityError, psycopg.DataError, pg_errors.CardinalityViolation)


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
        return invalid_rows(error, name)
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


def invalid_rows(error: psycopg.Error, name: str) -> InvalidRows:
    """The error for rows that the database rejected, with the key or value it names."""
    copying = [line for line in (error.diag.context or "").splitlines() if line.startswith("COPY")]
    detail = " ".join([error.diag.message_detail or "", *copying]).strip()
    return InvalidRows(f"Connection {name} rejected the rows: {_primary(error)}. {detail}".strip(), detail)


def _primary(error: psycopg.Error) -> str:
    return (error.diag.message_primary or message_of(error)).rstrip(".")
