"""What the screens read beyond the commands: statistics, contexts, pages, metrics and files."""

from __future__ import annotations

import csv
import io
import json

import jsonschema_rs
import pytest

from dataflow.actions.metrics import COUNTER, Metric, Sample
from dataflow.api.routes.statistics import format_metrics
from dataflow.api.table import ROUTES
from tests.acceptance.flow import wait_until
from tests.api.served import Served
from tests.api.test_reads import closed, matches

READS = (
    "/datasets/bobin/pages",
    "/jobs/loadbob/statistics",
    "/lineage",
    "/runs/1/context",
    "/runs/1/log/error",
)


@pytest.fixture
def worked(served: Served) -> Served:
    """One dataid is done, the other has failed."""
    served.flow.script(
        "loadbob.sh", 'echo "$dataid: 0 errors"; test $dataid = 1.0 || { echo "an ERROR"; exit 3; }'
    )
    served.flow.runjob("--drain", "./loadbob.sh", code=None)
    return served


def test_the_answers_are_as_the_document_says(worked: Served) -> None:
    for path in READS:
        route = next(route for route in ROUTES if matches(route.path, f"/api/v1{path}"))
        jsonschema_rs.validator_for(closed(dict(route.answer))).validate(worked.get(path))


def test_chunks_come_in_pages_after_a_dataid(worked: Served) -> None:
    first = worked.get("/datasets/bobin/pages", limit=1)
    assert ([one["dataid"] for one in first["chunks"]], first["next"]) == (["1.0"], "1.0")
    second = worked.get("/datasets/bobin/pages", limit=1, after=first["next"])
    assert ([one["dataid"] for one in second["chunks"]], second["next"]) == (["2.0"], None)


def test_statistics_name_the_dataids_of_each_group_of_failures(worked: Served) -> None:
    found = worked.get("/jobs/loadbob/statistics")
    assert (found["progress"]["done"], found["progress"]["failed"]) == (1, 1)
    (group,) = found["failures"]
    assert (group["state"], group["dataids"]) == ("FAILED", ["2.0"])
    assert [point["dataid"] for point in found["points"]] == ["1.0"]


def test_the_context_of_a_run_has_the_versions_it_read(worked: Served) -> None:
    before = worked.get("/runs/1/context")
    assert [(one["dataset"], one["read_version"], one["version"]) for one in before["inputs"]] == [
        ("bobin", 1, 1)
    ]
    worked.post("/datasets/bobin/ready", dataids=["1.0"], again=True, why="new data")
    after = worked.get("/runs/1/context")
    assert [(one["read_version"], one["version"]) for one in after["inputs"]] == [(1, 2)]


def test_a_run_at_work_shows_its_variables(sqlite_served: Served) -> None:
    flow = sqlite_served.flow
    flow.declare(
        '[dataset.bobin]\n[dataset.bobout]\n[job.loadbob]\nin = ["bobin"]\nout = ["bobout"]\n'
        '[job.loadbob.environment]\nregion = "eu"\n'
    )
    flow.script("loadbob.sh", "mkfifo gate 2>/dev/null; cat gate")
    process = flow.start("./loadbob.sh")
    wait_until((flow.path / "gate").exists)
    found = sqlite_served.get("/runs/1/context")
    assert "context file" in found["note"]
    assert found["environment"]["region"] == "eu"
    assert found["environment"]["dataid"] == "1.0"
    (flow.path / "gate").write_text("go")
    process.wait(60)
    assert "declared" in sqlite_served.get("/runs/1/context")["note"].lower()


def test_the_first_error_of_a_log_is_found_and_counts_of_none_are_passed(worked: Served) -> None:
    runs = {run["dataid"]: run["run_id"] for run in worked.get("/runs")}
    (line,) = worked.get(f"/runs/{runs['2.0']}/log/error")["lines"]
    assert line["line"].endswith("an ERROR")
    part = worked.get(f"/runs/{runs['2.0']}/log", offset=line["start"])
    assert part["text"].startswith(line["line"])
    assert worked.get(f"/runs/{runs['1.0']}/log/error")["lines"] == []


def test_metrics_are_in_the_format_of_prometheus_and_have_no_dataids(worked: Served) -> None:
    answer = worked.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'dataflow_outcomes_total{job="loadbob",outcome="DONE"} 1' in lines
    assert 'dataflow_work{job="loadbob",state="FAILED"} 1' in lines
    assert "# TYPE dataflow_claims_total counter" in lines
    assert "2.0" not in answer.text
    assert worked.anonymous.get("/metrics").status_code == 401


def test_labels_of_metrics_are_escaped() -> None:
    sample = Sample((("job", 'a"b\\c\nd'),), 1.5)
    text = format_metrics([Metric("m", COUNTER, "Two\nlines.", (sample,))])
    assert text == '# HELP m Two\\nlines.\n# TYPE m counter\nm{job="a\\"b\\\\c\\nd"} 1.5\n'


def test_the_journal_is_read_in_parts_and_downloaded_whole(worked: Served) -> None:
    newest = worked.get("/journal", limit=2)
    older = worked.get("/journal", limit=2, before=newest[-1]["journal_id"])
    everything = worked.get("/journal", limit=1000)
    assert newest + older == everything[:4]
    answer = worked.client.get("/api/v1/journal/file", params={"format": "jsonl"})
    assert [json.loads(line) for line in answer.text.splitlines()] == everything
    assert "attachment" in answer.headers["content-disposition"]


def test_the_journal_as_csv_has_no_formulas(worked: Served) -> None:
    worked.post("/jobs/loadbob/pause", why="=cmd()")
    answer = worked.client.get("/api/v1/journal/file", params={"job": "loadbob"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows[0]["why"] == "'=cmd()"
    assert {row["job"] for row in rows} == {"loadbob"}


def test_a_large_log_is_searched_for_errors_in_parts(sqlite_served: Served) -> None:
    flow = sqlite_served.flow
    flow.script("loadbob.sh", "echo begin")
    flow.runjob("./loadbob.sh")
    (path,) = flow.path.rglob("1.log")
    line = b"all is well here, and nothing else happens\n"
    with path.open("wb") as log:
        log.write(line * (40_000_000 // len(line)))
        log.write(b"Traceback (most recent call last):\n")
    found = sqlite_served.get("/runs/1/log/error")
    assert found["lines"] == []
    more = sqlite_served.get("/runs/1/log/error", offset=found["next"])
    assert more["lines"][0]["line"].startswith("Traceback")
