"""`accept`, `invalidate` and `lineage`, and jobs that ask: the real commands."""

from __future__ import annotations

import json
import re

import pytest

from tests.acceptance.flow import Flow, finish, wait_until

FLOW = """
[dataset.raw]
grain = "daily"

[dataset.clean]
grain = "daily"

[dataset.report]
grain = "daily"

[job.make_clean]
in = ["raw"]
out = ["clean"]
on_change = "ask"

[job.make_report]
in = ["clean"]
out = ["report"]
"""
DAY, NEXT_DAY = "2026-08-20", "2026-08-21"
JOBS = ("make_clean", "make_report")


def run_all(flow: Flow) -> None:
    for job in JOBS:
        flow.runjob("--drain", f"{job}.sh")


@pytest.fixture
def made(flow: Flow) -> Flow:
    """raw → clean, which asks → report, done for two days."""
    flow.declare(FLOW)
    for job in JOBS:
        flow.script(f"{job}.sh")
    flow.ready("raw", DAY, NEXT_DAY)
    run_all(flow)
    return flow


def statuses(flow: Flow, dataid: str = DAY) -> list[str]:
    return [flow.status(name)[dataid] for name in ("raw", "clean", "report")]


def test_a_job_that_asks_says_so_and_is_told_what_to_do(made: Flow) -> None:
    made.ready("raw", DAY, again=True)
    assert statuses(made) == ["READY", "STALE", "STALE"]
    found = made.json("why", "make_clean", DAY)
    assert found["verdict"].startswith("STALE: done by run ")
    assert f"raw/{DAY} has version 2, and it was made from version 1" in found["verdict"]
    assert f"To keep it as it is: dataflow accept make_clean {DAY}" in found["verdict"]
    assert found["next"] == f"dataflow resubmit make_clean {DAY}"
    jobs = {job["job"]: job for job in made.json("status")["jobs"]}
    assert jobs["make_clean"]["asking"] == {"count": 1, "first": DAY}
    assert f"make_clean: 1 STALE dataid asks what to do; see: dataflow why make_clean {DAY}" in (
        made.dataflow("status").stdout
    )
    done = made.dataflow("accept", "make_clean", DAY, "--why", "only a comment changed")
    assert done.stderr == "make_clean: kept the results of 1 dataid.\n"
    assert statuses(made) == ["READY", "READY", "READY"]
    assert f"although raw/{DAY} has version 2" in made.json("why", "make_clean", DAY)["verdict"]
    (line,) = [line for line in made.json("journal") if line["action"] == "accept"]
    assert (line["job"], line["dataid"], line["why"]) == ("make_clean", DAY, "only a comment changed")
    assert "nothing changed" in made.dataflow("accept", "make_clean", DAY).stderr


def test_wrong_data_is_shown_withdrawn_and_redone_in_order(made: Flow) -> None:
    before = made.select("SELECT count(*) FROM journal")
    shown = json.loads(made.dataflow("invalidate", "raw", DAY, "--dry-run", "--json").stdout)
    made_by = {run.job: run.run_id for run in made.runs() if run.dataid == DAY}
    assert shown["affected"] == [
        {"dataset": "raw", "dataid": DAY, "version": 1, "run_id": None},
        {"dataset": "clean", "dataid": DAY, "version": 1, "run_id": made_by["make_clean"]},
        {"dataset": "report", "dataid": DAY, "version": 1, "run_id": made_by["make_report"]},
    ]
    assert (shown["running"], shown["jobs"]) == ([], list(JOBS))
    assert made.select("SELECT count(*) FROM journal") == before
    done = made.dataflow("invalidate", "raw", DAY, "--why", "prices in pence")
    assert f"raw: 1 invalidated. Once the data is right: dataflow ready raw {DAY}" in done.stderr
    assert statuses(made) == ["PENDING", "STALE", "STALE"]
    assert statuses(made, NEXT_DAY) == ["READY", "READY", "READY"]
    assert "0 invalidated, 1 already" in made.dataflow("invalidate", "raw", DAY).stderr
    made.dataflow("ready", "raw", DAY)
    run_all(made)
    assert statuses(made) == ["READY", "READY", "READY"]


def test_a_range_of_wrong_data_is_invalidated(made: Flow) -> None:
    made.dataflow("invalidate", "clean", "--from", DAY, "--to", NEXT_DAY, "--yes")
    assert made.states("make_clean") == {DAY: "CLAIMABLE", NEXT_DAY: "CLAIMABLE"}
    assert [statuses(made, day)[2] for day in (DAY, NEXT_DAY)] == ["STALE", "STALE"]
    run_all(made)
    assert statuses(made) == ["READY", "READY", "READY"]


def test_a_run_that_reads_wrong_data_is_named_and_makes_nothing_current(made: Flow) -> None:
    made.script("make_clean.sh", "touch started; until test -e go; do sleep 0.05; done")
    made.dataflow("resubmit", "make_clean", DAY)
    running = made.start("make_clean.sh")
    wait_until((made.path / "started").exists)
    shown = json.loads(made.dataflow("invalidate", "raw", DAY, "--dry-run", "--json").stdout)
    assert [(run["job"], run["dataid"]) for run in shown["running"]] == [("make_clean", DAY)]
    refused = made.dataflow("invalidate", "clean", DAY, check=False)
    assert (refused.returncode, "is being produced by run" in refused.stderr) == (75, True)
    done = made.dataflow("invalidate", "raw", DAY)
    assert "is reading them. Its result will be STALE and made again." in done.stderr
    (made.path / "go").touch()
    finish(running)
    assert statuses(made) == ["PENDING", "STALE", "STALE"]


def test_a_consumer_without_outputs_is_shown_and_redone(made: Flow) -> None:
    made.dataflow("job", "add", "load", "--in", "report")
    made.script("load.sh", "true")
    assert made.runjob("load.sh").returncode == 0
    (run_id,) = [run.run_id for run in made.runs() if (run.job, run.dataid) == ("load", DAY)]
    shown = json.loads(made.dataflow("invalidate", "raw", DAY, "--dry-run", "--json").stdout)
    assert shown["done_without_output"] == [{"run_id": run_id, "job": "load", "dataid": DAY}]
    assert shown["jobs"] == sorted([*JOBS, "load"])
    assert f"run {run_id} of load/{DAY}" in made.dataflow("lineage", "raw", DAY, "--down").stdout
    done = made.dataflow("invalidate", "raw", DAY)
    assert "1 run without an output read them. Their work will be done again." in done.stderr
    assert made.states("load")[DAY] == "WAITING"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("rwa", DAY), 66, 'No dataset "rwa"'),
        (("raw", "2026-08-30"), 66, "raw/2026-08-30 was never published; nothing was changed."),
        (("raw", "--from", "2027-01-01", "--to", "2027-01-02"), 66, "no published chunk from 2027-01-01"),
        (("raw", "--from", NEXT_DAY, "--to", DAY), 65, NEXT_DAY),
        (("raw", "tomorrow"), 65, "tomorrow"),
        (("raw",), 64, "Give dataids in one way"),
        (("raw", DAY, "--json"), 64, "--json needs --dry-run"),
    ],
)
def test_what_cannot_be_invalidated_is_refused(
    made: Flow, words: tuple[str, ...], code: int, told: str
) -> None:
    done = made.dataflow("invalidate", *words, check=False)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert statuses(made) == ["READY", "READY", "READY"]


def test_lineage_is_a_tree_json_mermaid_or_graphviz(made: Flow) -> None:
    assert made.dataflow("lineage", "clean").stdout.splitlines() == [
        "clean",
        "made from:",
        "└─ job make_clean",
        "   └─ raw",
        "used by:",
        "└─ job make_report",
        "   └─ report",
    ]
    tree = made.dataflow("lineage", "report", DAY, "--up").stdout
    assert re.sub(r"run \d+", "run N", tree).splitlines() == [
        f"report/{DAY} version 1",
        f"└─ run N of make_report/{DAY}",
        f"   └─ clean/{DAY} version 1",
        f"      └─ run N of make_clean/{DAY}",
        f"         └─ raw/{DAY} version 1",
    ]
    found = made.json("lineage", "raw", DAY, "--down")
    assert found["roots"] == [f"raw/{DAY}@1"]
    assert [node["kind"] for node in found["nodes"]] == ["chunk", "run", "chunk", "run", "chunk"]
    assert len(found["edges"]) == 4
    mermaid = made.dataflow("lineage", "raw", "--format", "mermaid").stdout.splitlines()
    assert mermaid[:3] == ["flowchart LR", '    n0["raw"]', '    n1("job make_clean")']
    dot = made.dataflow("lineage", "raw", DAY, "--format", "dot").stdout.splitlines()
    assert (dot[0], dot[-1]) == ("digraph lineage {", "}")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("raw", "--up", "--down"), 64, "Give --up or --down"),
        (("raw", "--format", "svg"), 64, "svg"),
        (("raw", DAY, "--columns"), 64, "leave out the dataid"),
        (("raw", "2027-01-01"), 66, "was never published"),
        (("raw", "--columns"), 75, "its columns are not known"),
    ],
)
def test_what_has_no_lineage_is_refused(made: Flow, words: tuple[str, ...], code: int, told: str) -> None:
    done = made.dataflow("lineage", *words, check=False)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--on-change", "askk"), 'it must be one of rerun, ask, ignore. Did you mean "ask"?'),
        (("--on-change", "ask", "--late-after", "7d"), "Use --on-change rerun, or --late-after 0."),
        (("--late-after", "soon"), "--late-after"),
    ],
)
def test_what_is_not_clear_about_changes_is_refused(
    sqlite_flow: Flow, words: tuple[str, ...], told: str
) -> None:
    sqlite_flow.declare(FLOW)
    done = sqlite_flow.dataflow("job", "add", "make_report", *words, check=False)
    assert (done.returncode, told in done.stderr) == (65, True), done.stderr


def test_a_job_without_outputs_has_nothing_to_ask_about(sqlite_flow: Flow) -> None:
    sqlite_flow.declare(FLOW)
    done = sqlite_flow.dataflow("job", "add", "mail", "--in", "raw", "--on-change", "ask", check=False)
    assert (done.returncode, "the job has no output" in done.stderr) == (65, True)


def test_what_a_job_does_about_changes_survives_an_export(sqlite_flow: Flow) -> None:
    sqlite_flow.declare(FLOW)
    sqlite_flow.dataflow("job", "add", "make_report", "--late-after", "7d")
    shown = sqlite_flow.json("job", "show", "make_report")
    assert (shown["on_change"], shown["late_after_seconds"]) == ("rerun", 604800)
    exported = sqlite_flow.dataflow("export").stdout
    assert 'on_change = "ask"' in exported
    assert 'late_after = "7d"' in exported


PIPELINES = '''
class OrdersDatasetPipeline:
    table_name = "orders"
    source_url = "http://localhost:1/orders"
    field_mapping = [("orderNo", "id", "bigint"), ("total.value", "amount", "numeric")]


class MonthViewPipeline:
    view_name = "month"
    dataset_pipeline = OrdersDatasetPipeline
    schedule_interval = "@monthly"
    start_date = datetime(2026, 1, 1)
    on_change = "ask"
    query = """with t as (select id % 10 as "group", amount from orders)
        select "group", sum(amount) as total from t where '{{ ds }}' <> '' group by 1"""
'''


def test_columns_are_traced_through_views_and_field_mappings(sqlite_flow: Flow) -> None:
    folder = sqlite_flow.path / "pipelines"
    folder.mkdir()
    (folder / "shop.py").write_text(f"from datetime import datetime\n{PIPELINES}")
    sqlite_flow.declare(FLOW)
    assert sqlite_flow.dataflow("lineage", "month", "--columns", "--up").stdout.splitlines() == [
        "month.group",
        "└─ orders.id",
        "   └─ orders (source).orderNo",
        "month.total",
        "└─ orders.amount",
        "   └─ orders (source).total.value",
    ]
    found = sqlite_flow.json("lineage", "orders", "--columns", "--down")
    assert {(edge["from"], edge["to"]) for edge in found["edges"]} == {
        ("orders.id", "month.group"),
        ("orders.amount", "month.total"),
    }
    assert found["nodes"][0] | {"column": "id"} == found["nodes"][0]
    dot = sqlite_flow.dataflow("lineage", "month", "--columns", "--format", "dot").stdout
    assert '"orders (source).orderNo" -> "orders.id";' in dot
