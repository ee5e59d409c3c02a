"""Pipelines through a worker: one warm Spark session, definitions that change, a process that dies."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.acceptance.flow import family, is_running, wait_until
from tests.service.crew import Crew

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java here"),
]


@pytest.fixture
def pipelines(sqlite_crew: Crew) -> Crew:
    """A project with a pipeline and a view that runs on Spark."""
    pytest.importorskip("pyspark")
    sqlite_crew.flow.dataflow("init", "--pipelines")
    return sqlite_crew


def python_processes(pid: int) -> list[int]:
    """The processes below a worker that run pipelines."""
    found = []
    for child in family(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"dataflow.service.pipeline_process" in command:
            found.append(child)
    return found


def test_a_pipeline_and_its_view_run_through_one_warm_session(pipelines: Crew) -> None:
    worker = pipelines.start("-j", "1", "--spark-idle", "3s")
    worker.wait_for("MonthlyTotalsViewPipeline 2024-03: done", 300)
    took = [float(seconds) for seconds in re.findall(r"in ([\d.]+) s \(run", worker.said)]
    print(f"runs on one session: {took} s")
    assert len(took) == 4 and min(took[1:]) < took[0]
    (process,) = python_processes(worker.pid)
    wait_until(lambda: not is_running(process), 60)  # idle for longer than 3 s
    wait_until(lambda: not python_processes(worker.pid))
    pipelines.flow.dataflow("resubmit", "MonthlyTotalsViewPipeline", "2024-02")
    wait_until(lambda: worker.said.count("2024-02: done") == 2, 300)
    assert worker.end() == 0, worker.said


def test_a_changed_pipeline_is_loaded_and_a_broken_one_keeps_its_last_definition(pipelines: Crew) -> None:
    file = pipelines.flow.path / "pipelines" / "orders.py"
    good = file.read_text()
    worker = pipelines.start("-j", "1")
    worker.wait_for("MonthlyTotalsViewPipeline 2024-03: done", 300)
    file.write_text(good + "\nclass Broken(:\n")
    worker.wait_for("pipelines/orders.py:")
    pipelines.flow.dataflow("resubmit", "MonthlyTotalsViewPipeline", "2024-01")
    wait_until(lambda: worker.said.count("2024-01: done") == 2, 120)
    assert worker.said.count("warning: pipelines/orders.py:") == 1, worker.said
    view = good[good.index("class MonthlyTotalsViewPipeline") :]
    file.write_text(good + "\n\n" + view.replace("MonthlyTotals", "Late").replace("monthly_totals", "late"))
    worker.wait_for("LateViewPipeline 2024-03: done", 120)
    assert worker.end() == 0, worker.said


def test_a_killed_process_of_the_pipelines_is_replaced_and_leaves_nothing_behind(pipelines: Crew) -> None:
    failpoint = {"DATAFLOW_FAILPOINT": f"after_claim:wait={pipelines.flow.path / 'go'}"}
    worker = pipelines.start("-j", "1", env=failpoint)
    wait_until(lambda: "RUNNING" in pipelines.flow.outcomes())
    (process,) = python_processes(worker.pid)
    (row,) = pipelines.flow.json("workers")
    assert [run["job"] for run in row["doing"]] == ["OrdersDatasetPipeline"]
    (pipelines.flow.path / "go").touch()
    os.kill(process, signal.SIGKILL)
    worker.wait_for("MonthlyTotalsViewPipeline 2024-03: done", 300)
    assert pipelines.flow.outcomes()[:2] == ["LOST", "DONE"]
    everyone = family(worker.pid)
    worker.end(signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, everyone)))


def test_a_second_signal_hands_the_run_of_a_pipeline_back(pipelines: Crew) -> None:
    failpoint = {"DATAFLOW_FAILPOINT": f"after_fetch:wait={pipelines.flow.path / 'go'}"}
    worker = pipelines.start("-j", "1", env=failpoint)
    wait_until(lambda: "RUNNING" in pipelines.flow.outcomes())
    worker.send(signal.SIGTERM)
    time.sleep(0.5)  # two signals that arrive together count as one
    worker.send(signal.SIGTERM)
    time.sleep(1)  # the process of the pipelines hears of it before the run goes on
    (pipelines.flow.path / "go").touch()
    assert worker.process.wait(120) == 128 + signal.SIGTERM, worker.said
    assert pipelines.flow.outcomes() == ["INTERRUPTED"]
    assert set(pipelines.flow.states("OrdersDatasetPipeline").values()) == {"CLAIMABLE"}
