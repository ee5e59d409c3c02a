"""Prepare: the five questions about a claimed run, and what makes an answer no."""

from __future__ import annotations

from pathlib import Path

from dataflow.actions.prepare import prepare
from dataflow.model.answers import Question
from dataflow.model.records import Publication, Run
from dataflow.model.status import RunOutcome
from tests.store.world import World


def refuse(world: World, run: Run, folder: Path) -> tuple[Question, str] | None:
    """The first question that is answered with no, and why."""
    prepared = prepare(world.store, world.plan(run.job), run, str(folder), "dev")
    return (prepared.refusal.question, prepared.refusal.evidence) if prepared.refusal else None


def test_an_input_without_the_size_that_its_producer_recorded_is_refused(
    world: World, tmp_path: Path
) -> None:
    world.chain("raw", "clean")
    world.dataset("clean", location="clean.csv")
    world.job("read_clean", ["clean"])
    world.ready("raw", "1")
    world.do("to_clean", publications=(Publication("clean", size=4),))
    run = world.take("read_clean")
    place = tmp_path / "clean.csv"
    place.write_text("1,2\n")
    assert refuse(world, run, tmp_path) is None
    place.write_text("1,")
    text = "clean/1 has 2 bytes, but 4 were recorded when it was published"
    assert refuse(world, run, tmp_path) == (Question.RIGHT, text)


def test_an_input_in_a_shared_location_that_a_run_left_half_overwritten_is_refused(
    world: World, tmp_path: Path
) -> None:
    world.chain("raw", "table")
    world.dataset("table", location="table.csv", mode="snapshot")
    world.job("read_table", ["table"])
    (tmp_path / "table.csv").touch()
    for dataid in ("1", "2"):
        world.ready("raw", dataid)
        world.do("to_table", dataid, publications=(Publication("table"),))
    world.ready("raw", "3")
    writer = world.do("to_table", "3", RunOutcome.FAILED)
    text = f"run {writer.run_id} started to overwrite table/1 and did not succeed"
    assert refuse(world, world.take("read_table", "1"), tmp_path) == (Question.SAFE, text)


def test_a_reader_blocks_a_new_version_in_place_but_not_a_staged_one(world: World, tmp_path: Path) -> None:
    for name, location in (("staged", "{dataid}/{run_id}"), ("in_place", "{dataid}.csv")):
        world.dataset(f"raw_{name}", location="")
        world.dataset(name, location=location)
        world.job(f"to_{name}", [f"raw_{name}"], [name])
        world.job(f"read_{name}", [name])
        world.ready(f"raw_{name}", "1")
        world.do(f"to_{name}")
    reader = world.take("read_in_place")
    world.take("read_staged")
    for name in ("staged", "in_place"):
        world.resubmit(f"to_{name}", "1")
    assert refuse(world, world.take("to_staged"), tmp_path) is None
    text = f"in_place/1 is being consumed by run {reader.run_id}"
    assert refuse(world, world.take("to_in_place"), tmp_path) == (Question.SAFE, text)
