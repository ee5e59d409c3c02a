"""Our intervals against those of a real Airflow, recorded in airflow_schedules.json.

The schedule is given as a pipeline gives it and as `job add` does; both must have the same intervals. Where
we differ on purpose the case says why (docs/schedules.md), and what we have instead.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dataflow.actions.job_rules import check_job
from dataflow.model.cron import step_text
from dataflow.model.records import Job
from dataflow.model.schedule import Schedule, due_intervals
from dataflow.pipelines.declare import bases
from dataflow.pipelines.declare.attributes import Attributes
from dataflow.pipelines.declare.loader import Found
from dataflow.pipelines.declare.timing import read_timing

DOCUMENT = json.loads(Path(__file__).with_name("airflow_schedules.json").read_text())
CASES: list[dict[str, Any]] = DOCUMENT["cases"]
MUCH_LATER = "2100-01-01T00:00Z"


def from_pipeline(case: dict[str, Any]) -> Schedule:
    """The schedule of a class with these attributes."""
    start, end = given(case["start"]), given(case.get("end"))
    schedule = case["schedule"]
    named = {} if start and start.tzinfo else {"timezone": case["timezone"]}
    attributes = SimpleNamespace(
        schedule_interval=timedelta(seconds=schedule) if isinstance(schedule, int) else schedule,
        start_date=start,
        end_date=end,
        catchup=case.get("catchup", True),
        **named,
    )
    found = Found("dataset", "Orders", attributes, "pipelines/orders.py", 1)
    return read_timing(Attributes(found, bases.DatasetPipeline)).parsed


def from_job_add(case: dict[str, Any]) -> Schedule:
    """The schedule of a job as it is registered, its start in canonical form."""
    start, _, zone = case["start"].removesuffix("]").partition("[")
    end = (case.get("end") or "").partition("[")[0]
    schedule = case["schedule"]
    expression = step_text(schedule) if isinstance(schedule, int) else schedule
    timezone, catchup = zone or case["timezone"], case.get("catchup", True)
    job = Job("orders", (), (), (), expression, start, end, catchup, timezone)
    job = check_job(job, {}, may_be_over=True).job
    return Schedule(job.schedule, job.timezone, job.start or None, job.end or None, job.catchup)


def given(text: str | None) -> datetime | None:
    """A datetime of `2024-01-01T00:00`, or with its zone of `2024-01-01T00:00[Europe/Berlin]`."""
    if text is None:
        return None
    moment, _, zone = text.removesuffix("]").partition("[")
    return datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone) if zone else None)


def written(at: float | None) -> str | None:
    if at is None:
        return None
    moment = datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="seconds" if moment.second else "minutes") + "Z"


def epoch(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def find_due(case: dict[str, Any], schedule: Schedule) -> tuple[list[str], str | None]:
    now = epoch(case.get("now", MUCH_LATER))
    assert now is not None
    due, next_at = due_intervals(schedule, epoch(case.get("cursor")), now, case["limit"])
    return [f"{written(item.start_at)}/{written(item.end_at)}" for item in due], written(next_at)


@pytest.mark.parametrize("group", sorted({case["group"] for case in CASES}))
def test_pipelines_and_job_add_have_the_same_intervals_as_airflow(group: str) -> None:
    for case in (case for case in CASES if case["group"] == group):
        wanted = case.get("ours", case)
        expected = (wanted["intervals"], wanted["next_due"])
        assert find_due(case, from_pipeline(case)) == expected, case
        assert find_due(case, from_job_add(case)) == expected, case


def test_we_differ_from_airflow_only_where_the_docs_say_so() -> None:
    reasons = Counter(case["ours"]["why"] for case in CASES if "ours" in case)
    assert set(reasons) == {"repeated time", "skipped time", "half an hour", "counted from start"}
    assert reasons.total() < len(CASES) / 10
    for case in CASES:
        if "ours" in case:
            assert case["group"] in ("clock change", "timedelta, no catch-up"), case
            assert (case["ours"]["intervals"], case["ours"]["next_due"]) != (
                case["intervals"],
                case["next_due"],
            )


def test_where_we_differ_intervals_still_follow_each_other_without_a_gap() -> None:
    for case in (case for case in CASES if "ours" in case):
        bounds = [interval.split("/") for interval in case["ours"]["intervals"]]
        assert all(before[1] == after[0] for before, after in pairwise(bounds)), case
