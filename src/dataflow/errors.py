"""Every error DataFlow raises on purpose, in one tree.

DataFlowError
├── UsageError             the command line is not valid
├── BadInput               a value is not valid (dataid, date, range, cron, name …)
│   └── UnknownColumns     the columns are known only after something is published
├── UnknownName            no such dataset, job, run or chunk
├── Conflict               the state does not allow the operation
│   ├── LeaseLost          this run no longer owns its work
│   ├── InputMoved         an input is no longer what the run pinned; the work is returned
│   └── Superseded         a newer run or snapshot has been published instead
├── InvalidData            the output of a run does not pass its checks
│   └── InvalidRows        its rows violate a rule of the target's table
├── Unauthenticated        nobody is logged in, or the password, token or login is not valid
├── Forbidden              the role, or where the request comes from, does not allow it
├── Throttled              too many failed logins
├── ProviderFailed         the identity provider did not answer as it must
├── ConfigError            dataflow.toml, dataflow.properties or a variable is wrong
├── SecretError            a passphrase or an encrypted record cannot be used
├── StoreError             the status store returned an error
│   ├── StoreMissing       the store does not exist yet
│   ├── StoreUnreachable   no answer from the store
│   ├── StoreDenied        the store rejected the user, password, database or schema
│   └── SchemaMismatch     the store's schema is older or newer than this code
├── FetchError             a source did not return the requested data
│   ├── Untrusted          a response is not proven to come from the server
│   └── FetchStopped       the run was stopped while it fetched
├── TargetError            a target database returned an error
│   ├── TargetUnreachable  no answer from it
│   ├── StagingLost        it lost staged rows
│   ├── TargetDenied       it rejected the user or password, or a privilege is missing
│   └── TargetLocked       another session's lock was not released in time
├── SparkFailed            Spark failed
│   └── SparkGone          its Java process has ended
├── JobFailed              the function of a Python job raised
├── TimedOut               a run took longer than its job's timeout
├── FilesFailed            a file or folder of the project could not be read or written
└── CannotExecute          the command is missing, not executable or has a bad interpreter

Each class has a `code` for machines, an `exit_code` for shells and an `http_status` for the API; the table in
docs/errors.md is generated from them.
"""

from __future__ import annotations


class DataFlowError(Exception):
    """DataFlow itself failed."""

    code = "dataflow"
    exit_code = 125
    http_status = 500

    def __init_subclass__(cls, code: str = "", exit_code: int | None = None, http_status: int = 0) -> None:
        """What a class does not state, it has from its base."""
        cls.code = code or cls.code
        cls.exit_code = cls.exit_code if exit_code is None else exit_code
        cls.http_status = http_status or cls.http_status


class UsageError(DataFlowError, code="usage", exit_code=64, http_status=400):
    """The command line is not valid."""


class BadInput(DataFlowError, code="bad-input", exit_code=65, http_status=422):
    """A value is not valid: dataid, date, range, schedule, name."""


class UnknownColumns(BadInput, code="unknown-columns"):
    """The columns of a dataset are known only after something is published."""


class UnknownName(DataFlowError, code="unknown-name", exit_code=66, http_status=404):
    """No such dataset, job, run or chunk."""


class Conflict(DataFlowError, code="conflict", exit_code=75, http_status=409):
    """The state does not allow the operation."""


class LeaseLost(Conflict, code="lease-lost", exit_code=125):
    """This run no longer owns its work; nothing it did was accepted."""


class InputMoved(Conflict, code="input-moved"):
    """An input is no longer what the run pinned; the work waits and is retried automatically."""


class Superseded(Conflict, code="superseded"):
    """A newer run or snapshot is published; the output of this run is not."""


class InvalidData(DataFlowError, code="invalid-data", exit_code=1, http_status=409):
    """The output of a run does not pass its checks; the published version is unchanged."""


class InvalidRows(InvalidData, code="invalid-rows"):
    """The rows violate a rule of the table: a duplicate key, or a NULL that is not allowed."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail  # one of these rows, by its key


class Unauthenticated(DataFlowError, code="unauthenticated", exit_code=77, http_status=401):
    """Nobody is logged in, or the password, the token or the login is not valid."""


class Forbidden(DataFlowError, code="forbidden", exit_code=77, http_status=403):
    """The role, or where the request comes from, does not allow it."""


class Throttled(DataFlowError, code="throttled", exit_code=75, http_status=429):
    """Too many failed logins; the message says how many seconds to wait."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class ProviderFailed(DataFlowError, code="provider", exit_code=69, http_status=502):
    """The identity provider did not answer as it must."""


class ConfigError(DataFlowError, code="config", exit_code=78):
    """dataflow.toml, dataflow.properties or a DATAFLOW_ variable is wrong."""


class SecretError(DataFlowError, code="secret", exit_code=77):
    """A passphrase or an encrypted record cannot be used."""


class StoreError(DataFlowError, code="store", exit_code=74):
    """The status store returned an error."""


class StoreMissing(StoreError, code="store-missing", exit_code=66, http_status=503):
    """The store does not exist, and this command does not create it."""


class StoreUnreachable(StoreError, code="store-unreachable", exit_code=69, http_status=503):
    """The status store does not answer."""


class StoreDenied(StoreError, code="store-denied", exit_code=77, http_status=503):
    """The status store rejected the user, the password, the database or the schema."""


class SchemaMismatch(StoreError, code="schema-mismatch", exit_code=76, http_status=503):
    """The store's schema is older or newer than this code."""


class FetchError(DataFlowError, code="fetch", exit_code=69, http_status=502):
    """The source did not return the requested data."""

    def __init__(self, message: str, *, status: int = 0, start_again: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.start_again = start_again  # the staged pages must not be reused


class Untrusted(FetchError, code="fetch-untrusted"):
    """A response is not proven to come from the server."""


class FetchStopped(FetchError, code="fetch-stopped"):
    """The run was stopped while it fetched; the fetch can be resumed."""


class TargetError(DataFlowError, code="target", exit_code=74, http_status=502):
    """The target database returned an error."""


class TargetUnreachable(TargetError, code="target-unreachable", exit_code=69, http_status=503):
    """The target database does not answer."""


class StagingLost(TargetError, code="staging-lost"):
    """The target database lost staged rows, for example in a crash; nothing was published."""


class TargetDenied(TargetError, code="target-denied", exit_code=77):
    """The target database rejected the user or password, or a privilege is missing."""


class TargetLocked(TargetError, code="target-locked", exit_code=75):
    """Another session's lock was not released in time; the same command may succeed later."""


class SparkFailed(DataFlowError, code="spark", exit_code=1):
    """Spark failed; the message is its cause in one sentence, the log has the rest."""


class SparkGone(SparkFailed, code="spark-gone"):
    """The Java process of the session has ended: this process can no longer use Spark."""


class JobFailed(DataFlowError, code="job-failed", exit_code=1):
    """The function of a Python job raised; the message is what and where, the run's log has the rest."""


class TimedOut(DataFlowError, code="timed-out", exit_code=124, http_status=504):
    """A run took longer than its job's timeout."""


class FilesFailed(DataFlowError, code="files", exit_code=74):
    """A file or folder of the project could not be read or written."""


class CannotExecute(DataFlowError, code="cannot-execute", exit_code=126):
    """The command is missing (127), not executable or has a bad interpreter (126)."""

    def __init__(self, message: str, exit_code: int = 126) -> None:
        super().__init__(message)
        self.exit_code = exit_code
