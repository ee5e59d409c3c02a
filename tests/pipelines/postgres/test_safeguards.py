"""Triggers, rules and the like on a table: a publish that would lose, duplicate or change rows is refused."""

from __future__ import annotations

import pytest

from dataflow.errors import Conflict
from dataflow.model.record import replace
from dataflow.pipelines.postgres.table import Column
from tests.pipelines.postgres.orders import (
    COLUMNS,
    ORDERS,
    load,
    make_rows,
    make_target,
    query,
    read_orders,
)

KEYLESS = replace(ORDERS, columns=tuple(Column(c.name, c.sql_type) for c in COLUMNS))
OLD = [(number, "old") for number in range(4)]


def skip(event: str, condition: str, result: str) -> str:
    """A trigger that drops rows that match the condition."""
    return f"""
        create function skip() returns trigger language plpgsql as
            $$ begin if {condition} then return null; end if; return {result}; end $$;
        create trigger skip before {event} on orders for each row execute function skip()
    """


@pytest.mark.parametrize("strategy", ["replace", "append", "merge"])
def test_a_table_that_drops_rows_is_refused(postgres_url: str, strategy: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(4, "old"))
    query(postgres_url, skip("insert", "new.id % 2 = 0", "new"))
    with pytest.raises(Conflict, match=r"it accepted 3 of 6 staged rows; its triggers: skip\."):
        load(make_target(postgres_url, 2, "d2", strategy=strategy), make_rows(6, "new", first=10))
    assert read_orders(postgres_url) == OLD


def test_a_merge_whose_updates_are_dropped_is_refused(postgres_url: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(4, "old"))
    query(postgres_url, skip("update", "old.id = 1", "new"))
    with pytest.raises(Conflict, match="it accepted 3 of 4 staged rows"):
        load(make_target(postgres_url, 2, "d2", strategy="merge"), make_rows(4, "new"))
    assert read_orders(postgres_url) == OLD


def test_a_merge_of_rows_that_need_no_change_is_published(postgres_url: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(4, "old"))
    trigger = "create trigger same before update on orders for each row execute function"
    query(postgres_url, f"{trigger} suppress_redundant_updates_trigger()")
    load(make_target(postgres_url, 2, "d2", strategy="merge"), make_rows(6, "old"))
    assert len(read_orders(postgres_url)) == 6


@pytest.mark.parametrize(
    ("when", "effect"), [("new.id > 1", "nothing"), ("true", "insert into others values (new.id)")]
)
def test_an_instead_rule_is_named(postgres_url: str, when: str, effect: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(4, "old"))
    query(postgres_url, "create table others (id integer)")
    query(postgres_url, f"create rule aside as on insert to orders where {when} do instead {effect}")
    for strategy in ("replace", "append"):
        with pytest.raises(Conflict, match=r'drop rule "aside" on "public"\."orders"'):
            load(make_target(postgres_url, 2, "d2", strategy=strategy), make_rows(4, "new", first=10))
    assert read_orders(postgres_url) == OLD


@pytest.mark.parametrize("mode", ["snapshot", "partition"])
def test_rows_that_remain_although_replaced_are_reported(postgres_url: str, mode: str) -> None:
    load(make_target(postgres_url, 1, "d1", mode=mode, table=KEYLESS), make_rows(4, "old"))
    query(postgres_url, skip("delete", "old.id = 3", "old"))
    with pytest.raises(Conflict, match="but still exist in orders; its triggers: skip"):
        load(make_target(postgres_url, 2, "d1", mode=mode, table=KEYLESS), make_rows(4, "new"))
    assert read_orders(postgres_url) == OLD


@pytest.mark.parametrize("action", ["cascade", "set null", "set default"])
def test_rows_of_other_tables_are_not_deleted_by_a_replace(postgres_url: str, action: str) -> None:
    load(make_target(postgres_url, 1), make_rows(4, "old"))
    query(postgres_url, f"create table notes (id integer references orders on delete {action})")
    query(postgres_url, "insert into notes values (1)")
    with pytest.raises(Conflict, match=rf'"notes_id_fkey" of notes is ON DELETE {action.upper()}.*"merge"'):
        load(make_target(postgres_url, 2), make_rows(4, "new"))
    assert read_orders(postgres_url) == OLD
    load(make_target(postgres_url, 3, strategy="merge"), make_rows(4, "new"))
    assert query(postgres_url, "select id from notes") == [(1,)]


def test_rows_that_reference_the_same_table_are_replaced_together(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(4, "old"))
    query(postgres_url, "alter table orders add foreign key (id) references orders on delete cascade")
    load(make_target(postgres_url, 2), make_rows(4, "new"))
    assert read_orders(postgres_url) == [(number, "new") for number in range(4)]


def test_a_child_table_with_its_own_columns_is_not_emptied(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(4, "old"))
    query(postgres_url, "create table parcels (weight integer) inherits (orders)")
    query(postgres_url, "insert into parcels values (99, 'parcel', null, 5)")
    with pytest.raises(Conflict, match=r'alter table parcels no inherit "public"\."orders"'):
        load(make_target(postgres_url, 2), make_rows(4, "new"))
    assert query(postgres_url, "select count(*) from parcels") == [(1,)]


def test_rows_that_a_trigger_moves_to_a_child_count_as_the_tables(postgres_url: str) -> None:
    load(make_target(postgres_url, 1), make_rows(4, "old"))
    query(
        postgres_url,
        """create table orders_high () inherits (orders);
           create function route() returns trigger language plpgsql as
               $$ begin insert into orders_high values (new.*); return null; end $$;
           create trigger route before insert on orders for each row execute function route()""",
    )
    for run_id in (2, 3):
        load(make_target(postgres_url, run_id), make_rows(5, "new"))
    assert query(postgres_url, "select count(*) from orders") == [(5,)]


@pytest.mark.parametrize("mode", ["snapshot", "partition"])
def test_a_partitioned_table_is_published_like_any_other(postgres_url: str, mode: str) -> None:
    query(
        postgres_url,
        f"""create table orders (id integer, name text, total numeric(12, 2)
                {", dataid text" if mode == "partition" else ""}) partition by range (id);
            create table low partition of orders for values from (0) to (3);
            create table high partition of orders default""",
    )
    for run_id, name in ((1, "old"), (2, "new")):
        load(make_target(postgres_url, run_id, mode=mode, table=KEYLESS), make_rows(5, name))
    assert read_orders(postgres_url) == [(number, "new") for number in range(5)]


def as_plain_owner(url: str) -> str:
    """The URL for a user who owns the orders and is subject to row security."""
    query(
        url,
        """do $$ begin create role etl login password 'etl'; exception when duplicate_object then end $$;
           alter table orders owner to etl; alter table dataflow_ledger owner to etl;
           grant create on schema public to etl; alter schema dataflow_staging owner to etl;
           alter table orders enable row level security; alter table orders force row level security""",
    )
    return url.replace(url.partition("//")[2].partition("@")[0], "etl:etl")


@pytest.mark.parametrize(("shown", "rows"), [("id < 2", None), ("true", 3)])
def test_rows_hidden_by_row_security_are_not_left_beside_new_rows(
    postgres_url: str, shown: str, rows: int | None
) -> None:
    load(make_target(postgres_url, 1, table=KEYLESS), make_rows(4, "old"))
    url = as_plain_owner(postgres_url)
    query(postgres_url, f"create policy shown on orders using ({shown}) with check (true)")
    target = make_target(url, 2, table=KEYLESS)
    if rows is None:
        with pytest.raises(Conflict, match="row security may hide rows from the user etl"):
            load(target, make_rows(3, "new"))
    else:
        load(target, make_rows(3, "new"))
    assert query(postgres_url, "select count(*) from orders") == [(rows or 4,)]


@pytest.mark.parametrize(
    "policies",
    [
        ["for all using (true)", "as restrictive for all using (id < 2) with check (true)"],
        ["for select using (true)", "for insert with check (true)", "for delete using (id < 2)"],
    ],
)
def test_a_policy_that_shows_every_row_counts_only_if_no_other_one_limits_a_delete(
    postgres_url: str, policies: list[str]
) -> None:
    load(make_target(postgres_url, 1, table=KEYLESS), make_rows(4, "old"))
    url = as_plain_owner(postgres_url)
    for number, policy in enumerate(policies):
        query(postgres_url, f"create policy policy_{number} on orders {policy}")
    with pytest.raises(Conflict, match="row security may hide rows from the user etl"):
        load(make_target(url, 2, table=KEYLESS), make_rows(3, "new"))
    assert query(postgres_url, "select count(*) from orders") == [(4,)]


@pytest.mark.parametrize(
    "options", [{"mode": "partition"}, {"strategy": "append"}, {"mode": "partition", "strategy": "merge"}]
)
def test_a_missing_table_with_other_dataids_is_not_created_again(
    postgres_url: str, options: dict[str, str]
) -> None:
    for run_id, dataid in ((1, "d1"), (2, "d2")):
        rows = make_rows(2, first=2 * run_id)
        load(make_target(postgres_url, run_id, dataid, **options), rows)  # type: ignore[arg-type]
    query(postgres_url, "alter table orders rename to orders_old")
    target = make_target(postgres_url, 3, "d3", **options)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match=r"rows of 2 other dataids published in it, from d1 to d2\.") as raised:
        load(target, make_rows(2))
    assert query(postgres_url, "select to_regclass('orders')") == [(None,)]
    query(postgres_url, str(raised.value).split("create it again: ")[1].split(";")[0])
    load(make_target(postgres_url, 4, "d3", **options), make_rows(2))  # type: ignore[arg-type]
    assert len(read_orders(postgres_url)) == 2


def test_a_missing_snapshot_is_created_again(postgres_url: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(4))
    query(postgres_url, "drop table orders")
    load(make_target(postgres_url, 2, "d2"), make_rows(2))
    assert len(read_orders(postgres_url)) == 2


def test_a_table_with_only_key_columns_is_merged(postgres_url: str) -> None:
    table = replace(ORDERS, columns=tuple(replace(c, primary_key=True) for c in COLUMNS))
    rows = [(number, "x", number) for number in range(3)]
    load(make_target(postgres_url, 1, "d1", table=table, strategy="merge"), rows[:2])
    load(make_target(postgres_url, 2, "d2", table=table, strategy="merge"), rows)
    assert len(read_orders(postgres_url)) == 3
    query(postgres_url, skip("insert", "new.id > 5", "new"))
    with pytest.raises(Conflict, match="it accepted 1 of 2 staged rows"):
        load(make_target(postgres_url, 3, "d3", table=table, strategy="merge"), [(1, "x", 1), (6, "x", 1)])


@pytest.mark.parametrize("dataid", ["d1", "d2"])
def test_a_table_of_one_dataset_is_not_written_by_another(postgres_url: str, dataid: str) -> None:
    load(make_target(postgres_url, 1, "d1"), make_rows(4, "old"))
    with pytest.raises(Conflict, match="already the table of dataset orders, dataid d1; bills cannot"):
        make_target(postgres_url, 2, dataid, dataset="bills").begin()
    assert read_orders(postgres_url) == OLD


def test_a_run_whose_id_was_used_before_its_store_was_restored_is_published(postgres_url: str) -> None:
    load(make_target(postgres_url, 2, claim="before"), make_rows(4, "old"))
    load(make_target(postgres_url, 2, claim="after"), make_rows(3, "new"))
    assert read_orders(postgres_url) == [(number, "new") for number in range(3)]
    with pytest.raises(Conflict, match=r"was already appended to public\.orders by run 0"):
        load(make_target(postgres_url, 2, strategy="append", claim="later"), make_rows(3, "again", first=9))
