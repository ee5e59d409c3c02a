"""How a job does: its last dataids, failures by reason, retries and progress."""

from __future__ import annotations

import pytest

from dataflow.actions.job_statistics import get_job_statistics
from dataflow.errors import BadInput, UnknownName
from dataflow.model.record import as_tree
from dataflow.model.records import Publication
from dataflow.model.status import RunOutcome
from tests.store.world import World


def test_the_last_dataids_are_in_order_with_rows_and_seconds(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "2", "9", "10", "11")
    for dataid in ("2", "9", "10"):
        run = world.take("to_clean", dataid)
        if world.clock:
            world.advance(5)
        rows = Publication("clean", location="/x", rows=int(dataid) * 100)
        world.finish(run, publications=(rows,))
    world.take("to_clean", "11")
    found = get_job_statistics(world.store, "to_clean", most=2)
    assert [(point.dataid, point.rows, point.outcome) for point in found.points] == [
        ("9", 900, "DONE"),
        ("10", 1000, "DONE"),
    ]
    if world.clock:
        assert [point.seconds for point in found.points] == [5.0, 5.0]
    assert (found.progress.done, found.progress.running, found.progress.total) == (3, 1, 4)
    assert found.eta_seconds is not None
    assert as_tree(found)["points"][0]["dataid"] == "9"


def test_failures_are_grouped_by_reason_and_retries_counted(world: World) -> None:
    world.chain("raw", "clean", grain="sequence", retries=1)
    world.ready("raw", "1", "2", "3", "4")
    for number in (1, 2):
        world.do("to_clean", outcome=RunOutcome.FAILED, final=True, reason=f"no file {number}")
    world.do("to_clean", outcome=RunOutcome.FAILED, final=True, reason="disk full")
    world.do("to_clean", outcome=RunOutcome.FAILED, reason="timed out")
    found = get_job_statistics(world.store, "to_clean")
    assert [(one.count, one.dataid, one.reason) for one in found.failures] == [
        (2, "1", "no file 1"),
        (1, "3", "disk full"),
    ]
    assert found.retrying == 1


def test_a_job_without_outputs_has_its_runs(world: World) -> None:
    world.dataset("raw", grain="daily")
    world.job("report", ["raw"])
    world.ready("raw", "2026-01-01", "2026-01-02")
    world.drain("report")
    found = get_job_statistics(world.store, "report", most=1)
    assert [(point.dataid, point.rows) for point in found.points] == [("2026-01-02", None)]


def test_unknown_jobs_and_too_many_dataids_are_refused(world: World) -> None:
    with pytest.raises(UnknownName):
        get_job_statistics(world.store, "nothing")
    with pytest.raises(BadInput):
        get_job_statistics(world.store, "nothing", most=0)
