"""Inputs with several chunks per work: counted chunk by chunk, on both databases."""

from __future__ import annotations

import pytest

from dataflow.model.status import RunOutcome
from dataflow.store import registry, several_inputs
from tests.store.world import World

DAY, NEXT = "2026-03-01", "2026-03-02"
HOURS = [f"{DAY}T{hour:02d}+00:00" for hour in range(24)]
DAYS = [f"2026-03-{day:02d}" for day in range(1, 32)]


@pytest.fixture
def hours(world: World) -> World:
    """A daily job made from hours."""
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within"], ["days"], grain="daily")
    return world


def test_a_day_is_claimable_once_its_24_hours_are_ready(hours: World) -> None:
    for hour in HOURS[:23]:
        hours.ready("hours", hour)
    assert hours.states("sum") == {DAY: "WAITING"}
    assert hours.present("sum", DAY) == [(24, 23)]
    hours.ready("hours", HOURS[23], f"{NEXT}T00+00:00")
    assert hours.states("sum") == {DAY: "CLAIMABLE", NEXT: "WAITING"}
    run = hours.take("sum", DAY)
    assert [pin.dataid for pin in run.pins] == HOURS
    assert run.lacking == ()
    assert hours.finish(run) == "DONE"
    assert hours.status("days", DAY) == "READY"


def test_all_hours_of_a_day_may_arrive_at_once(hours: World) -> None:
    hours.ready("hours", *HOURS)
    assert hours.present("sum", DAY) == [(24, 24)]
    assert hours.states("sum") == {DAY: "CLAIMABLE"}


def test_an_hour_that_is_ready_twice_counts_once(hours: World) -> None:
    hours.ready("hours", *HOURS[:3])
    hours.ready("hours", *HOURS[:3])
    assert hours.present("sum", DAY) == [(24, 3)]
    hours.withdraw("hours", HOURS[0])
    hours.withdraw("hours", HOURS[0])
    assert hours.present("sum", DAY) == [(24, 2)]


def test_a_withdrawn_hour_makes_the_day_wait(hours: World) -> None:
    hours.ready("hours", *HOURS)
    hours.withdraw("hours", *HOURS[:2])
    assert (hours.present("sum", DAY), hours.state("sum", DAY)) == ([(24, 22)], "WAITING")
    hours.ready("hours", *HOURS[:2])
    assert (hours.present("sum", DAY), hours.state("sum", DAY)) == ([(24, 24)], "CLAIMABLE")


def test_an_hour_that_is_published_again_has_the_day_done_again(hours: World) -> None:
    hours.ready("hours", *HOURS)
    hours.do("sum", DAY)
    hours.ready("hours", HOURS[5], again=True)
    assert (hours.state("sum", DAY), hours.status("days", DAY)) == ("CLAIMABLE", "STALE")
    hours.do("sum", DAY)
    assert hours.status("days", DAY) == "READY"


def test_chunks_that_were_ready_before_the_job_count(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.ready("hours", *HOURS, f"{NEXT}T00+00:00")
    world.job("sum", ["hours:within"], ["days"], grain="daily")
    assert world.states("sum") == {DAY: "CLAIMABLE", NEXT: "WAITING"}
    assert world.present("sum", NEXT) == [(24, 1)]
    world.job("sum", ["hours:within at_least 1"], ["days"], grain="daily")
    assert world.states("sum") == {DAY: "CLAIMABLE", NEXT: "CLAIMABLE"}
    world.job("sum", ["hours:within"], ["days"], grain="daily")
    assert world.states("sum") == {DAY: "CLAIMABLE", NEXT: "WAITING"}


def test_at_least_some_hours_are_enough_and_a_late_one_makes_the_day_stale(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within at_least 20"], ["days"], grain="daily")
    world.ready("hours", *HOURS[:19])
    assert world.state("sum", DAY) == "WAITING"
    world.ready("hours", HOURS[20])
    run = world.take("sum", DAY)
    assert [lack.dataid for lack in run.lacking] == [HOURS[19], *HOURS[21:]]
    assert world.finish(run) == "DONE"
    assert world.chunks("days")[0].lacked == 4
    world.ready("hours", HOURS[19])
    assert (world.state("sum", DAY), world.status("days", DAY)) == ("CLAIMABLE", "STALE")
    world.ready("hours", *HOURS[20:])
    world.do("sum", DAY)
    assert (world.status("days", DAY), world.chunks("days")[0].lacked) == ("READY", 0)


@pytest.mark.parametrize("outcome", [RunOutcome.DONE, RunOutcome.FAILED])
def test_an_hour_that_arrives_while_a_partial_run_is_at_it_is_not_missed(
    world: World, outcome: RunOutcome
) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within at_least 20"], ["days"], grain="daily")
    world.ready("hours", *HOURS[:20])
    run = world.take("sum", DAY)
    world.ready("hours", HOURS[20])
    assert world.finish(run, outcome) == "CLAIMABLE"
    assert len(world.take("sum", DAY).pins) == 21


def test_after_the_deadline_a_claim_takes_what_there_is(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within by 06:00 then partial"], ["days"], grain="daily")
    world.ready("hours", *HOURS[:5])  # the deadline is long past
    future = "2999-01-01"
    world.ready("hours", f"{future}T00+00:00")
    assert world.states("sum") == {DAY: "WAITING", future: "WAITING"}
    run = world.take("sum", DAY)
    assert (len(run.pins), len(run.lacking)) == (5, 19)
    assert world.claim("sum") == ()
    assert world.state("sum", future) == "WAITING"
    assert world.present("sum", future) == [(24, 1)]


def test_after_the_deadline_work_without_any_chunk_goes_on_waiting(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["days", "hours:within by 06:00 then partial"], [])
    world.ready("days", DAY)
    assert world.claim("sum") == ()
    assert world.present("sum", DAY) == [(1, 1), (1, 0)]
    world.ready("hours", HOURS[7])
    assert [pin.dataid for pin in world.take("sum", DAY).pins] == [DAY, HOURS[7]]


def test_the_hours_of_a_day_are_called_for_by_its_chunk(world: World) -> None:
    world.dataset("rates", grain="daily")
    world.dataset("hours", grain="hourly")
    world.job("convert", ["hours", "rates:containing"], [])
    world.ready("rates", DAY)
    assert world.states("convert") == dict.fromkeys(HOURS, "WAITING")
    world.ready("hours", HOURS[3])
    run = world.take("convert", HOURS[3])
    assert [pin.dataid for pin in run.pins] == [HOURS[3], DAY]


def test_a_window_needs_the_last_seven_days_from_the_start_on(world: World) -> None:
    world.dataset("days", grain="daily")
    world.job("week", ["days:window(-6, 0)"], [], start=DAYS[0])
    world.ready("days", *DAYS[:10])
    assert world.present("week", DAYS[0]) == [(1, 1)]
    assert world.present("week", DAYS[8]) == [(7, 7)]
    assert world.present("week", DAYS[15]) == [(7, 1)]
    assert world.drain("week") == DAYS[:10]
    world.ready("days", DAYS[3], again=True)
    assert world.drain("week") == DAYS[3:10]


def test_a_job_may_read_a_window_of_its_own_earlier_outputs(world: World) -> None:
    world.dataset("raw", grain="daily")
    world.dataset("sums", grain="daily")
    world.job("sum", ["raw", "sums:window(-2, -1)"], ["sums"], start=DAYS[0])
    world.ready("raw", *DAYS[:5])
    assert world.drain("sum") == DAYS[:5]


def test_all_reads_every_ready_chunk_and_calls_for_nothing(world: World) -> None:
    world.dataset("days", grain="daily")
    world.dataset("rules", grain="text")
    world.dataset("out", grain="daily")
    world.job("apply", ["days", "rules:all"], ["out"])
    world.ready("rules", "a", "b")
    assert world.states("apply") == {}
    world.withdraw("rules", "a", "b")
    world.ready("days", DAY)
    assert world.state("apply", DAY) == "WAITING"
    world.ready("rules", "a", "b")
    run = world.take("apply", DAY)
    assert [pin.dataid for pin in run.pins] == [DAY, "a", "b"]
    world.finish(run)
    world.ready("rules", "c")
    assert (world.state("apply", DAY), world.status("out", DAY)) == ("CLAIMABLE", "STALE")
    assert [pin.dataid for pin in world.do("apply", DAY).pins] == [DAY, "a", "b", "c"]
    world.ready("rules", "a", again=True)
    assert world.status("out", DAY) == "STALE"
    run = world.take("apply", DAY)
    world.ready("rules", "d")
    assert world.finish(run) == "CLAIMABLE"


def test_all_may_wait_for_a_number_of_chunks(world: World) -> None:
    world.dataset("days", grain="daily")
    world.dataset("rules", grain="text")
    world.job("apply", ["days", "rules:all at_least 2"], [])
    world.ready("days", DAY)
    world.ready("rules", "a")
    assert world.state("apply", DAY) == "WAITING"
    world.ready("rules", "b")
    assert world.state("apply", DAY) == "CLAIMABLE"
    world.withdraw("rules", "a")
    assert world.state("apply", DAY) == "WAITING"


def set_pairs(world: World, job: str, dataset: str, *pairs: tuple[str, str]) -> None:
    plan = world.plan(job)
    dataset_id = world.dataset_record(dataset)[0]
    world.store.register(lambda tx: registry.set_pairs(tx, plan, dataset_id, pairs))


def test_pairs_name_the_chunks_of_each_work(world: World) -> None:
    world.dataset("parts", grain="text")
    world.dataset("files", grain="text")
    world.job("join", ["parts:pairs"], ["files"], grain="text")
    world.ready("parts", "p1", "p2", "p3")
    assert world.states("join") == {}
    set_pairs(world, "join", "parts", ("a", "p1"), ("a", "p2"), ("b", "p2"), ("b", "p9"))
    assert world.states("join") == {"a": "CLAIMABLE", "b": "WAITING"}
    assert world.present("join", "b") == [(2, 1)]
    assert [pin.dataid for pin in world.do("join", "a").pins] == ["p1", "p2"]
    world.ready("parts", "p9")
    world.do("join", "b")
    world.ready("parts", "p2", again=True)
    assert world.states("join") == {"a": "CLAIMABLE", "b": "CLAIMABLE"}
    set_pairs(world, "join", "parts", ("c", "p3"))
    assert world.state("join", "c") == "CLAIMABLE"


def test_the_list_of_pairs_goes_with_the_input(world: World) -> None:
    world.dataset("parts", grain="text")
    world.job("join", ["parts:pairs"], [], grain="text")
    set_pairs(world, "join", "parts", ("a", "p1"))
    world.job("join", ["parts:pairs at_least 1"], [], grain="text")
    assert world.select("SELECT count(*) FROM job_pair") == [(1,)]
    world.job("join", ["parts"], [])
    assert world.select("SELECT count(*) FROM job_pair") == [(0,)]


def test_forced_work_is_counted_like_any_other(hours: World) -> None:
    run = hours.force("sum", DAY)
    assert hours.present("sum", DAY) == [(24, 0)]
    assert len(run.lacking) == 24
    hours.ready("hours", *HOURS[:2])
    assert hours.present("sum", DAY) == [(24, 2)]
    assert hours.finish(run) == "WAITING"


def test_a_repeated_claim_lacks_the_same_chunks(world: World) -> None:
    from tests.store.world import make_request

    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within at_least 2"], ["days"], grain="daily")
    world.ready("hours", *HOURS[:2])
    request = make_request()
    plan = world.plan("sum")
    _, first = world.store.finish_and_claim(plan, (), request)
    _, again = world.store.finish_and_claim(plan, (), request, repeat=True)
    assert first.runs[0].lacking == again.runs[0].lacking
    assert len(first.runs[0].lacking) == 22


def test_a_year_of_hours_is_pinned_in_one_statement(world: World) -> None:
    from dataflow.model.grain import Grain
    from dataflow.model.nesting import parts_of

    hours = parts_of("2024", Grain.YEARLY, Grain.HOURLY, "UTC")
    assert len(hours) == 8784
    world.dataset("hours", grain="hourly")
    world.dataset("years", grain="yearly")
    world.job("sum", ["hours:within"], ["years"], grain="yearly")
    for start in range(0, len(hours), 4000):
        world.ready("hours", *hours[start : start + 4000])
    run = world.take("sum", "2024")
    assert tuple(pin.dataid for pin in run.pins) == hours
    assert world.finish(run) == "DONE"


def test_a_removed_job_leaves_no_pairs_and_no_deadlines(world: World) -> None:
    world.dataset("parts", grain="text")
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["days", "hours:within by 06:00 then partial", "parts:pairs"], [])
    set_pairs(world, "sum", "parts", (DAY, "p1"))
    world.ready("days", DAY)
    assert world.select("SELECT count(*) FROM work_deadline") == [(1,)]
    world.remove_job("sum")
    counts = "SELECT (SELECT count(*) FROM work_deadline) + (SELECT count(*) FROM job_pair)"
    assert world.select(counts) == [(0,)]


def test_a_claim_relaxes_a_bounded_number_of_works(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert several_inputs.BATCH >= 1000
    world.dataset("days", grain="daily")
    world.dataset("months", grain="monthly")
    world.job("sum", ["days:within by 06:00 then partial"], ["months"], grain="monthly")
    months = [f"{year}-{month:02d}-01" for year in range(1900, 1990) for month in range(1, 13)]
    world.ready("days", *months)
    world.claim("sum")
    assert world.select("SELECT count(*) FROM work_deadline") == [(80,)]
    world.claim("sum")
    assert world.select("SELECT count(*) FROM work_deadline") == [(0,)]


@pytest.mark.parametrize(
    ("grain", "source", "chunks", "early", "kept"),
    [
        ("daily", "hours:within", HOURS, DAY, DAYS[1]),
        ("daily", "days:window(-2, 0)", DAYS[:3], DAYS[0], DAYS[2]),
        ("daily", "days:window(0, 2)", DAYS[:3], DAYS[0], DAYS[1]),
        ("daily", "days:previous", DAYS[:3], DAYS[1], DAYS[3]),
        ("hourly", "days:containing", [DAY], HOURS[0], HOURS[5]),
    ],
)
def test_work_before_the_start_goes_away_and_never_runs_without_input(
    world: World, grain: str, source: str, chunks: list[str], early: str, kept: str
) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    name = source.split(":", maxsplit=1)[0]
    world.job("sum", [source], [], grain=grain)
    world.ready(name, *chunks)
    assert world.state("sum", early)
    world.job("sum", [source], [], grain=grain, start=kept)
    assert not world.state("sum", early)
    world.withdraw(name, *chunks)
    world.ready(name, *chunks)
    assert all(dataid >= kept for dataid in [*world.states("sum"), *world.drain("sum")])
    world.job("sum", [source], [], grain=grain)
    assert world.state("sum", early)


def test_work_before_the_start_that_is_held_or_was_run_needs_all_its_chunks(hours: World) -> None:
    hours.ready("hours", *HOURS[:3])
    hours.hold("sum", DAY)
    hours.job("sum", ["hours:within"], ["days"], grain="daily", start=NEXT)
    hours.release("sum", DAY)
    assert (hours.present("sum", DAY), hours.state("sum", DAY)) == ([(24, 3)], "WAITING")
    hours.ready("hours", *HOURS)
    assert [pin.dataid for pin in hours.do("sum", DAY).pins] == HOURS
    hours.withdraw("hours", HOURS[0])
    hours.resubmit("sum", DAY)
    assert (hours.present("sum", DAY), hours.state("sum", DAY)) == ([(24, 23)], "WAITING")


def test_an_interval_before_the_start_needs_all_its_chunks(world: World) -> None:
    world.dataset("intervals", grain="daily")
    world.dataset("hours", grain="hourly")
    world.job("sum", ["intervals", "hours:within"], [], start=NEXT)
    world.ready("intervals", DAY)
    assert (world.present("sum", DAY), world.state("sum", DAY)) == ([(1, 1), (24, 0)], "WAITING")
    world.ready("hours", *HOURS)
    assert world.drain("sum") == [DAY]
