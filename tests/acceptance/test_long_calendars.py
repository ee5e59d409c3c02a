"""A calendar that is far behind delays neither its own job nor others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dataflow.actions.calendar import MOST_INTERVALS
from tests.acceptance.flow import Flow

EVERY_MINUTE = """
[dataset.minutes]
grain = "text"
[job.count]
{inputs}out = ["minutes"]
schedule = "* * * * *"
start = "{start}"
catchup = true
"""


def declare(flow: Flow, days: int, inputs: str = "") -> None:
    start = (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    flow.declare(EVERY_MINUTE.format(start=start, inputs=inputs))


def count_added(flow: Flow) -> int:
    [(count,)] = flow.select("SELECT count(*) FROM chunk c JOIN calendar k ON k.dataset_id = c.dataset_id")
    return int(count)


def test_the_first_run_does_not_wait_for_all_intervals(flow: Flow) -> None:
    declare(flow, 3)
    shown = flow.project.run("RunJob", "--dry-run", "--job", "count", "true", env=flow.env).stdout
    assert shown.startswith("would claim count ")
    assert count_added(flow) == 0
    flow.runjob("--job", "count", "true")
    assert flow.outcomes() == ["DONE"]
    assert count_added(flow) == MOST_INTERVALS
    flow.runjob("--job", "count", "true")
    first, second = sorted(run.dataid for run in flow.runs())
    assert first in shown and first < second


def test_intervals_are_added_until_one_can_be_claimed(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare('[dataset.late]\ngrain = "text"\n')
    declare(flow, 3, 'in = ["late"]\n')
    flow.runjob("--job", "count", "true")
    assert flow.outcomes() == []
    assert count_added(flow) > 3 * 1440 - 10


def test_a_dry_run_gives_up_before_others_have_waited_long(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare('[dataset.late]\ngrain = "text"\n')
    declare(flow, 15, 'in = ["late"]\n')
    shown = flow.project.run("RunJob", "--dry-run", "--job", "count", "true", env=flow.env).stdout
    assert "would claim none of the first due intervals" in shown
    assert count_added(flow) == 0
