"""The shared database, through psycopg 3. Nothing about jobs or chunks lives here.

READ COMMITTED throughout: a verb locks first and reads in a later statement.
"""

from __future__ import annotations

import json
import re
import time

import psycopg
from psycopg import errors as pg_errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.conninfo import conninfo_to_dict
from psycopg.generators import execute
from psycopg.pq import ExecStatus

from dataflow import errors
from dataflow.model.exposure import warn_if_exposed
from dataflow.model.url_text import masked_url
from dataflow.store import postgres_schema
from dataflow.store.postgres_errors import may_pass, message_of, translate
from dataflow.store.postgres_words import WORDS
from dataflow.store.queries import Queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from psycopg.pq.abc import PGresult

    from dataflow.store.database import Call, Result, Row, Watch

TYPES = {bool: 16, int: 20, float: 701}
"""The server's type numbers for boolean, bigint and double precision; it infers all others."""

PATIENCE_SECONDS = 30.0
"""How long a verb retries while the server restarts."""
FETCHED_ROWS = 5000

TRANSIENT = (pg_errors.DeadlockDetected, pg_errors.SerializationFailure, pg_errors.LockNotAvailable)
RUN_TOKEN = "run_token"
CONNECTION = (psycopg.OperationalError, psycopg.InterfaceError)
SETTINGS = "-c idle_in_transaction_session_timeout=60s -c client_min_messages=warning"
PINNED = r"-c default_transaction_isolation=read\ committed"
"""What our statements rely on, whatever the defaults of the server are; find_version sets the rest."""

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


def numbered(text: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a query with numbered parameters, and their names in that order."""
    keys: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return keys.setdefault(found[1], f"${len(keys) + 1}")

    return _PARAMETER.sub(number, text).encode(), tuple(keys)


def named_for_cursor(text: str) -> bytes:
    """Return a query with named parameters in the syntax of the driver's cursors."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")).encode()


class Statements:
    """The named queries on one connection, each prepared when it is used a second time.

    Below psycopg's cursors, which cost more than the statements they send; waiting is left to psycopg.
    """

    def __init__(self, connection: psycopg.Connection[Row], queries: Queries) -> None:
        self._connection = connection
        self._queries = queries
        self._transformer = Transformer(connection)
        self._texts: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._prepared: dict[tuple[object, ...], bytes] = {}

    def execute(self, name: str, parameters: dict[str, Any]) -> PGresult:
        """Run a query to completion."""
        text, keys = self._texts.get(name) or self._spell(name)
        values = [parameters[key] for key in keys]
        dumped = self._transformer.dump_sequence(values, [PyFormat.TEXT] * len(values)) if values else ()
        # The types are part of the key: a parameter may be NULL once and a number the next time.
        kind = (name, *map(type, values))
        prepared = self._prepared.get(kind)
        if prepared is None and kind not in self._seen:
            self._seen.add(kind)
            self._connection.pgconn.send_query_params(text, dumped, param_types=_types(values))
            return self._result()
        if prepared is None:
            prepared = b"dataflow_%d" % len(self._prepared)
            self._connection.pgconn.send_prepare(prepared, text, param_types=_types(values))
            self._result()
            self._prepared[kind] = prepared
        self._connection.pgconn.send_query_prepared(prepared, dumped)
        return self._result()

    def rows(self, result: PGresult) -> list[Row]:
        """The rows of a result as Python values."""
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def _result(self) -> PGresult:
        result: PGresult = self._connection.wait(execute(self._connection.pgconn))[-1]
        if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            return result
        raise pg_errors.error_from_result(result, encoding=self._connection.info.encoding)

    def _spell(self, name: str) -> tuple[bytes, tuple[str, ...]]:
        self._texts[name] = numbered(self._queries.text(name))
        return self._texts[name]


def _types(values: Sequence[Any]) -> list[int]:
    return [TYPES.get(type(value), 0) for value in values]


class PostgresTransaction:
    """Statements inside one transaction on one connection."""

    search_cost = 20

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.last_acts: list[Callable[[PostgresTransaction], None]] = []

    def at_end(self, act: Callable[[PostgresTransaction], None]) -> None:
        self.last_acts.append(act)

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        return self._statements.rows(self._statements.execute(name, parameters))

    def find(self, name: str, /, **parameters: Any) -> Row | None:
        result = self._statements.execute(name, parameters)
        return self._statements.rows(result)[0] if result.ntuples else None

    def run(self, name: str, /, **parameters: Any) -> int:
        return self._statements.execute(name, parameters).command_tuples or 0

    def lock(self, name: str, /, **parameters: Any) -> None:
        self._statements.execute(name, parameters)

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        return {"dataids": [pair[0] for pair in pairs], "sort_keys": [pair[1] for pair in pairs]}

    def calls(self, calls: Sequence[Call]) -> dict[str, Any]:
        job_ids, positions, dataids, sort_keys, numbers = zip(*calls, strict=True)
        # As text: the driver would inspect every number to find the smallest type that fits.
        whole = {"job_ids": job_ids, "positions": positions, "numbers": numbers}
        arrays = {name: "{" + ",".join(map(str, values)) + "}" for name, values in whole.items()}
        return {"dataids": list(dataids), "sort_keys": list(sort_keys)} | arrays

    def ids(self, ids: Sequence[int]) -> dict[str, Any]:
        return {"ids": list(ids)}

    def names(self, names: Sequence[str]) -> dict[str, Any]:
        return {"names": list(names)}

    def records(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"records": json.dumps(records)}


class PostgresDatabase:
    """One connection to one schema of one database; reopened when it breaks."""

    dialect = "postgres"

    def __init__(
        self, url: str, schema: str, password: str | None = None, within: float | None = None
    ) -> None:
        """`within`: seconds after which each verb gives up; None for the default."""
        self.url = url
        self._schema = schema
        self._password = password
        self._within = within
        self._queries = Queries(self.dialect, WORDS)
        self._connection: psycopg.Connection[Row] | None = None
        self._statements: Statements | None = None
        self._streams = 0
        self._began_at: float | None = None  # when the verb under way began
        self._shown = masked_url(url)

    def write(self, verb: Callable[[PostgresTransaction], Result]) -> Result:
        return self._patiently(lambda connection: self._in_transaction(connection, verb))

    read = write

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        text = named_for_cursor(self._queries.text(name))
        cursor = self._patiently(lambda connection: self._open_stream(connection, text, parameters))
        try:
            with cursor:
                yield from cursor
        except psycopg.Error as error:
            raise self._translate(error) from error

    def select(self, sql: str) -> tuple[list[str], Iterable[Row]]:
        rows = self._reading(sql)
        return next(rows), rows

    def upgrade(self) -> list[str]:
        return self._alone(lambda found: postgres_schema.upgrade(found, self._schema, self._queries))

    def migrations_text(self) -> str:
        """Return the missing part of the schema as SQL, for a DBA to run.

        All of it if the store cannot be read.
        """
        try:
            found, note = self.schema_version(), ""
        except errors.StoreError as error:
            found, note = 0, f"-- The whole schema, because the store could not be read: {error}\n"
        return note + postgres_schema.migrations_text(found, self._schema, self._queries)

    def schema_version(self) -> int:
        return self._alone(postgres_schema.find_version)

    def separate(self, patience_seconds: float | None) -> PostgresDatabase:
        return PostgresDatabase(self.url, self._schema, self._password, patience_seconds)

    def watch(self) -> Watch:
        from dataflow.store.postgres_watch import PostgresWatch  # start-up: only workers wait

        return PostgresWatch(self._connect(), self._schema, self._translated)

    def _translated(self, verb: Callable[[], Result]) -> Result:
        """Run something and raise the driver's errors as ours."""
        try:
            return verb()
        except psycopg.Error as error:
            raise self._translate(error) from error

    def interrupt(self, patience_seconds: float) -> float | None:
        if self._began_at is None:
            return None
        left = self._began_at + patience_seconds - time.monotonic()
        if left > 0:
            return left
        self.close()  # it is in the middle of a statement
        raise InterruptedError

    def count_pages(self) -> int:
        connection = self._connected()
        # A session reports its statistics only now and then; force a report before counting.
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(
            "SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::bigint"
            " FROM pg_statio_user_tables WHERE schemaname = current_schema()"
        ).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _in_transaction(
        self, connection: psycopg.Connection[Row], verb: Callable[[PostgresTransaction], Result]
    ) -> Result:
        if self._statements is None:
            self._statements = Statements(connection, self._queries)
        with connection.transaction():
            tx = PostgresTransaction(self._statements)
            result = verb(tx)
            for act in tx.last_acts:
                act(tx)
            return result

    def _open_stream(
        self, connection: psycopg.Connection[Row], text: bytes, parameters: dict[str, Any]
    ) -> psycopg.ServerCursor[Row]:
        """Stream with a cursor that outlives its transaction: a slow reader keeps none open."""
        self._streams += 1
        cursor = connection.cursor(f"stream_{self._streams}", withhold=True)
        cursor.itersize = FETCHED_ROWS
        return cursor.execute(text, parameters)

    def _alone(self, verb: Callable[[psycopg.Connection[Row]], Result]) -> Result:
        """Run a schema operation on a connection that expects no schema."""
        connection = self._connect()
        try:
            return self._translated(lambda: verb(connection))
        finally:
            connection.close()

    def _patiently(self, verb: Callable[[psycopg.Connection[Row]], Result]) -> Result:
        """Run a verb; retry after a deadlock, and after a lost connection until the time is up."""
        self._began_at = time.monotonic()
        try:
            return self._try(verb)
        except InterruptedError as error:
            raise errors.StoreUnreachable(f"The store {self._shown} does not answer.") from error
        finally:
            self._began_at = None

    def _try(self, verb: Callable[[psycopg.Connection[Row]], Result]) -> Result:
        # The last attempt may take as long as one statement: leave half of the time for it.
        deadline = time.monotonic() + (PATIENCE_SECONDS if self._within is None else self._within / 2)
        delay = 0.05
        while True:
            try:
                return verb(self._connected())
            except TRANSIENT as error:
                if time.monotonic() > deadline:
                    raise self._translate(error) from error
            except pg_errors.UniqueViolation as error:
                # Our own first call has committed meanwhile; it was under way when its connection broke.
                if time.monotonic() > deadline or error.diag.constraint_name != RUN_TOKEN:
                    raise self._translate(error) from error
            except CONNECTION as error:
                self.close()
                if time.monotonic() > deadline or not may_pass(error):
                    raise self._translate(error) from error
            except errors.StoreUnreachable:
                if time.monotonic() > deadline:
                    raise
            except psycopg.Error as error:
                raise self._translate(error) from error
            time.sleep(delay)
            delay = min(delay * 2, 1.0)

    def _connected(self) -> psycopg.Connection[Row]:
        if self._connection is None or self._connection.closed:
            self._statements = None
            self._connection = self._connect()
            try:
                postgres_schema.check_version(self._connection, self._shown, self._schema)
            except BaseException:
                self.close()
                raise
        return self._connection

    def _connect(self) -> psycopg.Connection[Row]:
        lock, statement, connect, unacknowledged = self._limits()
        path = postgres_schema.quoted(self._schema).replace("\\", "\\\\").replace(" ", "\\ ")
        limits = f"-c lock_timeout={lock:.0f} -c statement_timeout={statement:.0f}"
        given = self._parameters()
        defaults: dict[str, Any] = {
            "connect_timeout": connect,
            "application_name": "dataflow",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": unacknowledged,
        }
        # The URL overrides our defaults; the options of both are combined.
        settings = defaults | given
        options = f"{SETTINGS} {limits} {given.get('options', '')} {PINNED} -c search_path={path}"
        settings |= {"options": options, "client_encoding": "UTF8"}
        if self._password is not None:
            settings["password"] = self._password
        try:
            # With prepared statements of its own, psycopg would deallocate ours on every rollback.
            connection = psycopg.connect(autocommit=True, prepare_threshold=None, **settings)
        except psycopg.Error as error:
            raise self._translate(error) from error
        warn_if_exposed(connection.pgconn, f"The connection to the store {self._shown}")
        return connection

    def _parameters(self) -> dict[str, Any]:
        """The parts of the store's URL."""
        return self._translated(lambda: dict(conninfo_to_dict(self.url)))

    def _limits(self) -> tuple[float, float, int, int]:
        """Milliseconds for a lock and a statement, seconds to connect, milliseconds without an answer."""
        if self._within is None:
            return 30_000, 0, 10, 20_000
        half = max(self._within * 500, 1)
        return half, half, max(2, int(self._within / 2)), int(half)  # the driver treats one second as two

    def _reading(self, sql: str) -> Iterator[Any]:
        from dataflow.store.postgres_select import read_rows  # start-up: only `dataflow sql` needs it

        try:
            yield from read_rows(self._connected(), sql)
        except CONNECTION as error:
            raise self._translate(error) from error
        except psycopg.Error as error:
            raise errors.BadInput(f"sql: {message_of(error)}") from error

    def _translate(self, error: psycopg.Error) -> errors.StoreError:
        return translate(error, self._shown, isinstance(error, CONNECTION))
