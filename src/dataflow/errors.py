"""Every error DataFlow raises on purpose, in one tree.

DataFlowError
├── UsageError            the command line makes no sense
├── BadInput              a value that cannot be taken (dataid, date, range, cron, name …)
├── UnknownName           no such dataset, job, run or chunk
├── Conflict              the thing is in a state that forbids the move
│   ├── LeaseLost         this run no longer owns its work
│   ├── InputMoved        an input is no longer what the run has pinned; the run is handed back
│   └── Superseded        a newer run or a newer snapshot has been published in its place
├── InvalidData           what a run produced does not pass its checks
├── ConfigError           dataflow.toml, dataflow.properties or a variable is wrong
├── SecretError           a passphrase or an encrypted record cannot be used
├── StoreError            the status store answered with an error
│   ├── StoreMissing      there is no such store yet
│   ├── StoreUnreachable  no answer from the store
│   ├── StoreDenied       the store refused the user, password, database or schema
│   └── SchemaMismatch    the store's schema is older or newer than this code
└── CannotExecute         the command is missing, not executable or has a bad interpreter

Each class carries a `code` for machines, an `exit_code` for shells and an `http_status` for the API;
the table in docs/errors.md is made from them.
"""

from __future__ import annotations


class DataFlowError(Exception):
    """DataFlow itself failed."""

    code = "dataflow"
    exit_code = 125
    http_status = 500


class UsageError(DataFlowError):
    """The command line makes no sense."""

    code = "usage"
    exit_code = 64
    http_status = 400


class BadInput(DataFlowError):
    """A value cannot be taken: dataid, date, range, schedule, name."""

    code = "bad-input"
    exit_code = 65
    http_status = 422


class UnknownName(DataFlowError):
    """No such dataset, job, run or chunk."""

    code = "unknown-name"
    exit_code = 66
    http_status = 404


class Conflict(DataFlowError):
    """The thing is in a state that forbids the move."""

    code = "conflict"
    exit_code = 75
    http_status = 409


class LeaseLost(Conflict):
    """This run no longer owns its work; nothing it did was accepted."""

    code = "lease-lost"
    exit_code = 125


class InputMoved(Conflict):
    """An input is no longer what the run has pinned; the work waits and is done again by itself."""

    code = "input-moved"


class Superseded(Conflict):
    """A newer run or a newer snapshot is published; what this run made is not given out."""

    code = "superseded"


class InvalidData(DataFlowError):
    """What a run produced does not pass its checks; the published version is as it was."""

    code = "invalid-data"
    exit_code = 1
    http_status = 422


class ConfigError(DataFlowError):
    """dataflow.toml, dataflow.properties or a DATAFLOW_ variable is wrong."""

    code = "config"
    exit_code = 78


class SecretError(DataFlowError):
    """A passphrase or an encrypted record cannot be used."""

    code = "secret"
    exit_code = 77
    http_status = 403


class StoreError(DataFlowError):
    """The status store answered with an error."""

    code = "store"
    exit_code = 74


class StoreMissing(StoreError):
    """There is no such store, and the command is not one that makes it."""

    code = "store-missing"
    exit_code = 66
    http_status = 404


class StoreUnreachable(StoreError):
    """The status store gives no answer."""

    code = "store-unreachable"
    exit_code = 69
    http_status = 503


class StoreDenied(StoreError):
    """The status store refused the user, the password, the database or the schema."""

    code = "store-denied"
    exit_code = 77


class SchemaMismatch(StoreError):
    """The store's schema is older or newer than this code."""

    code = "schema-mismatch"
    exit_code = 76


class CannotExecute(DataFlowError):
    """The command is missing (127), not executable or has a bad interpreter (126)."""

    code = "cannot-execute"
    exit_code = 126

    def __init__(self, message: str, exit_code: int = 126) -> None:
        super().__init__(message)
        self.exit_code = exit_code
