"""Mappings from a work's dataid to its input's, and back."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.coverage import Kind
from dataflow.model.days import common_days, day_after, day_before, days_of, has_day
from dataflow.model.grain import Grain
from dataflow.model.mapping import check_mapping, consumers_of, needed_dataids, parse_mapping

LONDON = "Europe/London"


def test_known_mappings_are_accepted_in_upper_and_lower_case() -> None:
    assert parse_mapping(" Same ") == "same"
    assert parse_mapping("previous") == "previous"
    assert parse_mapping("LATEST") == "latest"


@pytest.mark.parametrize("text", ["every", "", "prevoius"])
def test_other_mappings_are_refused_with_the_known_ones(text: str) -> None:
    known = r"Known mappings: same, previous, latest, within, containing, window\(-6, 0\), all, pairs"
    with pytest.raises(BadInput, match=known):
        parse_mapping(text)


def test_a_misspelt_mapping_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match='Did you mean "previous"'):
        parse_mapping("prevoius")


def test_same_needs_and_serves_its_own_dataid() -> None:
    assert needed_dataids("same", "1.0", Kind(Grain.TEXT, "UTC"), None) == ["1.0"]
    assert consumers_of("same", "1.0", Kind(Grain.TEXT, "UTC")) == ["1.0"]


def test_previous_needs_the_one_before_and_serves_the_one_after() -> None:
    assert needed_dataids("previous", "2026-03-01", Kind(Grain.DAILY, LONDON), None) == ["2026-02-28"]
    assert consumers_of("previous", "2026-02-28", Kind(Grain.DAILY, LONDON)) == ["2026-03-01"]
    assert needed_dataids("previous", "2026-03-29T02+01:00", Kind(Grain.HOURLY, LONDON), None) == [
        "2026-03-29T00+00:00"
    ]


@pytest.mark.parametrize(("dataid", "needed"), [("9", []), ("10", []), ("11", ["10"])])
def test_previous_needs_nothing_up_to_the_first_dataid_of_the_job(dataid: str, needed: list[str]) -> None:
    assert needed_dataids("previous", dataid, Kind(Grain.SEQUENCE, "UTC"), "10") == needed


def test_previous_needs_nothing_where_there_is_no_dataid_before() -> None:
    assert needed_dataids("previous", "0", Kind(Grain.SEQUENCE, "UTC"), None) == []
    assert consumers_of("previous", "9999-12-31", Kind(Grain.DAILY, "UTC")) == []


def test_previous_on_text_is_refused_with_what_to_do() -> None:
    with pytest.raises(BadInput, match="grain is text"):
        check_mapping("previous", Grain.TEXT)


@pytest.mark.parametrize("grain", list(Grain))
def test_latest_names_no_dataid_and_creates_no_work(grain: Grain) -> None:
    check_mapping("latest", grain)
    assert needed_dataids("latest", "2026", Kind(grain, "UTC"), None) == []
    assert consumers_of("latest", "2026", Kind(grain, "UTC")) == []


@pytest.mark.parametrize("grain", list(Grain))
def test_every_other_pair_of_mapping_and_grain_is_valid(grain: Grain) -> None:
    check_mapping("same", grain)
    if grain != Grain.TEXT:
        check_mapping("previous", grain)


@given(st.sampled_from(["same", "previous"]), st.integers(1, 10**9))
def test_a_chunk_serves_exactly_the_work_that_needs_it(mapping: str, number: int) -> None:
    dataid = str(number)
    for needed in needed_dataids(mapping, dataid, Kind(Grain.SEQUENCE, "UTC"), None):
        assert consumers_of(mapping, needed, Kind(Grain.SEQUENCE, "UTC")) == [dataid]


@given(
    st.sampled_from(["* * 1-5", "* * 1", "1,15 * *", "* * 1-5;* * 1,6", "29 2 *"]),
    st.dates(date(2000, 1, 1), date(2039, 12, 31)),
)
def test_a_chunk_of_some_days_serves_exactly_the_days_until_the_next(days: str, day: date) -> None:
    dataid, kind = day.isoformat(), Kind(Grain.DAILY, "UTC", days)
    (needed,) = needed_dataids("previous", dataid, kind, None)
    assert needed < dataid and has_day(days, needed)
    served = consumers_of("previous", needed, kind)
    assert dataid in served
    assert all(needed_dataids("previous", work, kind, None) == [needed] for work in (served[0], served[-1]))
    assert [work for work in served if has_day(days, work)] == [served[-1]]
    if not has_day(days, dataid):  # nobody waits for it
        assert consumers_of("previous", dataid, kind) == []


def test_days_in_common_are_those_of_all() -> None:
    weekdays, saturdays = days_of("0 6 * * 1-5"), days_of("30 7 * * 6")
    assert (weekdays, saturdays, days_of("0 6 * * *"), days_of("@daily")) == ("* * 1-5", "* * 6", "", "")
    assert common_days([weekdays, "", weekdays]) == weekdays
    assert day_after(common_days([weekdays, saturdays]), "2026-08-20") is None
    assert day_after("* * 1-5;29 2 *", "2026-08-20") == "2028-02-29"
    assert day_before("* * 1-5", "0001-01-01") is None
