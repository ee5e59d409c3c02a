"""PostgreSQL as a pipeline's target: the verbs of `records.Target`, each in one or a few transactions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from psycopg import errors as pg_errors
from psycopg import sql

from dataflow.errors import BadInput, Conflict, InvalidRows, TargetError, TargetLocked, TargetUnreachable
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.patience import Patience
from dataflow.pipelines.handover.records import Destination, Published, Staged
from dataflow.pipelines.postgres import ddl
from dataflow.pipelines.postgres.ledger import LEDGER, Ledger, LedgerEntry
from dataflow.pipelines.postgres.publication import Load, publish_rows
from dataflow.pipelines.postgres.rejects_table import replace_rejects
from dataflow.pipelines.postgres.sealed import SealedConnection, seal
from dataflow.pipelines.postgres.staging_table import StagingTable
from dataflow.pipelines.postgres.table import Options, Table, check_table
from dataflow.pipelines.postgres.transactions import Session, fetch_named, named, transaction
from dataflow.pipelines.postgres.writer import CopyWriter
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.shaped import Reject
from dataflow.pipelines.sql.parsing import read_statement
from dataflow.pipelines.sql.postgres_text import write

SECONDS_FOR_DROP = 2
SHOWN = 3


class PostgresTarget:
    """Publishes one dataid's rows into one table."""

    wants_uuid_bytes = True

    def __init__(
        self, connection: Connection, table: Table, destination: Destination, options: Options | None = None
    ) -> None:
        options = options or Options()
        partitioned = destination.mode == "partition" and not options.whole_table
        check_table(table, options, partitioned)
        self.connection = connection
        self.table = table
        self.destination = destination
        self.options = options
        # Merged rows belong to the table, whichever dataid they came with.
        self.partition = options.partition_column if partitioned and options.strategy != "merge" else None
        self.staging = StagingTable(table, destination)
        self._ledger = Ledger(table, destination, self.partition is None, options.strategy != "append")
        # Called before the commit: after waiting for locks, the run may have lost its lease.
        self.last_look: Callable[[], None] = lambda: None
        # For a run with time left; otherwise a publish is retried once, which finds out how it ended.
        self.patience = Patience()
        # Where the tasks find the connection; empty if only this process writes.
        self.task_folder = ""
        self._sealed: list[SealedConnection] = []

    def begin(self, earlier: Mapping[int, str] | None = None) -> Published | None:
        """Raise the fence: from now on no older run can publish this dataid. Create the staging table.

        If one of these earlier runs published from the same inputs before it died, its result becomes
        this run's, all in one transaction; one that is still publishing is waited for.
        """
        # Perhaps only the reply to the commit was lost: then a result may be this run's already.
        own = {self.destination.run_id: self.destination.claim}
        return self.patience.repeat(lambda: self._try_to_begin({**(earlier or {}), **own}))

    def _try_to_begin(self, adopted: Mapping[int, str]) -> Published | None:
        with self._transaction() as session:
            entry = self._ledger.raise_fence(session)
            claim = adopted.get(entry.run_id or 0)
            if claim is None or claim != entry.claim or entry.inputs != self.destination.inputs:
                self.staging.create(session, self.table)
                return None
            self._ledger.write(session, entry.rows or 0)
            return Published(entry.rows or 0)

    def writer(self) -> CopyWriter:
        """The writer for the tasks."""
        connection: Connection | SealedConnection = self.connection
        if self.task_folder:
            connection = seal(self.connection, self.task_folder)
            self._sealed.append(connection)
        schema, name = self.staging.schema, self.staging.name
        return CopyWriter(connection, schema, name, self.table.columns, self.options.copy_tasks)

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """Count the staged rows that violate a check; what a key of the table enforces is left to it."""
        with self._transaction() as session:
            if check.kind == "unique" and ddl.has_key(session, self.table, self.partition, check.values):
                return 0, []
            session.execute("set transaction read only")
            statement = _find_bad_rows(check, self.staging.rows_of(accepted))
            try:
                found = session.execute(statement).fetchall()
            except (pg_errors.SyntaxErrorOrAccessRuleViolation, pg_errors.ReadOnlySqlTransaction) as error:
                raise BadInput(f"check {check}: {error.diag.message_primary}") from error
        return (int(found[0][0]) if found else 0), [row[1] for row in found]

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Publish what the accepted attempts staged, all or nothing, in one transaction.

        Superseded if a newer run or dataid was there, InvalidRows if the rows violate a constraint,
        TargetLocked if somebody held a lock too long. A second call changes nothing.
        """
        staged = tuple(each for each in accepted if each.rows)
        strategy, dataid = self.options.strategy, self.destination.dataid
        load = Load(self.table, self.staging, staged, strategy, dataid, self.partition)

        def act(session: Session, entry: LedgerEntry) -> None:
            publish_rows(session, load, entry, self._ledger)
            replace_rejects(session, self.table, self.destination, rejects)

        return Published(self._give_out(act, load.rows).rows, sum(each.size for each in staged))

    def publish_view(self, select: str) -> Published:
        """Create or replace the plain view with the table's name; multiple statements are refused."""
        statement = sql.SQL("create or replace view {} as {}").format(
            self.table.identifier, sql.SQL(select.strip().rstrip(";"))
        )
        return self._give_out(lambda session, _: self._create_view(session, statement), rows=0)

    def discard(self) -> None:
        """Drop this run's staging table and those of this work's earlier runs, which can no longer publish.

        A table that a straggling task still writes to is left to the next run.
        """
        for sealed in self._sealed:
            sealed.remove()
        with self._transaction() as session:
            entry = self._ledger.find(session)
            dead = self.staging.list_dead(session, entry.fence) if entry else []
        for name in {*dead, self.staging.name}:
            self._drop(sql.Identifier(self.staging.schema, name))

    def _give_out(self, act: Callable[[Session, LedgerEntry], None], rows: int) -> Published:
        # Perhaps only the reply to the commit was lost: the ledger tells the next attempt.
        return self.patience.repeat(lambda: self._try_to_give_out(act, rows), (TargetUnreachable,))

    def _try_to_give_out(self, act: Callable[[Session, LedgerEntry], None], rows: int) -> Published:
        try:
            with self._transaction() as session:
                entry = self._ledger.lock(session)
                if entry.run_id == self.destination.run_id:
                    return Published(entry.rows or 0)
                act(session, entry)
                self._ledger.write(session, rows)
                self.last_look()
        except InvalidRows as error:
            raise InvalidRows(f"{self.table} was not published. {error}", error.detail) from error
        except TargetLocked as error:
            raise TargetLocked(f"{self.table} was not published: {self._holders()} {error}") from error
        self._drop(self.staging.identifier)
        return Published(rows)

    def _create_view(self, session: Session, statement: sql.Composed) -> None:
        try:
            # For binary results, the driver uses the protocol that accepts one statement only.
            session.execute(statement, binary=True)
        except (pg_errors.InvalidTableDefinition, pg_errors.WrongObjectType) as error:
            kind = "table" if isinstance(error, pg_errors.WrongObjectType) else "view"
            raise Conflict(
                f"View {self.table} cannot be created: {error.diag.message_primary}. Drop what exists, then "
                f"resubmit the work: drop {kind} {self.table.identifier.as_string(session)}"
            ) from error

    def _drop(self, table: sql.Identifier) -> None:
        # If a straggler holds it, or the server is unreachable, its work's next run drops it.
        with suppress(TargetError), transaction(self.connection, SECONDS_FOR_DROP) as session:
            session.execute(sql.SQL("drop table if exists {}").format(table))

    def _holders(self) -> str:
        names = [self.table.identifier, sql.Identifier(self.table.schema, LEDGER), self.staging.identifier]
        with self._transaction() as session:
            rows = fetch_named(session, "safeguards.holders", ([name.as_string(session) for name in names],))
        shown = [
            f"process {pid} (user {user}, {application or 'unnamed'}, {state}, {mode}, for {seconds} s)"
            for pid, user, application, state, mode, seconds in rows
        ]
        return f"it is held by {', '.join(shown)}." if shown else "the lock has been released since."

    def _transaction(self) -> AbstractContextManager[Session]:
        return transaction(self.connection, self.options.lock_seconds)


def _find_bad_rows(check: Check, rows: sql.Composed) -> sql.Composed:
    """The statement that counts the rows that violate a check, with a few samples."""
    shown = sql.Literal(SHOWN)
    if check.kind == "unique":
        columns = [sql.Identifier(name) for name in check.values]
        no_nulls = sql.SQL(" and ").join(sql.SQL("{} is not null").format(column) for column in columns)
        key = sql.SQL(", ").join(columns)
        return named("checks.twins").format(rows=rows, columns=key, no_nulls=no_nulls, shown=shown)
    # Parsed on its own first: a condition cannot close the parentheses around it.
    statement = read_statement(f"select 1 where ({check.values[0]})", "postgres", f"check {check}")
    condition = write(statement.args["where"].this)
    return named("checks.false").format(rows=rows, condition=sql.SQL(condition), shown=shown)
