"""The ledger beside the target table: which run may publish which dataid, and which one did.

It lives in the table's schema, not in the staging schema. Run ids belong to one status store, whose id is
stored with them: a table belongs to one store until `dataflow pipeline takeover` moves it to another.
"""

from __future__ import annotations

from typing import LiteralString

from psycopg import sql

from dataflow.actions.next_commands import resubmit_command, shell
from dataflow.errors import Conflict, Superseded, TargetError
from dataflow.model.record import as_dict, record
from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session, exists, fetch_named, lock_name, named

LEDGER = "dataflow_ledger"


@record
class LedgerEntry:
    """A ledger row: `fence` is the newest run that began, `run_id` the one that published.

    `claim` distinguishes that run from one with the same id from before the store was restored.
    """

    dataid: str
    dataset: str
    store_id: str
    sort_key: str
    fence: int
    run_id: int | None
    claim: str | None
    rows: int | None
    inputs: str | None


class Ledger:
    """The ledger rows of one table, as seen by one run."""

    def __init__(self, table: Table, destination: Destination, whole: bool, in_order: bool = True) -> None:
        """`whole`: a publish replaces more than its dataid's rows; `in_order`: it replaces nothing newer."""
        self._table = table
        self._destination = destination
        self._names = {"ledger": sql.Identifier(table.schema, LEDGER)}
        self._values = as_dict(destination) | {"table": table.name}
        self._whole = whole
        self._in_order = in_order and destination.mode == "snapshot"

    def raise_fence(self, session: Session) -> LedgerEntry:
        """Block older runs from publishing this dataid; Superseded if a newer one began or published.

        Returns the dataid's row, locked until the transaction ends; includes a publish that was in progress.
        """
        # IF NOT EXISTS alone fails for concurrent calls, and for users without CREATE.
        if not exists(session, self._table.schema, LEDGER):
            lock_name(session, f"{self._table.schema}.{LEDGER}")
            session.execute(named("ledger.create").format(**self._names))
        raised = fetch_named(session, "ledger.raise", self._values, **self._names)
        entries = self._read(session, whole=True)
        own = entries[self._destination.dataid]
        self._refuse_foreign(entries)
        if not raised and own.fence > self._destination.newest_run > 0:
            raise Conflict(
                f"{self._table} was written by run {own.fence} for {own.dataid}, but the last run id of this "
                f"status store is {self._destination.newest_run}: it was restored from a backup. To continue "
                f"with it: dataflow pipeline takeover {self._destination.job}"
            )
        if not raised:
            raise self._superseded_by(own.fence)
        self._refuse_older(session, entries)
        return own

    def lock(self, session: Session) -> LedgerEntry:
        """The dataid's row, locked until the transaction ends; Superseded if another run holds the fence."""
        # All rows of a table that is replaced as a whole: publishers of its other dataids have to wait.
        entries = self._read(session, self._whole, "for update")
        own = entries.get(self._destination.dataid)
        if own is None:
            raise TargetError(
                f"{self._table} has no ledger row for dataid {self._destination.dataid}: "
                "it was deleted during the run. Resubmit the work."
            )
        self._refuse_foreign(entries)
        if own.fence != self._destination.run_id:
            raise self._superseded_by(own.fence)
        self._refuse_older(session, entries)
        return own

    def write(self, session: Session, rows: int) -> None:
        """Record what this run published, in the transaction that publishes it."""
        session.execute(named("ledger.write").format(**self._names), self._values | {"rows": rows})

    def refuse_gone(self, session: Session) -> None:
        """Called if the table is missing: created again, it would lack the rows of other dataids."""
        others = [row[0] for row in fetch_named(session, "ledger.others", self._values, **self._names)]
        if others:
            ledger, name = self._names["ledger"].as_string(session), sql.Literal(self._table.name)
            raise Conflict(
                f"Table {self._table} is gone, and with it the rows of {len(others)} other dataids published "
                f"in it, from {others[0]} to {others[-1]}. Restore it under its name, or create it again: "
                f"update {ledger} set run_id = null where table_name = {name.as_string(session)}; "
                f"then, for each of them: dataflow resubmit {self._destination.job} DATAID"
            )

    def find(self, session: Session) -> LedgerEntry | None:
        """The dataid's row, once no publish of it is in progress; None when no run of this store began it."""
        if not exists(session, self._table.schema, LEDGER):
            return None
        found = self._read(session, False, "for update").get(self._destination.dataid)
        return found if found and found.store_id == self._destination.store_id else None

    def _read(self, session: Session, whole: bool, lock: LiteralString = "") -> dict[str, LedgerEntry]:
        values, parts = self._values | {"whole": whole}, {**self._names, "lock": sql.SQL(lock)}
        return {row[0]: LedgerEntry(*row) for row in fetch_named(session, "ledger.read", values, **parts)}

    def _refuse_older(self, session: Session, entries: dict[str, LedgerEntry]) -> None:
        """In mode snapshot an older state of the data never replaces a newer; appended rows replace none."""
        if not self._in_order:
            return
        published = [entry for entry in entries.values() if entry.run_id is not None]
        newest = max(published, key=lambda entry: entry.sort_key, default=None)
        if newest and newest.sort_key > self._destination.sort_key:
            raise Superseded(
                f"{self._table} holds dataid {newest.dataid} (run {newest.run_id}); the older "
                f"{self._destination.dataid} does not replace it in mode snapshot. Nothing to do; "
                "to keep every dataid's rows, use mode partition."
            )
        if newest is None:
            self._refuse_forgotten(session)

    def _refuse_forgotten(self, session: Session) -> None:
        """A ledger that was dropped records no publish: then the store's record counts."""
        where = self._destination
        dataid, key = where.newest
        if key > where.sort_key and exists(session, self._table.schema, self._table.name):
            raise Conflict(
                f"{self._table} exists, but {self._names['ledger'].as_string(session)} beside it does not "
                f"say what it holds; the store published {dataid}, which the older {where.dataid} does not "
                f"replace in mode snapshot. Restore the ledger, or publish {dataid} again: "
                f"{resubmit_command(where.job, dataid)}; to publish {where.dataid} anyway: "
                f"{shell('dataflow', 'withdraw', where.dataset, dataid)}"
            )

    def _refuse_foreign(self, entries: dict[str, LedgerEntry]) -> None:
        for entry in entries.values():
            if entry.store_id != self._destination.store_id:
                raise Conflict(
                    f"{self._table} is written by runs of another status store, {entry.dataid} by its "
                    f"run {entry.run_id or entry.fence}. If that store is gone or no longer writes it: "
                    f"dataflow pipeline takeover {self._destination.job}"
                )
            if entry.dataset != self._destination.dataset:
                raise Conflict(
                    f"{self._table} is already the table of dataset {entry.dataset}, dataid {entry.dataid}; "
                    f"{self._destination.dataset} cannot use the same table. Rename one of them."
                )

    def _superseded_by(self, fence: int) -> Superseded:
        return Superseded(
            f"Run {self._destination.run_id} may no longer publish {self._destination.dataid} "
            f"of {self._table}: the newer run {fence} has taken it over. Nothing to do."
        )


def take_over(session: Session, schema: str, dataset: str, store_id: str, newest_run: int) -> int:
    """Assign the tables of a dataset to this store alone; returns the number of rows changed."""
    if not exists(session, schema, LEDGER):
        return 0
    ledger = sql.Identifier(schema, LEDGER)
    # Wait for runs that are raising their fence: a row not yet visible would not be taken over.
    session.execute(sql.SQL("lock table {} in share row exclusive mode").format(ledger))
    statement = named("ledger.take_over").format(ledger=ledger)
    values = {"store_id": store_id, "dataset": dataset, "newest_run": newest_run}
    return session.execute(statement, values).rowcount
