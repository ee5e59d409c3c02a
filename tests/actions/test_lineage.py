"""What was made from what: datasets and jobs, chunks and runs, as the runs have pinned them."""

from __future__ import annotations

import pytest

from dataflow import errors
from dataflow.actions.lineage import BOTH, DOWN, UP, Lineage, trace_chunk, trace_dataset
from tests.store.world import World


def edges(found: Lineage) -> set[tuple[str, str, str]]:
    """All edges, with the runs numbered from 1: PostgreSQL continues where another test has ended."""
    runs = sorted(int(name[4:]) for name in found.nodes if name.startswith("run:"))
    names = {f"run:{run_id}": f"run:{number}" for number, run_id in enumerate(runs, start=1)}
    return {
        (names.get(edge.source, edge.source), names.get(edge.target, edge.target), edge.note)
        for edge in found.edges
    }


def made(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.do("to_report")


def test_a_dataset_has_the_jobs_around_it_in_both_directions(world: World) -> None:
    made(world)
    assert edges(trace_dataset(world.store, "clean", BOTH)) == {
        ("dataset:raw", "job:to_clean", ""),
        ("job:to_clean", "dataset:clean", ""),
        ("dataset:clean", "job:to_report", ""),
        ("job:to_report", "dataset:report", ""),
    }
    assert set(trace_dataset(world.store, "clean", (UP,)).nodes) == {
        "dataset:clean",
        "job:to_clean",
        "dataset:raw",
    }
    assert set(trace_dataset(world.store, "raw", (DOWN,), depth=1).nodes) == {
        "dataset:raw",
        "job:to_clean",
        "dataset:clean",
    }


def test_a_job_that_reads_its_own_output_is_followed_once(world: World) -> None:
    world.dataset("days", grain="sequence")
    world.dataset("total", grain="sequence")
    world.job("cumulate", ["days", "total:previous"], ["total"], start="1")
    world.ready("days", "1", "2")
    world.drain("cumulate")
    assert ("dataset:total", "job:cumulate", "previous") in edges(trace_dataset(world.store, "total", BOTH))
    assert edges(trace_chunk(world.store, "total", "2", (UP,))) == {
        ("run:2", "total/2@1", ""),
        ("days/2@1", "run:2", ""),
        ("total/1@1", "run:2", ""),
        ("run:1", "total/1@1", ""),
        ("days/1@1", "run:1", ""),
    }


def test_a_chunk_has_the_versions_that_were_read(world: World) -> None:
    made(world)
    world.ready("raw", "1", again=True)
    up = trace_chunk(world.store, "report", "1", (UP,))
    assert edges(up) == {
        ("run:2", "report/1@1", ""),
        ("clean/1@1", "run:2", ""),
        ("run:1", "clean/1@1", ""),
        ("raw/1@1", "run:1", ""),
    }
    assert up.nodes["raw/1@1"].label == "raw/1 version 1 (now 2)"
    assert up.nodes["clean/1@1"].label == "clean/1 version 1 (STALE)"
    down = trace_chunk(world.store, "raw", "1", (DOWN,))
    assert ("raw/1@2", "run:1", "version 1") in edges(down)
    assert ("run:2", "report/1@1", "") in edges(down)


def test_a_run_at_work_is_part_of_what_is_made_from_a_chunk(world: World) -> None:
    made(world)
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    found = trace_chunk(world.store, "raw", "1", (DOWN,))
    assert found.nodes[f"run:{run.run_id}"].label == f"run {run.run_id} of to_clean/1, at work"


def test_an_older_version_has_the_run_that_made_it(world: World) -> None:
    made(world)
    world.resubmit("to_clean", "1")
    world.do("to_clean")
    found = trace_chunk(world.store, "report", "1", (UP,))
    assert ("run:1", "clean/1@1", "") in edges(found)
    assert found.nodes["clean/1@1"].label == "clean/1 version 1 (now 2)"


def test_unknown_datasets_and_dataids_are_refused(world: World) -> None:
    made(world)
    with pytest.raises(errors.UnknownName, match="No dataset"):
        trace_dataset(world.store, "rwa", BOTH)
    with pytest.raises(errors.UnknownName, match="raw/9 was never published"):
        trace_chunk(world.store, "raw", "9", BOTH)


def test_a_line_of_a_thousand_runs_is_traced(sqlite_world: World) -> None:
    world = sqlite_world
    world.dataset("days", grain="sequence")
    world.dataset("total", grain="sequence")
    world.job("cumulate", ["days", "total:previous"], ["total"], start="1")
    world.ready("days", *map(str, range(1, 1001)))
    world.drain("cumulate")
    assert len(trace_chunk(world.store, "total", "1000", (UP,)).edges) == 1000 + 1000 + 999
    assert len(trace_chunk(world.store, "days", "1", (DOWN,)).edges) == 2 * 1000
    assert len(trace_chunk(world.store, "days", "1", (DOWN,), depth=2).edges) == 4
