"""Files as a source of a pipeline: bad lines, and files and folders that cannot be used."""

from __future__ import annotations

import pytest

from dataflow.errors import FilesFailed
from tests.pipelines.api_server import ApiServer
from tests.pipelines.workshop import Workshop

THINGS = """
    from dataflow.pipelines.declare.sources import files

    class ThingsDatasetPipeline:
        table_name = "things"
        source = files("in/*.jsonl")
        field_mapping = [("id", "id", "bigint PRIMARY KEY"), ...]
        rejects = {"quarantine": 5}
"""
ORDERS = """
    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        field_mapping = [("id", "order_id", "bigint")]
"""
DAY = "2026-11-14"


def test_a_bad_line_is_rejected_even_if_the_fields_are_inferred(workshop: Workshop) -> None:
    (workshop.path / "in").mkdir()
    lines = ['{"id": 1, "name": "x"}', '{"id": ', '{"id": 2, "name": null}']
    (workshop.path / "in" / "a.jsonl").write_text("\n".join(lines))
    workshop.write("things.py", THINGS)
    assert workshop.run("ThingsDatasetPipeline", DAY).done == 1, workshop.said
    assert workshop.rows("things", DAY) == [{"id": 1, "name": "x"}, {"id": 2, "name": None}]


@pytest.mark.parametrize(
    ("policy", "rows", "kept"), [('"fail"', 900, 1000), ('{"quarantine": 0.9}', 15_000, 20_000)]
)
def test_a_run_keeps_at_most_its_limit_of_rejects_over_all_tasks(
    workshop: Workshop, policy: str, rows: int, kept: int
) -> None:
    (workshop.path / "in").mkdir()
    for name in "ab":
        lines = [f'{{"id": "{number} is not a number"}}' for number in range(rows)] + ['{"id": 1}'] * rows
        (workshop.path / "in" / f"{name}.jsonl").write_text("\n".join(lines))
    workshop.environ["INGEST_TASK_CONCURRENCY"] = "2"  # each task has one of the files
    text = THINGS.replace('{"quarantine": 5}', policy).replace(" PRIMARY KEY", "").replace(", ...", "")
    workshop.write("things.py", text)
    workshop.run("ThingsDatasetPipeline", DAY)
    (file,) = workshop.path.rglob("_rejects.jsonl")
    assert len(file.read_text().splitlines()) == kept
    assert f"{kept} of them are in {file}" in workshop.log()


@pytest.mark.parametrize("drain", [False, True])
def test_a_folder_that_cannot_be_created_fails_the_run_and_is_named(workshop: Workshop, drain: bool) -> None:
    (workshop.path / ".dataflow").mkdir()
    (workshop.path / ".dataflow" / "staging").write_text("in the way")
    workshop.write("orders.py", ORDERS)
    with ApiServer([{"id": 1}]) as api:
        workshop.environ = {"API": api.origin}
        outcome = workshop.run("OrdersDatasetPipeline", None if drain else DAY, drain)
    assert isinstance(outcome.error, FilesFailed)
    told = " ".join(workshop.said)
    assert ".dataflow/staging" in told
    assert "next, once that is fixed: dataflow resubmit OrdersDatasetPipeline 2026-11-" in told
    assert "NotADirectoryError" in workshop.log() and "Traceback" not in told
