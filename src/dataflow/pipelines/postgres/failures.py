"""What can go wrong between a run and its target database, and what the driver's errors mean.

No message shows a password: connections are named, never printed.
"""

from __future__ import annotations

import psycopg
from psycopg import errors as pg_errors

from dataflow import errors
from dataflow.store.postgres_errors import message_of


class InvalidRows(errors.InvalidData):
    """The rows break a rule of the table: a key twice, a NULL where none may be; `detail` names one."""

    code = "invalid-rows"

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class TargetError(errors.DataFlowError):
    """The target database answered with an error."""

    code = "target"
    exit_code = 74


class TargetUnreachable(TargetError):
    """The target database gives no answer."""

    code = "target-unreachable"
    exit_code = 69
    http_status = 503


class TargetDenied(TargetError):
    """The target database refused the user, the password or a right."""

    code = "target-denied"
    exit_code = 77


class TargetLocked(TargetError):
    """Somebody else's lock was not released in time; the same command may succeed later."""

    code = "target-locked"
    exit_code = 75
    http_status = 409


DENIED = (pg_errors.InsufficientPrivilege, pg_errors.InvalidAuthorizationSpecification)
INVALID = (psycopg.IntegrityError, psycopg.DataError, pg_errors.CardinalityViolation)


def translate(error: psycopg.Error, name: str) -> errors.DataFlowError:
    """The driver's error about the connection `name` as one of ours."""
    text = message_of(error)
    if isinstance(error, pg_errors.LockNotAvailable):
        return TargetLocked(f"Connection {name}: {text}. Have it done again when that is free.")
    if isinstance(error, pg_errors.ForeignKeyViolation):
        return errors.Conflict(
            f"Connection {name} answered: {_primary(error)}. {error.diag.message_detail or ''} "
            'Make the foreign key deferrable, or use write = "merge".'
        )
    if isinstance(error, INVALID):
        return invalid_rows(error, name)
    if isinstance(error, DENIED) or "authentication failed" in text or "no password" in text:
        return TargetDenied(f"Connection {name} was refused: {text}. Check its user, password and rights.")
    if isinstance(error, pg_errors.InvalidSchemaName):
        return TargetError(f"Connection {name} answered: {_primary(error)}. Create it, or name another.")
    if isinstance(error, psycopg.OperationalError) and not _has_answered(error):
        return TargetUnreachable(f"Connection {name} gives no answer: {text}. Is the server up?")
    hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
    return TargetError(f"Connection {name} answered: {_primary(error)}.{hint}")


def _has_answered(error: psycopg.Error) -> bool:
    """True for what a server says that goes on, such as that its disk is full."""
    return error.sqlstate is not None and not error.sqlstate.startswith(("08", "57P"))


def invalid_rows(error: psycopg.Error, name: str) -> InvalidRows:
    """The rows that the database did not take, with the key or the value it names."""
    copying = [line for line in (error.diag.context or "").splitlines() if line.startswith("COPY")]
    detail = " ".join([error.diag.message_detail or "", *copying]).strip()
    return InvalidRows(
        f"Connection {name} does not take the rows: {_primary(error)}. {detail}".strip(), detail
    )


def _primary(error: psycopg.Error) -> str:
    return (error.diag.message_primary or message_of(error)).rstrip(".")
