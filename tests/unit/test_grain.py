"""Grains and time zones."""

from __future__ import annotations

import pytest

from dataflow.errors import BadInput
from dataflow.model.grain import Grain, check_timezone, parse_grain


@pytest.mark.parametrize("grain", list(Grain))
def test_every_grain_is_read_from_its_own_name(grain: Grain) -> None:
    assert parse_grain(grain.value) is grain
    assert parse_grain(f" {grain.value.upper()} ") is grain


def test_an_unknown_grain_is_refused_with_the_nearest_name_and_the_whole_list() -> None:
    with pytest.raises(BadInput, match=r'"dayly" is not a grain\. Did you mean "daily"') as error:
        parse_grain("dayly")
    assert all(grain.value in str(error.value) for grain in Grain)


def test_a_grain_unlike_any_known_one_is_refused_without_a_suggestion() -> None:
    with pytest.raises(BadInput) as error:
        parse_grain("zzz")
    assert "Did you mean" not in str(error.value)


@pytest.mark.parametrize("name", ["UTC", "Europe/London", "America/Argentina/Buenos_Aires"])
def test_iana_zones_are_accepted(name: str) -> None:
    assert check_timezone(name) == name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("Europe/Londn", "Europe/London"),
        ("europe/london", "Europe/London"),
        ("Berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_one(name: str, nearest: str) -> None:
    with pytest.raises(BadInput, match=f'is not a time zone. Did you mean "{nearest}"'):
        check_timezone(name)


@pytest.mark.parametrize(
    "name", ["", "localtime", "Factory", "Europe", "../UTC", "/etc/localtime", "UTC\0", "right/UTC"]
)
def test_names_that_are_not_portable_zones_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match="is not a time zone"):
        check_timezone(name)
