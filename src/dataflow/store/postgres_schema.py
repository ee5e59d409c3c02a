"""The schema of a store on PostgreSQL: created and upgraded, printed for a DBA, or refused."""

from __future__ import annotations

import time
from contextlib import nullcontext

from dataflow import errors
from dataflow.store.queries import OLDEST_SCHEMA, SCHEMA_VERSION, read_migrations, refuse_newer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dataflow.store.queries import Queries

MIGRATION_TABLE = "CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, name text)"

ONLINE = "-- online\n"
"""First line of a migration that commits each step by itself, so nothing waits while it reads a table."""

POLL_SECONDS = 0.1

# In the round trip that exists already: a condition, and what PGDATESTYLE overrides among the options.
FIND_TABLE = """SELECT to_regclass('migration'), set_config('datestyle', 'ISO', false),
CASE current_setting('synchronous_commit') WHEN 'off'
     THEN set_config('synchronous_commit', 'on', false) END"""
"""Find our tables and set up the session: a commit that the server may forget does not count."""


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def find_version(connection: Any) -> int:
    """Set up a new session; return the number of the newest applied migration, 0 for none."""
    if connection.execute(FIND_TABLE).fetchone()[0] is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0])


def check_version(connection: Any, shown: str, schema: str) -> None:
    """Raise SchemaMismatch unless this code may work on the schema."""
    found = find_version(connection)
    if found > SCHEMA_VERSION:
        row = connection.execute(OLDEST_SCHEMA).fetchone()
        refuse_newer(shown, found, row[0] if row else None)
    if found == 0:
        raise errors.SchemaMismatch(
            f"The store {shown} has no DataFlow tables in schema {schema}. Create them: dataflow db "
            "upgrade (or --print for a DBA)"
        )
    if found < SCHEMA_VERSION:
        raise errors.SchemaMismatch(
            f"The store {shown} has schema {found}; this version of DataFlow needs {SCHEMA_VERSION}. "
            "Run: dataflow db upgrade"
        )


def upgrade(connection: Any, schema: str, queries: Queries) -> list[str]:
    """Apply the missing migrations and return their names; a new store gets all in one transaction."""
    _lock(connection)
    found = find_version(connection)
    for is_transaction, statements in _blocks(found, schema, queries):
        with connection.transaction() if is_transaction else nullcontext():
            for statement in statements:
                connection.execute(statement.encode())
    return [f"{number:04d}_{name}" for number, name, _ in _missing(found)]


def migrations_text(found: int, schema: str, queries: Queries) -> str:
    """Return the upgrade from a version to this one, as SQL for a DBA to run with psql."""
    if not _missing(found):
        return f"-- Schema {schema} is at {found}; nothing to do."
    lines = [f"SET search_path = {quoted(schema)};"] if found else []
    for is_transaction, statements in _blocks(found, schema, queries):
        lines += ["BEGIN;", *statements, "COMMIT;"] if is_transaction else statements
    return "\n".join(lines)


def _missing(found: int) -> list[tuple[int, str, str]]:
    return [migration for migration in read_migrations() if migration[0] > found]


def _blocks(found: int, schema: str, queries: Queries) -> Iterator[tuple[bool, list[str]]]:
    """Yield the statements of an upgrade in blocks, each with whether it is one transaction.

    A new schema is created in one. Later migrations run one by one, online ones without a transaction.
    """
    if found == 0:
        named = quoted(schema)
        created = [f"CREATE SCHEMA IF NOT EXISTS {named};", f"SET LOCAL search_path = {named};"]
        created.append(f"{MIGRATION_TABLE};")
        for number, name, text in _missing(found):
            created += [queries.spell(text).replace(" CONCURRENTLY ", " "), _kept(number, name)]
        yield True, created
        return
    for number, name, text in _missing(found):
        body, is_online = queries.spell(text), text.startswith(ONLINE)
        steps = [f"{step};" for step in body.split(";\n") if step.strip()] if is_online else [body]
        yield not is_online, [*steps, _kept(number, name)]


def _lock(connection: Any) -> None:
    """Let one upgrade run at a time; a second one waits here, then finds nothing to do.

    It polls: a session that waits inside a statement holds a snapshot that an online migration waits for.
    """
    # Building an index waits for open transactions, however long that takes.
    connection.execute("SET lock_timeout = 0")
    while not connection.execute("SELECT pg_try_advisory_lock(hashtext('dataflow upgrade'))").fetchone()[0]:
        time.sleep(POLL_SECONDS)


def _kept(number: int, name: str) -> str:
    return f"INSERT INTO migration VALUES ({number}, '{name}');"
