"""The timeout of a pipeline's run, and how long a drain waits for a retry."""

from __future__ import annotations

from dataflow.errors import TimedOut
from tests.pipelines.workshop import Workshop

SLOW = """
    import time
    import dataflow

    @dataflow.job(outputs=["slow"], schedule="@once", timeout_seconds=0.5)
    def make_slow(run):
        time.sleep(1)
        run.write("slow", run.spark.createDataFrame([(1,)], "id int"))
"""
FAILS_ONCE = """
    import dataflow
    from pathlib import Path

    @dataflow.job(outputs=["late"], schedule="@once", retries=1, retry_delay_seconds=1)
    def make_late(run):
        marker = Path(constants.MARKER)
        if not marker.exists():
            marker.touch()
            raise RuntimeError("not yet")
        run.write("late", run.spark.createDataFrame([(1,)], "id int"))
"""


def test_a_run_that_takes_longer_than_its_timeout_fails_and_publishes_nothing(workshop: Workshop) -> None:
    workshop.write("jobs.py", SLOW)
    outcome = workshop.run("make_slow")
    assert isinstance(outcome.error, TimedOut)
    [run] = workshop.store.read.list_runs(most=10)
    assert (str(run.outcome), run.exit_code) == ("FAILED", 124)
    chunk = workshop.chunk("slow", run.dataid)
    assert chunk is None or chunk.version == 0


def test_a_drain_waits_for_the_retry_of_a_failed_interval(workshop: Workshop) -> None:
    workshop.environ["MARKER"] = str(workshop.path / "marker")
    workshop.write("jobs.py", FAILS_ONCE)
    outcome = workshop.run("make_late", drain=True)
    assert (outcome.done, outcome.failed) == (1, 0), workshop.said
    assert "RuntimeError: not yet" in workshop.said[0]
