"""Feeding parts to tasks: how many at once, and the effect of an error on either side."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.handover.records import Part
from dataflow.pipelines.run.source_reader import BYTES_AT_ONCE, PARTS_AT_ONCE, Feeder

WAIT_SECONDS = 20


def make_parts(count: int, size: int = 10) -> list[Part]:
    return [Part(number, f"part-{number}", 1, size) for number in range(1, count + 1)]


def feed(parts: Iterator[Part] | list[Part], streams: int = 2) -> list[tuple[int, ...]]:
    """The part numbers that each task received."""

    def work(parts: tuple[Part, ...]) -> tuple[int, ...]:
        return tuple(part.number for part in parts)

    return sorted(Feeder(work, streams, threading.Event()).run(iter(parts)))


@pytest.mark.parametrize("count", [0, 1, 2, PARTS_AT_ONCE, 5 * PARTS_AT_ONCE + 3])
def test_every_part_is_processed_once(count: int) -> None:
    given = [number for task in feed(make_parts(count)) for number in task]
    assert sorted(given) == list(range(1, count + 1))


def test_a_task_gets_at_most_its_byte_limit_unless_a_single_part_is_larger() -> None:
    assert feed(make_parts(5, BYTES_AT_ONCE // 2), streams=1) == [(1, 2), (3, 4), (5,)]
    assert feed(make_parts(2, BYTES_AT_ONCE * 2), streams=1) == [(1,), (2,)]


def test_work_begins_while_parts_are_still_arriving() -> None:
    began = threading.Event()

    def arriving() -> Iterator[Part]:
        parts = make_parts(PARTS_AT_ONCE + 1)
        yield from parts[:-1]
        assert began.wait(WAIT_SECONDS)
        yield parts[-1]

    def work(parts: tuple[Part, ...]) -> int:
        began.set()
        return len(parts)

    assert sum(Feeder(work, 2, threading.Event()).run(arriving())) == PARTS_AT_ONCE + 1


def test_an_error_in_the_source_is_raised_and_stops_the_work() -> None:
    stop = threading.Event()

    def failing() -> Iterator[Part]:
        yield from make_parts(3)
        raise BadInput("the source is gone")

    with pytest.raises(BadInput, match="the source is gone"):
        Feeder(len, 2, stop).run(failing())
    assert stop.is_set()


def test_an_error_in_the_work_is_raised_and_stops_the_source() -> None:
    stop = threading.Event()

    def endless() -> Iterator[Part]:
        yield from make_parts(PARTS_AT_ONCE)
        assert stop.wait(WAIT_SECONDS)

    def work(parts: tuple[Part, ...]) -> int:
        raise BadInput("a page is no JSON")

    with pytest.raises(BadInput, match="a page is no JSON"):
        Feeder(work, 2, stop).run(endless())
