"""Strategy swap: what is copied to the new table, and what makes it refuse."""

from __future__ import annotations

import psycopg
import pytest

from dataflow.errors import Conflict
from tests.pipelines.postgres.orders import load, make_rows, make_target, query, read_orders


def swap(url: str, run_id: int, name: str) -> None:
    load(make_target(url, run_id, strategy="swap"), make_rows(3, name))


def test_grants_indexes_comments_and_constraint_names_are_copied(postgres_url: str) -> None:
    swap(postgres_url, 1, "old")
    statements = (
        'create index "by USING name" on orders using hash (name) where id > 1',
        "alter table orders add constraint positive check (id >= 0)",
        "alter table orders alter column total set default 7",
        "comment on table orders is 'all of them'",
        "grant select on orders to pg_monitor with grant option",
        "grant update (name) on orders to public",
    )
    for statement in statements:
        query(postgres_url, statement)
    facts = (
        "select indexdef from pg_indexes where tablename = 'orders' order by 1",
        "select conname, pg_get_constraintdef(oid) from pg_constraint "
        "where conrelid = 'orders'::regclass order by 1",
        "select obj_description('orders'::regclass)",
        "select relacl::text from pg_class where oid = 'orders'::regclass",
        "select attname, attacl::text, atthasdef from pg_attribute where attrelid = 'orders'::regclass "
        "and attnum > 0 and not attisdropped order by attnum",
    )
    before = [query(postgres_url, fact) for fact in facts]
    for run_id in (2, 3):
        swap(postgres_url, run_id, "new")
        assert [query(postgres_url, fact) for fact in facts] == before
    assert read_orders(postgres_url) == [(number, "new") for number in range(3)]
    assert query(postgres_url, "select relname from pg_class where relname like 'dataflow_twin%'") == []


def test_revoked_privileges_stay_revoked_despite_default_privileges(postgres_url: str) -> None:
    query(postgres_url, "alter default privileges in schema public grant select on tables to public")
    for granted in ("", "grant insert on orders to pg_monitor"):
        query(postgres_url, "drop table if exists orders, dataflow_ledger")
        swap(postgres_url, 1, "old")
        query(postgres_url, f"revoke select on orders from public; {granted}")
        swap(postgres_url, 2, "new")
        rights = "select has_table_privilege('pg_monitor', 'orders', 'select'), "
        found = query(postgres_url, f"{rights} has_table_privilege('pg_monitor', 'orders', 'insert')")
        assert found == [(False, bool(granted))]
        query(postgres_url, "insert into orders values (9, 'the owner may', null)")


def test_storage_parameters_and_row_security_are_copied(postgres_url: str) -> None:
    swap(postgres_url, 1, "old")
    query(postgres_url, "alter table orders set (fillfactor = 70, autovacuum_enabled = false)")
    query(postgres_url, "alter table orders enable row level security, force row level security")
    facts = "select reloptions, relrowsecurity, relforcerowsecurity from pg_class where relname = 'orders'"
    before = query(postgres_url, facts)
    swap(postgres_url, 2, "new")
    assert query(postgres_url, facts) == before
    assert before[0][1:] == (True, True)


@pytest.mark.parametrize(
    "statement",
    [
        "create view names as select name from orders",
        "create materialized view names as select name from orders",
        "create table names (order_id integer references orders)",
        "create table names () inherits (orders)",
        "alter table orders add constraint names foreign key (id) references orders",
        "create policy names on orders using (true)",
        "create publication names for table orders",
        "create function names() returns trigger language plpgsql as 'begin return new; end';"
        "create trigger names before insert on orders for each row execute function names()",
    ],
)
def test_objects_that_would_stay_with_the_old_table_are_named(postgres_url: str, statement: str) -> None:
    swap(postgres_url, 1, "old")
    query(postgres_url, statement)
    with pytest.raises(Conflict, match=r"cannot be swapped: .*names.* Use write = .replace"):
        swap(postgres_url, 2, "new")
    assert read_orders(postgres_url)[0] == (0, "old")


def test_one_dataid_of_many_cannot_be_swapped(postgres_url: str) -> None:
    load(make_target(postgres_url, 1, mode="partition"), make_rows(3))
    with pytest.raises(Conflict, match=r"in mode partition use write = .replace"):
        load(make_target(postgres_url, 2, mode="partition", strategy="swap"), make_rows(3))


def test_swap_waits_for_a_long_transaction_no_longer_than_its_limit(postgres_url: str) -> None:
    swap(postgres_url, 1, "old")
    with psycopg.connect(postgres_url, application_name="reader") as connection:
        connection.execute("select * from orders")
        with pytest.raises(Exception, match=r"held by process .*reader"):
            load(make_target(postgres_url, 2, strategy="swap", lock_seconds=0.2), make_rows(3, "new"))
    assert read_orders(postgres_url)[0] == (0, "old")
