"""Mappings with several chunks: there and back, in every zone and through every change of the clocks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model import clock
from dataflow.model.coverage import Kind
from dataflow.model.dataid import canonical_dataid, interval_of, next_dataid, sort_key
from dataflow.model.days import has_day
from dataflow.model.grain import Grain
from dataflow.model.mapping import (
    check_mapping,
    consumers_of,
    creates_work,
    is_lagging,
    needed_dataids,
    parse_mapping,
    split_need,
)
from dataflow.model.nesting import MOST_PARTS, nests, parts_of, whole_of

ZONES = (
    *("Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "Europe/Berlin", "America/New_York"),
    "UTC",
)
FIRST, LAST = date(1985, 1, 1), date(2024, 12, 31)
SPANS = {"Asia/Kolkata": (date(1941, 1, 1), date(1945, 12, 31))}
"""Of a zone whose clocks have not changed in these 40 years, when they did."""
NESTED = [(fine, coarse) for fine, wholes in MOST_PARTS.items() for coarse in wholes]

moments = st.datetimes(datetime(1985, 1, 1), datetime(2024, 12, 31)).map(lambda at: at.replace(tzinfo=UTC))


def dataid_at(moment: datetime, grain: Grain, timezone: str) -> str:
    """The dataid whose interval a moment lies in."""
    zone = clock.zone(timezone)
    at = int(moment.timestamp())
    if grain is Grain.HOURLY:
        return clock.hour_text(clock.hour_floor(at, zone), zone)
    return clock.period_text(clock.period_of(clock.local_date(at, zone), grain), grain)


def transitions(timezone: str) -> list[date]:
    """The days on which the offset of a zone changes, and those around them."""
    zone = ZoneInfo(timezone)
    found = []
    day, last = SPANS.get(timezone, (FIRST, LAST))
    while day <= last:
        noon, later = (
            datetime(at.year, at.month, at.day, 12, tzinfo=zone) for at in (day, day + timedelta(1))
        )
        if noon.utcoffset() != later.utcoffset():
            found += [day, day + timedelta(1), day + timedelta(2)]
        day += timedelta(1)
    return found


@pytest.mark.parametrize("timezone", ZONES[:-1])
def test_the_hours_of_a_day_are_there_and_back_through_every_transition_of_40_years(timezone: str) -> None:
    days = transitions(timezone)
    assert len(days) == 12 if timezone == "Asia/Kolkata" else len(days) > 50
    for day in [*days, date(2000, 2, 29)]:
        dataid = day.isoformat()
        hours = parts_of(dataid, Grain.DAILY, Grain.HOURLY, timezone)
        assert 23 <= len(hours) <= 25
        assert [whole_of(hour, Grain.HOURLY, Grain.DAILY) for hour in hours] == [dataid] * len(hours)
        assert [canonical_dataid(hour, Grain.HOURLY, timezone) for hour in hours] == list(hours)
        # They follow each other without a gap, and the hours around them are of other days.
        following = [next_dataid(hour, Grain.HOURLY, timezone) for hour in hours]
        assert following[:-1] == list(hours[1:])
        assert whole_of(str(following[-1]), Grain.HOURLY, Grain.DAILY) != dataid
        after = (day + timedelta(1)).isoformat()
        assert following[-1] == parts_of(after, Grain.DAILY, Grain.HOURLY, timezone)[0]


@pytest.mark.parametrize(
    ("timezone", "day", "count"),
    [
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Europe/Berlin", "2026-07-01", 24),
        ("America/Sao_Paulo", "2018-11-04", 23),
        ("America/Sao_Paulo", "2018-02-17", 25),
        ("Australia/Lord_Howe", "2026-04-05", 24),
        ("Asia/Kolkata", "2026-03-29", 24),
    ],
)
def test_a_day_has_23_24_or_25_hours(timezone: str, day: str, count: int) -> None:
    assert len(parts_of(day, Grain.DAILY, Grain.HOURLY, timezone)) == count
    assert (
        len(needed_dataids("within", day, Kind(Grain.HOURLY, timezone), None, Kind(Grain.DAILY, timezone)))
        == count
    )


def test_a_leap_year_has_8784_hours() -> None:
    assert len(parts_of("2024", Grain.YEARLY, Grain.HOURLY, "Europe/Berlin")) == 8784
    assert len(parts_of("2023", Grain.YEARLY, Grain.HOURLY, "America/New_York")) == 8760


def test_a_week_begins_on_sunday_and_has_seven_days() -> None:
    assert parts_of("2026-08-16", Grain.WEEKLY, Grain.DAILY, "UTC")[::6] == ("2026-08-16", "2026-08-22")


@given(st.sampled_from(NESTED), st.sampled_from(ZONES), moments)
def test_within_and_containing_are_there_and_back(
    grains: tuple[Grain, Grain], timezone: str, moment: datetime
) -> None:
    fine, coarse = (Kind(grain, timezone) for grain in grains)
    part, whole = dataid_at(moment, fine.grain, timezone), dataid_at(moment, coarse.grain, timezone)
    parts = needed_dataids("within", whole, fine, None, coarse)
    if fine.grain is not Grain.HOURLY or whole_of(part, fine.grain, coarse.grain) == whole:
        assert part in parts
    assert parts == sorted(parts, key=lambda dataid: sort_key(dataid, fine.grain))
    assert len(parts) <= MOST_PARTS[fine.grain][coarse.grain]
    for each in (parts[0], parts[-1], part):
        (served,) = consumers_of("within", each, fine, None, coarse)
        assert each in needed_dataids("within", served, fine, None, coarse)
        # The other direction: finer work from the coarser chunk.
        (chunk,) = needed_dataids("containing", each, coarse, None, fine)
        assert chunk == served
        assert each in consumers_of("containing", chunk, coarse, None, fine)
    assert consumers_of("containing", whole, coarse, None, fine) == parts


@given(st.sampled_from(NESTED), moments)
def test_the_parts_of_a_dataid_fill_its_interval(grains: tuple[Grain, Grain], moment: datetime) -> None:
    fine, coarse = grains
    whole = dataid_at(moment, coarse, "Europe/Berlin")
    parts = parts_of(whole, coarse, fine, "Europe/Berlin")
    spans = [interval_of(part, fine, "Europe/Berlin") for part in (parts[0], parts[-1])]
    span = interval_of(whole, coarse, "Europe/Berlin")
    assert span is not None and spans[0] is not None and spans[1] is not None
    assert (spans[0][0], spans[1][1]) == span


GRAINS = st.sampled_from([grain for grain in Grain if grain is not Grain.TEXT])


@given(GRAINS, st.sampled_from(ZONES), moments, st.integers(-9, 9), st.integers(0, 9), st.integers(-20, 20))
def test_windows_are_there_and_back(
    grain: Grain, timezone: str, moment: datetime, low: int, width: int, start: int
) -> None:
    kind = Kind(grain, timezone)
    dataid = (
        str(abs(int(moment.timestamp()))) if grain is Grain.SEQUENCE else dataid_at(moment, grain, timezone)
    )
    mapping = f"window({low}, {low + width})"
    near = needed_dataids(f"window({start}, {start})", dataid, kind, None)
    for first in (None, near[0] if near else None):
        needed = needed_dataids(mapping, dataid, kind, first)
        assert needed == sorted(needed, key=lambda chunk: sort_key(chunk, grain))
        assert first is not None or len(needed) == width + 1
        for chunk in needed:
            assert dataid in consumers_of(mapping, chunk, kind, first)
        for work in consumers_of(mapping, dataid, kind, first):
            assert dataid in needed_dataids(mapping, work, kind, first)


@given(st.sampled_from(NESTED), moments, st.integers(-400, 400))
def test_no_chunk_creates_work_before_the_start_of_the_job_and_such_work_needs_all_its_chunks(
    grains: tuple[Grain, Grain], moment: datetime, days: int
) -> None:
    fine, coarse = (Kind(grain, "Europe/Berlin") for grain in grains)
    other = moment + timedelta(days)
    for mapping, source, job in (("within", fine, coarse), ("containing", coarse, fine)):
        first = dataid_at(moment, job.grain, "Europe/Berlin")
        chunk = dataid_at(other, source.grain, "Europe/Berlin")
        called = consumers_of(mapping, chunk, source, first, job)
        assert all(chunk in needed_dataids(mapping, work, source, first, job) for work in called)
        work = dataid_at(other, job.grain, "Europe/Berlin")
        needed = needed_dataids(mapping, work, source, first, job)
        assert all(work in consumers_of(mapping, each, source, first, job) for each in needed[:3])
        if sort_key(work, job.grain) < sort_key(first, job.grain) and mapping == "within":
            assert needed
            assert not creates_work(mapping, work, first, job.grain)


@given(st.sampled_from(["* * 1-5", "1,15 * *"]), st.dates(FIRST, LAST))
def test_days_that_the_input_leaves_out_are_not_needed(days: str, day: date) -> None:
    source, job = Kind(Grain.DAILY, "UTC", days), Kind(Grain.MONTHLY, "UTC")
    needed = needed_dataids("within", day.isoformat()[:7], source, None, job)
    assert all(has_day(days, chunk) for chunk in needed)
    called = consumers_of("within", day.isoformat(), source, None, job)
    assert called == ([day.isoformat()[:7]] if has_day(days, day.isoformat()) else [])
    window = needed_dataids("window(-6, 0)", day.isoformat(), source, None)
    assert all(has_day(days, chunk) for chunk in window)


@pytest.mark.parametrize("edge", ["0001-01-01", "9999-12-31"])
@pytest.mark.parametrize("timezone", ["UTC", "Europe/Berlin"])
def test_the_ends_of_the_calendar_raise_nothing(edge: str, timezone: str) -> None:
    source, job = Kind(Grain.DAILY, timezone), Kind(Grain.WEEKLY, timezone)
    assert len(consumers_of("within", edge, source, None, job)) <= 1
    assert needed_dataids("window(-3, 3)", edge, source, None)
    assert len(parts_of(edge, Grain.DAILY, Grain.HOURLY, timezone)) in (0, 24)
    assert len(parts_of(edge[:4], Grain.YEARLY, Grain.DAILY, timezone)) == 365


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("WITHIN", "within"),
        (" window( -6,0 ) ", "window(-6, 0)"),
        ("window(+1,+2)", "window(1, 2)"),
        ("window(0, 0)", "window(0, 0)"),
        ("Pairs", "pairs"),
        ("containing", "containing"),
        ("all", "all"),
    ],
)
def test_mappings_have_a_canonical_form(text: str, canonical: str) -> None:
    assert parse_mapping(text) == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("window(0, -6)", r"Swap the bounds: window\(-6, 0\)"),
        ("window", "is not a window"),
        ("window(-6)", "is not a window"),
        ("window(a, b)", "is not a window"),
        ("window(-6.5, 0)", "is not a window"),
        ("window(-20000, 0)", "more than 10,000 chunks"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        parse_mapping(text)


@pytest.mark.parametrize(
    ("mapping", "source", "job", "hint"),
    [
        ("within", Grain.WEEKLY, Grain.MONTHLY, "pairs"),
        ("within", Grain.DAILY, Grain.HOURLY, "Use the mapping containing"),
        ("containing", Grain.HOURLY, Grain.DAILY, "Use the mapping within"),
        ("within", Grain.DAILY, Grain.DAILY, "Use the mapping same"),
        ("within", Grain.TEXT, Grain.DAILY, "pairs"),
        ("within", Grain.SEQUENCE, Grain.DAILY, "pairs"),
        ("containing", Grain.MONTHLY, Grain.WEEKLY, "pairs"),
        ("window(-1, 0)", Grain.TEXT, Grain.TEXT, "pairs"),
    ],
)
def test_grains_that_do_not_nest_are_refused_with_the_alternative(
    mapping: str, source: Grain, job: Grain, hint: str
) -> None:
    with pytest.raises(BadInput, match=hint):
        check_mapping(mapping, source, job)


def test_grains_nest_in_one_direction() -> None:
    for fine in Grain:
        for coarse in Grain:
            assert not (nests(fine, coarse) and nests(coarse, fine))


def test_only_earlier_chunks_lag() -> None:
    lagging = [
        each for each in ("previous", "window(-6, -1)", "window(-6, 0)", "same", "within") if is_lagging(each)
    ]
    assert lagging == ["previous", "window(-6, -1)"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("within", ("within", "")),
        ("within at_least 20", ("within", "at_least 20")),
        ("within by 06:00 then partial", ("within", "by 06:00 then partial")),
        ("window(-6, 0) at_least 5", ("window(-6, 0)", "at_least 5")),
        ("window (-6, 0)", ("window (-6, 0)", "")),
        ("", ("", "")),
    ],
)
def test_a_mapping_is_told_from_its_rule(text: str, parts: tuple[str, str]) -> None:
    assert split_need(text) == parts
