"""PostgreSQL as a source: all rows once, from one snapshot, in their types."""

from __future__ import annotations

import datetime
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from dataflow.errors import BadInput, DataFlowError, FetchStopped
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.postgres.table_source import PostgresSource
from tests.pipelines.postgres.orders import query

SOON_SECONDS = 20
"""What counts as immediate on a busy machine."""


def make_source(url: str, **options: Any) -> PostgresSource:
    return PostgresSource(Connection("warehouse", url), **options)


def read(source: PostgresSource, folder: Path) -> list[pa.Table]:
    parts = list(source.read(str(folder)))
    tables = [pa.parquet.read_table(part.path) for part in parts]
    assert [part.rows for part in parts] == [table.num_rows for table in tables]
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert all(part.size == Path(part.path).stat().st_size for part in parts)
    return tables


def read_ids(tables: list[pa.Table]) -> list[int]:
    return sorted(value for table in tables for value in table["id"].to_pylist())


def test_every_type_is_read_as_itself_or_as_exact_text(postgres_url: str, tmp_path: Path) -> None:
    query(
        postgres_url,
        """create table kinds as select 1::smallint as a, 2::bigint as b, 0.1::float8 as c, true as d,
            date '2024-02-29' as e, timestamptz '2024-02-29 12:00:00.5+05:30' as f,
            timestamp '1900-01-01' as g,
            12345678901234567890.12::numeric(38,2) as h, 0.123456789012345678901234567890::numeric as i,
            '01020304-0506-0708-090a-0b0c0d0e0f10'::uuid as j, '{"a":1}'::jsonb as k,
            array['x', null, '', 'a,"b'] as l, 'two' || chr(10) || '"lines"' as m, '' as n,
            null::text as o""",
    )
    query(postgres_url, "insert into kinds default values")
    rows = pa.concat_tables(read(make_source(postgres_url, table="kinds"), tmp_path)).to_pylist()
    assert rows[0] == {
        "a": 1,
        "b": 2,
        "c": 0.1,
        "d": True,
        "e": datetime.date(2024, 2, 29),
        "f": datetime.datetime(2024, 2, 29, 6, 30, 0, 500000, datetime.UTC),
        "g": datetime.datetime(1900, 1, 1),
        "h": Decimal("12345678901234567890.12"),
        "i": "0.123456789012345678901234567890",
        "j": "01020304-0506-0708-090a-0b0c0d0e0f10",
        "k": '{"a": 1}',
        "l": ["x", None, "", 'a,"b'],
        "m": 'two\n"lines"',
        "n": "",
        "o": None,
    }
    assert set(rows[1].values()) == {None}


def test_a_table_is_split_by_its_pages(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.pipelines.postgres.table_source.PAGES_PER_PART", 7)
    query(
        postgres_url, "create table big as select n as id, repeat('x', 100) from generate_series(1, 5000) n"
    )
    tables = read(make_source(postgres_url, table="big"), tmp_path)
    assert len(tables) > 5
    assert read_ids(tables) == list(range(1, 5001))


@pytest.mark.parametrize("column", ["id", "day", "moment"])
def test_a_query_is_split_by_ranges_of_a_column_including_null(
    postgres_url: str, tmp_path: Path, column: str
) -> None:
    select = """select nullif(n, 7) as id, date '2024-01-01' + n as day,
                    nullif(now() + n * interval '1 hour', now()) as moment
                from generate_series(0, 1000) n; """
    tables = read(make_source(postgres_url, query=select, split_column=column, split_parts=4), tmp_path)
    assert len(tables) == 4
    assert min(table.num_rows for table in tables) >= 249
    assert sum(table.num_rows for table in tables) == 1001


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_are_read_in_one_part(postgres_url: str, tmp_path: Path, rows: int) -> None:
    select = f"select n as id from generate_series(1, {rows}) n -- no more"
    tables = read(make_source(postgres_url, query=select, split_column="id"), tmp_path)
    assert read_ids(tables) == list(range(1, rows + 1))


def test_all_parts_show_one_snapshot_despite_concurrent_writes(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.pipelines.postgres.table_source.PAGES_PER_PART", 2)
    query(
        postgres_url,
        "create table accounts as select n as id, 100 as balance from generate_series(1, 2000) n",
    )
    over = threading.Event()

    def transfer() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            while not over.is_set():
                connection.execute(
                    "update accounts set balance = balance + case id when 1 then 1 else -1 end "
                    "where id in (1, 2000)"
                )

    writer = threading.Thread(target=transfer)
    writer.start()
    try:
        tables = read(make_source(postgres_url, table="accounts"), tmp_path)
    finally:
        over.set()
        writer.join()
    assert len(tables) > 3
    assert read_ids(tables) == list(range(1, 2001))
    assert sum(sum(table["balance"].to_pylist()) for table in tables) == 200_000


def test_views_and_partitioned_tables_are_read_in_one_part(postgres_url: str, tmp_path: Path) -> None:
    query(postgres_url, "create view numbers as select n as id from generate_series(1, 10) n")
    assert read_ids(read(make_source(postgres_url, table="numbers"), tmp_path)) == list(range(1, 11))


@pytest.mark.parametrize(
    "select",
    [
        "delete from victims returning id",
        "with gone as (delete from victims returning id) select id from gone",
        "select 1 as id; drop table victims",
        "select 1 as id) as source; commit; drop table victims; select (1",
        "select 1 as id) as source) to program 'true' --",
        "select setval('counter', 7) as id",
        "select 1 as id, 2 as id",
        "select no_such_column from victims",
        "drop table victims",
        "",
    ],
)
def test_anything_but_one_read_only_select_is_refused(postgres_url: str, tmp_path: Path, select: str) -> None:
    query(postgres_url, "create table victims as select 1 as id")
    query(postgres_url, "create sequence counter")
    with pytest.raises(DataFlowError):
        read(make_source(postgres_url, query=select), tmp_path)
    assert query(postgres_url, "select count(*) from victims") == [(1,)]
    assert query(postgres_url, "select last_value from counter") == [(1,)]
    assert list(tmp_path.glob("*.parquet")) == []


def test_a_column_that_cannot_be_split_by_is_named(postgres_url: str, tmp_path: Path) -> None:
    for column, message in (("name", "cannot be split by"), ("other", "no column other")):
        source = make_source(postgres_url, query="select 'a' as name", split_column=column)
        with pytest.raises(BadInput, match=message):
            read(source, tmp_path)


def test_a_value_unknown_to_arrow_is_reported_and_leaves_no_part(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(DataFlowError, match="infinity"):
        read(make_source(postgres_url, query="select timestamptz 'infinity' as moment"), tmp_path)
    assert list(tmp_path.glob("*.parquet")) == []


ENDLESS = "select id, pg_sleep(60)::text as nap from generate_series(1, 2) as id"


@pytest.mark.parametrize("options", [{}, {"split_column": "id"}], ids=["copying", "looking for ranges"])
def test_a_stop_ends_reading_soon_and_cancels_the_database_work(
    postgres_url: str, tmp_path: Path, options: dict[str, str]
) -> None:
    stop = threading.Event()
    threading.Timer(1, stop.set).start()
    began_at = time.monotonic()
    with pytest.raises(FetchStopped):
        list(make_source(postgres_url, query=ENDLESS, **options).read(str(tmp_path), stop))
    assert time.monotonic() - began_at < SOON_SECONDS
    active = "select count(*) from pg_stat_activity where datname = current_database() and query like '%nap%'"
    assert query(postgres_url, f"{active} and state <> 'idle' and pid <> pg_backend_pid()") == [(0,)]


def test_a_failing_part_cancels_the_others(postgres_url: str, tmp_path: Path) -> None:
    query(
        postgres_url,
        # Declared immutable, so that finding the ranges does not call it.
        """create function nap(id int) returns text language plpgsql immutable as
        $$ begin perform pg_sleep(case when id > 1 then 60 else 1 end); return 1 / (id - 1); end $$""",
    )
    select = "select id, nap(id) as nap from generate_series(1, 16) as id"
    began_at = time.monotonic()
    with pytest.raises(DataFlowError, match="division by zero"):
        list(make_source(postgres_url, query=select, split_column="id").read(str(tmp_path)))
    assert time.monotonic() - began_at < SOON_SECONDS


def test_a_table_replaced_before_it_is_read_does_not_look_empty(postgres_url: str, tmp_path: Path) -> None:
    query(postgres_url, "create table state as select 1 as id")
    found: list[Any] = []

    def take() -> None:
        try:
            found.append(read_ids(read(make_source(postgres_url, table="state"), tmp_path)))
        except DataFlowError as error:
            found.append(str(error))

    reader = threading.Thread(target=take)
    with psycopg.connect(postgres_url) as held:
        held.execute("drop table state; create table state as select 2 as id")
        reader.start()
        while reader.is_alive() and not query(postgres_url, "select 1 from pg_locks where not granted"):
            reader.join(0.05)
    reader.join()
    assert found == ["Table public.state was replaced before it was read. Run it again."]
