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

Each class has a `code` for machines and an `exit_code` for shells; the table in docs/errors.md is generated
from them.
"""

from __future__ import annotations


class DataFlowError(Exception):
    """DataFlow itself failed."""

    code = "dataflow"
    exit_code = 125


class UsageError(DataFlowError):
    """The command line is not valid."""

    code = "usage"
    exit_code = 64


class BadInput(DataFlowError):
    """A value is not valid: dataid, date, range, schedule, name."""

    code = "bad-input"
    exit_code = 65


class UnknownColumns(BadInput):
    """The columns of a dataset are known only after something is published."""

    code = "unknown-columns"


class UnknownName(DataFlowError):
    """No such dataset, job, run or chunk."""

    code = "unknown-name"
    exit_code = 66


class Conflict(DataFlowError):
    """The state does not allow the operation."""

    code = "conflict"
    exit_code = 75


class LeaseLost(Conflict):
    """This run no longer owns its work; nothing it did was accepted."""

    code = "lease-lost"
    exit_code = 125


class InputMoved(Conflict):
    """An input is no longer what the run pinned; the work waits and is retried automatically."""

    code = "input-moved"


class Superseded(Conflict):
    """A newer run or snapshot is published; the output of this run is not."""

    code = "superseded"


class InvalidData(DataFlowError):
    """The output of a run does not pass its checks; the published version is unchanged."""

    code = "invalid-data"
    exit_code = 1


class InvalidRows(InvalidData):
    """The rows violate a rule of the table: a duplicate key, or a NULL that is not allowed."""

    code = "invalid-rows"

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail  # one of these rows, by its key


class ConfigError(DataFlowError):
    """dataflow.toml, dataflow.properties or a DATAFLOW_ variable is wrong."""

    code = "config"
    exit_code = 78


class SecretError(DataFlowError):
    """A passphrase or an encrypted record cannot be used."""

    code = "secret"
    exit_code = 77


class StoreError(DataFlowError):
    """The status store returned an error."""

    code = "store"
    exit_code = 74


class StoreMissing(StoreError):
    """The store does not exist, and this command does not create it."""

    code = "store-missing"
    exit_code = 66


class StoreUnreachable(StoreError):
    """The status store does not answer."""

    code = "store-unreachable"
    exit_code = 69


class StoreDenied(StoreError):
    """The status store rejected the user, the password, the database or the schema."""

    code = "store-denied"
    exit_code = 77


class SchemaMismatch(StoreError):
    """The store's schema is older or newer than this code."""

    code = "schema-mismatch"
    exit_code = 76


class FetchError(DataFlowError):
    """The source did not return the requested data."""

    code = "fetch"
    exit_code = 69

    def __init__(self, message: str, *, status: int = 0, start_again: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.start_again = start_again  # the staged pages must not be reused


class Untrusted(FetchError):
    """A response is not proven to come from the server."""

    code = "fetch-untrusted"


class FetchStopped(FetchError):
    """The run was stopped while it fetched; the fetch can be resumed."""

    code = "fetch-stopped"


class TargetError(DataFlowError):
    """The target database returned an error."""

    code = "target"
    exit_code = 74


class TargetUnreachable(TargetError):
    """The target database does not answer."""

    code = "target-unreachable"
    exit_code = 69


class StagingLost(TargetError):
    """The target database lost staged rows, for example in a crash; nothing was published."""

    code = "staging-lost"


class TargetDenied(TargetError):
    """The target database rejected the user or password, or a privilege is missing."""

    code = "target-denied"
    exit_code = 77


class TargetLocked(TargetError):
    """Another session's lock was not released in time; the same command may succeed later."""

    code = "target-locked"
    exit_code = 75


class SparkFailed(DataFlowError):
    """Spark failed; the message is its cause in one sentence, the log has the rest."""

    code = "spark"
    exit_code = 1


class SparkGone(SparkFailed):
    """The Java process of the session has ended: this process can no longer use Spark."""

    code = "spark-gone"


class JobFailed(DataFlowError):
    """The function of a Python job raised; the message is what and where, the run's log has the rest."""

    code = "job-failed"
    exit_code = 1


class TimedOut(DataFlowError):
    """A run took longer than its job's timeout."""

    code = "timed-out"
    exit_code = 124


class FilesFailed(DataFlowError):
    """A file or folder of the project could not be read or written."""

    code = "files"
    exit_code = 74


class CannotExecute(DataFlowError):
    """The command is missing (127), not executable or has a bad interpreter (126)."""

    code = "cannot-execute"
    exit_code = 126

    def __init__(self, message: str, exit_code: int = 126) -> None:
        super().__init__(message)
        self.exit_code = exit_code
