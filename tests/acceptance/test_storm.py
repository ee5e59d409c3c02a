"""A short storm over workers, on both kinds of store; `make chaos` runs long ones."""

from __future__ import annotations

import pytest

from tests.acceptance.flow import Flow
from tests.chaos.storm import Storm, read_seed


@pytest.mark.full
def test_workers_in_a_short_storm_lose_and_repeat_nothing(flow: Flow) -> None:
    storm = Storm(flow, read_seed(), chunks=40)
    storm.rage(8)
    storm.calm()
    storm.check()
