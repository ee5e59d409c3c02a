"""`dataflow sql` reads and nothing else, on both stores, whatever the statement tries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.actions.register import add_dataset
from dataflow.errors import BadInput
from dataflow.model.records import Dataset
from dataflow.store.opener import open_store
from dataflow.store.store import Store

BOTH = [
    "insert into meta values ('a', 'b')",
    "update dataset set name = 'x'",
    "delete from dataset",
    "drop table dataset",
    "create table x (y int)",
    "alter table dataset add column x int",
    "with gone as (delete from dataset returning *) select * from gone",
    "with x as (insert into meta values ('a', 'b') returning *) select * from x",
    "select 1; delete from dataset",
    "select 1; select 2",
    "select 1 /* ; */ ; /* */ delete from dataset",
    "select 1 -- harmless\n; delete from dataset",
    "/* select */ delete from dataset",
    "begin",
    "commit",
    "savepoint x",
    "reindex",
    "analyze",
    "vacuum",
    "explain analyze delete from dataset",
]
SQLITE = [
    "vacuum into '{folder}/copy.db'",
    "attach database '{folder}/other.db' as other",
    "attach '{folder}/other.db' as other; create table other.x (y)",
    "detach main",
    "pragma user_version = 7",
    "pragma journal_mode = delete",
    "pragma writable_schema = on",
    "select load_extension('{folder}/evil.so')",
    "select * from pragma_user_version(7)",
    "replace into meta values ('a', 'b')",
    "create temp table x (y)",
]
POSTGRES = [
    "copy dataset to program 'cat'",
    "copy dataset to '{folder}/out'",
    "copy (select 1) to stdout",
    "copy dataset from program 'echo'",
    "vacuum full",
    "do $$ begin delete from dataset; end $$",
    "call nothing()",
    "set search_path = public",
    "set session characteristics as transaction read write",
    "reset all",
    "listen x",
    "notify x",
    "lock table dataset",
    "prepare x as delete from dataset",
    "execute x",
    "declare other cursor for select 1",
    "select * into copied from dataset",
    "create table copied as select * from dataset",
    "select * from dataset for update",
    "select pg_terminate_backend(pg_backend_pid())",
    "select pg_terminate_backend/**/(pg_backend_pid())",
    'select "pg_terminate_backend" (pg_backend_pid())',
    'select U&"pg\\005fterminate_backend"(pg_backend_pid())',
    "select pg_catalog . pg_cancel_backend ( -- x\n pg_backend_pid())",
    "select 1 limit length(pg_terminate_backend(0)::text)",
    "values (1), (pg_terminate_backend(0)::int)",
    "select (select pg_terminate_backend(0))",
    "select nextval('run_run_id_seq')",
    "select setval('run_run_id_seq', 1)",
    "select set_config('search_path', 'public', false)",
    "select pg_advisory_lock(1)",
    "select pg_notify('a', 'b')",
    "select pg_sleep(3600)",
    "select lo_create(0)",
    "select lo_export(1, '{folder}/x')",
    "select pg_read_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select pg_stat_reset()",
    "select pg_reload_conf()",
    "select query_to_xml('delete from dataset', true, true, '')",
    "select ts_stat('select to_tsvector(name) from dataset')",
    "select 1) as x, pg_terminate_backend(0) as y, (select 1",
]


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store(store_url, "tester@here")
    opened.database.upgrade()
    add_dataset(opened, Dataset("bobin"))
    yield opened
    opened.close()


def run(store: Store, sql: str) -> list[tuple[object, ...]]:
    return list(store.database.select(sql)[1])


def test_a_query_returns_names_and_rows(store: Store) -> None:
    columns, rows = store.database.select("select name, grain from dataset where name <> 'today'")
    assert (columns, list(rows)) == (["name", "grain"], [("bobin", "text")])


@pytest.mark.parametrize("sql", ["select 1;", "select 1 ; ; ", " -- first\nselect 1", "values (1)"])
def test_a_query_may_have_comments_and_semicolons(store: Store, sql: str) -> None:
    assert run(store, sql) == [(1,)]


def test_a_query_without_rows_still_names_its_columns(store: Store) -> None:
    assert store.database.select("select name from dataset where name = ''")[0] == ["name"]


def test_the_datastatus_view_can_be_read(store: Store) -> None:
    columns = store.database.select("select * from datastatus")[0]
    assert columns == ["datasetid", "jobid", "dataid", "locktype", "status", "modified"]


def test_common_table_expressions_and_functions_that_only_read_are_allowed(store: Store) -> None:
    assert run(store, "with x as (select 2 as y) select y * 2, upper('a'), count(*) from x group by y") == [
        (4, "A", 1)
    ]


@pytest.mark.parametrize("sql", BOTH)
def test_a_statement_that_does_more_than_read_is_refused(store: Store, sql: str) -> None:
    refused(store, sql)


@pytest.mark.parametrize("sql", SQLITE)
def test_a_statement_that_does_more_than_read_is_refused_on_sqlite(
    sqlite_url: str, tmp_path: Path, sql: str
) -> None:
    store = open_store(sqlite_url, "tester@here")
    add_dataset(store, Dataset("bobin"))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    refused(store, sql.replace("{folder}", str(folder)))
    assert not list(folder.iterdir())
    store.close()


def test_a_statement_that_does_more_than_read_is_refused_on_postgresql(
    postgres_url: str, tmp_path: Path
) -> None:
    # One test for all: otherwise each needs its own database, and none of them may change this one.
    store = open_store(postgres_url, "tester@here")
    store.database.upgrade()
    add_dataset(store, Dataset("bobin"))
    for sql in POSTGRES:
        refused(store, sql.replace("{folder}", "/tmp"))
    store.close()


def test_an_error_halfway_through_the_rows_is_reported_as_bad_input(postgres_url: str) -> None:
    store = open_store(postgres_url, "tester@here")
    store.database.upgrade()
    _, rows = store.database.select("select 1 / (5000 - n) from generate_series(1, 6000) as n")
    with pytest.raises(BadInput, match="division by zero"):
        list(rows)
    assert run(store, "select 1") == [(1,)]
    store.close()


def refused(store: Store, sql: str) -> None:
    before = run(store, "select name from dataset order by name")
    with pytest.raises(BadInput):
        run(store, sql)
    assert run(store, "select name from dataset order by name") == before
    assert run(store, "select count(*) from meta where key = 'a'") == [(0,)]
