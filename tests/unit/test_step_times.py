"""Times of steps are read back from the line of the log that has them."""

from __future__ import annotations

from dataflow.model.step_times import StepTimes, find_step_times


def test_the_steps_of_the_last_try_are_read_back() -> None:
    times = StepTimes()
    for step in ("fetch and shape", "check", "publish"):
        times.end(step)
    log = f"took: check 9.00 s\n2026-08-20 04:12:07 {times}\ndone\n"
    found = find_step_times(log)
    assert [one.step for one in found] == ["fetch and shape", "check", "publish"]
    assert all(0 <= one.seconds < 5 for one in found)


def test_a_log_without_such_a_line_has_no_steps() -> None:
    assert find_step_times("published 3 rows\n") == ()
