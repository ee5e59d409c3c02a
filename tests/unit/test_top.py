"""One frame of `dataflow top`: rates, times left, and what fits on the screen."""

from __future__ import annotations

import pytest

from dataflow.actions.job_progress import MOST_RECENT, JobProgress, Progress, WorkerLoad, find_rates
from dataflow.cli.terminal import measure
from dataflow.cli.top import draw
from dataflow.model.record import replace
from dataflow.store.run_reads import LiveRun, RecentRun

NOW = 1_800_000_000.0


def job(name: str = "load", **fields: int | float | None) -> JobProgress:
    given: dict[str, int | float | None] = {
        **{"total": 100, "done": 40, "running": 2, "waiting": 57, "failed": 1, "held": 0},
        **{"rate": 0.5, "claimable": 57},
    }
    return JobProgress(name, **given | fields)  # type: ignore[arg-type]


def frame(
    *jobs: JobProgress, runs: int = 0, incidents: tuple[str, ...] = (), hosts: tuple[str, ...] = ()
) -> Progress:
    live = tuple(LiveRun(7 + n, "load", f"2026-08-{n + 1:02d}", "etl1", NOW - 65) for n in range(runs))
    workers = tuple(WorkerLoad(host, 4711, "0.1.0", 3, 1, 16, NOW - 7380) for host in hosts)
    return Progress(NOW, jobs, live, incidents, workers)


def test_a_rate_counts_the_runs_since_the_first_of_the_last_minutes_began() -> None:
    runs = [RecentRun(1, NOW - 100 + n * 10, NOW - 90 + n * 10) for n in range(10)]
    runs += [RecentRun(2, NOW - 5000, NOW - 4000)]
    assert find_rates(runs, NOW) == {1: pytest.approx(0.1)}


def test_a_rate_leaves_out_the_time_without_runs() -> None:
    runs = [RecentRun(1, NOW - 300 + start, NOW - 295 + start) for start in (0, 0, 5, 100, 100)]
    assert find_rates(runs, NOW)[1] == pytest.approx(5 / 15)
    assert find_rates(runs, NOW, active={1})[1] == pytest.approx(5 / (15 + 195))


def test_a_rate_of_many_runs_is_that_of_the_time_they_cover() -> None:
    runs = [RecentRun(1, NOW - 500, NOW - n / 100) for n in range(MOST_RECENT)]
    assert find_rates(runs, NOW)[1] == pytest.approx(100, rel=0.01)


def test_the_time_left_follows_from_the_rate() -> None:
    assert job().eta_seconds == pytest.approx(118)
    assert job(rate=None).eta_seconds is None
    assert job(running=0, waiting=0, claimable=0).eta_seconds is None


def test_there_is_no_time_left_while_all_that_is_left_waits_for_data() -> None:
    assert job(running=0, claimable=0).eta_seconds is None


def test_runs_that_are_gone_do_not_count_as_running() -> None:
    lines = draw(replace(frame(job(), runs=2), gone=frozenset([8])), 80, 24)
    assert ", 1 running (1 gone)" in lines[0]
    assert [line.endswith(", gone") for line in lines[-2:]] == [False, True]


def test_while_everything_is_paused_the_frame_says_so_instead_of_a_time() -> None:
    lines = draw(replace(frame(job(), job("idle", running=0, waiting=0)), is_paused=True), 80, 24)
    assert lines[0].endswith(", 0 running, paused")
    assert [line.endswith(" paused") for line in lines[3:]] == [True, False]


def test_a_frame_shows_progress_rate_time_left_and_failures() -> None:
    lines = draw(frame(job(), runs=2, incidents=("failed load",)), 80, 24)
    assert lines == [
        "2027-01-15T08:00:00Z, 1 job, 2 running, 1 incident: failed load",
        "",
        "job                      done/total  run  fail    rate     eta",
        "load █████░░░░░░░░░          40/100    2     1  30.0/m   1m58s",
        "",
        "    run job      for dataid",
        "      7 load    1m5s 2026-08-01 on etl1",
        "      8 load    1m5s 2026-08-02 on etl1",
    ]


def test_a_frame_shows_workers_between_jobs_and_runs() -> None:
    lines = draw(frame(job(), runs=1, hosts=("etl1", "etl2.example.org")), 80, 24)
    assert lines[0] == "2027-01-15T08:00:00Z, 1 job, 1 running, 2 workers"
    assert lines[4:8] == [
        "",
        "worker on        process    busy jobs     for version",
        "etl1                4711    1/16    3    2h3m 0.1.0",
        "etl2.example.org    4711    1/16    3    2h3m 0.1.0",
    ]
    assert lines[-1].endswith("2026-08-01 on etl1")


def test_jobs_workers_and_runs_share_a_small_terminal() -> None:
    jobs = [job(f"job{number}") for number in range(50)]
    lines = draw(frame(*jobs, runs=30, hosts=tuple(f"etl{number}" for number in range(50))), 80, 24)
    assert len(lines) == 24
    assert sum(line.startswith("job") for line in lines) == 8
    assert sum(line.startswith("etl") for line in lines) == 2
    assert sum("on etl1" in line for line in lines) == 5
    assert sum("more" in line for line in lines) == 3


def test_without_unicode_the_bar_is_ascii() -> None:
    assert "load #####........." in draw(frame(job()), 80, 24, unicode=False)[3]


def test_a_job_on_hold_says_so_instead_of_a_time() -> None:
    assert draw(frame(job(running=0, waiting=0, held=57)), 80, 24)[3].endswith("held")


def test_jobs_at_work_come_first() -> None:
    idle = job("a", running=0, waiting=0, failed=0)
    waiting, failing = job("b", running=0), job("c", running=0, waiting=0)
    shown = [line.split()[0] for line in draw(frame(idle, failing, waiting, job("d")), 80, 24)[3:]]
    assert shown == ["d", "b", "c", "a"]


@pytest.mark.parametrize("width", [80, 100, 40])
@pytest.mark.parametrize("height", [10, 24])
def test_a_frame_fits_into_the_terminal(width: int, height: int) -> None:
    name = "a_job_with_a_long_name_" * 3
    big = {"total": 1_000_000, "done": 999_999, "running": 128}
    jobs = [job(f"{name}{number}", **big) for number in range(50)]
    hosts = tuple(f"{name}{number}" for number in range(20))
    many = frame(*jobs, runs=30, incidents=(f"failed {name}", f"invalid {name}"), hosts=hosts)
    lines = draw(many, width, height)
    assert max(measure(line) for line in lines) <= width
    assert len(lines) <= height
    assert any("more" in line for line in lines)


def test_without_jobs_the_frame_names_the_next_command() -> None:
    assert draw(frame(), 80, 24)[-1].startswith("No jobs yet. Add one: dataflow job add")
