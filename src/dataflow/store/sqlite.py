"""The embedded database, through apsw, which ships an SQLite free of the WAL-reset bug.

Nothing about jobs or chunks is here, only how this database is opened, locked and queried.
"""

from __future__ import annotations

import json
import os
import time

import apsw

from dataflow import errors
from dataflow.model.wording import utc_text
from dataflow.private_files import make_private_folder
from dataflow.store.leases import boot_id
from dataflow.store.queries import OLDEST_SCHEMA, SCHEMA_VERSION, Queries, read_migrations, refuse_newer
from dataflow.store.sqlite_file import (
    create_private,
    file_identity,
    refuse_network_file_system,
    refuse_other_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from dataflow.store.database import Call, Result, Row

WORDS = {
    # Without AUTOINCREMENT the next row would reuse the id of a removed one, and inherit its history.
    "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "time": "text",
    "sort": "text",
    "clustered": "WITHOUT ROWID",
    "now_at": "now_at()",
    "now_seconds": "now_seconds()",
    "due_now": "now_seconds()",
    "lease_now": "boot_seconds()",
    "lease_then": "boot_seconds()",
    "clock_id": "boot_id()",
    # What claims hold and a hold waits for; a writer is alone here.
    "claiming": "NULL",
    "first_clock": "''",
    "concurrently": "",
    # A revoked run that may be running: its process until the lease ends, what outlives it until killed.
    "ending": "outcome = 'CANCELLED' AND (has_kill_command OR clock_id = boot_id() AND "
    "lease_until > boot_seconds())",
    # All of these. Each part has an index; an OR would use neither.
    "all_ending": "SELECT run_id FROM run "
    "WHERE outcome = 'CANCELLED' AND clock_id = boot_id() AND lease_until > boot_seconds() "
    "UNION ALL SELECT run_id FROM run WHERE outcome = 'CANCELLED' AND has_kill_command",
    "least": "min",
    "greatest": "max",
    "random_id": "lower(hex(randomblob(16)))",
    "for_update": "",
    "skip_locked": "",
    "batch": "(SELECT value ->> 0 AS dataid, value ->> 1 AS sort_key FROM json_each(:batch)) AS batch",
    "calls": "(SELECT value ->> 0 AS job_id, value ->> 1 AS position, value ->> 2 AS dataid, "
    "value ->> 3 AS sort_key, value ->> 4 AS number FROM json_each(:calls)) AS calls",
    "ids": "(SELECT value AS id FROM json_each(:ids)) AS ids",
    "names": "(SELECT value AS id FROM json_each(:names)) AS ids",
    "records": "json_each(:records) AS records",
}

BUSY_SECONDS = 60.0


class SqliteTransaction:
    """Statements inside one transaction on one connection."""

    search_cost = 0

    def __init__(self, connection: apsw.Connection, queries: Queries) -> None:
        self._cursor = connection.cursor()
        self._connection = connection
        self._queries = queries
        self.last_acts: list[Callable[[SqliteTransaction], None]] = []

    def at_end(self, act: Callable[[SqliteTransaction], None]) -> None:
        self.last_acts.append(act)

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        return self._cursor.execute(self._queries.text(name), parameters).fetchall()

    def find(self, name: str, /, **parameters: Any) -> Row | None:
        found = self.rows(name, **parameters)
        return found[0] if found else None

    def run(self, name: str, /, **parameters: Any) -> int:
        before = self._connection.total_changes()
        for _ in self._cursor.execute(self._queries.text(name), parameters):
            pass
        return self._connection.total_changes() - before

    def lock(self, name: str, /, **parameters: Any) -> None:
        """Do nothing: BEGIN IMMEDIATE has locked the database for writing."""

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        return {"batch": json.dumps(pairs, ensure_ascii=False)}

    def calls(self, calls: Sequence[Call]) -> dict[str, Any]:
        return {"calls": json.dumps(calls, ensure_ascii=False)}

    def ids(self, ids: Sequence[int]) -> dict[str, Any]:
        return {"ids": json.dumps(ids)}

    def names(self, names: Sequence[str]) -> dict[str, Any]:
        return {"names": json.dumps(names)}

    def records(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"records": json.dumps(records, ensure_ascii=False)}


class SqliteWatch:
    """Notices the commits of all other connections, also those of this process; asked now and then."""

    poll_seconds: float | None = 0.3

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._seen = database.data_version()

    def fileno(self) -> int | None:
        """Nothing becomes readable: an embedded database wakes nobody."""
        return None

    def take(self) -> bool:
        before, self._seen = self._seen, self._database.data_version()
        return self._seen != before

    def close(self) -> None:
        self._database.close()


class SqliteDatabase:
    """One connection to one database file."""

    dialect = "sqlite"

    def __init__(
        self,
        path: str,
        clock: Callable[[], float] = time.time,
        boot_clock: Callable[[], float] | None = None,
        create: bool = True,
    ) -> None:
        self.path = path
        self.url = "sqlite:///" + path
        self._clock = clock
        self._boot_clock = boot_clock or (lambda: time.clock_gettime(time.CLOCK_BOOTTIME))
        self._queries = Queries(self.dialect, WORDS)
        self._connection = self._open(create)
        self._file = file_identity(path)
        self._check_schema()

    def write(self, verb: Callable[[SqliteTransaction], Result]) -> Result:
        self._refuse_other_file()
        with _translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                tx = SqliteTransaction(self._connection, self._queries)
                result = verb(tx)
                for act in tx.last_acts:
                    act(tx)
                self._connection.execute("COMMIT")
                return result
            except BaseException:
                if not self._connection.get_autocommit():
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, verb: Callable[[SqliteTransaction], Result]) -> Result:
        self._refuse_other_file()
        with _translated(self.path):
            self._connection.execute("BEGIN")
            try:
                return verb(SqliteTransaction(self._connection, self._queries))
            finally:
                self._connection.execute("ROLLBACK")

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        with _translated(self.path):
            yield from self._connection.cursor().execute(self._queries.text(name), parameters)

    def select(self, sql: str) -> tuple[list[str], Iterable[Row]]:
        rows = self._reading(sql)
        return next(rows), rows

    def upgrade(self) -> list[str]:
        applied = []
        for number, name, text in read_migrations():
            if self._migrate(number, name, text):
                applied.append(f"{number:04d}_{name}")
        return applied

    def schema_version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").get)

    def separate(self, patience_seconds: float | None) -> SqliteDatabase:
        self._refuse_other_file()
        other = SqliteDatabase(self.path, self._clock, self._boot_clock, create=False)
        if patience_seconds is not None:
            other._connection.set_busy_handler(lambda tries: _wait_for_lock(tries, patience_seconds))
        return other

    def watch(self) -> SqliteWatch:
        return SqliteWatch(self.separate(None))

    def data_version(self) -> int:
        """Return a number that changes with the commits of other connections."""
        self._refuse_other_file()
        return int(self._connection.execute("PRAGMA data_version").get)

    def interrupt(self, patience_seconds: float) -> float | None:
        return None  # differs from postgres: there is no server that could hang

    def count_pages(self) -> int:
        counters = (apsw.SQLITE_DBSTATUS_CACHE_HIT, apsw.SQLITE_DBSTATUS_CACHE_MISS)
        return sum(self._connection.status(counter)[0] for counter in counters)

    def close(self) -> None:
        self._connection.close()

    def _reading(self, sql: str) -> Iterator[Any]:
        """Yield column names, then rows, from the file opened read-only under an authorizer."""
        import re  # start-up: only `dataflow sql` needs it

        nothing = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
        connection = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_handler(_wait_for_lock)
        connection.authorizer = _allow_reading
        cursor = connection.cursor()
        columns: list[str] = []

        def look(traced: apsw.Cursor, statement: str, _bindings: object) -> bool:
            # Called before a statement runs, so a second one is refused before the first reads anything.
            rest = "" if columns else sql[len(statement) :]
            if not nothing.fullmatch(rest):
                raise errors.BadInput("sql takes one statement. Run the others in separate calls.")
            columns.extend([column[0] for column in traced.get_description()])
            return True

        cursor.exec_trace = look
        try:
            rows = cursor.execute(sql)
            yield columns
            yield from rows
        except (apsw.AuthError, apsw.ReadOnlyError) as error:
            raise errors.BadInput(
                f"sql only reads: {error}. Use another command to change something."
            ) from error
        except apsw.SQLError as error:
            raise errors.BadInput(
                f"sql takes one statement that only reads. SQLite says: {error}. To see what you can "
                "read: dataflow sql 'select name, sql from sqlite_schema'"
            ) from error
        except apsw.Error as error:
            raise translate(error, self.path) from error
        finally:
            connection.close(True)

    def _refuse_other_file(self) -> None:
        """Refuse to go on with a file that was moved or deleted: nobody else would see what is written."""
        if self._file != (found := file_identity(self.path)):
            refuse_other_file(self.path, found)

    def _open(self, create: bool) -> apsw.Connection:
        refuse_network_file_system(self.path)
        folder = os.path.dirname(self.path) or "."
        try:
            if create:
                make_private_folder(folder)
                create_private(self.path)
            connection = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE)
        except PermissionError as error:
            raise _denied(self.path, error) from error
        except (OSError, apsw.Error) as error:
            if not os.access(self.path, os.R_OK | os.W_OK) and os.path.exists(self.path):
                raise _denied(self.path, error) from error
            raise errors.StoreUnreachable(
                f"Cannot open the store {self.path}: {error}. Does {folder} exist, and is it writable? "
                "Choose another location with --store or DATAFLOW_STORE."
            ) from error
        connection.set_busy_handler(_wait_for_lock)
        # Otherwise SQLite prepares some statements again each time, because their values may affect the plan.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        with _translated(self.path):
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON; PRAGMA cache_size = -16000")
        boot = boot_id()
        functions: dict[str, Callable[..., float | str]] = {
            "now_at": lambda: utc_text(self._clock()),
            "now_seconds": self._clock,
            "boot_seconds": self._boot_clock,
            "boot_id": lambda: boot,
        }
        for name, function in functions.items():
            # Marked deterministic, it is called once per statement instead of once per row.
            connection.create_scalar_function(name, function, 0, deterministic=True)
        return connection

    def _check_schema(self) -> None:
        """Create the schema on first use; refuse a newer one that this code cannot work with."""
        with _translated(self.path):
            found = self.schema_version()
        if found < SCHEMA_VERSION:
            self.upgrade()
        elif found > SCHEMA_VERSION:
            with _translated(self.path):
                refuse_newer(self.path, found, self._connection.execute(OLDEST_SCHEMA).get)

    def _migrate(self, number: int, name: str, text: str) -> bool:
        def migrate(transaction: SqliteTransaction) -> bool:
            if self.schema_version() >= number:
                return False
            self._connection.execute(self._queries.spell(text))
            self._connection.execute(f"PRAGMA user_version = {number:d}")
            return True

        return self.write(migrate)


def _wait_for_lock(tries: int, patience_seconds: float = BUSY_SECONDS) -> bool:
    """Retry every few milliseconds: with SQLite's own back-off a claim starves behind a bulk writer."""
    if tries > patience_seconds / 0.002:
        return False
    time.sleep(0.001 + (tries * 7919 % 16) / 8000)
    return True


_READING = frozenset((apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE))


def _allow_reading(operation: int, first: str | None, second: str | None, *_: str | None) -> int:
    if operation == apsw.SQLITE_FUNCTION and second == "load_extension":
        return apsw.SQLITE_DENY
    return apsw.SQLITE_OK if operation in _READING else apsw.SQLITE_DENY


class _translated:
    """Convert the driver's errors to ours and keep the cause."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, apsw.Error):
            return
        raise translate(error, self._path) from error


def _denied(path: str, error: Exception) -> errors.StoreDenied:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return errors.StoreDenied(
        f"This user may not open the store {path}: {reason}. SQLite needs read and write access to the file "
        f"and its folder. Check: ls -ld {os.path.dirname(path)} {path}"
    )


def translate(error: apsw.Error, path: str) -> errors.StoreError:
    """Convert the driver's error to one of ours."""
    if isinstance(error, apsw.BusyError):
        return errors.StoreUnreachable(
            f"The store {path} was locked by another process for {BUSY_SECONDS:.0f} s. "
            "Find the long transaction, then run the same command again."
        )
    if isinstance(error, apsw.FullError):
        return errors.StoreError(
            f"The disk of {path} is full; nothing was changed. Free some space and run the same command "
            "again."
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return errors.StoreDenied(
            f"{path} is not a DataFlow store: {error}. Choose another file with --store."
        )
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return errors.StoreDenied(
            f"The store {path} cannot be written: {error}. "
            "SQLite needs write access to the file and its folder."
        )
    return errors.StoreError(f"The store {path} returned an error: {error}. Check it: dataflow doctor")
