"""Dataset pipelines from a Hawk-authenticated API into the lake: all rows, or the previous version."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from dataflow.errors import FetchError, InvalidData
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.workshop import HAWK, Workshop

PIPELINE = """
    from dataflow.pipelines.shape.checks import minimum_rows, sql

    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        field_mapping = [
            ("id", "order_id", "bigint PRIMARY KEY"),
            ("company.name", "company_name", "character varying(20) NOT NULL"),
            ("amount", "amount", "numeric(12,2)"),
            ("tags", "tags", "text []"),
        ]
        checks = [minimum_rows(1), sql("amount >= 0")]
"""
DAY = "2026-11-14"


def make_rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "company": {"name": f"Company {number % 7}"},
            "amount": number / 100,
            "tags": ["a", ""],
        }
        for number in range(count)
    ]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(make_rows(95), page_size=10, hawk=Hawk(HAWK["HAWK_ID"], HAWK["HAWK_KEY"])) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer) -> Workshop:
    workshop.environ["API"] = api.origin
    workshop.write("orders.py", PIPELINE)
    return workshop


@pytest.mark.daily
def test_all_rows_arrive_shaped_checked_and_published(orders: Workshop) -> None:
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1
    rows = sorted(orders.rows("orders", DAY), key=lambda row: row["order_id"])
    assert len(rows) == 95
    assert rows[94] == {
        "order_id": 94,
        "company_name": "Company 3",
        "amount": Decimal("0.94"),
        "tags": ["a", ""],
    }
    assert orders.chunk("orders", DAY).status == "READY"
    assert list((orders.path / ".dataflow" / "staging").rglob("part-*")) == []


def test_a_second_run_finds_it_done(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 0


def test_a_log_that_cannot_be_written_is_reported_and_loses_no_rows(orders: Workshop) -> None:
    (orders.path / ".dataflow" / "logs" / "1.log").mkdir(parents=True)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert len(orders.rows("orders", DAY)) == 95
    assert orders.said[-1].endswith("logs/1.log cannot be written: Is a directory.")


def test_a_rejected_value_publishes_nothing_and_is_kept_for_inspection(
    orders: Workshop, api: ApiServer
) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    api.rows[42]["amount"] = "twelve"
    api._bodies.clear()
    outcome = orders.run("OrdersDatasetPipeline", "2026-11-13")
    assert isinstance(outcome.error, InvalidData)
    assert "part 5 row 3 amount='twelve'" in str(outcome.error)
    assert orders.chunk("orders", "2026-11-13").status == "INVALID"
    assert len(orders.rows("orders", DAY)) == 95
    [rejects] = (orders.path / ".dataflow" / "staging").rglob("_rejects.jsonl")
    assert '"value": "twelve"' in rejects.read_text()
    again = "dataflow resubmit OrdersDatasetPipeline 2026-11-13 && dataflow run OrdersDatasetPipeline"
    assert orders.said[-1] == f"next, once that is fixed: {again}"
    assert "Traceback" not in orders.log()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("id", 0, "unique(order_id): 2 rows are not unique"),
        ("company", {"name": None}, "not_null(company_name): 1 of 95 rows has NULL"),
        ("amount", -1, "sql(amount >= 0): 1 row is false"),
        ("company", {"name": "x" * 21}, "part 10 row 5 company.name="),
    ],
)
def test_a_failed_check_leaves_the_published_version_unchanged(
    orders: Workshop, api: ApiServer, field: str, value: object, reason: str
) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    before = orders.chunk("orders", DAY)
    api.rows[94][field] = value
    api._bodies.clear()
    orders.resubmit("OrdersDatasetPipeline", DAY)
    outcome = orders.run("OrdersDatasetPipeline", DAY)
    assert isinstance(outcome.error, InvalidData)
    assert reason in str(outcome.error)
    after = orders.chunk("orders", DAY)
    assert (after.status, after.version, after.location) == ("INVALID", before.version, before.location)
    assert len(orders.rows("orders", DAY)) == 95


def test_after_a_failed_page_the_next_run_continues_where_it_stopped(
    orders: Workshop, api: ApiServer
) -> None:
    api.fail(7, "html", times=1)
    assert isinstance(orders.run("OrdersDatasetPipeline", DAY).error, FetchError)
    asked = len(api.seen)
    orders.resubmit("OrdersDatasetPipeline", DAY)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1
    assert [seen.page for seen in api.seen[asked:]] == [7, 8, 9]
    assert len(orders.rows("orders", DAY)) == 95


def test_rows_are_not_published_if_the_fetched_and_read_counts_differ(
    orders: Workshop, api: ApiServer
) -> None:
    api.fail(7, "html", times=1)
    assert isinstance(orders.run("OrdersDatasetPipeline", DAY).error, FetchError)
    (manifest,) = orders.path.glob(".dataflow/staging/**/manifest.jsonl")
    text = manifest.read_text()
    assert '"rows":10,' in text
    manifest.write_text(text.replace('"rows":10,', '"rows":11,', 1))
    orders.resubmit("OrdersDatasetPipeline", DAY)
    outcome = orders.run("OrdersDatasetPipeline", DAY)
    assert re.search(r"Parts 1 to \d+ had \d+ rows when fetched, but \d+ when read", str(outcome.error))
    assert orders.chunk("orders", DAY).version == 0


def test_a_failed_check_names_a_source_field_that_no_row_has(orders: Workshop) -> None:
    orders.write("orders.py", PIPELINE.replace('("id", "order_id"', '("idd", "order_id"'))
    outcome = orders.run("OrdersDatasetPipeline", DAY)
    assert str(outcome.error).endswith("95 of 95 rows have NULL. No row of the source has: idd.")
    orders.write("orders.py", PIPELINE.replace('("tags", "tags"', '("tag", "tags"'))
    orders.resubmit("OrdersDatasetPipeline", DAY)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert orders.said[-1].endswith("warning: no row of the source has: tag")


def test_minimum_rows_fails_for_an_empty_source(orders: Workshop, api: ApiServer) -> None:
    api.rows = []
    outcome = orders.run("OrdersDatasetPipeline", DAY)
    assert "minimum_rows(1): 0 rows, at least 1 is needed" in str(outcome.error)


def test_dots_in_a_mapping_include_all_other_fields_under_their_own_names(orders: Workshop) -> None:
    orders.write("orders.py", PIPELINE.replace('("tags", "tags", "text []"),', "..."))
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1
    assert orders.rows("orders", DAY)[0]["tags"] == ["a", ""]


def test_rejects_up_to_a_limit_are_quarantined_and_the_rest_is_published(
    orders: Workshop, api: ApiServer
) -> None:
    orders.write("orders.py", PIPELINE + '        rejects = {"quarantine": 2}\n')
    for number in (3, 42):
        api.rows[number] |= {"amount": "much", "unmapped": "secret"}
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert len(orders.rows("orders", DAY)) == 93
    [rejects] = (orders.path / "lake").rglob("_rejects.jsonl")
    kept = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [one["value"] for one in kept] == ["much", "much"]
    assert [json.loads(one["source_row"])["id"] for one in kept] == [3, 42]
    assert "secret" not in kept[0]["source_row"]  # only mapped fields
    told = f"2 of 95 rows rejected; they are in {rejects}"
    assert orders.said[-1] == f"OrdersDatasetPipeline {DAY}: warning: {told}"
    assert f"warning: {told}" in orders.log()
    api.rows[50]["amount"] = "much"
    api._bodies.clear()
    outcome = orders.run("OrdersDatasetPipeline", "2026-11-13")
    assert str(outcome.error).startswith(
        "3 of 95 rows do not fit: part 1 row 4 amount='much' is not a numeric"
    )
    assert str(outcome.error).endswith(". The limit is 2 rows.")
