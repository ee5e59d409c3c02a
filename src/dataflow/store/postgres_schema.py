"""The schema of a store on PostgreSQL: created and upgraded, printed for a DBA, or refused."""

from __future__ import annotations

import time

from dataflow import errors
from dataflow.store.queries import SCHEMA_VERSION, newer_schema, read_migrations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.store.queries import Queries

MIGRATION_TABLE = "CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, name text)"

ONLINE = "-- online\n"
"""First line of a migration that commits each step by itself, so nothing waits while it reads a table."""

POLL_SECONDS = 0.1


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def find_version(connection: Any) -> int:
    """Return the number of the newest applied migration; 0 for none."""
    if connection.execute("SELECT to_regclass('migration')").fetchone()[0] is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0])


def check_version(found: int, shown: str, schema: str) -> None:
    """Raise SchemaMismatch unless the schema is this version's."""
    if found > SCHEMA_VERSION:
        raise newer_schema(shown, found)
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
    missing = [migration for migration in read_migrations() if migration[0] > found]
    if found == 0:
        with connection.transaction():
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}".encode())
            connection.execute(MIGRATION_TABLE)
            for number, name, text in missing:
                connection.execute(_at_once(text, queries).encode())
                _keep(connection, number, name)
    for number, name, text in missing if found else ():
        if text.startswith(ONLINE):
            for statement in _steps(text, queries):
                connection.execute(statement.encode())
            _keep(connection, number, name)
        else:
            with connection.transaction():
                connection.execute(queries.spell(text).encode())
                _keep(connection, number, name)
    return [f"{number:04d}_{name}" for number, name, _ in missing]


def migrations_text(found: int, schema: str, queries: Queries) -> str:
    """Return the upgrade from a version to this one, as SQL for a DBA to run with psql.

    A new schema is created in one transaction. Later migrations run one by one.
    """
    missing = [migration for migration in read_migrations() if migration[0] > found]
    if not missing:
        return f"-- Schema {schema} is at {found}; nothing to do."
    path = f"search_path = {quoted(schema)};"
    if found == 0:
        lines = ["BEGIN;", f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)};", f"SET LOCAL {path}"]
        lines.append(f"{MIGRATION_TABLE};")
        for number, name, text in missing:
            lines += [_at_once(text, queries), _kept(number, name)]
        return "\n".join([*lines, "COMMIT;"])
    lines = [f"SET {path}"]
    for number, name, text in missing:
        body = [queries.spell(text), _kept(number, name)]
        lines += body if text.startswith(ONLINE) else ["BEGIN;", *body, "COMMIT;"]
    return "\n".join(lines)


def _lock(connection: Any) -> None:
    """Let one upgrade run at a time; a second one waits here, then finds nothing to do.

    It polls: a session that waits inside a statement holds a snapshot that an online migration waits for.
    """
    # Building an index waits for open transactions, however long that takes.
    connection.execute("SET lock_timeout = 0")
    while not connection.execute("SELECT pg_try_advisory_lock(hashtext('dataflow upgrade'))").fetchone()[0]:
        time.sleep(POLL_SECONDS)


def _steps(text: str, queries: Queries) -> list[str]:
    """The statements of an online migration."""
    return [step for step in queries.spell(text).split(";\n") if step.strip()]


def _at_once(text: str, queries: Queries) -> str:
    """Return a migration as it can run inside a transaction."""
    return queries.spell(text).replace(" CONCURRENTLY ", " ")


def _keep(connection: Any, number: int, name: str) -> None:
    connection.execute("INSERT INTO migration VALUES (%s, %s)", (number, name))


def _kept(number: int, name: str) -> str:
    return f"INSERT INTO migration VALUES ({number}, '{name}');"
