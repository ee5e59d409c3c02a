"""The status that users see, and the view datastatus."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dataflow.model.status import RunOutcome, Status, WorkState
from tests.store.world import World

Steps = Callable[[World], object]

# What is done to clean/1 in raw → clean → report, raw/1 being ready, and the status clean/1 then shows.
SEEN: list[tuple[str, str, list[Steps]]] = [
    ("not made yet", "PENDING", []),
    ("its input went away", "PENDING", [lambda w: w.withdraw("raw", "1")]),
    ("being made", "RUNNING", [lambda w: w.take("to_clean")]),
    ("made", "READY", [lambda w: w.do("to_clean")]),
    ("failed", "FAILED", [lambda w: w.do("to_clean", outcome=RunOutcome.FAILED)]),
    ("its checks said no", "INVALID", [lambda w: w.do("to_clean", outcome=RunOutcome.INVALID)]),
    ("handed back", "PENDING", [lambda w: w.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=9)]),
    ("interrupted", "PENDING", [lambda w: w.do("to_clean", outcome=RunOutcome.INTERRUPTED)]),
    ("held before it was made", "HOLD", [lambda w: w.hold("to_clean", "1")]),
    ("its job held", "HOLD", [lambda w: w.hold("to_clean")]),
    ("held and waiting", "HOLD", [lambda w: w.hold("to_clean", "1"), lambda w: w.withdraw("raw", "1")]),
    ("held while being made", "RUNNING", [lambda w: w.take("to_clean"), lambda w: w.hold("to_clean", "1")]),
    ("held after it was made", "READY", [lambda w: w.do("to_clean"), lambda w: w.hold("to_clean", "1")]),
    ("to be made again", "RESUBMIT", [lambda w: w.do("to_clean"), lambda w: w.resubmit("to_clean", "1")]),
    (
        "to be made again, on hold",
        "HOLD",
        [lambda w: w.do("to_clean"), lambda w: w.resubmit("to_clean", "1"), lambda w: w.hold("to_clean")],
    ),
    (
        "being made again",
        "RUNNING",
        [lambda w: w.do("to_clean"), lambda w: w.resubmit("to_clean", "1"), lambda w: w.take("to_clean")],
    ),
    (
        "made from what is old now",
        "STALE",
        [lambda w: w.do("to_clean"), lambda w: w.ready("raw", "1", again=True)],
    ),
    ("taken out of use", "PENDING", [lambda w: w.do("to_clean"), lambda w: w.withdraw("clean", "1")]),
    ("cancelled", "FAILED", [lambda w: w.cancel(w.take("to_clean"))]),
    ("marked done", "READY", [lambda w: w.mark("to_clean", "1", WorkState.DONE)]),
    (
        "marked invalid",
        "INVALID",
        [lambda w: w.do("to_clean"), lambda w: w.mark("to_clean", "1", WorkState.INVALID)],
    ),
    (
        "half overwritten in place",
        "PENDING",
        [
            lambda w: w.dataset("clean", location=""),
            lambda w: w.do("to_clean"),
            lambda w: w.resubmit("to_clean", "1"),
            lambda w: w.do("to_clean", outcome=RunOutcome.INTERRUPTED),
            lambda w: w.poke("UPDATE work SET resubmitted = FALSE"),
        ],
    ),
]


def chained(world: World) -> World:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    return world


@pytest.mark.parametrize(("status", "steps"), [seen[1:] for seen in SEEN], ids=[seen[0] for seen in SEEN])
def test_the_status_of_a_chunk_is_derived_from_its_work_and_version(
    world: World, status: str, steps: list[Steps]
) -> None:
    chained(world)
    for step in steps:
        step(world)
    assert world.status("clean", "1") == status


def test_every_status_occurs_in_this_table() -> None:
    assert {seen[1] for seen in SEEN} == set(Status)


def test_chunks_are_listed_in_order_with_their_readers(world: World) -> None:
    chained(world)
    world.ready("raw", "10", "2")
    reader = world.take("to_clean", "1")
    rows = world.chunks("raw")
    assert [(row.dataset, row.dataid, row.status, row.readers) for row in rows] == [
        ("raw", "1", "READY", (reader.run_id,)),
        ("raw", "2", "READY", ()),
        ("raw", "10", "READY", ()),
    ]


def test_chunks_are_listed_by_range_status_and_number(world: World) -> None:
    chained(world)
    world.ready("raw", "2", "3", "4")
    world.withdraw("raw", "3")
    dataset_id = world.dataset_record("raw")[0]
    first, last = (key for _, key in world.pairs("raw", ["2", "4"]))

    def listed(**where: object) -> list[str]:
        return [chunk.dataid for chunk in world.store.read.list_chunks(dataset_id, **where)]  # type: ignore[arg-type]

    assert listed(first=first, last=last) == ["2", "3", "4"]
    assert listed(status="PENDING") == ["3"]
    assert listed(most=2) == ["1", "2"]


def test_datastatus_has_a_row_for_each_output_and_each_chunk_being_consumed(world: World) -> None:
    chained(world)
    world.ready("raw", "2")
    world.do("to_clean", "1")
    world.take("to_report", "1")
    world.take("to_clean", "2")
    rows = world.select(
        "SELECT datasetid, jobid, dataid, locktype, status FROM datastatus ORDER BY 4, 1, 2, 3"
    )
    assert rows == [
        ("clean", "to_report", "1", "IN", "RUNNING"),
        ("raw", "to_clean", "2", "IN", "RUNNING"),
        ("clean", "to_clean", "1", "OUT", "READY"),
        ("clean", "to_clean", "2", "OUT", "RUNNING"),
        ("raw", "", "1", "OUT", "READY"),
        ("raw", "", "2", "OUT", "READY"),
        ("report", "to_report", "1", "OUT", "RUNNING"),
    ]
    modified = [row[0] for row in world.select("SELECT modified FROM datastatus")]
    assert all(modified)


def test_the_named_views_have_names_in_place_of_ids(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1.0", "2.0")
    run = world.do("to_clean", "1.0")
    world.hold("to_clean", "2.0")
    assert world.select("SELECT dataset, dataid, status, version, job FROM named_chunk ORDER BY 1, 2") == [
        ("clean", "1.0", "READY", 1, "to_clean"),
        ("clean", "2.0", "HOLD", 0, "to_clean"),
        ("raw", "1.0", "READY", 1, ""),
        ("raw", "2.0", "READY", 1, ""),
    ]
    found = world.select("SELECT job, dataid, state, hold, run_id FROM named_work ORDER BY 2")
    assert [(*row[:3], bool(row[3]), row[4]) for row in found] == [
        ("to_clean", "1.0", "DONE", False, run.run_id),
        ("to_clean", "2.0", "CLAIMABLE", True, None),
    ]
    assert world.select("SELECT * FROM named_run_input") == [(run.run_id, "to_clean", "1.0", "raw", "1.0", 1)]


def test_an_ended_run_leaves_no_row_in_datastatus(world: World) -> None:
    chained(world)
    world.do("to_clean")
    assert world.select("SELECT count(*) FROM datastatus WHERE locktype = 'IN'") == [(0,)]


def test_the_oracle_and_the_stored_readiness_agree(world: World) -> None:
    for name in ("left", "right", "both"):
        world.dataset(name)
    world.job("join", ["left", "right"], ["both"])
    world.ready("left", "1", "2", "3")
    world.ready("right", "2", "3", "4")
    world.withdraw("left", "3")
    job_id = world.plan("join").job_id
    kept = {work.dataid: work.missing for work in world.store.read.list_readiness(job_id)}
    assert dict(world.store.read.list_expected_missing(job_id)) == kept == {"1": 1, "2": 0, "3": 1, "4": 1}
