"""The order of dataids by their sort keys."""

from __future__ import annotations

import subprocess
import sys
from functools import cmp_to_key

from hypothesis import example, given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain


def is_text_dataid(text: str) -> bool:
    try:
        return canonical_dataid(text, Grain.TEXT, "UTC") == text
    except BadInput:
        return False


text_dataids = st.one_of(
    st.from_regex(r"[a-b._:=]{0,2}(0{0,2}[0-9]{1,10}[ab.:~-]?){0,4}", fullmatch=True),
    st.text(st.characters(categories=("L", "M", "N"), include_characters="._-=+:|@~% "), max_size=20),
).filter(is_text_dataid)


def compare_naturally(left: str, right: str) -> int:
    """Compare character by character, but digit runs as numbers; then the fewer leading zeros first."""
    a = b = 0
    zeros: list[tuple[int, int]] = []
    while a < len(left) and b < len(right):
        if left[a] in "0123456789" and right[b] in "0123456789":
            run_a, run_b = digit_run(left, a), digit_run(right, b)
            if int(run_a) != int(run_b):
                return -1 if int(run_a) < int(run_b) else 1
            zeros.append((len(run_a), len(run_b)))
            a, b = a + len(run_a), b + len(run_b)
        elif left[a] != right[b]:
            return -1 if left[a] < right[b] else 1
        else:
            a, b = a + 1, b + 1
    if a < len(left) or b < len(right):
        return -1 if b < len(right) else 1
    return next((-1 if x < y else 1 for x, y in zeros if x != y), 0)


def digit_run(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end] in "0123456789":
        end += 1
    return text[start:end]


@given(st.lists(text_dataids, max_size=12))
@example(["a 1", "a", "a01", "a1", "a1 b", "a01 b", "a10", "a2", "a.b", "a:b", "00", "0"])
@example(["1" * 8, "1" * 9, "9" * 8, "1" * 99, "9" * 98, "1" * 255, "9" * 254, "0" * 255])
def test_text_keys_compared_bytewise_give_natural_order(dataids: list[str]) -> None:
    by_key = sorted(dataids, key=lambda dataid: sort_key(dataid, Grain.TEXT).encode())
    assert by_key == sorted(dataids, key=cmp_to_key(compare_naturally))


@given(text_dataids, text_dataids)
def test_distinct_text_dataids_have_distinct_keys(left: str, right: str) -> None:
    keys_equal = sort_key(left, Grain.TEXT) == sort_key(right, Grain.TEXT)
    assert keys_equal == (left == right)


@given(st.lists(st.integers(min_value=0, max_value=10**254)), st.lists(st.integers(0, 2000)))
def test_sequence_keys_compared_bytewise_give_numeric_order(large: list[int], small: list[int]) -> None:
    numbers = [*large, *small]
    by_key = sorted(map(str, numbers), key=lambda dataid: sort_key(dataid, Grain.SEQUENCE).encode())
    assert [int(dataid) for dataid in by_key] == sorted(numbers)


def test_hours_sort_by_instant_through_a_clock_change() -> None:
    hours = ["2026-10-25T00+01:00", "2026-10-25T01+01:00", "2026-10-25T01+00:00", "2026-10-25T02+00:00"]
    assert sorted(set(hours), key=lambda dataid: sort_key(dataid, Grain.HOURLY)) == hours


def test_version_numbers_in_text_sort_numerically() -> None:
    versions = ["1.0", "2.0", "10.0", "10.1", "10.10"]
    assert sorted(set(versions), key=lambda dataid: sort_key(dataid, Grain.TEXT)) == versions


def test_text_and_sequence_dataids_need_neither_dates_nor_character_tables() -> None:
    code = (
        "import sys; from dataflow.model.dataid import canonical_dataid, sort_key, Grain\n"
        "for grain in (Grain.TEXT, Grain.SEQUENCE):\n"
        "    sort_key(canonical_dataid('007', grain, 'Europe/London'), grain)\n"
        "costly = {'datetime', 'zoneinfo', 'unicodedata', 'typing', 'json'}\n"
        "print(sorted(costly & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout == "[]\n"
