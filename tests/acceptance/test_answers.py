"""What commands say after a change: who takes the work, what else is registered, who holds a job."""

from __future__ import annotations

import json

from tests.acceptance.flow import Flow
from tests.project import Project

PROJECT = """
[dataset.raw]
grain = "daily"
[dataset.sums]
grain = "daily"
[job.load]
in = ["raw"]
out = ["sums"]
command = ["./load.sh"]
"""


def declare(flow: Flow) -> None:
    flow.declare(PROJECT, keep=True)
    flow.script("load.sh", "exit 1")


def test_apply_names_jobs_that_are_no_longer_declared(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    flow.dataflow("job", "add", "other", "--in", "raw")
    said = flow.dataflow("apply").stderr
    assert "Not declared here: other. To remove a job: dataflow job remove other\n" in said
    flow.dataflow("job", "remove", "other", "--yes")
    assert "Not declared" not in flow.dataflow("apply").stderr


def test_where_a_command_is_declared_a_worker_is_named_as_well(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    flow.ready("raw", "2026-01-01")
    assert "the next worker or RunJob takes it" in flow.dataflow("why", "load").stdout
    flow.runjob("./load.sh", code=None)
    said = flow.dataflow("resubmit", "load", "2026-01-01").stderr
    assert "Next: a worker takes it, or: RunJob" in said
    flow.script("load.sh", "kill -9 $PPID")
    flow.runjob("./load.sh", code=None)
    assert "The next worker or RunJob takes it over." in flow.dataflow("status").stdout
    assert "the next worker or RunJob" in flow.dataflow("why", "load").stdout


def test_status_says_who_paused_a_job_and_why(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    flow.dataflow("pause", "load", "--why", "disk full")
    (line,) = [line for line in flow.dataflow("status").stdout.splitlines() if "on hold" in line]
    assert line.startswith("load: on hold (by ")
    assert line.endswith(": disk full); to resume it: dataflow resume load")


def test_job_show_has_the_command_of_a_worker(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    assert flow.json("job", "show", "load")["command"] == ["./load.sh"]


def test_a_start_on_a_day_without_work_is_named(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    words = ("job", "add", "digest", "--schedule", "0 6 * * 1-5", "--in", "raw", "--start", "2026-11-01")
    said = "The first dataid of job digest from 2026-11-01 on is 2026-11-02."
    assert said in flow.dataflow(*words).stderr


def test_the_reason_of_a_pool_is_in_the_journal_and_done_is_no_reason(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    flow.script("load.sh", "exit 0")
    flow.ready("raw", "2026-01-01")
    flow.runjob("./load.sh")
    flow.dataflow("pool", "set", "warehouse", "4", "--why", "new licence")
    lines = flow.json("journal")
    assert "pool warehouse: 4: new licence" in [line["why"] for line in lines]
    assert [line["why"] for line in lines if line["action"] == "finish"] == [""]


def test_the_example_runs_with_a_worker(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.dataflow("init", "shop", "--example")
    shop = Project(flow.path / "shop", flow.project.home)
    for words in (("apply", "--yes"), ("ready", "numbers", "1")):
        shop.run("dataflow", *words, env=flow.env)
    assert "square 1: DONE" in shop.run("dataflow", "worker", "--until-idle", env=flow.env).stderr


def test_init_inside_a_project_names_that_one(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    said = flow.dataflow("init", "first").stderr
    assert "inside another" not in said
    said = flow.dataflow("init", "first/second").stderr
    assert f"This project is inside another one, {flow.path / 'first'}; commands here use this one." in said


def test_notify_says_what_waits_for_another_attempt(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    channel = '[notify.page]\nkind = "command"\ncommand = ["false"]\n'
    (flow.path / "dataflow.toml").write_text(PROJECT + channel)
    flow.ready("raw", "2026-01-01")
    flow.runjob("./load.sh", code=None)
    assert "Not sent to page" in flow.dataflow("notify", check=False).stderr
    said = flow.dataflow("notify", check=False).stderr
    assert "1 notification not sent yet and tried again later; the first, to page: " in said
    assert json.loads(flow.dataflow("incidents", "--json").stdout)[0]["notifications"][0]["attempts"] == 1
