"""Dates, timestamps and time zones behave as in PostgreSQL, including errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from dataflow.pipelines.pg_functions import datetime_parts, ranges, timestamps, zones
from dataflow.pipelines.pg_functions.civil import END_TIMESTAMP
from dataflow.pipelines.pg_functions.datetime_text import parse_date, parse_timestamp, parse_timestamptz
from dataflow.pipelines.pg_functions.intervals import DAY, SECOND
from dataflow.pipelines.pg_functions.signatures import Interval, Signature, list_overloads
from dataflow.pipelines.pg_functions.zone_rules import load_zone
from tests.pipelines.pg_functions.comparison import (
    Case,
    list_differences,
    literal,
    make_cases,
    random_timestamp,
    random_value,
)
from tests.pipelines.pg_functions.reference import Reference

WORDS = "century decade millennium quarter week month year day hour minute second epoch julian dow doy isodow"
FIELDS = [
    *WORDS.split(),
    "milliseconds",
    "us",
    "timezone",
    "timezone_hour",
    "mm",
    "jan",
    "now",
    "ago",
    "CENT",
    "foo",
]
# Zones whose history and rules are the same in every recent release of the tz database.
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Sydney",
    "Europe/Dublin",
    "Asia/Tokyo",
]
ZONES += ["America/St_Johns", "Australia/Lord_Howe", "Europe/Moscow", "Pacific/Apia", "Africa/Casablanca"]
POSIX = [
    "EST5EDT",
    "PST8PDT",
    "CET-1CEST",
    "FOO3",
    "FOO+3:30",
    "<+03>-3",
    "ABC-5:30:15DEF,M3.5.0,M10.5.0/3",
    "-3",
]
POSIX += [
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "XXX",
    "UTC+3",
    "+05:30",
    "EST5EDT,J60/0,J300",
    "ABC3DEF4",
    "A5B,10/1,200/2",
]
MONTHS = [
    "jan",
    "January",
    "feb",
    "mar",
    "april",
    "may",
    "june",
    "jul",
    "aug",
    "sept",
    "october",
    "nov",
    "DEC",
]
DATES = (
    "{y:04d}-{m:02d}-{d:02d}|{y:04d}-{m:02d}-{d:02d}|{y:04d}-{m:02d}-{d:02d}|{y:04d}{m:02d}{d:02d}|{m}/{d}/{y}"
    "|{d}-{M}-{y}|{M} {d}, {y}|{d} {M} {y}|{y}-{M}-{d}|{y:04d}.{j:03d}|J{J}|{d}.{m}.{y}|{M}-{d}-{s:02d}"
    "|{m}-{d}-{s:02d}|{s:02d}{m:02d}{d:02d}|Mon {M} {d} 01:02:03 {y}|{y}/{m}/{d}|{y} {m} {d}|{M} {d}"
    "|{y:04d}-{m:02d}|{y:04d}-{j:03d}|J{J}.{d}"
)
TIMES = [
    "{h}:{n:02d}",
    "{h}:{n:02d}:{c:02d}",
    "{h}:{n:02d}:{c:02d}.{f}",
    "{h:02d}{n:02d}{c:02d}",
    "{h:02d}{n:02d}",
]
ENDS = [
    "",
    "",
    "",
    "Z",
    "+02",
    "-03:30",
    "+0530",
    "+16",
    "-5:30:15",
    " EST",
    " MET DST",
    " EDT DST",
    " msk",
    " foo",
]
ENDS += [" Europe/Berlin", " am", "PM", " BC", " ad", " EST5EDT", "-07 BC", " Mars/Base"]


def random_zone(random: Random) -> str:
    abbreviation = random.choice([*zones.FIXED, *zones.CHANGING])
    name = random.choice([random.choice(ZONES), random.choice(POSIX), abbreviation])
    return random.choice([name, name.upper(), name.lower()])


def random_text(random: Random) -> str:
    date = random.choice(DATES.split("|")).format(
        y=random.choice([random.randrange(1, 2200), random.randrange(300_000)]),
        m=random.randrange(14) if random.random() < 0.1 else random.randrange(1, 13),
        d=random.randrange(33) if random.random() < 0.1 else random.randrange(1, 29),
        s=random.randrange(100),
        j=random.randrange(370),
        J=random.randrange(3_000_000),
        M=random.choice(MONTHS),
    )
    time = random.choice(TIMES).format(
        h=random.randrange(25), n=random.randrange(61), c=random.randrange(61), f=random.randrange(10**7)
    )
    return date + random.choice(["", " " + time, "T" + time, " " + time]) + random.choice(ENDS)


def choose(signature: Signature, random: Random) -> Sequence[Any] | None:
    if signature.takes[:1] == ("text",) and signature.name == "cast":
        return [random_text(random)]
    if signature.name in ("make_date", "make_timestamp", "make_timestamptz"):
        return random_parts(signature, random)
    if signature.name == "overlaps":
        return [None if random.random() < 0.2 else random_small(kind, random) for kind in signature.takes]
    found = [
        random_value(kind, random) if kind != "text" else random.choice(FIELDS) for kind in signature.takes
    ]
    if signature.name == "to_timestamp" and found[0] in (math.inf, -math.inf):
        return None  # refused here
    if signature.name == "date_bin":
        found[0] = random_small("interval", random)
    if signature.name == "date_part" and signature.takes[1] == "date":
        found[1] %= END_TIMESTAMP // DAY
    return [*found[:2], random_zone(random)] if signature.takes == ("text", "timestamptz", "text") else found


def random_parts(signature: Signature, random: Random) -> Sequence[Any]:
    limits = [(-5000, 5000), (0, 14), (0, 33), (-1, 26), (-1, 61)]
    wholes = [random.randrange(*limit) for limit in limits]
    seconds = random.choice([0.0, 59.999999, 60.0, 60.5, -1.0, 1.5, random.uniform(0, 60)])
    zone = random.choice([random_zone(random), "+5", "-03:30", "+16", "3"])
    return [*wholes, seconds, zone][: len(signature.takes)]


def random_small(kind: str, random: Random) -> Any:
    if kind != "interval":
        return random.randrange(-20, 20) * DAY * 5
    return Interval(
        random.choice([0, 0, 1]), random.choice([0, 1, 7, -2]), random.choice([0, 90_000, -5]) * SECOND
    )


@pytest.mark.parametrize(("module", "count"), [(timestamps, 80), (datetime_parts, 150)])
def test_timestamp_functions_match_postgresql(reference: Reference, module: Any, count: int) -> None:
    signatures = [one for one in list_overloads(module.SIGNATURES) if one.takes != ("text", "interval")]
    assert list_differences(reference, make_cases(signatures, choose, count=count)) == []


def test_dates_and_timestamps_are_parsed_as_in_postgresql(reference: Reference) -> None:
    readers = [
        signature for signature in list_overloads(timestamps.SIGNATURES) if signature.takes == ("text",)
    ]
    assert list_differences(reference, make_cases(readers, choose, count=700)) == []


def test_timestamps_are_rounded_to_their_precision_as_in_postgresql(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    for _ in range(200):
        micros, digits = random_timestamp(random), random.randrange(7)
        sql = f"{literal(micros, 'timestamp')}::timestamp({digits})::text"

        def rounded(micros: int = micros, digits: int = digits) -> str:
            return timestamps.show_timestamp(timestamps.to_precision(micros, digits))

        cases.append((sql, rounded))
    assert list_differences(reference, cases) == []


def choose_zoned(signature: Signature, random: Random) -> Sequence[Any]:
    """A zone, and a moment that is often near a clock change."""
    name = random_zone(random)
    zone = load_zone(name)
    micros = random_timestamp(random)
    if zone and zone.moments and random.random() < 0.7:
        micros = (random.choice(zone.moments[-40:]) + random.randint(-10_800, 10_800)) * SECOND
    if signature.takes[0] == "interval":
        offset = random.randint(-54_000, 54_000) * SECOND
        return [Interval(0, random.choice([0, 0, 0, 1]), offset), micros]
    return [name, micros]


def test_local_times_of_zones_match_postgresql(reference: Reference) -> None:
    assert (
        list_differences(reference, make_cases(list_overloads(zones.SIGNATURES), choose_zoned, count=500))
        == []
    )


def test_time_zone_abbreviations_match_postgresql(reference: Reference) -> None:
    sql = "select lower(abbrev), extract(epoch from utc_offset)::int, is_dst from pg_timezone_abbrevs"
    rows = reference.connection.execute(sql).fetchall()
    assert {name for name, _, _ in rows} == {*zones.FIXED, *zones.CHANGING}
    fixed = [row for row in rows if row[0] in zones.FIXED]
    assert fixed == [(name, zones.FIXED[name], name in zones.SUMMER) for name, _, _ in fixed]


def choose_series(signature: Signature, random: Random) -> Sequence[Any]:
    if signature.takes[0] in ("timestamp", "timestamptz"):
        ends = [random.randrange(-20, 20) * DAY for _ in range(2)]
        return [*ends, Interval(random.choice([0, 1, -1]), random.choice([0, 1, -2]), 7200 * SECOND)]
    found = [random.randrange(-20, 20), random.randrange(-20, 20), random.randrange(-4, 5)]
    if "numeric" in signature.takes:
        return [Decimal(number).scaleb(-scale) for scale, number in enumerate(found)][: len(signature.takes)]
    return found[: len(signature.takes)]


def test_generate_series_returns_the_same_rows_as_postgresql(reference: Reference) -> None:
    all_series = [signature for signature in list_overloads(ranges.SIGNATURES) if signature.is_set]
    assert list_differences(reference, make_cases(all_series, choose_series, count=60)) == []


@pytest.mark.parametrize("text", ["now", "today", "tomorrow", "yesterday", "infinity", "-infinity"])
def test_infinite_and_relative_times_are_refused(text: str) -> None:
    for parse in (parse_date, parse_timestamp, parse_timestamptz):
        with pytest.raises(ValueError, match="not supported"):
            parse(text)
