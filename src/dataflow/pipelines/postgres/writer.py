"""The writer of a task: one COPY in its own transaction. Runs on Spark's executors; must pickle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import psycopg
import pyarrow as pa
from psycopg import errors as pg_errors
from psycopg import sql

from dataflow.errors import Superseded
from dataflow.model.record import record
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.records import Staged
from dataflow.pipelines.postgres.encoding import fit, make_encoder
from dataflow.pipelines.postgres.sealed import SealedConnection
from dataflow.pipelines.postgres.staging_table import attempt_number
from dataflow.pipelines.postgres.table import Column
from dataflow.pipelines.postgres.transactions import Session, transaction

ROWS_AT_ONCE = 20_000  # rows held as bytes beside the batch they came from
COPY_SLOTS = 0x64666C6F  # the first key of our advisory locks in the target; nobody else's, we hope


@record
class CopyWriter:
    """Copies batches into the run's staging table; they count only if Spark accepts the attempt."""

    connection: Connection | SealedConnection
    schema: str
    table: str
    columns: tuple[Column, ...]
    copy_tasks: int | None = None

    def write(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Staged:
        """Copy all batches under the attempt's name and commit; Superseded when the staging table is gone."""
        number = attempt_number(attempt)
        fitted = (fit(piece, self.columns, number) for batch in batches for piece in _pieces(batch))
        first = next(fitted, None)
        if first is None:
            return Staged(attempt, 0, 0)
        # Waiting for a slot may take as long as other tasks need.
        with transaction(self.connection.opened(), lock_seconds=24 * 3600) as session:
            self._take_slot(session, number)
            try:
                rows, size = self._copy(session, first, fitted)
            except pg_errors.UndefinedTable as error:
                raise Superseded(
                    f"The staging table {self.schema}.{self.table} is gone: "
                    "its run has already published, or a newer run has taken over."
                ) from error
        return Staged(attempt, rows, size)

    def _take_slot(self, session: Session, number: int) -> None:
        """Wait until fewer than `copy_tasks` COPYs of any run are in progress in this database."""
        if self.copy_tasks is None:
            return
        for slot in range(self.copy_tasks):
            taken = session.execute("select pg_try_advisory_xact_lock(%s, %s)", (COPY_SLOTS, slot))
            if taken.fetchone() == (True,):
                return
        session.execute("select pg_advisory_xact_lock(%s, %s)", (COPY_SLOTS, number % self.copy_tasks))

    def _copy(
        self, session: Session, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]
    ) -> tuple[int, int]:
        statement = sql.SQL("copy {} ({}) from stdin (format binary)").format(
            sql.Identifier(self.schema, self.table),
            sql.SQL(", ").join(sql.Identifier(name) for name in first.schema.names),
        )
        encoder = make_encoder(first.schema, self.columns)
        with session.cursor() as cursor, cursor.copy(statement) as copy:
            rows, size = 0, _send(copy, encoder.write_header())
            for batch in chain([first], others):
                size += _send(copy, encoder.write_batch(batch))
                rows += batch.num_rows
            size += _send(copy, encoder.finish())
        return rows, size


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, ROWS_AT_ONCE):
        yield batch.slice(start, ROWS_AT_ONCE)


def _send(copy: psycopg.Copy, data: bytes) -> int:
    copy.write(data)
    return len(data)
