"""Jobs driven by a clock: exactly the right dataids, in order, by the same command as any other job."""

from __future__ import annotations

import shlex
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

from tests.acceptance.flow import Flow, finish, wait_until


def days(first: str, last: str) -> list[str]:
    """All dates in the range, inclusive."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(start + timedelta(number)).isoformat() for number in range((end - start).days + 1)]


def add_job(flow: Flow, *words: str, grain: str = "daily") -> None:
    flow.dataflow("dataset", "add", "bobout", "--grain", grain)
    flow.dataflow("job", "add", "loadbob", "--out", "bobout", *words)
    flow.script("loadbob.sh")


def test_catch_up_claims_every_day_from_start_to_end_in_order(flow: Flow) -> None:
    add_job(flow, "--schedule", "@daily", "--start", "2024-02-26", "--end", "2024-03-03", "--catchup")
    wanted = days("2024-02-26", "2024-03-03")
    assert "2024-02-29" in wanted
    flow.runjob("loadbob.sh")
    assert flow.lines() == wanted[:1]
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == wanted
    done = flow.runjob("loadbob.sh")
    assert "READY" in done.stderr
    assert flow.lines() == wanted
    assert set(flow.status("bobout")) == set(wanted)


def test_a_script_gets_the_bounds_of_its_interval_and_not_those_of_a_run_around_it(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    add_job(
        flow, "--schedule", "0 6 * * *", "--start", "2026-03-28", "--timezone", "Europe/Rome", "--catchup"
    )
    flow.dataflow("dataset", "add", "numbers")
    flow.dataflow("job", "add", "inner", "--in", "numbers")
    flow.ready("numbers", "1")
    flow.script("inner.sh", 'env > "inner.env"')
    inner = shlex.join(flow.project.command("RunJob", "inner.sh"))
    flow.script("loadbob.sh", f'echo "$DATAFLOW_INTERVAL_START $DATAFLOW_INTERVAL_END" > bounds; {inner}')
    flow.runjob("loadbob.sh")
    bounds = (flow.path / "bounds").read_text()
    assert bounds == "2026-03-28T06:00:00+01:00 2026-03-29T06:00:00+02:00\n"
    assert "DATAFLOW_RUN_ID=2\n" in (flow.path / "inner.env").read_text()
    assert "DATAFLOW_INTERVAL" not in (flow.path / "inner.env").read_text()


def test_without_catch_up_only_the_last_interval_is_claimed(flow: Flow) -> None:
    before = datetime.now(UTC).year - 1
    add_job(flow, "--schedule", "@yearly", "--start", "2020", grain="yearly")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() in ([str(before)], [str(before + 1)])


def test_a_schedule_whose_end_has_passed_without_catch_up_says_so(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    words = ("--schedule", "@daily", "--start", "2024-02-26", "--end", "2024-03-03")
    flow.dataflow("dataset", "add", "bobout", "--grain", "daily")
    told = flow.dataflow("job", "add", "loadbob", "--out", "bobout", *words).stderr
    assert "warning: loadbob will never run: its --end has passed" in told
    assert "Give --catchup" in told
    assert "warning" not in flow.dataflow("job", "add", "loadbob", "--catchup").stderr
    assert "warning" not in flow.dataflow("job", "add", "later", "--schedule", "none").stderr


def test_a_job_on_demand_runs_only_for_the_dataid_asked_for(flow: Flow) -> None:
    add_job(flow, "--schedule", "none")
    idle = flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99).stderr
    assert "loadbob runs only on request, with a dataid" in idle
    assert "RunJob --dataid DATAID" in idle
    shown = flow.runjob("--dry-run", "--dataid", "2024-02-29", "loadbob.sh").stdout
    assert shown.startswith("would claim loadbob 2024-02-29")
    assert flow.lines() == []
    flow.runjob("--dataid", "2024-02-29", "loadbob.sh")
    flow.runjob("--dataid", "2024-02-29", "loadbob.sh")
    flow.runjob("--drain", "loadbob.sh")
    shown = flow.runjob("--dry-run", "--dataid", "2024-03-01", "loadbob.sh").stdout
    assert shown.startswith("would claim loadbob 2024-03-01")
    assert flow.lines() == ["2024-02-29"]
    asked = flow.dataflow("why", "loadbob", "2024-03-01").stdout
    assert "runs only on request" in asked
    assert "RunJob --dataid 2024-03-01" in asked


def test_a_catch_up_without_a_start_says_that_it_adds_only_the_latest_interval(sqlite_flow: Flow) -> None:
    told = sqlite_flow.dataflow("job", "add", "loadbob", "--schedule", "@daily", "--catchup").stderr
    assert "warning: loadbob adds only the latest interval: --catchup needs a --start" in told
    assert "warning" not in sqlite_flow.dataflow("job", "add", "loadbob", "--start", "2024-02-26").stderr
    (sqlite_flow.path / "flow.toml").write_text('[job.other]\nschedule = "@daily"\ncatchup = true\n')
    assert "warning: other adds only" in sqlite_flow.dataflow("apply", "flow.toml", "--yes").stderr


def test_a_calendar_is_neither_located_nor_checked_nor_listed(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(
        '[dataset.raw]\ngrain = "daily"\nlocation = "raw"\n[dataset.loadbob_calendar_sums]\ngrain = "daily"\n'
        '[job.loadbob]\nin = ["raw"]\nout = ["loadbob_calendar_sums"]\nschedule = "none"\n'
    )
    (flow.path / "raw").touch()
    flow.ready("raw", day := "2024-02-29")
    flow.script("loadbob.sh")
    shown = flow.runjob("--dry-run", "--dataid", day, "loadbob.sh").stdout
    assert f"located? yes: raw/{day} is at " in shown
    assert f"valid? not checked: raw/{day} was published without a check\n" in shown
    assert "loadbob_calendar_dataid" not in shown
    assert f"raw_dataid={day}\n" in shown
    assert f"loadbob_calendar_sums_dataid={day}\n" in shown


def test_a_drain_does_not_count_what_is_outside_the_schedule_as_left(flow: Flow) -> None:
    flow.declare(
        '[dataset.raw]\ngrain = "daily"\n[job.loadbob]\nin = ["raw"]\nschedule = "@daily"\n'
        'start = "2024-02-27"\nend = "2024-02-29"\ncatchup = true\n'
    )
    flow.ready("raw", "2024-02-26", "2024-02-27", "2024-02-29")
    flow.script("loadbob.sh")
    done = flow.runjob("--drain", "loadbob.sh")
    assert "loadbob: 2 chunks done, 0 failed, 1 left (dataflow why loadbob)\n" in done.stderr
    assert flow.json("why", "loadbob")["dataid"] == "2024-02-28"
    flow.ready("raw", "2024-02-28")
    done = flow.runjob("--drain", "loadbob.sh")
    assert "loadbob: 1 chunk done, 0 failed, none left\n" in done.stderr
    assert flow.states()["2024-02-26"] == "WAITING"
    told = (
        "loadbob: 1 dataid is outside its schedule and stays WAITING; see: dataflow why loadbob 2024-02-26\n"
    )
    assert told in flow.dataflow("status").stdout


def test_steps_of_a_fixed_length_and_quarters_are_schedules(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    words = ("--start", "2024-01-01", "--catchup")
    add_job(flow, "--schedule", "every 36 hours", "--end", "2024-01-04", *words, grain="text")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == [f"2024-01-0{day}+00:00" for day in ("1T00:00", "2T12:00", "4T00:00")]
    flow.dataflow("job", "add", "close", "--schedule", "@quarterly", "--end", "2024-04-01", *words)
    flow.script("close.sh")
    flow.runjob("--drain", "close.sh")
    assert flow.lines()[3:] == ["2024-Q1", "2024-Q2"]


def test_an_interval_that_has_not_ended_is_not_claimed_and_why_says_when_it_is(flow: Flow) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    add_job(flow, "--schedule", "@daily", "--start", tomorrow, "--catchup")
    done = flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    after = (date.fromisoformat(tomorrow) + timedelta(days=1)).isoformat()
    assert after in done.stderr
    assert flow.lines() == []


def test_today_is_claimed_once(flow: Flow) -> None:
    before = datetime.now(UTC).date().isoformat()
    add_job(flow, "--in", "today")
    flow.runjob("--drain", "loadbob.sh")
    flow.runjob("--drain", "loadbob.sh")
    after = datetime.now(UTC).date().isoformat()
    assert flow.lines() in ([before], [after], [before, after])


def test_all_hours_of_a_day_on_which_the_clocks_change_are_claimed(flow: Flow) -> None:
    words = ("--schedule", "@hourly", "--timezone", "Europe/Rome", "--catchup")
    flow.dataflow("dataset", "add", "bobout", "--grain", "hourly", "--timezone", "Europe/Rome")
    flow.dataflow(
        *("job", "add", "loadbob", "--out", "bobout", *words),
        *("--start", "2025-10-26T00+02:00", "--end", "2025-10-26T23+01:00"),
    )
    flow.script("loadbob.sh")
    flow.runjob("--drain", "-j", "2", "loadbob.sh")
    assert len(flow.lines()) == len(set(flow.lines())) == 25
    assert {"2025-10-26T02+02:00", "2025-10-26T02+01:00"} <= set(flow.lines())


def test_a_scheduled_job_with_another_input_needs_both(flow: Flow) -> None:
    flow.dataflow("dataset", "add", "bobin", "--grain", "daily")
    words = ("--schedule", "@daily", "--start", "2024-03-01", "--end", "2024-03-03", "--catchup")
    add_job(flow, "--in", "bobin", *words)
    flow.ready("bobin", "2024-03-02", "2024-02-01")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == ["2024-03-02"]
    assert "bobin/2024-03-01" in flow.json("why", "loadbob", "2024-03-01")["verdict"]
    flow.ready("bobin", "2024-03-01", "2024-03-03")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == ["2024-03-02", "2024-03-01", "2024-03-03"]


def test_an_ordered_job_is_never_overtaken(flow: Flow) -> None:
    words = ("--schedule", "@daily", "--start", "2024-03-01", "--end", "2024-03-04", "--catchup", "--ordered")
    add_job(flow, *words)
    flow.script("loadbob.sh", 'echo "$dataid" >> ran; until test -e go; do sleep 0.01; done')
    first = flow.start("loadbob.sh")
    wait_until(flow.lines)
    flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    assert flow.lines() == ["2024-03-01"]
    (flow.path / "go").touch()
    assert finish(first)[0] == 0
    flow.script("loadbob.sh", 'echo "$dataid" >> ran; test "$dataid" != 2024-03-02')
    flow.runjob("--drain", "-j", "2", "loadbob.sh", code=1)
    assert flow.lines() == days("2024-03-01", "2024-03-02")
    flow.script("loadbob.sh")
    flow.dataflow("resubmit", "loadbob", "2024-03-02")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == [*days("2024-03-01", "2024-03-02"), *days("2024-03-02", "2024-03-04")]


def test_a_job_may_read_its_own_output_of_the_day_before(flow: Flow) -> None:
    flow.dataflow("dataset", "add", "balance", "--grain", "daily", "--location", "balance/{dataid}.{run_id}")
    flow.dataflow("dataset", "add", "moves", "--grain", "daily")
    flow.dataflow(
        *("job", "add", "carry", "--in", "moves", "--in", "balance:previous", "--out", "balance"),
        *("--start", "2024-03-01"),
    )
    flow.script(
        "carry.sh",
        'before="$balance_previous_location"; old=0; test ! -f "$before" || old=$(cat "$before"); '
        'echo $((old + 1)) > "$balance_location"; echo "$dataid" >> ran',
    )
    flow.ready("moves", *reversed(days("2024-03-01", "2024-03-05")))
    flow.runjob("--drain", "-j", "3", "carry.sh")
    assert flow.lines() == days("2024-03-01", "2024-03-05")
    [(location,)] = flow.select(
        "SELECT location FROM chunk WHERE dataid = '2024-03-05' AND run_id IS NOT NULL"
    )
    assert (flow.path / location).read_text() == "5\n"


def test_a_once_schedule_is_claimed_once(sqlite_flow: Flow) -> None:
    add_job(sqlite_flow, "--schedule", "@once", "--start", "2024-03-01", grain="text")
    sqlite_flow.runjob("--drain", "loadbob.sh")
    sqlite_flow.runjob("--drain", "loadbob.sh")
    assert sqlite_flow.lines() == ["once"]


def test_cron_expressions_give_the_starts_of_their_intervals(sqlite_flow: Flow) -> None:
    words = ("--schedule", "30 6 * * 1", "--start", "2024-03-04", "--end", "2024-03-20", "--catchup")
    add_job(sqlite_flow, *words, grain="text")
    sqlite_flow.runjob("--drain", "loadbob.sh")
    assert [line[:16].replace(" ", "T") for line in sqlite_flow.lines()] == [
        "2024-03-04T06:30",
        "2024-03-11T06:30",
        "2024-03-18T06:30",
    ]


@pytest.mark.full
def test_more_intervals_than_one_claim_adds_are_all_claimed(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    words = ("--schedule", "@hourly", "--start", "2024-03-01T00Z", "--end", "2024-04-12T23Z", "--catchup")
    add_job(flow, *words, grain="hourly")
    flow.runjob("--drain", "-j", "2", "--quiet", "loadbob.sh", timeout=300)
    assert len(flow.lines()) == len(set(flow.lines())) == 43 * 24


def test_several_processes_that_find_the_same_calendar_due_add_each_interval_once(flow: Flow) -> None:
    add_job(flow, "--schedule", "@daily", "--start", "2024-01-01", "--end", "2024-01-31", "--catchup")
    streams = [flow.start("--drain", "--quiet", "loadbob.sh") for _ in range(4)]
    assert [finish(stream)[0] for stream in streams] == [0] * 4
    assert Counter(flow.lines()) == Counter(days("2024-01-01", "2024-01-31"))
