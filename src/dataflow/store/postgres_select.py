"""A user's statement on PostgreSQL: one query, in a READ ONLY transaction, without side effects.

READ ONLY keeps tables as they are, but functions can still end sessions, write files or take locks.
PostgreSQL marks those as volatile; which functions a statement calls is read from the server's own rewriting
of it, which comments, quoting and Unicode escapes cannot deceive.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FETCHED_ROWS = 2000
COMMAND_OK = 1

HARMLESS = (
    *("random", "random_normal", "gen_random_uuid", "uuidv4", "uuidv7", "clock_timestamp", "timeofday"),
    *("pg_relation_size", "pg_table_size", "pg_indexes_size", "pg_total_relation_size", "pg_database_size"),
)
"""Functions that PostgreSQL marks as volatile but that have no side effects."""

_CALLED = re.compile(r'"((?:[^"]|"")+)"\s*\(|([^\W\d][\w$]*)\s*\(')


def read_rows(connection: Any, sql: str) -> Iterator[Any]:
    """Yield the column names, then the rows, fetched in batches; BadInput unless it is one query.

    The transaction lasts as long as the rows are read. The driver's errors are not converted.
    """
    statement = sql.strip().rstrip("; \t\r\n").encode(errors="surrogateescape")
    if not statement or b"\0" in statement:
        raise BadInput("sql takes one statement, such as: select * from datastatus")
    refuse_volatile(connection, statement)
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        # A slow reader, in a pager, may take all day; nothing waits for a read-only transaction.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        _run_one(connection, b"DECLARE reading NO SCROLL CURSOR FOR " + statement)
        rows = cursor.execute(f"FETCH {FETCHED_ROWS} FROM reading").fetchall()
        yield [column.name for column in cursor.description or ()]
        while rows:
            yield from rows
            rows = cursor.execute(f"FETCH {FETCHED_ROWS} FROM reading").fetchall()


def refuse_volatile(connection: Any, statement: bytes) -> None:
    """Raise BadInput if the statement is not a query, or calls a function that does more than read."""
    with connection.transaction(force_rollback=True):
        view = b"CREATE TEMPORARY VIEW dataflow_reading AS SELECT 1 FROM (\n" + statement + b"\n) AS given"
        _run_one(connection, view)
        (text,) = connection.execute("SELECT pg_get_viewdef('pg_temp.dataflow_reading'::regclass)").fetchone()
        names = [quoted.replace('""', '"') or plain for quoted, plain in _CALLED.findall(text)]
        question = (
            "SELECT proname FROM pg_proc "
            "WHERE proname = ANY(%s) AND provolatile = 'v' AND NOT proname = ANY(%s) LIMIT 1"
        )
        found = connection.execute(question, (names, list(HARMLESS))).fetchone()
    if found is not None:
        raise BadInput(
            f"sql only reads: the function {found[0]} may do more than read and is not allowed here."
        )


def _run_one(connection: Any, statement: bytes) -> None:
    """Run one statement: the extended protocol refuses a second one."""
    result = connection.pgconn.exec_params(statement, None)
    if result.status != COMMAND_OK:
        lines = result.error_message.decode(errors="replace").splitlines() or ["no answer"]
        reason = lines[0].removeprefix("ERROR:").strip()
        raise explain_refusal(reason)


def explain_refusal(reason: str) -> BadInput:
    """Return the error for a statement that the server rejects, with how to list what can be read."""
    return BadInput(
        f"sql takes one statement that only reads. PostgreSQL says: {reason.rstrip('.')}. "
        "To see what you can read: dataflow sql 'select table_name, column_name from "
        "information_schema.columns "
        "where table_schema = current_schema()'"
    )
