"""Effects of publishing on the table, and what its readers see."""

from __future__ import annotations

import threading
import time
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

from dataflow.errors import BadInput, Conflict, InvalidRows, Superseded, TargetError, TargetLocked
from dataflow.model.record import replace
from dataflow.pipelines.handover.records import Staged
from dataflow.pipelines.postgres.ddl import add_indexes, create_table, list_indexes_elsewhere
from dataflow.pipelines.postgres.rejects_table import rejects_name
from dataflow.pipelines.postgres.table import Column
from dataflow.pipelines.shape.checks import sql, unique
from dataflow.pipelines.shape.shaped import Reject
from tests.pipelines.postgres.orders import (
    COLUMNS,
    ORDERS,
    list_staging,
    load,
    make_rows,
    make_target,
    query,
    read_orders,
    stage,
    wait_for_waiting,
)

STRATEGIES = ("replace", "swap")


def test_the_first_load_creates_the_table_with_its_constraints(postgres_url: str) -> None:
    assert load(make_target(postgres_url), [(2, "b", Decimal("1.50")), (1, "a", None)]).rows == 2
    assert query(postgres_url, "select * from orders order by id") == [
        (1, "a", None),
        (2, "b", Decimal("1.50")),
    ]
    with pytest.raises(psycopg.errors.UniqueViolation):
        query(postgres_url, "insert into orders values (1, 'again', null)")
    with pytest.raises(psycopg.errors.NotNullViolation):
        query(postgres_url, "insert into orders values (3, null, null)")
    assert query(postgres_url, "select relpersistence from pg_class where relname = 'orders'") == [("p",)]
    assert list_staging(postgres_url) == []


def test_a_table_created_in_a_schema_with_default_grants_has_them(postgres_url: str) -> None:
    query(postgres_url, "alter default privileges in schema public grant select on tables to pg_monitor")
    load(make_target(postgres_url), make_rows(3))
    assert query(postgres_url, "select has_table_privilege('pg_monitor', 'orders', 'select')") == [(True,)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_later_load_replaces_all_rows(postgres_url: str, strategy: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    load(make_target(postgres_url, 2, strategy=strategy), make_rows(2, "new", first=1))
    assert read_orders(postgres_url) == [(1, "new"), (2, "new")]


@pytest.mark.parametrize("later", [False, True], ids=["first load", "later load"])
def test_rows_of_attempts_that_were_not_accepted_are_never_published(postgres_url: str, later: bool) -> None:
    if later:
        load(make_target(postgres_url, 1), make_rows(1, "old"))
    target = make_target(postgres_url, 2)
    target.begin()
    stage(target, make_rows(3, "lost"), "1.0")
    accepted = [stage(target, make_rows(2), "1.1"), stage(target, make_rows(2, first=2), "2.0")]
    target.publish(accepted)
    assert read_orders(postgres_url) == [(number, "x") for number in range(4)]


@pytest.mark.parametrize("later", [False, True], ids=["first load", "later load"])
def test_nothing_is_published_when_staged_rows_are_missing(postgres_url: str, later: bool) -> None:
    if later:
        load(make_target(postgres_url, 1), make_rows(1, "old"))
    target = make_target(postgres_url, 2)
    target.begin()
    staged = stage(target, make_rows(3))
    with pytest.raises(TargetError, match=r"staged 4 rows, but .* has 3"):
        target.publish([replace(staged, rows=4)])
    with pytest.raises(TargetError, match=r"staged 3 rows, but .* has 0"):
        target.publish([staged, Staged("2.0", 3, 9)])
    assert query(postgres_url, "select to_regclass('orders') is not null") == [(later,)]


def test_publishing_nothing_empties_the_table(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3))
    target = make_target(postgres_url, 2)
    target.begin()
    empty = target.writer().write(iter([]), "1.0")
    assert target.publish([empty]).rows == 0
    assert read_orders(postgres_url) == []


def test_of_two_runs_the_older_is_refused(postgres_url: str) -> None:
    older, newer = make_target(postgres_url, 1), make_target(postgres_url, 2)
    older.begin()
    staged = stage(older, make_rows(3, "older"))
    newer.begin()
    with pytest.raises(Superseded, match="newer run 2"):
        older.publish([staged])
    newer.publish([stage(newer, make_rows(2, "newer"))])
    with pytest.raises(Superseded, match="newer run 2"):
        older.publish([staged])
    with pytest.raises(Superseded, match="newer run 2"):
        older.begin()
    assert read_orders(postgres_url) == [(0, "newer"), (1, "newer")]


def test_in_mode_snapshot_an_older_dataid_never_replaces_a_newer_one(postgres_url: str) -> None:
    older = make_target(postgres_url, 3, "2024-01-01")
    older.begin()
    staged = stage(older, make_rows(1, "older"))
    load(make_target(postgres_url, 2, "2024-01-02"), make_rows(1, "newer"))
    with pytest.raises(Superseded, match=r"holds dataid 2024-01-02"):
        older.publish([staged])
    with pytest.raises(Superseded, match=r"holds dataid 2024-01-02"):
        make_target(postgres_url, 4, "2023-12-31").begin()
    load(make_target(postgres_url, 5, "2024-01-03"), make_rows(1, "newest"))
    assert read_orders(postgres_url) == [(0, "newest")]


@pytest.mark.parametrize("key", [COLUMNS, tuple(Column(c.name, c.sql_type) for c in COLUMNS)])
def test_in_mode_partition_only_that_dataids_rows_are_replaced(
    postgres_url: str, key: tuple[Column, ...]
) -> None:
    table = replace(ORDERS, columns=key)
    for run_id, dataid, name in ((1, "d1", "a"), (2, "d2", "b"), (3, "d1", "c")):
        load(make_target(postgres_url, run_id, dataid, mode="partition", table=table), make_rows(2, name))
    found = query(postgres_url, "select dataid, id, name from orders order by 1, 2")
    assert found == [("d1", 0, "c"), ("d1", 1, "c"), ("d2", 0, "b"), ("d2", 1, "b")]
    indexes = query(postgres_url, "select indexdef from pg_indexes where tablename = 'orders'")
    assert len(indexes) == 1 and "(dataid" in indexes[0][0]


def test_two_dataids_may_create_the_table_at_the_same_time(postgres_url: str) -> None:
    # Each halts where it writes the table's comment: the table is created, but not yet committed.
    query(
        postgres_url,
        """create function halt() returns event_trigger language plpgsql as
               $$ begin perform pg_advisory_xact_lock(4711); end $$;
           create event trigger halt on ddl_command_end when tag in ('COMMENT') execute function halt()""",
    )
    table = replace(ORDERS, comment="all of them")
    targets = [make_target(postgres_url, run, f"d{run}", mode="partition", table=table) for run in (1, 2)]
    threads = [threading.Thread(target=load, args=(target, make_rows(50))) for target in targets]
    with psycopg.connect(postgres_url, autocommit=True) as halting:
        halting.execute("select pg_advisory_lock(4711)")
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_for_waiting(postgres_url, number)
    for thread in threads:
        thread.join()
    counts = query(postgres_url, "select dataid, count(*) from orders group by 1 order by 1")
    assert counts == [("d1", 50), ("d2", 50)]


def test_rows_a_straggler_commits_during_the_first_publish_are_excluded(postgres_url: str) -> None:
    target = make_target(postgres_url)
    target.begin()
    staged = stage(target, make_rows(3))
    publishing = threading.Thread(target=target.publish, args=([staged],))
    with psycopg.connect(postgres_url) as straggler:
        straggler.execute(f"insert into {target.staging} values (9, 'straggler', null, 0)")
        publishing.start()
        wait_for_waiting(postgres_url, 1)
    publishing.join()
    assert read_orders(postgres_url) == [(number, "x") for number in range(3)]


def test_a_table_of_one_dataid_has_no_dataid_column(postgres_url: str) -> None:
    target = make_target(postgres_url, mode="partition", whole_table=True)
    load(target, make_rows(2))
    load(make_target(postgres_url, 2, mode="partition", whole_table=True), make_rows(1))
    assert query(postgres_url, "select * from orders") == [(0, "x", None)]


def test_append_adds_rows_but_never_the_same_dataid_twice(postgres_url: str) -> None:
    for run_id, dataid in ((1, "d1"), (2, "d2")):
        load(make_target(postgres_url, run_id, dataid, mode="partition", strategy="append"), make_rows(2))
    with pytest.raises(Conflict, match=r"appended to public\.orders by run 1, .* dataflow mark JOB d1 READY"):
        load(make_target(postgres_url, 3, "d1", mode="partition", strategy="append"), make_rows(2))
    assert query(postgres_url, "select count(*) from orders") == [(4,)]


def test_dataids_may_be_appended_in_any_order(postgres_url: str) -> None:
    for run_id, dataid in ((2, "d2"), (1, "d1")):
        first = 10 * run_id
        load(make_target(postgres_url, run_id, dataid, strategy="append"), make_rows(2, first=first))
    assert query(postgres_url, "select count(*) from orders") == [(4,)]


def test_two_tables_whose_index_names_collide_both_get_their_index(postgres_url: str) -> None:
    one = replace(ORDERS, name="orders_id", indexes=(("name",),), columns=ORDERS.columns)
    columns = (*ORDERS.columns, Column("id_name", "text"))
    other = replace(ORDERS, indexes=(("id_name",),), columns=columns)
    with psycopg.connect(postgres_url) as session:
        for table in (one, other):
            create_table(session, table, None)
        for table in (one, other, one, other):
            add_indexes(session, table, None, list_indexes_elsewhere(session, table))
    found = query(postgres_url, "select tablename from pg_indexes where indexname ~ '_idx$' order by 1")
    assert found == [("orders",), ("orders_id",)]


def test_merge_updates_existing_keys_and_inserts_the_others(postgres_url: str) -> None:
    load(make_target(postgres_url, 1, "d1", mode="partition", strategy="merge"), make_rows(3, "old"))
    load(make_target(postgres_url, 2, "d2", mode="partition", strategy="merge"), make_rows(3, "new", first=2))
    expected = [(0, "old"), (1, "old"), (2, "new"), (3, "new"), (4, "new")]
    assert read_orders(postgres_url) == expected


@pytest.mark.parametrize("strategy", ["replace", "swap", "append", "merge"])
def test_a_duplicate_key_is_named_and_the_old_rows_stay(postgres_url: str, strategy: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(3, "old"))
    twice = [(7, "a", None), (7, "b", None)]
    with pytest.raises(InvalidRows) as raised:
        load(make_target(postgres_url, 2, "d2", strategy=strategy), twice)
    assert "Key (id)=(7)" in raised.value.detail
    assert "Key (id)=(7)" in str(raised.value) and "public.orders" in str(raised.value)
    assert read_orders(postgres_url) == [(number, "old") for number in range(3)]


def test_a_duplicate_key_in_a_first_load_leaves_no_table(postgres_url: str) -> None:
    target = make_target(postgres_url)
    with pytest.raises(InvalidRows, match=r"Key \(id\)=\(7\)"):
        load(target, [(7, "a", None), (7, "b", None)])
    assert query(postgres_url, "select to_regclass('orders')") == [(None,)]
    assert list_staging(postgres_url) == [target.staging.name]


@pytest.mark.parametrize("strategy", ["replace", "merge"])
def test_dependent_views_grants_and_foreign_keys_survive(postgres_url: str, strategy: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    query(postgres_url, "create view names as select name from orders")
    query(postgres_url, "grant select on orders to pg_monitor")
    query(postgres_url, "create table lines (order_id integer references orders deferrable)")
    query(postgres_url, "insert into lines values (2)")
    load(make_target(postgres_url, 2, strategy=strategy), make_rows(3, "new"))
    assert query(postgres_url, "select distinct name from names") == [("new",)]
    assert query(postgres_url, "select has_table_privilege('pg_monitor', 'orders', 'select')") == [(True,)]


def test_rows_held_by_a_foreign_key_are_reported_with_advice(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    query(postgres_url, "create table lines (order_id integer references orders deferrable)")
    query(postgres_url, "insert into lines values (2)")
    with pytest.raises(Conflict, match=r"Key \(id\)=\(2\) is still referenced .* Make the foreign key defer"):
        load(make_target(postgres_url, 2), make_rows(2, "new"))
    assert len(read_orders(postgres_url)) == 3


def test_a_concurrent_reader_never_sees_an_empty_or_partial_table(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(500, "0"))
    seen: set[tuple[int, int]] = set()
    over = threading.Event()

    def read() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            while not over.is_set():
                row = connection.execute("select count(*), count(distinct name) from orders").fetchone()
                seen.add(row or (0, 0))

    reader = threading.Thread(target=read)
    reader.start()
    for run_id in range(2, 20):
        load(make_target(postgres_url, run_id, strategy=STRATEGIES[run_id % 2]), make_rows(500, str(run_id)))
    over.set()
    reader.join()
    assert seen == {(500, 1)}


def test_the_wait_for_a_lock_is_limited_and_its_holder_is_named(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(3, "old"))
    target = make_target(postgres_url, 2, lock_seconds=0.2)
    target.begin()
    staged = stage(target, make_rows(3, "new"))
    with psycopg.connect(postgres_url, application_name="nightly report") as connection:
        connection.execute("lock table orders in share mode")
        pid = connection.info.backend_pid
        begun = time.monotonic()
        with pytest.raises(
            TargetLocked, match=rf"held by process {pid} \(user .*, nightly report, idle in tr"
        ):
            target.publish([staged])
        assert time.monotonic() - begun < 10
    assert read_orders(postgres_url) == [(number, "old") for number in range(3)]
    target.publish([staged])
    assert read_orders(postgres_url) == [(number, "new") for number in range(3)]


def test_a_straggler_that_still_copies_blocks_neither_publish_nor_the_next_run(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(1, "old"))
    target = make_target(postgres_url, 2)
    target.begin()
    staged = stage(target, make_rows(3, "new"))
    with psycopg.connect(postgres_url) as straggler:
        straggler.execute(f"insert into {target.staging} values (9, 'straggler', null, 0)")  # type: ignore[call-overload, unused-ignore]
        target.publish([staged])
    assert list_staging(postgres_url) == [target.staging.name]
    following = make_target(postgres_url, 3)
    following.begin()
    following.discard()
    assert list_staging(postgres_url) == []
    assert read_orders(postgres_url) == [(number, "new") for number in range(3)]


def test_a_straggler_cannot_write_once_its_run_has_published(postgres_url: str) -> None:
    target = make_target(postgres_url)
    load(target, make_rows(3))
    with pytest.raises(Superseded, match="is gone"):
        stage(target, make_rows(3), "9.9")
    assert query(postgres_url, "select count(*) from orders") == [(3,)]


def test_declared_indexes_and_comments_are_created_once(postgres_url: str) -> None:
    indexes = (("name", "total"), ("total",))
    table = replace(ORDERS, indexes=indexes, comment="it's all orders")
    for run_id in (1, 2):
        load(make_target(postgres_url, run_id, table=table), make_rows(3))
    found = query(postgres_url, "select indexname from pg_indexes where tablename = 'orders' order by 1")
    assert found == [("orders_name_total_idx",), ("orders_pkey",), ("orders_total_idx",)]
    assert query(postgres_url, "select obj_description('orders'::regclass)") == [("it's all orders",)]


def test_a_check_is_computed_as_it_is_written(postgres_url: str) -> None:
    target = make_target(postgres_url)
    target.begin()
    staged = [stage(target, make_rows(3))]
    for condition in ("(array['a', 'b'])[1] = 'a'", "id not in (5) = true", "+ id ^ 2 >= 0"):
        assert target.count_bad_rows(sql(condition), staged)[0] == 0


@pytest.mark.parametrize(
    ("definition", "is_checked"),
    [
        ("", True),
        (", unique (id, name)", True),
        (", exclude (id with =)", True),
        (", primary key (id)", False),
        (", unique (id) include (name) deferrable", False),
    ],
)
def test_uniqueness_is_left_only_to_a_table_that_has_the_key(
    postgres_url: str, definition: str, is_checked: bool
) -> None:
    query(postgres_url, f"create table orders (id integer, name text, total numeric(12, 2){definition})")
    target = make_target(postgres_url)
    target.begin()
    staged = [stage(target, [*make_rows(3), *make_rows(1)])]
    assert target.count_bad_rows(unique("id"), staged)[0] == (2 if is_checked else 0)
    if not is_checked:
        with pytest.raises(InvalidRows):
            target.publish(staged)


def test_a_key_of_dataid_and_column_counts_if_each_dataid_has_its_own_rows(
    postgres_url: str,
) -> None:
    for run_id in (1, 2):  # before the table is created, and after
        target = make_target(postgres_url, run_id, mode="partition")
        target.begin()
        twice = stage(target, [*make_rows(1), *make_rows(1)], "lost")
        assert target.count_bad_rows(unique("id"), [twice]) == (0, [])
        target.publish([stage(target, make_rows(2))])


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_rows_are_not_added_to_a_table_without_the_mappings_key(postgres_url: str, strategy: str) -> None:
    query(postgres_url, "create table orders (id integer, name text, total numeric(12, 2))")
    with pytest.raises(Conflict, match=r'Add one: alter table "public"."orders" add unique \("id"\)'):
        load(make_target(postgres_url, strategy=strategy), make_rows(1))


def test_an_unrelated_table_named_like_a_rejects_table_is_left_alone(postgres_url: str) -> None:
    query(postgres_url, "create table orders_rejects as select '2024-01-01' as dataid, 1 as n")
    load(make_target(postgres_url, 1), make_rows(2))
    assert query(postgres_url, "select count(*) from orders_rejects") == [(1,)]
    target = make_target(postgres_url, 2)
    target.begin()
    with pytest.raises(Conflict, match=r"1 rejects of public.orders would go to public.orders_rejects"):
        target.publish([stage(target, make_rows(1))], [Reject(1, 1, "id", "x", "is no integer")])


def test_a_table_with_other_columns_is_refused_with_the_differences(postgres_url: str) -> None:
    query(
        postgres_url,
        "create table orders (id bigint primary key, name text, total numeric(12, 2), note text)",
    )
    with pytest.raises(Conflict) as raised:
        load(make_target(postgres_url), make_rows(1))
    assert "column id is bigint, but the mapping says integer" in str(raised.value)
    assert "the mapping has no column note" in str(raised.value)
    assert query(postgres_url, "select count(*) from orders") == [(0,)]


def test_a_column_that_the_table_fills_itself_is_left_alone(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(1))
    query(postgres_url, "alter table orders add column loaded_at timestamptz default now()")
    load(make_target(postgres_url, 2), make_rows(2))
    assert query(postgres_url, "select count(loaded_at) from orders") == [(2,)]


def test_only_a_new_nullable_column_is_added(postgres_url: str) -> None:
    query(postgres_url, "create table orders (id integer primary key, name text not null)")
    load(make_target(postgres_url, 1), make_rows(1))
    assert read_orders(postgres_url) == [(0, "x")]
    query(postgres_url, "drop table orders; create table orders (id integer primary key)")
    with pytest.raises(Conflict, match="the table has no column name"):
        load(make_target(postgres_url, 2), make_rows(1))


def test_a_view_with_the_tables_name_is_refused(postgres_url: str) -> None:
    query(postgres_url, "create view orders as select 1 as id")
    with pytest.raises(Conflict, match="is not a table"):
        load(make_target(postgres_url), make_rows(1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "merge", "table": replace(ORDERS, columns=COLUMNS[1:])}, "needs a PRIMARY KEY"),
        ({"mode": "partition", "partition_column": "name"}, "name is a column that DataFlow adds"),
        ({"table": replace(ORDERS, columns=(*COLUMNS, COLUMNS[0]))}, "with unique names"),
        ({"table": replace(ORDERS, columns=(Column("x" * 64, "text"),))}, "is not a PostgreSQL name"),
        (
            {"table": replace(ORDERS, columns=(Column("id", "int); drop table x; --"),))},
            "has an invalid type",
        ),
        ({"table": replace(ORDERS, indexes=(("nothing",),))}, "the unknown column"),
    ],
)
def test_an_invalid_table_is_refused_before_connecting(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_target("postgresql://nowhere", **options)  # type: ignore[arg-type]


def test_names_may_contain_any_characters(postgres_url: str) -> None:
    evil = '"; drop table victims; --%s'
    query(postgres_url, "create table victims (id integer)")
    columns = (Column("id", "integer", primary_key=True), Column(evil, "text"), Column("it's", "text"))
    table = replace(ORDERS, name=evil, columns=columns, indexes=((evil,),), comment=evil)
    for run_id, strategy in enumerate(("replace", "replace", "merge", "swap"), 1):
        target = make_target(postgres_url, run_id, evil, table=table, strategy=strategy)
        batch_of = {"id": [1], evil: ["a"], "it's": [evil]}
        target.begin()
        staged = target.writer().write(iter([pa.RecordBatch.from_pydict(batch_of)]), evil)
        assert target.publish([staged]).rows == 1
    assert query(postgres_url, "select count(*) from victims") == [(0,)]


def test_publishing_twice_as_the_same_run_changes_nothing(postgres_url: str) -> None:
    target = make_target(postgres_url, strategy="append")
    target.begin()
    staged = stage(target, make_rows(3))
    first = target.publish([staged])
    assert target.publish([staged]) == first
    assert query(postgres_url, "select count(*) from orders") == [(3,)]


def test_a_published_result_has_its_size(postgres_url: str) -> None:
    published = load(make_target(postgres_url, 41), make_rows(3))
    assert published.size and published.size > 30


def test_no_two_tables_share_a_rejects_table() -> None:
    long = "a" * 61
    names = {rejects_name(table) for table in (long + "x", long + "y", "a" * 55, "a" * 56, "orders")}
    assert len(names) == 5
    assert "orders_rejects" in names
    assert max(len(name) for name in names) <= 63
