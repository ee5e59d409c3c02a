"""Completeness rules: their text, how many chunks they want, and when they stop wanting all."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.config.fields import parse_input
from dataflow.errors import BadInput
from dataflow.model.completeness import deadline_of, parse_rule, required
from dataflow.model.coverage import Kind
from dataflow.model.dataid import interval_of
from dataflow.model.grain import Grain
from dataflow.model.records import JobInput

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("all", ""),
        ("AT_LEAST  020", "at_least 20"),
        ("by 6:05 then  partial", "by 06:05 then partial"),
    ],
)
def test_rules_have_a_canonical_form(text: str, canonical: str) -> None:
    assert parse_rule(text) == canonical


@pytest.mark.parametrize("text", ["at_least", "at_least 0", "at_least -1", "at_least x", "some", "by 06:00"])
def test_other_rules_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"at_least|from 1"):
        parse_rule(text)


@pytest.mark.parametrize("text", ["by 24:00 then partial", "by 06:60 then partial"])
def test_a_time_that_no_day_has_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="has no time of day"):
        parse_rule(text)


def test_an_input_is_written_with_its_rule() -> None:
    found = parse_input("orders : Within  by 6:00 then partial")
    assert found == JobInput("orders", "within", "by 06:00 then partial")
    assert parse_input(str(found)) == found
    assert str(parse_input("orders:window(-6,0) at_least 5")) == "orders:window(-6, 0) at_least 5"


@pytest.mark.parametrize(
    ("rule", "count", "is_due", "wanted"),
    [
        ("", 24, False, 24),
        ("", 24, True, 24),
        ("at_least 20", 24, False, 20),
        ("at_least 24", 23, False, 23),
        ("by 06:00 then partial", 24, False, 24),
        ("by 06:00 then partial", 24, True, 1),
        ("by 06:00 then partial", 0, True, 0),
    ],
)
def test_a_rule_wants_a_number_of_chunks(rule: str, count: int, is_due: bool, wanted: int) -> None:
    assert required(rule, count, is_due) == wanted


@pytest.mark.parametrize(
    ("dataid", "grain", "time", "expected"),
    [
        ("2026-08-20", Grain.DAILY, "06:00", "2026-08-21T06:00+02:00"),
        ("2026-08-20", Grain.DAILY, "00:00", "2026-08-21T00:00+02:00"),
        ("2026-08", Grain.MONTHLY, "23:59", "2026-09-01T23:59+02:00"),
        ("2026-08-20T07+02:00", Grain.HOURLY, "06:00", "2026-08-21T06:00+02:00"),
        ("2026-08-20T05+02:00", Grain.HOURLY, "06:00", "2026-08-20T06:00+02:00"),
        ("2026-03-28", Grain.DAILY, "02:30", "2026-03-29T03:30+02:00"),
        ("2026-10-24", Grain.DAILY, "02:30", "2026-10-25T02:30+02:00"),
    ],
)
def test_a_deadline_is_the_time_of_day_at_or_after_the_end_of_the_work(
    dataid: str, grain: Grain, time: str, expected: str
) -> None:
    found = deadline_of(f"by {time} then partial", dataid, Kind(grain, BERLIN))
    assert found is not None
    assert datetime.fromtimestamp(found, ZoneInfo(BERLIN)).isoformat(timespec="minutes") == expected


@given(st.dates(), st.integers(0, 23), st.integers(0, 59))
def test_a_deadline_is_less_than_a_day_and_a_change_of_clocks_after_the_end(
    day: object, hour: int, minute: int
) -> None:
    kind = Kind(Grain.DAILY, BERLIN)
    found = deadline_of(f"by {hour:02d}:{minute:02d} then partial", str(day), kind)
    span = interval_of(str(day), Grain.DAILY, BERLIN)
    if found is not None and span is not None:
        assert 0 <= found - span[1].timestamp() < 26 * 3600


@pytest.mark.parametrize("grain", [Grain.TEXT, Grain.SEQUENCE])
def test_work_without_a_time_has_no_deadline(grain: Grain) -> None:
    assert deadline_of("by 06:00 then partial", "1", Kind(grain, "UTC")) is None
