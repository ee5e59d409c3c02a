"""Every error DataFlow raises on purpose, in one tree.

DataFlowError
├── UsageError             the command line makes no sense
├── BadInput               a value that cannot be taken (dataid, date, range, cron, name …)
│   └── UnknownColumns     columns that are known only once something is published
├── UnknownName            no such dataset, job, run or chunk
├── Conflict               the thing is in a state that forbids the move
│   ├── LeaseLost          this run no longer owns its work
│   ├── InputMoved         an input is no longer what the run has pinned; the run is handed back
│   └── Superseded         a newer run or a newer snapshot has been published in its place
├── InvalidData            what a run produced does not pass its checks
│   └── InvalidRows        its rows break a rule of the target's table
├── ConfigError            dataflow.toml, dataflow.properties or a variable is wrong
├── SecretError            a passphrase or an encrypted record cannot be used
├── StoreError             the status store answered with an error
│   ├── StoreMissing       there is no such store yet
│   ├── StoreUnreachable   no answer from the store
│   ├── StoreDenied        the store refused the user, password, database or schema
│   └── SchemaMismatch     the store's schema is older or newer than this code
├── FetchError             a source did not give what was asked for
│   ├── Untrusted          an answer that is not proven to be the server's own
│   └── FetchStopped       the run was told to stop while it fetched
├── TargetError            a target database answered with an error
│   ├── TargetUnreachable  no answer from it
│   ├── StagingLost        it has lost rows that were staged
│   ├── TargetDenied       it refused the user, the password or a right
│   └── TargetLocked       somebody else's lock was not released in time
├── SparkFailed            Spark failed
│   └── SparkGone          its Java has ended
├── JobFailed              the function of a Python job raised
├── TimedOut               a run took longer than its job's timeout
├── FilesFailed            a file or folder of the project could not be read or written
└── CannotExecute          the command is missing, not executable or has a bad interpreter

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


class UnknownColumns(BadInput):
    """The columns of a dataset are not known before something of it is published."""

    code = "unknown-columns"


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


class InvalidRows(InvalidData):
    """The rows break a rule of the table: a key twice, a NULL where none may be."""

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


class FetchError(DataFlowError):
    """The source did not give what was asked for."""

    code = "fetch"
    exit_code = 69
    http_status = 502

    def __init__(self, message: str, *, status: int = 0, start_again: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.start_again = start_again  # what is staged must not be continued


class Untrusted(FetchError):
    """An answer that is not proven to be the server's own."""

    code = "fetch-untrusted"


class FetchStopped(FetchError):
    """The run was told to stop while it fetched; what is staged can be continued."""

    code = "fetch-stopped"


class TargetError(DataFlowError):
    """The target database answered with an error."""

    code = "target"
    exit_code = 74


class TargetUnreachable(TargetError):
    """The target database gives no answer."""

    code = "target-unreachable"
    exit_code = 69
    http_status = 503


class StagingLost(TargetError):
    """The target database has lost staged rows, as a server does that crashed; nothing was published."""

    code = "staging-lost"


class TargetDenied(TargetError):
    """The target database refused the user, the password or a right."""

    code = "target-denied"
    exit_code = 77


class TargetLocked(TargetError):
    """Somebody else's lock was not released in time; the same command may succeed later."""

    code = "target-locked"
    exit_code = 75
    http_status = 409


class SparkFailed(DataFlowError):
    """Spark failed; the message is its cause in one sentence, the log has the rest."""

    code = "spark"
    exit_code = 1


class SparkGone(SparkFailed):
    """The Java of the session has ended: nothing more can be done with Spark in this process."""

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
