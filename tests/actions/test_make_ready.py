"""Making ready and withdrawing: canonical, idempotent, in bounded batches, and clear about what was done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dataflow.actions import make_ready as module
from dataflow.actions.make_ready import Publication, ReadyResult, make_ready, withdraw
from dataflow.actions.register import add_dataset, add_job
from dataflow.errors import BadInput, UnknownName
from dataflow.model.records import Dataset, Job, JobInput
from tests.store.world import World


@pytest.fixture
def bob(world: World) -> World:
    """A dataset and a job that reads it."""
    add_dataset(world.store, Dataset("bobin"))
    add_job(world.store, Job("loadbob", (JobInput("bobin"),)))
    return world


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "BULK_BATCH", 10)
    return 10


def test_marking_ready_twice_counts_once(bob: World) -> None:
    assert make_ready(bob.store, "bobin", ["1.0", "2.0"]) == ReadyResult(2, 0)
    assert make_ready(bob.store, "bobin", ["2.0", "3.0", "3.0"]) == ReadyResult(1, 1)
    assert bob.drain("loadbob") == ["1.0", "2.0", "3.0"]


def test_again_creates_a_new_version_and_the_work_runs_again(bob: World) -> None:
    make_ready(bob.store, "bobin", ["1.0"])
    bob.drain("loadbob")
    assert make_ready(bob.store, "bobin", ["1.0"]).changed == 0
    assert make_ready(bob.store, "bobin", ["1.0"], Publication(again=True)).changed == 1
    assert bob.version("bobin", "1.0") == 2
    assert bob.drain("loadbob") == ["1.0"]


def test_dataids_are_canonical_when_they_are_stored(world: World) -> None:
    add_dataset(world.store, Dataset("numbers", grain="sequence"))
    assert make_ready(world.store, "numbers", ["007", "7", "8"]) == ReadyResult(2, 0)
    assert [chunk.dataid for chunk in world.chunks("numbers")] == ["7", "8"]


def test_a_bad_dataid_among_few_changes_nothing(bob: World) -> None:
    with pytest.raises(BadInput, match=r'"a/b".*It is number 3 in the list; nothing was changed'):
        make_ready(bob.store, "bobin", ["1", "2", "a/b", "4"])
    assert bob.chunks("bobin") == []


def test_a_bad_dataid_among_many_says_what_was_done_and_repeating_is_harmless(
    bob: World, small_batches: int
) -> None:
    dataids = [str(number) for number in range(25)]
    with pytest.raises(BadInput, match=r"It is number 25 in the list; the 20 before it were made ready"):
        make_ready(bob.store, "bobin", [*dataids[:24], "x/y", dataids[24]])
    assert len(bob.chunks("bobin")) == 20
    assert make_ready(bob.store, "bobin", dataids) == ReadyResult(5, 20)


def test_an_endless_input_is_read_batch_by_batch(bob: World, small_batches: int) -> None:
    taken = 0

    def numbers() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield str(taken)

    class Enough(Exception):
        pass

    def stop(done: int) -> None:
        if done == 30:
            raise Enough

    with pytest.raises(Enough):
        make_ready(bob.store, "bobin", numbers(), progress=stop)
    assert taken == 30
    assert len(bob.chunks("bobin")) == 30


def test_each_batch_is_one_journal_entry(bob: World, small_batches: int) -> None:
    make_ready(bob.store, "bobin", map(str, range(25)))
    assert [line["items"] for line in bob.journal("ready")] == [10, 10, 5]


def test_the_error_for_an_unknown_dataset_suggests_the_nearest_one(bob: World) -> None:
    with pytest.raises(UnknownName, match=r'No dataset "bobn" in \S+\. Did you mean "bobin"\?'):
        make_ready(bob.store, "bobn", ["1"])


def test_calendars_are_left_to_the_clock(world: World) -> None:
    add_job(world.store, Job("load", (JobInput("today"),), schedule="@daily"))
    for name in ("today", "load.calendar"):
        with pytest.raises(BadInput, match="DataFlow maintains"):
            make_ready(world.store, name, ["2026-08-20"])
        with pytest.raises(BadInput, match="dataflow hold JOB DATAID"):
            withdraw(world.store, name, ["2026-08-20"])


def test_a_withdrawn_chunk_is_waited_for_until_it_is_ready_again(bob: World) -> None:
    make_ready(bob.store, "bobin", ["1.0"])
    assert withdraw(bob.store, "bobin", ["1.0", "9.9"], "wrong file") == (1, 1)
    assert bob.claim("loadbob") == ()
    assert bob.journal("withdraw")[0]["why"] == "wrong file"
    assert make_ready(bob.store, "bobin", ["1.0"]) == ReadyResult(1, 0)
    assert bob.version("bobin", "1.0") == 2
    assert bob.drain("loadbob") == ["1.0"]
