"""Mappings from a work's dataid to its input's, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.coverage import Kind
from dataflow.model.grain import Grain
from dataflow.model.mapping import check_mapping, consumers_of, needed_dataids, parse_mapping

LONDON = "Europe/London"


def test_known_mappings_are_accepted_in_upper_and_lower_case() -> None:
    assert parse_mapping(" Same ") == "same"
    assert parse_mapping("previous") == "previous"
    assert parse_mapping("LATEST") == "latest"


@pytest.mark.parametrize("text", ["all", "window(-6, 0)", "", "prevoius"])
def test_other_mappings_are_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(
        BadInput, match="Known mappings: same, previous, latest; window and all are not supported"
    ):
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
def test_previous_needs_nothing_for_the_first_dataid_of_the_job(dataid: str, needed: list[str]) -> None:
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
