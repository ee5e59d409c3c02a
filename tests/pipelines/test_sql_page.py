"""The example of docs/sql.md returns the rows shown there, and its columns are stored as described."""

from __future__ import annotations

import re

import pytest

from dataflow.cli.init import list_files
from dataflow.pipelines.lake.manifest import read_frame
from tests.docs.pages import DOCS, list_blocks
from tests.pipelines.workshop import Workshop

EXAMPLE, _, RESULT = (block.text for block in list_blocks(DOCS / "sql.md"))
VIEW = "CompanyTotalsViewPipeline"


@pytest.fixture
def computed(workshop: Workshop) -> Workshop:
    """The project of the page, with the view computed."""
    (workshop.path / "data").mkdir()
    files = list_files(example=False, pipelines=True)
    (workshop.path / "data" / "orders.jsonl").write_text(files["data/orders.jsonl"])
    workshop.write("orders.py", files["pipelines/orders.py"])
    example = re.search(r"<<'END'\n(.*?)^END$", EXAMPLE, re.MULTILINE | re.DOTALL)
    assert example
    workshop.write("totals.py", example[1])
    workshop.run("OrdersDatasetPipeline")
    workshop.run(VIEW)
    return workshop


def test_the_example_returns_the_rows_shown_on_the_page(computed: Workshop) -> None:
    header, *shown = (re.split(r" {2,}", line.strip()) for line in RESULT.splitlines())
    rows = sorted(computed.rows("company_totals", "once"), key=lambda row: row["company"])
    assert header == [*rows[0], "dataid"]
    assert shown == [[*(str(value) for value in row.values()), "once"] for row in rows]


def test_numerics_of_the_example_are_kept_as_the_page_says(computed: Workshop) -> None:
    location = computed.path / computed.chunk("company_totals", "once").location
    kinds = dict(read_frame(str(location)).columns)
    assert kinds["total"] == "numeric(22,2)"
    assert kinds["average"] == "numeric(*)"
    assert kinds["rounded"] == "numeric(38,2)"
    assert {type(row["average"]) for row in computed.rows("company_totals", "once")} == {str}
