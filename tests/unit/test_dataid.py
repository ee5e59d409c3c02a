"""Canonical dataids, their order, neighbours, ranges and intervals."""

from __future__ import annotations

import unicodedata
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.dataid import (
    canonical_dataid,
    dataid_range,
    interval_of,
    next_dataid,
    previous_dataid,
    sort_key,
)
from dataflow.model.grain import Grain

LONDON = "Europe/London"
ZONES = [
    "UTC",
    LONDON,
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Africa/Cairo",
    "Pacific/Apia",
]


def refusal(text: str, grain: Grain, timezone: str = "UTC") -> str:
    with pytest.raises(BadInput) as error:
        canonical_dataid(text, grain, timezone)
    return str(error.value)


# What text dataids may hold.


@pytest.mark.parametrize(
    "text",
    [
        "1.0",
        "a",
        "shard-10000",
        "2026-08-20",
        "2026-08-20T13:15+00:00",
        "EU west|2",
        "a=b@c~d%e_f",
        "naïve",
        "東京",
        "x" * 255,
    ],
)
def test_text_dataids_are_unchanged(text: str) -> None:
    assert canonical_dataid(text, Grain.TEXT, "UTC") == text


def test_text_dataids_are_normalised_so_that_equal_looking_ones_are_equal() -> None:
    assert canonical_dataid("cafe\u0301", Grain.TEXT, "UTC") == "caf\u00e9"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a'b", "character 2 is U+0027 APOSTROPHE"),
        ('"', "character 1 is U+0022 QUOTATION MARK"),
        ("a,b", "U+002C COMMA"),
        ("a/b", "U+002F SOLIDUS"),
        ("a\\b", "U+005C REVERSE SOLIDUS"),
        ("a\0", "character 2 is U+0000 NULL"),
        ("a\n", "character 2 is U+000A LINE FEED"),
        ("a\x07", "U+0007 CONTROL CHARACTER"),
        ("a\u202eb", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\U0001f642", "U+1F642 SLIGHTLY SMILING FACE"),
        ("1\ufe0f\u20e3", "U+FE0F VARIATION SELECTOR-16"),
        ("a\u3164", "U+3164 HANGUL FILLER"),
        ("a\u00a0b", "U+00A0 NO-BREAK SPACE"),
        ("\udcff", "U+DCFF INVALID UTF-8"),
        ("", "it is empty"),
        ("x" * 256, "it is 256 characters long"),
        ("x" * 10_240, "it is 10240 characters long"),
        (" a", "starts or ends with a space"),
        ("a ", "starts or ends with a space"),
        ("a  b", "two consecutive spaces"),
        ("a..b", "two consecutive dots"),
        ("..", "two consecutive dots"),
        (".", "a single dot"),
        ("-rf", "starts with -"),
    ],
)
def test_text_that_cannot_be_a_dataid_is_refused_with_the_reason(text: str, reason: str) -> None:
    message = refusal(text, Grain.TEXT)
    assert reason in message
    assert "A text dataid is" in message
    assert len(message) < 400
    assert message.isprintable()


@given(st.text(max_size=30))
def test_any_text_is_either_canonical_or_refused(text: str) -> None:
    try:
        canonical = canonical_dataid(text, Grain.TEXT, "UTC")
    except BadInput:
        return
    assert canonical == canonical_dataid(canonical, Grain.TEXT, "UTC")
    assert unicodedata.is_normalized("NFC", canonical)


# Canonical forms of the other grains.


@pytest.mark.parametrize(
    ("text", "grain", "canonical"),
    [
        ("2026-08-20", Grain.DAILY, "2026-08-20"),
        ("2024-02-29", Grain.DAILY, "2024-02-29"),
        ("9999-12-31", Grain.DAILY, "9999-12-31"),
        ("2026-08-16", Grain.WEEKLY, "2026-08-16"),
        ("2026-08", Grain.MONTHLY, "2026-08"),
        ("2026-08-01", Grain.MONTHLY, "2026-08"),
        ("2026-Q3", Grain.QUARTERLY, "2026-Q3"),
        ("2026-07", Grain.QUARTERLY, "2026-Q3"),
        ("2026-10-01", Grain.QUARTERLY, "2026-Q4"),
        ("2026", Grain.YEARLY, "2026"),
        ("2026-01-01", Grain.YEARLY, "2026"),
        ("0", Grain.SEQUENCE, "0"),
        ("000", Grain.SEQUENCE, "0"),
        ("007", Grain.SEQUENCE, "7"),
        ("9" * 255, Grain.SEQUENCE, "9" * 255),
    ],
)
def test_each_grain_has_one_way_to_write_a_dataid(text: str, grain: Grain, canonical: str) -> None:
    assert canonical_dataid(text, grain, "UTC") == canonical


@pytest.mark.parametrize(
    ("text", "grain", "reason"),
    [
        (
            "2024-02-30",
            Grain.DAILY,
            '"2024-02-30" is not a calendar date. Accepted: a day is written YYYY-MM-DD',
        ),
        ("2023-02-29", Grain.DAILY, "is not a calendar date"),
        ("0000-01-01", Grain.DAILY, "is not a calendar date"),
        ("20260820", Grain.DAILY, "YYYY-MM-DD"),
        ("2026-W34-4", Grain.DAILY, "YYYY-MM-DD"),
        ("2026-8-20", Grain.DAILY, "YYYY-MM-DD"),
        ("2026-08-20\n", Grain.DAILY, r'"2026-08-20\n" is not a dataid of grain daily'),
        ("2026-08-20\0", Grain.DAILY, "YYYY-MM-DD"),
        ("２０２６-08-20", Grain.DAILY, "YYYY-MM-DD"),
        ("2026-08-20", Grain.WEEKLY, "is not a Sunday; its week is 2026-08-16"),
        ("2026-08-15", Grain.WEEKLY, "its week is 2026-08-09"),
        ("0001-01-01", Grain.WEEKLY, "is not a Sunday"),
        ("2026-13", Grain.MONTHLY, "is not a calendar date"),
        ("2026-08-20", Grain.MONTHLY, "YYYY-MM"),
        ("2026-08", Grain.YEARLY, "YYYY"),
        ("26", Grain.YEARLY, "YYYY"),
        ("2026-Q5", Grain.QUARTERLY, "YYYY-QN"),
        ("2026-08", Grain.QUARTERLY, "YYYY-QN"),
        ("-1", Grain.SEQUENCE, "without sign"),
        ("+1", Grain.SEQUENCE, "without sign"),
        ("1.0", Grain.SEQUENCE, "is not a dataid of grain sequence"),
        ("1_000", Grain.SEQUENCE, "is not a dataid of grain sequence"),
        ("٣", Grain.SEQUENCE, "is not a dataid of grain sequence"),
        ("1\n", Grain.SEQUENCE, "is not a dataid of grain sequence"),
        ("", Grain.SEQUENCE, "is not a dataid of grain sequence"),
        ("9" * 256, Grain.SEQUENCE, "at most 255 digits"),
        ("2026-08-20T25", Grain.HOURLY, "is not a calendar date and hour"),
        ("2026-02-30T01", Grain.HOURLY, "is not a calendar date and hour"),
        ("0001-01-01T00+05:00", Grain.HOURLY, "is not a calendar date and hour"),
        ("2026-08-20", Grain.HOURLY, "an hour is written"),
        ("2026-08-20T13\n", Grain.HOURLY, "an hour is written"),
        (
            "2026-08-20T13:30",
            Grain.HOURLY,
            "is not the start of an hour in UTC; its hour is 2026-08-20T13+00:00",
        ),
    ],
)
def test_an_invalid_dataid_of_the_grain_is_refused_with_what_is_accepted(
    text: str, grain: Grain, reason: str
) -> None:
    assert reason in refusal(text, grain)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-08-20T13", "2026-08-20T13+01:00"),
        ("2026-08-20 13:00", "2026-08-20T13+01:00"),
        ("2026-08-20T13:00:00", "2026-08-20T13+01:00"),
        ("2026-08-20T13:00Z", "2026-08-20T14+01:00"),
        ("2026-08-20T13Z", "2026-08-20T14+01:00"),
        ("2026-08-20T13+01:00", "2026-08-20T13+01:00"),
        ("2026-08-20T13+0100", "2026-08-20T13+01:00"),
        ("2026-08-20T13:00+01", "2026-08-20T13+01:00"),
        ("2026-08-20T13-05:00", "2026-08-20T19+01:00"),
        ("2026-01-20T13", "2026-01-20T13+00:00"),
        ("2026-10-25T01+01:00", "2026-10-25T01+01:00"),
        ("2026-10-25T01+00:00", "2026-10-25T01+00:00"),
        ("2026-03-29T01+00:00", "2026-03-29T02+01:00"),
    ],
)
def test_hours_are_written_with_the_offset_of_the_datasets_zone(text: str, canonical: str) -> None:
    assert canonical_dataid(text, Grain.HOURLY, LONDON) == canonical


def test_zones_with_half_hour_offsets_have_their_own_hours() -> None:
    assert canonical_dataid("2026-08-20T13:30Z", Grain.HOURLY, "Asia/Kolkata") == "2026-08-20T19+05:30"
    assert "its hour is 2026-08-20T18+05:30" in refusal("2026-08-20T13Z", Grain.HOURLY, "Asia/Kolkata")


def test_an_hour_that_occurs_twice_is_refused_with_both_choices() -> None:
    message = refusal("2026-10-25T01", Grain.HOURLY, LONDON)
    assert "2026-10-25T01+01:00 or 2026-10-25T01+00:00" in message


def test_an_hour_that_the_clocks_skip_is_refused() -> None:
    assert "does not exist in Europe/London" in refusal("2026-03-29T01", Grain.HOURLY, LONDON)


def test_a_zone_that_the_machine_does_not_know_is_named() -> None:
    assert '"Mars/Olympus"' in refusal("2026-03-29T01", Grain.HOURLY, "Mars/Olympus")


# Neighbours, ranges and intervals.


@pytest.mark.parametrize(
    ("grain", "dataids"),
    [
        (Grain.DAILY, ["2024-02-28", "2024-02-29", "2024-03-01"]),
        (Grain.WEEKLY, ["2026-12-27", "2027-01-03", "2027-01-10"]),
        (Grain.MONTHLY, ["2026-11", "2026-12", "2027-01"]),
        (Grain.QUARTERLY, ["2026-Q3", "2026-Q4", "2027-Q1"]),
        (Grain.YEARLY, ["1999", "2000", "2001"]),
        (Grain.SEQUENCE, ["8", "9", "10"]),
        (Grain.HOURLY, ["2026-03-29T00+00:00", "2026-03-29T02+01:00", "2026-03-29T03+01:00"]),
        (Grain.HOURLY, ["2026-10-25T00+01:00", "2026-10-25T01+01:00", "2026-10-25T01+00:00"]),
    ],
)
def test_neighbours_and_ranges_step_by_the_grain(grain: Grain, dataids: list[str]) -> None:
    first, middle, last = dataids
    assert next_dataid(first, grain, LONDON) == middle
    assert previous_dataid(last, grain, LONDON) == middle
    assert list(dataid_range(first, last, grain, LONDON)) == dataids


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_a_day_of_a_clock_change_has_23_or_25_hours(day: str, hours: int) -> None:
    assert len(list(dataid_range(f"{day}T00", f"{day}T23", Grain.HOURLY, LONDON))) == hours


def test_hours_follow_clocks_that_change_by_half_an_hour() -> None:
    hours = ["2026-04-05T00+11:00", "2026-04-05T01+11:00", "2026-04-05T02+10:30", "2026-04-05T03+10:30"]
    assert list(dataid_range(hours[0], hours[-1], Grain.HOURLY, "Australia/Lord_Howe")) == hours


def test_a_grain_has_no_dataids_beyond_its_ends() -> None:
    assert previous_dataid("0", Grain.SEQUENCE, "UTC") is None
    assert next_dataid("9999-12-31", Grain.DAILY, "UTC") is None
    assert next_dataid("9999-12", Grain.MONTHLY, "UTC") is None
    assert next_dataid("9999", Grain.YEARLY, "UTC") is None
    assert next_dataid("9999-12-31T23+00:00", Grain.HOURLY, "UTC") is None
    assert previous_dataid("0001-01-01", Grain.DAILY, "UTC") is None
    assert previous_dataid("0001-01-07", Grain.WEEKLY, "UTC") is None
    assert previous_dataid("0001-01-01T00+00:00", Grain.HOURLY, "UTC") is None
    assert next_dataid("a1", Grain.TEXT, "UTC") is None
    assert previous_dataid("a1", Grain.TEXT, "UTC") is None


@given(
    st.sampled_from([Grain.DAILY, Grain.WEEKLY, Grain.MONTHLY, Grain.QUARTERLY, Grain.YEARLY]),
    st.dates(),
    st.sampled_from(ZONES),
)
def test_calendar_neighbours_are_inverse_and_their_intervals_are_adjacent(
    grain: Grain, day: date, timezone: str
) -> None:
    written = {Grain.MONTHLY: f"{day:%Y-%m}".zfill(7), Grain.YEARLY: f"{day.year:04d}"}
    written[Grain.QUARTERLY] = f"{day.year:04d}-Q{(day.month + 2) // 3}"
    sunday = date.fromordinal(max(day.toordinal() // 7, 1) * 7).isoformat()
    dataid = sunday if grain == Grain.WEEKLY else written.get(grain, day.isoformat())
    check_neighbours(dataid, grain, timezone)


@given(st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)), st.sampled_from(ZONES))
@example(datetime(2026, 4, 4, 15), "Australia/Lord_Howe")
@example(datetime(2026, 10, 3, 15), "Australia/Lord_Howe")
def test_hourly_neighbours_are_inverse_and_their_intervals_are_adjacent(
    moment: datetime, timezone: str
) -> None:
    local = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(timezone))
    on_the_hour = local.astimezone(UTC) - timedelta(
        minutes=local.minute, seconds=local.second, microseconds=local.microsecond
    )
    try:
        dataid = canonical_dataid(on_the_hour.isoformat(timespec="minutes"), Grain.HOURLY, timezone)
    except BadInput:
        return
    check_neighbours(dataid, Grain.HOURLY, timezone)


def check_neighbours(dataid: str, grain: Grain, timezone: str) -> None:
    assert canonical_dataid(dataid, grain, timezone) == dataid
    following = next_dataid(dataid, grain, timezone)
    interval = interval_of(dataid, grain, timezone)
    assert interval is not None
    assert interval[0] <= interval[1]
    if following is not None:
        assert canonical_dataid(following, grain, timezone) == following
        assert previous_dataid(following, grain, timezone) == dataid
        assert sort_key(dataid, grain) < sort_key(following, grain)
        next_interval = interval_of(following, grain, timezone)
        assert next_interval is not None
        assert interval[1] == next_interval[0]


@pytest.mark.parametrize(
    ("dataid", "grain", "start", "end"),
    [
        ("2026-08-20", Grain.DAILY, "2026-08-20T00:00:00+01:00", "2026-08-21T00:00:00+01:00"),
        ("2026-03-29", Grain.DAILY, "2026-03-29T00:00:00+00:00", "2026-03-30T00:00:00+01:00"),
        ("2026-10-25", Grain.WEEKLY, "2026-10-25T00:00:00+01:00", "2026-11-01T00:00:00+00:00"),
        ("2026-12", Grain.MONTHLY, "2026-12-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"),
        ("2026", Grain.YEARLY, "2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"),
        ("2026-10-25T01+01:00", Grain.HOURLY, "2026-10-25T01:00:00+01:00", "2026-10-25T01:00:00+00:00"),
        ("9999-12-31", Grain.DAILY, "9999-12-31T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_intervals_begin_and_end_on_the_zones_clock(dataid: str, grain: Grain, start: str, end: str) -> None:
    interval = interval_of(dataid, grain, LONDON)
    assert interval is not None
    assert [moment.isoformat() for moment in interval] == [start, end]


def test_the_length_of_an_interval_counts_the_clock_change() -> None:
    interval = interval_of("2026-03-29", Grain.DAILY, LONDON)
    assert interval is not None
    assert interval[1] - interval[0] == timedelta(hours=23)


def test_a_day_without_midnight_begins_with_its_first_moment() -> None:
    interval = interval_of("2026-04-24", Grain.DAILY, "Africa/Cairo")
    assert interval is not None
    assert interval[0].isoformat() == "2026-04-24T01:00:00+03:00"


def test_sequence_and_text_have_no_interval() -> None:
    assert interval_of("1", Grain.SEQUENCE, "UTC") is None
    assert interval_of("1", Grain.TEXT, "UTC") is None


@pytest.mark.parametrize(
    ("first", "last", "count", "second"),
    [
        ("shard-1", "shard-10000", 10_000, "shard-2"),
        ("1", "10", 10, "2"),
        ("0", "10", 11, "1"),
        ("1.0", "1.9", 10, "1.1"),
        ("001", "100", 100, "002"),
        ("a08", "a11", 4, "a09"),
        ("9", "11", 3, "10"),
    ],
)
def test_text_ranges_count_up_in_the_final_number(first: str, last: str, count: int, second: str) -> None:
    dataids = list(dataid_range(first, last, Grain.TEXT, "UTC"))
    assert len(dataids) == len(set(dataids)) == count
    assert (dataids[0], dataids[1], dataids[-1]) == (first, second, last)


@pytest.mark.parametrize(
    ("first", "last"), [("a", "b"), ("1.0", "10.0"), ("a1", "b2"), ("01", "100"), ("1", "010"), ("a1", "a")]
)
def test_text_ranges_of_another_kind_are_refused_with_what_to_do(first: str, last: str) -> None:
    with pytest.raises(BadInput, match="List the dataids, or use --file"):
        dataid_range(first, last, Grain.TEXT, "UTC")


@pytest.mark.parametrize("grain", [Grain.TEXT, Grain.SEQUENCE])
def test_a_range_that_is_too_large_is_refused_before_it_starts(grain: Grain) -> None:
    with pytest.raises(BadInput, match="100,000,001 dataids, more than the limit of 100,000,000"):
        dataid_range("1", "100000001", grain, "UTC")


@pytest.mark.parametrize(
    ("first", "last", "grain"),
    [
        ("2026-08-20", "2026-08-19", Grain.DAILY),
        ("2026-08", "2026-07", Grain.MONTHLY),
        ("10", "9", Grain.SEQUENCE),
        ("shard-10", "shard-9", Grain.TEXT),
        ("2026-10-25T01+00:00", "2026-10-25T01+01:00", Grain.HOURLY),
    ],
)
def test_reversed_ranges_are_refused(first: str, last: str, grain: Grain) -> None:
    with pytest.raises(BadInput) as error:
        dataid_range(first, last, grain, LONDON)
    assert f'--to "{last}" is before --from "{first}"' in str(error.value)


@pytest.mark.parametrize("grain", [Grain.DAILY, Grain.SEQUENCE, Grain.TEXT])
def test_a_range_of_one_dataid_is_that_dataid(grain: Grain) -> None:
    dataid = {Grain.DAILY: "2026-08-20", Grain.SEQUENCE: "7"}.get(grain, "name")
    assert list(dataid_range(dataid, dataid, grain, "UTC")) == [dataid]


def test_the_ends_of_a_range_are_checked_before_it_is_read() -> None:
    with pytest.raises(BadInput, match="is not a calendar date"):
        dataid_range("2026-02-01", "2026-02-30", Grain.DAILY, "UTC")


@pytest.mark.parametrize(
    ("first", "last", "grain"),
    [
        ("0", "99999999", Grain.SEQUENCE),
        ("x0", "x99999999", Grain.TEXT),
        ("0001-01-01", "9999-12-31", Grain.DAILY),
        ("1000-01-01T00", "9999-01-01T00", Grain.HOURLY),
    ],
)
def test_a_range_is_generated_lazily(first: str, last: str, grain: Grain) -> None:
    assert len(list(islice(dataid_range(first, last, grain, "UTC"), 3))) == 3
