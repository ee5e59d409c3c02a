"""The schema of a store on PostgreSQL: made and brought up to date, or printed for a DBA, or refused."""

from __future__ import annotations

from dataflow import errors
from dataflow.store.queries import SCHEMA_VERSION, newer_schema, read_migrations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.store.queries import Queries

MIGRATION_TABLE = "CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY, name text)"


def quoted(name: str) -> str:
    """A name as an identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def find_version(connection: Any) -> int:
    """The number of the newest migration applied; 0 for none."""
    if connection.execute("SELECT to_regclass('migration')").fetchone()[0] is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0])


def check_version(found: int, shown: str, schema: str) -> None:
    """Raises SchemaMismatch, with what to do, unless the schema is this version's."""
    if found > SCHEMA_VERSION:
        raise newer_schema(shown, found)
    if found == 0:
        raise errors.SchemaMismatch(
            f"The store {shown} has no DataFlow tables in schema {schema}. Make them: "
            "dataflow db upgrade (or --print for a DBA)"
        )
    if found < SCHEMA_VERSION:
        raise errors.SchemaMismatch(
            f"The store {shown} has schema {found}, this version of DataFlow needs {SCHEMA_VERSION}. "
            "Run: dataflow db upgrade"
        )


def upgrade(connection: Any, schema: str, queries: Queries) -> list[str]:
    """Applies the migrations that are missing, in one transaction, and names them."""
    applied = []
    with connection.transaction():
        # Two upgrades at once: the second waits here and then finds nothing to do.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('dataflow upgrade'))")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}".encode())
        connection.execute(MIGRATION_TABLE)
        found = find_version(connection)
        for number, name, text in read_migrations():
            if number > found:
                connection.execute(queries.spell(text).encode())
                connection.execute("INSERT INTO migration VALUES (%s, %s)", (number, name))
                applied.append(f"{number:04d}_{name}")
    return applied


def migrations_text(found: int, schema: str, queries: Queries) -> str:
    """What takes a store from a version to this one, as SQL for a DBA to run: all of it or nothing."""
    missing = [migration for migration in read_migrations() if migration[0] > found]
    if not missing:
        return f"-- Schema {schema} is at {found}; nothing is missing."
    lines = ["BEGIN;", f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)};"]
    lines += [f"SET LOCAL search_path = {quoted(schema)};", f"{MIGRATION_TABLE};"]
    for number, name, text in missing:
        lines += [queries.spell(text), f"INSERT INTO migration VALUES ({number}, '{name}');"]
    return "\n".join([*lines, "COMMIT;"])
