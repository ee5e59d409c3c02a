"""Views created or computed by the database, published under the same fence as tables."""

from __future__ import annotations

import psycopg
import pytest

from dataflow.errors import Conflict, InputMoved, Superseded, TargetError
from dataflow.model.record import replace
from dataflow.pipelines.postgres.ledger import take_over
from dataflow.pipelines.postgres.native_views import Pinned, stage_select
from dataflow.pipelines.postgres.table import Column, Table
from dataflow.pipelines.postgres.table_target import PostgresTarget
from dataflow.pipelines.shape.statistics import Wanted
from tests.pipelines.postgres.orders import ORDERS, load, make_rows, make_target, query


def make_view(url: str, run_id: int) -> PostgresTarget:
    return make_target(url, run_id, table=replace(ORDERS, name="big_orders"))


def publish(url: str, run_id: int, select: str) -> None:
    target = make_view(url, run_id)
    target.begin()
    target.publish_view(select)
    target.discard()


def test_a_view_is_created_and_replaced(postgres_url: str) -> None:
    load(make_target(postgres_url), make_rows(10))
    publish(postgres_url, 1, "select id from orders where id > 5;\n")
    query(postgres_url, "grant select on big_orders to pg_monitor")
    publish(postgres_url, 2, "select id from orders where id % 2 = 0 or name like '50%s' -- even")
    assert query(postgres_url, "select count(*) from big_orders") == [(5,)]
    assert query(postgres_url, "select has_table_privilege('pg_monitor', 'big_orders', 'select')") == [
        (True,)
    ]
    assert make_view(postgres_url, 3).begin({2: ""}) is not None


def test_an_older_run_does_not_replace_the_view_of_a_newer(postgres_url: str) -> None:
    publish(postgres_url, 2, "select 2 as n")
    with pytest.raises(Superseded):
        make_view(postgres_url, 1).publish_view("select 1 as n")
    assert query(postgres_url, "select n from big_orders") == [(2,)]


def test_a_view_whose_columns_change_is_reported_with_advice(postgres_url: str) -> None:
    publish(postgres_url, 1, "select 1 as n")
    with pytest.raises(Conflict, match="resubmit the work: drop view"):
        publish(postgres_url, 2, "select 1 as other")
    query(postgres_url, "drop view big_orders; create table big_orders (n integer)")
    with pytest.raises(Conflict, match=r'drop table "public"."big_orders"'):
        publish(postgres_url, 3, "select 1 as n")


@pytest.mark.parametrize(
    "select", ["select 1 as n; drop table victims", "delete from victims returning 1 as n"]
)
def test_anything_but_one_select_is_refused(postgres_url: str, select: str) -> None:
    query(postgres_url, "create table victims as select 1 as id")
    with pytest.raises(TargetError):
        publish(postgres_url, 1, select)
    assert query(postgres_url, "select count(*) from victims") == [(1,)]


def test_a_computed_view_reads_what_its_own_store_published_last(postgres_url: str) -> None:
    load(make_target(postgres_url, 7, "d2", mode="partition", store_id="old"), make_rows(3))
    with psycopg.connect(postgres_url) as session:
        take_over(session, "public", "orders", "1a2b", 99)
    load(make_target(postgres_url, 1, "d1", mode="partition"), make_rows(2))
    view = make_target(postgres_url, 2, table=Table("public", "ids", (Column("id", "integer"),)))
    view.begin()
    select, place = "select id from orders", "postgresql://warehouse/public.orders?run="
    with pytest.raises(
        InputMoved, match=r"holds what run 1 published, but this run has pinned what run 7 did"
    ):
        stage_select(view, select, {"orders": Pinned(f"{place}7")}, Wanted((), ()))
    [report] = stage_select(view, select, {"orders": Pinned(f"{place}1")}, Wanted((), ()))
    assert report.staged.rows == 5


def test_a_select_staged_twice_has_its_rows_once(postgres_url: str) -> None:
    load(make_target(postgres_url), make_rows(3))
    view = make_target(postgres_url, 2, table=Table("public", "ids", (Column("id", "integer"),)))
    view.begin()
    for _ in range(2):  # the reply to the first was lost
        reads = {"orders": Pinned("postgresql://warehouse/public.orders?run=1")}
        [report] = stage_select(view, "select id from orders", reads, Wanted((), ()))
    assert report.statistics.rows == 3
    assert view.publish([report.staged]).rows == 3
    assert query(postgres_url, "select count(*) from ids") == [(3,)]
