"""The target table's definition: created if missing, otherwise compared; keys, indexes and comment."""

from __future__ import annotations

import hashlib
from collections.abc import Set

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.postgres.copy_out import list_type_names
from dataflow.pipelines.postgres.table import Column, Table, type_sql
from dataflow.pipelines.postgres.transactions import Session, fetch_named
from dataflow.pipelines.shape.fields import LONGEST_NAME

TABLES = (("r",), ("p",))
"""The values of relkind, as rows: an ordinary or a partitioned table."""
INDEXES_ELSEWHERE = "select indexname from pg_indexes where schemaname = %s and tablename <> %s"


def create_table(session: Session, table: Table, partition: str | None) -> None:
    """Create the table without its constraints: they cost half as much once the rows are in."""
    columns = sql.SQL(", ").join(_definition(column) for column in all_columns(table, partition))
    session.execute(sql.SQL("create table {} ({})").format(table.identifier, columns))


def add_constraints(session: Session, table: Table, partition: str | None) -> None:
    """Add NOT NULL, PRIMARY KEY and UNIQUE to a new table in one pass over the rows."""
    parts = [
        sql.SQL("alter column {} set not null").format(sql.Identifier(column.name))
        for column in all_columns(table, partition)
        if column.not_null or column.primary_key
    ]
    if key := primary_key(table, partition):
        parts.append(sql.SQL("add primary key ({})").format(names(key)))
    parts += [sql.SQL("add unique ({})").format(names(unique)) for unique in _uniques(table, partition)]
    if parts:
        session.execute(sql.SQL("alter table {} {}").format(table.identifier, sql.SQL(", ").join(parts)))


def check_table_fits(session: Session, table: Table, partition: str | None) -> None:
    """Refuse a table whose columns differ from the mapping's, naming the differences.

    One change is made: a new nullable column of the mapping is added (readers wait until the
    commit). A column that only the table has is left alone if it has a default or is an identity.
    """
    identifier = table.identifier.as_string(session)
    kind_of = "select relkind from pg_class where oid = to_regclass(%s)"
    if session.execute(kind_of, (identifier,)).fetchone() not in TABLES:
        raise Conflict(f"{table} exists but is not a table. Drop it, or name another table.")
    rows = fetch_named(session, "catalogue.columns", (identifier,))
    found = {name: kind for name, kind, _ in rows}
    filled = {name for name, _, is_filled in rows if is_filled}
    columns = all_columns(table, partition)
    wanted = dict(zip((column.name for column in columns), _canonical_types(session, columns), strict=True))
    new = [column for column in columns if column.name not in found]
    differences = [
        f"column {name} is {found[name]}, but the mapping says {kind}"
        for name, kind in wanted.items()
        if name in found and found[name] != kind
    ]
    differences += [f"the mapping has no column {name}" for name in found.keys() - wanted.keys() - filled]
    differences += [f"the table has no column {column.name}" for column in new if _is_constrained(column)]
    if differences:
        raise Conflict(
            f"Table {table} does not match the mapping: {'; '.join(sorted(differences))}. "
            "Alter the table or the mapping, or name another table."
        )
    for column in new:
        statement = sql.SQL("alter table {} add column {}")
        session.execute(statement.format(table.identifier, _definition(column)))


def has_key(session: Session, table: Table, partition: str | None, columns: tuple[str, ...]) -> bool:
    """True if the table enforces that rows of a dataid are unique in these columns, now or once created."""
    name = table.identifier.as_string(session)
    if session.execute("select to_regclass(%s)", (name,)).fetchone() == (None,):
        keys = [primary_key(table, partition), *_uniques(table, partition)]
    else:
        keys = [tuple(found) for (found,) in fetch_named(session, "catalogue.keys", (name,))]
    return any(key and {*key} <= {*columns, partition} for key in keys)


def check_keys(session: Session, table: Table, partition: str | None) -> None:
    """Refuse a table that would not detect a duplicate key among its old rows and the new ones."""
    for key in (primary_key(table, partition), *_uniques(table, partition)):
        if key and not has_key(session, table, partition, key):
            columns = names(key).as_string(session)
            raise Conflict(
                f"Table {table} has no unique key on {', '.join(key)}, which the mapping declares unique. "
                f"Add one: alter table {table.identifier.as_string(session)} add unique ({columns})"
            )


def list_indexes_elsewhere(session: Session, table: Table) -> set[str]:
    """The names of indexes on other tables of its schema."""
    return {name for (name,) in session.execute(INDEXES_ELSEWHERE, (table.schema, table.name)).fetchall()}


def add_indexes(session: Session, table: Table, partition: str | None, taken: Set[str] = frozenset()) -> None:
    """Create the declared indexes that are missing, under free names; readers are not blocked."""
    wanted = list(table.indexes)
    if partition and not primary_key(table, partition):
        wanted.append((partition,))  # otherwise replacing one dataid would read the whole table
    for columns in wanted:
        name = _index_name(table, columns)
        if name in taken:
            name = _index_name(table, columns, always=True)
        statement = sql.SQL("create index if not exists {} on {} ({})")
        session.execute(statement.format(sql.Identifier(name), table.identifier, names(columns)))


def add_comment(session: Session, table: Table) -> None:
    """Set the declared comment; without one, the existing comment stays."""
    if table.comment:
        statement = sql.SQL("comment on table {} is {}")
        session.execute(statement.format(table.identifier, sql.Literal(table.comment)))


def all_columns(table: Table, partition: str | None) -> tuple[Column, ...]:
    """The mapping's columns plus the one that holds the dataid, if any."""
    return (*table.columns, Column(partition, "text", not_null=True)) if partition else table.columns


def primary_key(table: Table, partition: str | None) -> tuple[str, ...]:
    """The key's columns; where each dataid has its own rows, the dataid comes first."""
    key = tuple(column.name for column in table.columns if column.primary_key)
    return (partition, *key) if partition and key else key


def names(columns: tuple[str, ...]) -> sql.Composed:
    """Column names as a list for a statement."""
    return sql.SQL(", ").join(sql.Identifier(name) for name in columns)


def _uniques(table: Table, partition: str | None) -> list[tuple[str, ...]]:
    unique = [column.name for column in table.columns if column.unique]
    return [(partition, name) if partition else (name,) for name in unique]


def _is_constrained(column: Column) -> bool:
    return column.not_null or column.primary_key or column.unique


def _definition(column: Column) -> sql.Composed:
    return sql.SQL("{} {}").format(sql.Identifier(column.name), type_sql(column))


def _canonical_types(session: Session, columns: tuple[Column, ...]) -> list[str]:
    """The mapping's types as PostgreSQL writes them: `decimal(5)` is `numeric(5,0)`."""
    nulls = sql.SQL(", ").join(sql.SQL("null::{}").format(type_sql(column)) for column in columns)
    result = session.execute(sql.SQL("select {}").format(nulls)).pgresult
    assert result is not None
    return [kind for kind, _ in list_type_names(session, result)]


def _index_name(table: Table, columns: tuple[str, ...], always: bool = False) -> str:
    """The name of an index; with a digest of its columns if the name is too long, or `always`."""
    name = "_".join((table.name, *columns, "idx"))
    if len(name.encode()) <= LONGEST_NAME and not always:
        return name
    digest = hashlib.sha256(repr((table.name, columns)).encode()).hexdigest()[:12]
    return f"{name.encode()[:40].decode(errors='ignore')}_{digest}_idx"
