"""Invalid view definitions, or views that do more than select: refused, nothing published."""

from __future__ import annotations

import json
from functools import partial

import pytest

from dataflow.errors import BadInput
from tests.pipelines.test_planning import plan, preview
from tests.pipelines.workshop import Workshop
from tests.project import Project

PIPELINES = """
    from dataflow.pipelines.declare.sources import files

    class OrdersDatasetPipeline:
        table_name = "orders"
        source = files("orders.jsonl")
        field_mapping = [("id", "order_id", "bigint"), ("name", "name", "text")]

    class AllViewPipeline:
        view_name = "all_orders"
        dataset_pipeline = OrdersDatasetPipeline
        start_date = datetime(2026, 9, 1)
        end_date = datetime(2026, 9, 1)
        schedule_interval = "@monthly"
        catchup = True
        params = {"least": "0"}
        fields = [("order_id", "Order"), ("name", "Name")]
        where_clause = "order_id >= {{ params.least }}"
"""


@pytest.fixture
def orders(workshop: Workshop) -> Workshop:
    (workshop.path / "orders.jsonl").write_text(
        "".join(json.dumps({"id": n, "name": "x"}) + "\n" for n in range(3))
    )
    workshop.write("orders.py", PIPELINES)
    return workshop


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('("name", "Name")', '("name) from orders; drop table orders; --", "Name")', "fields[2]"),
        ("{{ params.least }}", "{{ params.leest }}", "leest"),
        ("{{ params.least }}", "{{ dss }}", 'Did you mean "ds"'),
        ('"least": "0"', '"least": "0; drop table orders"', "where_clause"),
        ('"least": "0"', '"least": "0) union select 1, current_user --"', "where_clause"),
        ("{{ params.least }}", "{{ ''.__class__.__mro__ }}", "not allowed"),
        ("order_id >=", "pg_read_file('/etc/passwd') is not null and order_id >=", "pg_read_file"),
        ("{{ params.least }}", "0 GROUP BY order_id", "where_clause"),
    ],
)
def test_a_view_that_fails_for_every_interval_is_refused_once_and_none_is_claimed(
    orders: Workshop, old: str, new: str, reason: str
) -> None:
    orders.write("orders.py", PIPELINES.replace(old, new))
    with pytest.raises(BadInput) as refusal:
        orders.run("AllViewPipeline", drain=True)
    assert reason in str(refusal.value)
    assert not orders.store.read.list_runs()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("{{ params.least }}", "{{ 0 if ds.startswith('2023') else dss }}", 'Did you mean "ds"'),
    ],
)
def test_an_invalid_view_is_refused_with_its_attribute(
    orders: Workshop, old: str, new: str, reason: str
) -> None:
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    orders.write("orders.py", PIPELINES.replace(old, new))
    outcome = orders.run("AllViewPipeline")
    assert outcome.failed == 1
    assert reason in str(outcome.error), str(outcome.error)
    assert orders.chunk("all_orders", "2026-09").version == 0


def test_an_unknown_column_is_refused_before_anything_is_claimed(orders: Workshop) -> None:
    orders.write("orders.py", PIPELINES.replace("order_id >=", "order_idd >="))
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    with pytest.raises(BadInput, match=r'unknown column "order_idd"\. Did you mean "order_id"\?'):
        orders.run("AllViewPipeline", drain=True)
    assert [run.job for run in orders.store.read.list_runs()] == ["OrdersDatasetPipeline"]


def test_a_column_added_to_the_mapping_can_be_read_once_it_is_published(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", "2026-11-13")
    more = PIPELINES.replace('("name", "name", "text")]', '("name", "name", "text"), ("id", "key", "text")]')
    orders.write("orders.py", more.replace("order_id >=", "key is not null and order_id >="))
    with pytest.raises(BadInput, match='unknown column "key"'):
        orders.run("AllViewPipeline")
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    assert orders.run("AllViewPipeline").done == 1, orders.said


def test_the_list_notes_a_view_that_can_never_run(orders: Workshop) -> None:
    project = Project(orders.path, orders.path)
    assert "can never run" not in project.run("dataflow", "pipeline", "list").stdout
    orders.write("orders.py", PIPELINES.replace("order_id >=", "order_idd >="))
    shown = json.loads(project.run("dataflow", "pipeline", "list", "--json").stdout)
    (note,) = [row["note"] for row in shown if row["pipeline"] == "AllViewPipeline"]
    assert note.startswith("can never run: pipelines/orders.py:")
    assert 'unknown column "order_idd"' in note


COMPANIES = """
    class CompaniesDatasetPipeline:
        table_name = "companies"
        target_db = "datasets_db"
        source = files("orders.jsonl")
        field_mapping = [("id", "order_id", "bigint")]
"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("= OrdersDatasetPipeline", "= CompaniesDatasetPipeline; target_db = 'lake'", "goes to lake"),
        (
            "= OrdersDatasetPipeline",
            "= [OrdersDatasetPipeline, CompaniesDatasetPipeline]",
            "orders in lake, c",
        ),
        ('view_name = "all', 'materialized = False; view_name = "all', "they are in a lake: orders in lake"),
    ],
)
def test_a_view_over_datasets_in_different_locations_is_refused_and_none_is_claimed(
    orders: Workshop, old: str, new: str, reason: str
) -> None:
    orders.environ["DATAFLOW_CONN_DATASETS_DB"] = "postgresql://nowhere.example/x"
    text = PIPELINES.replace("    class AllView", COMPANIES + "\n    class AllView").replace(old, new)
    orders.write("orders.py", text)
    for look in (orders.run, partial(plan, orders), partial(preview, orders)):
        with pytest.raises(BadInput, match=rf"pipelines/orders.py:16: AllViewPipeline.*{reason}"):
            look("AllViewPipeline")
    assert not orders.store.read.list_runs()
    listed = Project(orders.path, orders.path).run("dataflow", "pipeline", "list", env=orders.environ)
    assert "can never run: pipelines/orders.py:16: AllViewPipeline" in listed.stdout


def test_the_previous_interval_follows_the_schedule_whatever_its_length(orders: Workshop) -> None:
    uneven = PIPELINES.replace('"@monthly"', '"0 0 * * 1,4"')
    uneven = uneven.replace("{{ params.least }}", "0 and '{{ prev_ds }}' = '2026-09-03'")
    orders.write("orders.py", uneven)
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    monday = "2026-09-07T00:00+00:00"
    assert orders.run("AllViewPipeline", monday).done == 1, orders.said
    assert len(orders.rows("all_orders", monday)) == 3


def test_an_alias_is_always_quoted_as_a_name(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    evil = 'Na"me`; drop'
    orders.write("orders.py", PIPELINES.replace('("name", "Name")', f"('name', {evil!r})"))
    assert orders.run("AllViewPipeline").done == 1, orders.said
    assert list(orders.rows("all_orders", "2026-09")[0]) == ["Order", evil]
