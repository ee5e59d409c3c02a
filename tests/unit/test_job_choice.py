"""Which job a worker claims from next."""

from __future__ import annotations

from dataflow.model.worker_rows import JobOutlook
from dataflow.service.job_choice import find_next_due, rank


def outlook(job_id: int, **fields: object) -> JobOutlook:
    values: dict[str, object] = {
        "job_priority": 0,
        "work_id": None,
        "priority": None,
        "called_at": None,
        "wait_seconds": None,
        "calendar_seconds": None,
        "deadline_seconds": None,
        "lease_seconds": None,
    }
    return JobOutlook(job_id, **values | fields)  # type: ignore[arg-type]


def claimable(job_id: int, priority: int, called_at: str) -> JobOutlook:
    return outlook(job_id, work_id=job_id * 10, priority=priority, called_at=called_at)


def test_priority_comes_before_age() -> None:
    found = rank(
        [claimable(1, 0, "2026-01-01"), claimable(2, 5, "2026-01-02"), claimable(3, 0, "2025-01-01")], ()
    )
    assert [(one.job_id, one.work_id) for one in found] == [(2, 20), (3, 30), (1, 10)]


def test_a_job_with_something_due_goes_before_its_equals() -> None:
    due = outlook(1, wait_seconds=-1.0)
    assert [one.job_id for one in rank([claimable(2, 0, "2026"), due, claimable(3, 1, "2026")], ())] == [
        3,
        1,
        2,
    ]


def test_a_job_without_anything_to_do_is_not_ranked() -> None:
    assert rank([outlook(1), outlook(2, calendar_seconds=5.0)], ()) == []


def test_a_job_with_a_dead_run_is_ranked() -> None:
    assert [one.job_id for one in rank([outlook(1, lease_seconds=200.0)], {1})] == [1]


def test_the_next_moment_is_the_earliest_that_is_still_to_come() -> None:
    assert (
        find_next_due([outlook(1, wait_seconds=-3.0, lease_seconds=9.0), outlook(2, calendar_seconds=4.0)])
        == 4.0
    )
    assert find_next_due([outlook(1)]) is None
