"""Moves staged rows into the target table, in the transaction of a caller that holds the fence."""

from __future__ import annotations

from psycopg import errors as pg_errors
from psycopg import sql

from dataflow.errors import Conflict, InvalidRows
from dataflow.model.record import record
from dataflow.pipelines.handover.records import Staged
from dataflow.pipelines.postgres import ddl
from dataflow.pipelines.postgres.encoding import is_cast
from dataflow.pipelines.postgres.ledger import Ledger, LedgerEntry
from dataflow.pipelines.postgres.safeguards import (
    check_can_delete,
    check_deleted,
    check_rules,
    check_taken,
    count_rows,
)
from dataflow.pipelines.postgres.staging_table import StagingTable, attempt_number
from dataflow.pipelines.postgres.swap import check_can_swap, make_twin, take_place
from dataflow.pipelines.postgres.table import ATTEMPT, Column, Table, type_sql
from dataflow.pipelines.postgres.transactions import Session, exists, lock_name

NOTHING = sql.SQL("")


@record
class Load:
    """What to publish: which staged rows, into which table, and how."""

    table: Table
    staging: StagingTable
    accepted: tuple[Staged, ...]
    strategy: str
    dataid: str
    partition: str | None  # the column that holds the dataid; None if the table is replaced as a whole

    @property
    def source(self) -> sql.Composed:
        """The staged rows, to follow FROM."""
        return self.staging.rows_of(self.accepted)

    @property
    def rows(self) -> int:
        return sum(staged.rows for staged in self.accepted)

    @property
    def is_whole(self) -> bool:
        """True if the table holds only this load once published."""
        return self.partition is None and self.strategy in ("replace", "swap")


def publish_rows(session: Session, load: Load, entry: LedgerEntry, ledger: Ledger) -> None:
    """Put the accepted rows, and only them, into the table, which is created if missing."""
    if load.strategy == "append" and entry.run_id is not None:
        raise Conflict(
            f"Dataid {load.dataid} was already appended to {load.table} by run {entry.run_id}, and append "
            f"replaces nothing. If its rows are complete: dataflow mark JOB {load.dataid} READY. "
            'To replace its rows use write = "merge", or "replace" in mode partition.'
        )
    if _is_missing(session, load.table):
        if not load.is_whole:
            ledger.refuse_gone(session)
        _load_first(session, load)
    else:
        ddl.check_table_fits(session, load.table, load.partition)
        if load.strategy in ("append", "merge"):
            ddl.check_keys(session, load.table, load.partition)
        check_rules(session, load.table)
        load.staging.check(session, load.accepted)
        # Rows that a foreign key elsewhere references are deleted and reinserted in one transaction.
        session.execute("set constraints all deferred")
        _LOADS[load.strategy](session, load)
    taken = ddl.list_indexes_elsewhere(session, load.table)
    ddl.add_indexes(session, load.table, load.partition, taken)
    ddl.add_comment(session, load.table)


def _is_missing(session: Session, table: Table) -> bool:
    if exists(session, table.schema, table.name):
        return False
    # Two dataids may be first at the same time: one creates the table, the other then finds it.
    lock_name(session, str(table))
    return not exists(session, table.schema, table.name)


def _load_first(session: Session, load: Load) -> None:
    if load.staging.is_logged(session):
        _adopt(session, load)
    else:
        load.staging.check(session, load.accepted)
        ddl.create_table(session, load.table, load.partition)
        _add(session, load)
    ddl.add_constraints(session, load.table, load.partition)


def _adopt(session: Session, load: Load) -> None:
    """Turn the staging table itself into the target: nothing is written twice."""
    staging = load.staging
    # A task that Spark abandoned may still be copying; rows it commits after the check would be published.
    session.execute(sql.SQL("lock table {} in access exclusive mode").format(staging.identifier))
    attempt = sql.Identifier(ATTEMPT)
    if staging.check(session, load.accepted):
        others = sql.SQL("delete from {} where {} <> all(%s)").format(staging.identifier, attempt)
        session.execute(others, ([attempt_number(staged.attempt) for staged in load.accepted],))
    alter = sql.SQL("alter table {} ").format(staging.identifier)
    session.execute(alter + sql.SQL("drop column {}").format(attempt))
    if load.partition:
        column, value = sql.Identifier(load.partition), sql.Literal(load.dataid)
        session.execute(alter + sql.SQL("add column {} text not null default {}").format(column, value))
        session.execute(alter + sql.SQL("alter column {} drop default").format(column))
    session.execute(alter + sql.SQL("set schema {}").format(sql.Identifier(load.table.schema)))
    moved = sql.SQL("alter table {} rename to {}").format(
        sql.Identifier(load.table.schema, staging.name), sql.Identifier(load.table.name)
    )
    session.execute(moved)


def _replace(session: Session, load: Load) -> None:
    check_can_delete(session, load.table, whole=load.is_whole)
    where: sql.Composable = NOTHING
    if load.partition:
        where = sql.SQL("where {} = {}").format(sql.Identifier(load.partition), sql.Literal(load.dataid))
    session.execute(sql.SQL("delete from {} {}").format(load.table.identifier, where))
    check_deleted(session, load.table, where)
    taken = _insert(session, load, load.table.identifier)
    if taken != load.rows:  # a trigger may have put rows into a child table, where readers find them
        taken = count_rows(session, load.table, where)
    check_taken(session, load.table, taken, load.rows)


def _add(session: Session, load: Load, into: sql.Identifier | None = None) -> None:
    check_taken(session, load.table, _insert(session, load, into or load.table.identifier), load.rows)


def _merge(session: Session, load: Load) -> None:
    key = ddl.primary_key(load.table, load.partition)
    others = [column.name for column in load.table.columns if not column.primary_key]
    changes = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others]
    action = sql.SQL("do update set ") + sql.SQL(", ").join(changes) if changes else sql.SQL("do nothing")
    tail = sql.SQL("on conflict ({}) ").format(ddl.names(key)) + action
    try:
        with session.transaction():
            taken = _insert(session, load, load.table.identifier, tail)
    except pg_errors.CardinalityViolation as error:
        twice = _find_twice(session, load, key)
        raise InvalidRows(f"Duplicate key in the new rows: {twice}", twice) from error
    if taken != load.rows:  # an identical existing row need not be written again
        check_taken(session, load.table, load.rows - _count_absent(session, load, key), load.rows)


def _swap(session: Session, load: Load) -> None:
    if load.partition:
        raise Conflict(f'{load.table}: swap replaces whole tables; in mode partition use write = "replace".')
    check_can_swap(session, load.table)
    twin = make_twin(session, load.table, load.staging.run_id)
    _add(session, load, twin)
    take_place(session, load.table, twin)


_LOADS = {"replace": _replace, "append": _add, "merge": _merge, "swap": _swap}


def _insert(session: Session, load: Load, into: sql.Identifier, tail: sql.Composable = NOTHING) -> int:
    """The number of rows that the table accepted."""
    names = ddl.names(tuple(column.name for column in ddl.all_columns(load.table, load.partition)))
    values = [_value(column) for column in load.table.columns]
    if load.partition:
        values.append(sql.Literal(load.dataid))
    statement = sql.SQL("insert into {} ({}) select {} from {} {} {}")
    parts = into, names, sql.SQL(", ").join(values), load.source, _order(load.table), tail
    return session.execute(statement.format(*parts)).rowcount


def _count_absent(session: Session, load: Load, key: tuple[str, ...]) -> int:
    """The number of staged rows missing from the table; compared as text, since json has no equality."""
    given = sql.SQL(", ").join(
        sql.SQL("{} as {}").format(_value(column), sql.Identifier(column.name))
        for column in load.table.columns
    )
    columns = [sql.Identifier(column.name) for column in load.table.columns]
    values = [sql.SQL("row({})::text").format(_of(side, columns)) for side in ("s", "t")]
    keys = [sql.Identifier(name) for name in key]
    statement = sql.SQL(
        "select count(*) from (select {} from {}) s where not exists "
        "(select 1 from {} t where ({}) = ({}) and {} = {})"
    ).format(given, load.source, load.table.identifier, _of("t", keys), _of("s", keys), *values)
    row = session.execute(statement).fetchone()
    return int(row[0]) if row else 0


def _of(side: str, columns: list[sql.Identifier]) -> sql.Composable:
    return sql.SQL(", ").join(sql.SQL("{}.{}").format(sql.Identifier(side), column) for column in columns)


def _find_twice(session: Session, load: Load, key: tuple[str, ...]) -> str:
    statement = sql.SQL("select {0} from {1} group by {0} having count(*) > 1 limit 1")
    found = session.execute(statement.format(ddl.names(key), load.source))
    return f"Key ({', '.join(key)})=({', '.join(map(str, found.fetchone() or ()))})"


def _value(column: Column) -> sql.Composable:
    name = sql.Identifier(column.name)
    return sql.SQL("{}::{}").format(name, type_sql(column)) if is_cast(column) else name


def _order(table: Table) -> sql.Composable:
    """Rows in key order, so that the key's index is written page by page rather than at random."""
    key = ddl.primary_key(table, None)
    return sql.SQL("order by {}").format(ddl.names(key)) if key else NOTHING
