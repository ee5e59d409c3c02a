"""The schema: created automatically on SQLite, by `upgrade` on PostgreSQL, the same on both."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome
from dataflow.store.opener import open_database
from dataflow.store.postgres import PostgresDatabase
from dataflow.store.queries import SCHEMA_VERSION, SQL_DIR, Queries, read_migrations
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.store import Store
from tests.store.world import SCHEMA, World

if TYPE_CHECKING:
    from dataflow.store.database import Database


BEFORE_CONTROL = [
    "DROP TABLE pool",
    "DROP TABLE pause",
    "DROP INDEX job_pool",
    "ALTER TABLE work DROP COLUMN quarantined",
    *[
        f"ALTER TABLE job DROP COLUMN {name}"
        for name in (
            *("pool", "claim_order", "retry_backoff", "retry_max_delay_seconds"),
            *("final_exit_codes", "max_crashes"),
        )
    ],
]
"""Takes a store back to before pools, pauses and quarantine."""
DEFAULTS_OF_CONTROL: dict[str, Any] = {
    **{"pool": "", "order": "oldest", "retry_backoff": 2.0, "retry_max_delay_seconds": 3600.0},
    **{"final_exit_codes": (), "max_crashes": 5},
}


def drop_watching(world: World) -> None:
    """Take the schema back to before it had incidents."""
    world.poke("DROP INDEX work_incident")
    for column in ("dataset DROP COLUMN fresh_within_seconds", "dataset DROP COLUMN due_by"):
        world.poke(f"ALTER TABLE {column}")
    world.poke("ALTER TABLE work DROP COLUMN incident_id")
    for table in ("dataset_watch", "incident", "notification", "channel", "delivery"):
        world.poke(f"DROP TABLE {table}")
    world.poke("DELETE FROM meta WHERE key = 'outbox'")


def test_migrations_are_numbered_without_gaps_up_to_the_schema_version() -> None:
    assert [number for number, _, _ in read_migrations()] == list(range(1, SCHEMA_VERSION + 1))


def test_a_new_store_has_the_schema_version_of_the_code(world: World) -> None:
    assert world.store.database.schema_version() == SCHEMA_VERSION
    assert world.store.database.upgrade() == []


def test_sqlite_creates_its_schema_on_first_use(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "dataflow.db"
    open_database(f"sqlite:///{path}").close()
    database = SqliteDatabase(str(path))
    assert database.schema_version() == SCHEMA_VERSION
    database.close()


def test_postgresql_requires_an_upgrade(postgres_url: str) -> None:
    database = open_database(postgres_url)
    with pytest.raises(errors.SchemaMismatch, match="dataflow db upgrade"):
        database.read(lambda tx: tx.rows("reading.now"))
    assert database.upgrade() == [f"{number:04d}_{name}" for number, name, _ in read_migrations()]
    assert len(database.read(lambda tx: tx.rows("reading.now"))) == 1
    database.close()


def test_the_printed_schema_is_the_one_that_upgrade_creates(
    postgres_url: str, shared_database_url: str
) -> None:
    by_hand = PostgresDatabase(postgres_url, "dataflow")
    with by_hand._connect() as connection:
        connection.execute(by_hand.migrations_text().encode())
    assert by_hand.schema_version() == SCHEMA_VERSION
    assert by_hand.upgrade() == []
    upgraded = PostgresDatabase(shared_database_url, SCHEMA)
    assert describe(by_hand) == describe(upgraded)
    by_hand.close()
    upgraded.close()


def test_only_the_missing_part_of_the_schema_is_printed(shared_database_url: str) -> None:
    upgraded = PostgresDatabase(shared_database_url, SCHEMA)
    text = upgraded.migrations_text()
    assert text == f"-- Schema {SCHEMA} is at {SCHEMA_VERSION}; nothing to do."


@pytest.mark.parametrize("schema", ['of "eve"', 'x"; DROP SCHEMA public; --'])
def test_the_printed_schema_works_under_any_name(postgres_url: str, schema: str) -> None:
    database = PostgresDatabase(postgres_url, schema)
    text = database.migrations_text()
    with database._connect() as connection:
        connection.execute(text.encode())
        (found,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
    assert (found, database.schema_version()) == (schema, SCHEMA_VERSION)
    assert database.upgrade() == []


def test_the_printed_schema_is_created_as_a_whole_or_not_at_all(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, SCHEMA)
    text = database.migrations_text().replace("COMMIT;", "SELECT 1 / 0;\nCOMMIT;")
    with database._connect() as connection, pytest.raises(Exception, match="division by zero"):
        connection.execute(text.encode())
    assert database.schema_version() == 0


def test_the_whole_schema_is_printed_when_the_store_is_unreachable() -> None:
    database = PostgresDatabase("postgresql://etl:hunter2@127.0.0.1:1/flow", SCHEMA)
    note, _, text = database.migrations_text().partition("\n")
    assert note.startswith("-- The whole schema, because the store could not be read: ")
    assert "hunter2" not in note
    assert text.startswith("BEGIN;") and text.endswith("COMMIT;")


def test_upgrading_an_older_schema_keeps_the_data(tmp_path: Path, postgres_url: str) -> None:
    path = tmp_path / "dataflow.db"
    made = SqliteDatabase(str(path))
    theirs = PostgresDatabase(postgres_url, SCHEMA)
    theirs.upgrade()
    for world in (World(Store(made, "op@desk"), None), World(Store(theirs, "op@desk"), None)):
        world.chain("raw", "clean")
        world.ready("raw", "0", "1")
        world.do("to_clean", "0")
        failed = world.do("to_clean", "1", RunOutcome.FAILED)
        world.poke("UPDATE run SET started_at = '2020-01-01T00:00:00.000Z'")
        world.resubmit("to_clean", "1")
        world.poke("DROP TABLE chunk_version")
        forget_workers(world)
        world.dataset("sales", grain="daily")
        world.dataset("digest.calendar", grain="daily")
        world.job("digest", ["sales", "digest.calendar"], schedule="0 6 1,15 * 1-5")
        world.job("every_day", ["sales"], schedule="30 6 * * *")
        drop_watching(world)
        world.poke("ALTER TABLE job DROP COLUMN days")
        undo_mappings(world)
        for column in ("newest", "reach", "days"):
            world.poke(f"ALTER TABLE job_input DROP COLUMN {column}")
        world.poke("DROP INDEX work_waiting")
        world.poke("ALTER TABLE work DROP COLUMN not_before_clock")
        world.poke("ALTER TABLE work DROP COLUMN called_run_id")
        world.poke("ALTER TABLE job DROP COLUMN timeout_seconds")
        for statement in BEFORE_CONTROL:
            world.poke(statement)
        world.poke("UPDATE job SET script_path = 'pipeline' WHERE name = 'to_clean'")
        world.poke("ALTER TABLE job DROP COLUMN kind")
        undo_change(world)
    made._connection.execute("PRAGMA user_version = 1")
    with theirs._connect() as connection:
        connection.execute(f"DELETE FROM {SCHEMA}.migration WHERE number > 1")
    made.close()
    for database in (SqliteDatabase(str(path)), PostgresDatabase(postgres_url, SCHEMA)):
        database.upgrade()
        world = World(Store(database, "op@desk"), None)
        assert world.select("SELECT version, location FROM chunk_version") == [
            (1, world.chunks("clean")[0].location)
        ]
        assert world.select("SELECT called_run_id FROM work WHERE dataid = '1'") == [(failed.run_id,)]
        assert world.drain("to_clean") == ["1"]
        assert world.plan("to_clean").kind == "view"  # as was guessed before
        assert (world.plan("digest").days, world.plan("every_day").days) == ("1,15 * 1-5", "")
        assert [source.days for source in world.plan("digest").inputs] == ["", "1,15 * 1-5"]
        assert world.plan("digest").job == replace(world.plan("digest").job, **DEFAULTS_OF_CONTROL)
        world.close()
    theirs.close()


def undo_change(world: World) -> None:
    """Takes back migration 13."""
    world.poke("DROP INDEX run_input_chunk")
    for column in ("on_change", "late_after_seconds"):
        world.poke(f"ALTER TABLE job DROP COLUMN {column}")
    for column in ("outdated", "wrong_version"):
        world.poke(f"ALTER TABLE chunk DROP COLUMN {column}")


def test_a_pipeline_registered_by_a_worker_of_the_previous_version_is_recognised(world: World) -> None:
    world.chain("raw", "clean")
    assert not world.plan("to_clean").is_pipeline
    world.poke("UPDATE job SET script_path = 'pipeline'")  # it knows no kinds
    assert (world.plan("to_clean").kind, world.plan("to_clean").is_pipeline) == ("view", True)


def undo_mappings(world: World) -> None:
    """Take back migration 0011."""
    world.poke("ALTER TABLE job_input DROP COLUMN rule")
    world.poke("ALTER TABLE run DROP COLUMN lacked")
    world.poke("DROP TABLE job_pair")
    world.poke("DROP TABLE work_deadline")


def test_the_printed_upgrade_of_an_older_store_works_while_others_write(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, SCHEMA)
    database.upgrade()
    world = World(Store(database, "op@desk"), None)
    forget_workers(world)
    world.poke("DROP INDEX run_dataid")
    drop_watching(world)
    world.poke("ALTER TABLE job DROP COLUMN timeout_seconds")
    world.poke("ALTER TABLE job DROP COLUMN kind")
    world.poke("ALTER TABLE job DROP COLUMN days")
    world.poke("ALTER TABLE job_input DROP COLUMN days")
    undo_mappings(world)
    world.poke("ALTER TABLE work DROP COLUMN called_run_id")
    for statement in BEFORE_CONTROL:
        world.poke(statement)
    undo_change(world)
    with database._connect() as connection:
        connection.execute(f"DELETE FROM {SCHEMA}.migration WHERE number > 4")
    text = database.migrations_text()
    with database._connect() as connection, database._connect() as writer:
        writer.execute("BEGIN")
        writer.execute("INSERT INTO meta VALUES ('open', 'transaction')")
        for statement in text.split(";\n"):  # as psql does: each in its own transaction
            connection.execute(statement.encode())
        writer.execute("ROLLBACK")
    assert world.select("SELECT count(*) FROM pg_indexes WHERE indexname = 'run_dataid'") == [(1,)]
    assert (database.schema_version(), database.upgrade()) == (SCHEMA_VERSION, [])
    world.close()


LARGE = ("chunk", "chunk_version", "work", "work_input", "run", "run_input", "journal")
"""The tables with a row for each chunk or run."""


@pytest.mark.parametrize("migration", read_migrations()[1:], ids=lambda one: one[1])
def test_indexes_of_large_tables_are_built_online(migration: tuple[int, str, str]) -> None:
    text = migration[2]
    indexed = re.findall(r"CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)", text)  # not $concurrently
    created = re.findall(r"CREATE TABLE (\w+)", text)
    assert not (set(indexed) - set(created)) & set(LARGE)
    assert text.startswith("-- online\n") == ("$concurrently" in text)


def test_others_write_while_the_indexes_of_large_tables_are_built(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, SCHEMA)
    database.upgrade()
    world = World(Store(database, "op@desk"), None)
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.poke("DROP INDEX run_input_chunk")
    world.poke("DROP INDEX work_incident")
    for table in ("user_account", "api_token", "web_session"):
        world.poke(f"DROP TABLE {table}")
    world.poke("DELETE FROM migration WHERE number >= 17")
    upgrading = PostgresDatabase(postgres_url, SCHEMA)
    with database._connect() as writer, ThreadPoolExecutor() as threads:
        writer.execute("BEGIN")
        for table in ("run_input", "work"):
            writer.execute(f"DELETE FROM {SCHEMA}.{table} WHERE FALSE".encode())
        upgraded = threads.submit(upgrading.upgrade)
        building = "query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'"
        while world.select(f"SELECT count(*) FROM pg_stat_activity WHERE {building}") != [(1,)]:
            assert not upgraded.done()
        assert world.drain("to_clean") == ["1", "2"]  # claims write to both tables
        assert not upgraded.done()
        writer.execute("ROLLBACK")
        assert upgraded.result(60)[0] == "0017_online_indexes"
    invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
    assert world.select(invalid) == [(0,)]
    upgrading.close()
    world.close()


def test_two_concurrent_upgrades_of_an_older_store_both_succeed(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, SCHEMA)
    database.upgrade()
    undo_mappings(World(Store(database, "op@desk"), None))
    drop_watching(World(Store(database, "op@desk"), None))
    forget_workers(World(Store(database, "op@desk"), None))
    with database._connect() as connection:
        connection.execute(f"DELETE FROM {SCHEMA}.migration WHERE number > 4")
        dropped = ", ".join([f"DROP COLUMN {name}" for name in ("timeout_seconds", "kind", "days")])
        connection.execute(f"ALTER TABLE {SCHEMA}.job {dropped}".encode())
        connection.execute(f"ALTER TABLE {SCHEMA}.job_input DROP COLUMN days")
        connection.execute(f"ALTER TABLE {SCHEMA}.work DROP COLUMN called_run_id")
        for statement in BEFORE_CONTROL:
            connection.execute(statement.encode())
        connection.execute(f"DROP INDEX {SCHEMA}.run_input_chunk")
        dropped = "DROP COLUMN on_change, DROP COLUMN late_after_seconds"
        connection.execute(f"ALTER TABLE {SCHEMA}.job {dropped}".encode())
        dropped = "DROP COLUMN outdated, DROP COLUMN wrong_version"
        connection.execute(f"ALTER TABLE {SCHEMA}.chunk {dropped}".encode())
    other = PostgresDatabase(postgres_url, SCHEMA)
    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(lambda found: found.upgrade(), (database, other)))
    assert sorted(answers) == [
        [],
        [f"{number:04d}_{name}" for number, name, _ in read_migrations() if number > 4],
    ]
    database.close()


def test_an_embedded_store_is_private_to_its_user(tmp_path: Path) -> None:
    path = tmp_path / "dataflow.db"
    before = os.umask(0)
    try:
        database = SqliteDatabase(str(path))
        found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(before)
    assert found == dict.fromkeys(("dataflow.db", "dataflow.db-wal", "dataflow.db-shm"), 384)


@pytest.fixture
def newer_world(world: World) -> Iterator[World]:
    """A store that a later version of DataFlow has upgraded."""
    newer = SCHEMA_VERSION + 1
    is_sqlite = world.store.database.dialect == "sqlite"
    world.poke("ALTER TABLE job ADD COLUMN from_the_future text NOT NULL DEFAULT ''")
    world.poke(
        f"PRAGMA user_version = {newer}" if is_sqlite else f"INSERT INTO migration VALUES ({newer}, 'x')"
    )
    yield world
    if not is_sqlite:
        world.poke(f"DELETE FROM migration WHERE number = {newer}")
    world.poke("ALTER TABLE job DROP COLUMN from_the_future")
    world.poke(f"UPDATE meta SET value = '{SCHEMA_VERSION}' WHERE key = 'oldest_schema'")


def test_a_newer_store_is_refused_if_it_excludes_this_version(newer_world: World) -> None:
    newer = SCHEMA_VERSION + 1
    newer_world.poke(f"UPDATE meta SET value = '{newer}' WHERE key = 'oldest_schema'")
    with pytest.raises(errors.SchemaMismatch, match=rf"has schema {newer}.*Upgrade DataFlow"):
        newer_world.beside().chunks("raw")


def test_a_newer_store_that_does_not_say_whom_it_excludes_is_refused(newer_world: World) -> None:
    newer_world.poke("UPDATE meta SET key = 'unknown' WHERE key = 'oldest_schema'")
    try:
        with pytest.raises(errors.SchemaMismatch, match="Upgrade DataFlow"):
            newer_world.beside().chunks("raw")
    finally:
        newer_world.poke("UPDATE meta SET key = 'oldest_schema' WHERE key = 'unknown'")


def test_this_version_works_on_a_newer_store_that_admits_it(newer_world: World) -> None:
    newer_world.poke(f"UPDATE meta SET value = '{SCHEMA_VERSION}' WHERE key = 'oldest_schema'")
    beside = newer_world.beside()
    beside.chain("raw", "clean")
    beside.ready("raw", "1", "2")
    assert beside.drain("to_clean") == ["1", "2"]
    assert beside.store.database.upgrade() == []
    beside.close()


def test_both_databases_have_the_same_tables_and_columns(sqlite_world: World, postgres_world: World) -> None:
    ours = sqlite_world.select(
        "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c "
        "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite%' ORDER BY 1, c.cid"
    )
    theirs = [row[:2] for row in describe(postgres_world.store.database) if row[0] != "migration"]
    assert ours == theirs


@pytest.mark.parametrize("file", sorted(path.stem for path in Path(SQL_DIR).glob("*.sql")))
def test_both_databases_define_every_placeholder_of_a_query(file: str, world: World) -> None:
    queries = queries_of(world.store.database)
    queries._load(file)
    assert queries._texts
    for name in queries._texts:
        assert "$" not in queries.text(name), name


def forget_workers(world: World) -> None:
    """Undo the migrations that introduced workers, and users after them."""
    for table in ("web_session", "api_token", "user_account"):
        world.poke(f"DROP TABLE {table}")
    world.poke("DROP TABLE worker")
    world.poke("DELETE FROM meta WHERE key = 'oldest_schema'")


def queries_of(database: object) -> Queries:
    assert isinstance(database, SqliteDatabase | PostgresDatabase)
    return database._queries


def describe(database: Database) -> list[tuple[object, ...]]:
    """Every column of every table and view."""
    _, rows = database.select(
        "SELECT table_name::text, column_name::text, data_type, is_nullable, column_default "
        "FROM information_schema.columns WHERE table_schema = current_schema() "
        "ORDER BY table_name, ordinal_position"
    )
    return [tuple(row) for row in rows]
