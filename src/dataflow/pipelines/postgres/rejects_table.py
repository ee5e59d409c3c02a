"""The rejects table beside a target table: rows of each dataid that did not fit, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session, exists, fetch_named
from dataflow.pipelines.shape.fields import LONGEST_NAME
from dataflow.pipelines.shape.shaped import Reject

SUFFIX = "_rejects"
COLUMNS = {"dataid": "text", "run_id": "bigint", "part": "integer", "row_number": "bigint"}
COLUMNS |= dict.fromkeys(("field", "value", "reason", "source_row"), "text")


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
        session.execute(sql.SQL("delete from {} where dataid = %s").format(identifier), (destination.dataid,))
    elif not rejects:
        return
    else:
        columns = sql.SQL(", ".join(f"{column} {kind} not null" for column, kind in COLUMNS.items()))
        session.execute(sql.SQL("create table {} ({})").format(identifier, columns))
    with session.cursor() as cursor, cursor.copy(sql.SQL("copy {} from stdin").format(identifier)) as copy:
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
    found = {row[0] for row in fetch_named(session, "catalogue.columns", (identifier.as_string(session),))}
    if found == COLUMNS.keys() - {"source_row"}:  # created before source rows were kept
        widen = sql.SQL("alter table {} add column source_row text not null default ''")
        session.execute(widen.format(identifier))
        return True
    return found == COLUMNS.keys()
