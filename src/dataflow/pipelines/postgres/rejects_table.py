"""The rejects table beside a target table: rows of each dataid that did not fit, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session, exists
from dataflow.pipelines.shape.fields import LONGEST_NAME
from dataflow.pipelines.shape.shaped import Reject

SUFFIX = "_rejects"
CREATE = sql.SQL("""
    create table {} (
        dataid text not null, run_id bigint not null, part integer not null, row_number bigint not null,
        field text not null, value text not null, reason text not null, source_row text not null
    )
""")
COLUMNS = {"dataid", "run_id", "part", "row_number", "field", "value", "reason", "source_row"}
COLUMNS_OF = """
    select attname from pg_attribute where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped
"""
WIDEN = sql.SQL("alter table {} add column source_row text not null default ''")
DELETE = sql.SQL("delete from {} where dataid = %s")
COPY = sql.SQL("copy {} from stdin")


def replace_rejects(
    session: Session, table: Table, destination: Destination, rejects: Sequence[Reject]
) -> None:
    """Replace a dataid's rejects; the table is created with the first rejects.

    A foreign table of that name is left alone; Conflict if there are rejects to write.
    """
    name = rejects_name(table.name)
    identifier = sql.Identifier(table.schema, name)
    if exists(session, table.schema, name):
        if not _is_ours(session, identifier):
            if rejects:
                raise Conflict(
                    f"{len(rejects)} rejects of {table} would go to {table.schema}.{name}, but another table "
                    "has that name. Rename one of them."
                )
            return
        session.execute(DELETE.format(identifier), (destination.dataid,))
    elif not rejects:
        return
    else:
        session.execute(CREATE.format(identifier))
    with session.cursor() as cursor, cursor.copy(COPY.format(identifier)) as copy:
        for one in rejects:
            where = (destination.dataid, destination.run_id, one.part, one.row)
            copy.write_row((*where, one.field, one.value, one.reason, one.source_row))


def rejects_name(table: str) -> str:
    """The name of the rejects table beside a table, unique per table."""
    if len((table + SUFFIX).encode()) <= LONGEST_NAME:
        return table + SUFFIX
    digest = hashlib.sha256(table.encode()).hexdigest()[:12]
    return f"{table.encode()[:40].decode(errors='ignore')}_{digest}{SUFFIX}"


def _is_ours(session: Session, identifier: sql.Identifier) -> bool:
    rows = session.execute(COLUMNS_OF, (identifier.as_string(session),)).fetchall()
    found = {name for (name,) in rows}
    if COLUMNS - found == {"source_row"} and found < COLUMNS:  # created before source rows were kept
        session.execute(WIDEN.format(identifier))
        return True
    return found == COLUMNS
