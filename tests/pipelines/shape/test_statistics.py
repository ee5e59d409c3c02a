"""Statistics of batches: merged parts equal the whole, and pickling keeps values exact."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.pipelines.shape.statistics import NOTHING, ColumnStatistics, Statistics, Wanted

SCHEMA = pa.schema(
    [
        ("n", pa.decimal128(38, 18)),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("x", pa.float64()),
        ("i", pa.int64()),
        ("t", pa.string()),
        ("l", pa.list_(pa.string())),
        ("u", pa.binary(16)),
    ]
)
WANTED = Wanted(("n", "at", "local", "day", "x", "i", "t"), (("i", (1, 2)), ("t", ("a", "b"))))
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "n": st.decimals(-(10**19), 10**19, places=18),
            "at": st.datetimes(timezones=st.just(UTC)),
            "local": st.datetimes(),
            "day": st.dates(),
            "x": st.floats(),
            "i": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
            "t": st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
            "l": st.just(["a"]),
            "u": st.binary(min_size=16, max_size=16),
        },
    ),
    max_size=6,
)


def of(rows: list[dict[str, Any]], wanted: Wanted = WANTED) -> Statistics:
    return Statistics.of(pa.RecordBatch.from_pylist(rows, schema=SCHEMA), wanted)


@settings(deadline=None)
@given(ROWS, ROWS)
def test_merged_parts_equal_the_whole(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> None:
    merged = of(one).merge(of(two))
    assert merged == of(one + two)
    assert merged == of(two).merge(of(one))
    assert NOTHING.merge(merged) == merged


@settings(deadline=None)
@given(ROWS)
def test_statistics_come_back_from_a_task_unchanged(rows: list[dict[str, Any]]) -> None:
    found = of(rows)
    assert pickle.loads(pickle.dumps(found)) == found


def test_bounds_and_nulls_are_those_of_the_values() -> None:
    moment = datetime(2026, 1, 1, 5, 0, 0, 123456, UTC)
    found = of([{"n": Decimal("1.000000000000000001"), "at": moment, "day": date(1, 1, 1)}, {}]).columns
    assert found["n"] == ColumnStatistics(1, Decimal("1.000000000000000001"), Decimal("1.000000000000000001"))
    assert found["at"].maximum == moment
    assert found["day"].minimum == date(1, 1, 1)
    assert (found["x"].nulls, found["x"].minimum) == (2, None)


def test_nan_is_larger_than_every_bound() -> None:
    found = of([{"x": float("nan")}, {"x": 1.0}]).columns["x"]
    assert (found.minimum, found.maximum) == (1.0, float("inf"))


def test_only_wanted_columns_have_bounds() -> None:
    found = of([{"i": 5, "t": "z"}], Wanted(("i",))).columns
    assert (found["i"].minimum, found["t"].minimum, found["t"].unaccepted) == (5, None, 0)


def test_values_not_accepted_are_counted_with_samples_and_null_is_ignored() -> None:
    found = of([{"t": text} for text in "abcdefghc"] + [{}]).columns["t"]
    assert (found.unaccepted, found.samples) == (7, ("c", "d", "e", "f", "g"))
    assert of([{"i": 3}, {"i": 1}]).columns["i"].samples == ("3",)
