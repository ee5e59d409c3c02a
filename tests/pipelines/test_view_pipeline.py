"""View pipelines over the lake: one result per interval, when the dataset covers it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from dataflow import failpoints
from dataflow.errors import BadInput
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.workshop import HAWK, Workshop

PIPELINES = """
    class OMISDatasetPipeline:
        table_name = "omis_dataset"
        source_url = constants.API + "/next"
        field_mapping = [
            ("reference", "omis_order_reference", "character varying(100) PRIMARY KEY"),
            ("company__name", "company_name", "character varying(255) NOT NULL"),
            ("completed_on", "completion_date", "timestamp with time zone"),
            ("subtotal", "subtotal", "integer"),
            ("status", "order_status", "text"),
        ]

    class CompletedOMISOrderViewPipeline:
        view_name = "completed_omis_orders"
        dataset_pipeline = OMISDatasetPipeline
        start_date = datetime(2017, 11, 1)
        end_date = datetime(2018, 2, 1)
        catchup = True
        fields = [
            ("company_name", "Company Name"),
            ("subtotal::numeric/100", "Subtotal"),
            ("completion_date", "Completion Date"),
        ]
        where_clause = \"\"\"
            order_status = 'complete' AND
            date_trunc('month', completion_date)::DATE =
            date_trunc('month', to_date('{{ ds }}', 'YYYY-MM-DD'));
        \"\"\"
        schedule_interval = "@monthly"
"""
VIEW = "CompletedOMISOrderViewPipeline"
MONTHS = ["2017-11", "2017-12", "2018-01", "2018-02"]


def make_rows() -> list[dict[str, Any]]:
    moments = [
        "2017-11-01T00:00:00Z",
        "2017-11-30T23:59:59Z",
        "2017-12-01T00:30:00+01:00",
        "2018-02-28T12:00:00Z",
    ]
    return [
        {
            "reference": f"R{number}",
            "company__name": f"Company {number}",
            "completed_on": moments[number % 4],
            "subtotal": number,
            "status": "complete" if number % 3 else "draft",
        }
        for number in range(24)
    ]


@pytest.fixture
def omis(workshop: Workshop) -> Iterator[Workshop]:
    with ApiServer(make_rows(), page_size=5, hawk=Hawk(HAWK["HAWK_ID"], HAWK["HAWK_KEY"])) as api:
        workshop.environ["API"] = api.origin
        workshop.write("omis.py", PIPELINES)
        yield workshop


def test_every_interval_waits_for_a_snapshot_that_covers_its_end(omis: Workshop) -> None:
    assert omis.run(VIEW, drain=True).done == 0
    omis.run("OMISDatasetPipeline", "2017-12-15")
    assert omis.run(VIEW, drain=True).done == 1
    omis.run("OMISDatasetPipeline", "2018-02-28")
    assert omis.run(VIEW, drain=True).done == 3


@pytest.mark.daily
def test_each_result_has_the_rows_of_its_interval_under_its_aliases(omis: Workshop) -> None:
    omis.run("OMISDatasetPipeline", "2018-03-01")
    assert omis.run(VIEW, drain=True).done == 4
    wanted = {
        month: sorted(
            (row["company__name"], Decimal(row["subtotal"]) / 100)
            for row in make_rows()
            if row["status"] == "complete"
            and ("2017-11" if row["completed_on"].startswith("2017-12-01") else row["completed_on"][:7])
            == month
        )
        for month in MONTHS
    }
    for month in MONTHS:
        rows = omis.rows("completed_omis_orders", month)
        assert sorted((row["Company Name"], row["Subtotal"]) for row in rows) == wanted[month]
    assert wanted["2017-11"]
    assert wanted["2018-02"]


def test_the_last_version_is_the_one_when_the_checks_are_decided(omis: Workshop) -> None:
    checks = "        checks = [at_least(0.9)]\n"
    omis.write("omis.py", "    from dataflow.pipelines.shape.checks import at_least\n" + PIPELINES + checks)
    omis.run("OMISDatasetPipeline", "2018-03-01")
    assert omis.run(VIEW).done == 1, omis.said
    omis.resubmit(VIEW, "2017-11")
    gate, files = omis.path / "gate", set(omis.path.rglob("*.parquet"))
    failpoints.arm(f"after_stage:wait={gate}")
    thread = threading.Thread(target=lambda: omis.run(VIEW, "2017-11"))
    thread.start()
    try:
        while set(omis.path.rglob("*.parquet")) == files:
            thread.join(0.05)
            assert thread.is_alive(), omis.said
        omis.poke("update chunk set row_count = 1000 where dataid = '2017-11'")
    finally:
        failpoints.arm("after_stage:")
        gate.touch()
        thread.join()
    assert omis.chunk("completed_omis_orders", "2017-11").status == "INVALID", omis.said
    assert "the last version has 1000" in "".join(omis.said)


def test_an_unknown_column_is_reported_with_the_nearest_name_and_nothing_is_published(omis: Workshop) -> None:
    omis.write("omis.py", PIPELINES.replace('("company_name", ', '("company_nam", '))
    omis.run("OMISDatasetPipeline", "2018-03-01")
    with pytest.raises(BadInput, match=r'unknown column "company_nam"\. Did you mean "company_name"\?'):
        omis.run(VIEW)
    assert omis.chunk("completed_omis_orders", "2017-11") is None


def test_a_view_of_all_fields_has_the_columns_of_its_dataset(omis: Workshop) -> None:
    text = (
        PIPELINES[: PIPELINES.index("        fields = [")]
        + PIPELINES[PIPELINES.index("        where_clause") :]
    )
    omis.write("omis.py", text)
    omis.run("OMISDatasetPipeline", "2018-03-01")
    omis.run(VIEW)
    columns = {"omis_order_reference", "company_name", "completion_date", "subtotal", "order_status"}
    assert set(omis.rows("completed_omis_orders", "2017-11")[0]) == columns
