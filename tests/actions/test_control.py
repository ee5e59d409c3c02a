"""Control of jobs as people see it: what is refused, and what `why` and `status` say."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.actions.control import list_pools, pause_all, remove_pool, resume_all, scale, set_pool
from dataflow.actions.register import add_job
from dataflow.actions.status import get_status
from dataflow.config.settings import load_config
from dataflow.errors import BadInput, UnknownName
from dataflow.model.records import Job, JobInput
from dataflow.model.status import RunOutcome
from tests.actions.test_why import answers, ask
from tests.store.test_quarantine import crash
from tests.store.world import World


@pytest.mark.parametrize("number", [-1, 2**31])
def test_a_job_is_not_scaled_to_a_number_it_cannot_have(world: World, number: int) -> None:
    world.chain("raw", "clean")
    with pytest.raises(BadInput, match=r"to_clean cannot run .* at a time.*dataflow pause to_clean"):
        scale(world.store, world.plan("to_clean"), number)


@pytest.mark.parametrize("size", [0, -3, 2**31])
def test_a_pool_has_room_for_at_least_one(world: World, size: int) -> None:
    with pytest.raises(BadInput, match=f"Pool warehouse cannot have size {size}; give a number from 1"):
        set_pool(world.store, "warehouse", size)
    assert list_pools(world.store) == []


def test_a_pool_has_a_name_like_a_job(world: World) -> None:
    with pytest.raises(BadInput, match="is not a valid name for a pool"):
        set_pool(world.store, "ware house", 2)


def test_an_unknown_pool_cannot_be_removed(world: World) -> None:
    set_pool(world.store, "warehouse", 2)
    with pytest.raises(UnknownName, match=r'No pool "warehuse".*Did you mean "warehouse"'):
        remove_pool(world.store, "warehuse")


def test_a_job_in_an_unknown_pool_is_refused_with_the_nearest_name(world: World) -> None:
    world.dataset("raw")
    set_pool(world.store, "warehouse", 2)
    unknown = Job("load", (JobInput("raw"),), pool="warehuse")
    with pytest.raises(UnknownName, match=r'Job load: no pool "warehuse"\. Did you mean "warehouse"?'):
        add_job(world.store, unknown)
    assert world.store.find_plan("load") is None


def test_pools_are_listed_with_their_jobs_and_runs(world: World) -> None:
    world.chain("raw", "clean", "report")
    set_pool(world.store, "warehouse", 4)
    set_pool(world.store, "api", 1)
    for name, source, output in (("to_clean", "raw", "clean"), ("to_report", "clean", "report")):
        add_job(world.store, Job(name, (JobInput(source),), (output,), pool="warehouse"))
    world.ready("raw", "1")
    run = world.take("to_clean")
    api, warehouse = list_pools(world.store)
    assert (api.pool, api.size, api.jobs, api.uses) == ("api", 1, (), ())
    assert (warehouse.size, warehouse.jobs) == (4, ("to_clean", "to_report"))
    assert [(use.job, use.run_id) for use in warehouse.uses] == [("to_clean", run.run_id)]


def test_why_names_the_pause_of_everything_who_and_the_command_that_ends_it(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1.0")
    assert pause_all(world.store, "disk full")
    found = ask(world, "to_clean")
    assert found.verdict.startswith("PENDING: everything is paused since 20")
    assert found.verdict.endswith("(by op@desk: disk full)")
    assert found.next == "dataflow resume"
    assert "everything is paused" in ask(world, "to_report", "1.0").verdict
    status = get_status(world.store).paused
    assert status is not None
    assert (status.actor, status.why) == ("op@desk", "disk full")
    assert resume_all(world.store) and not resume_all(world.store)
    assert ask(world, "to_clean").verdict == "PENDING: nothing blocks it, and the next RunJob takes it"
    assert get_status(world.store).paused is None


def test_why_names_who_uses_a_full_pool(world: World) -> None:
    world.chain("raw", "clean")
    set_pool(world.store, "warehouse", 3)
    for name in ("load", "extract", "late"):
        add_job(world.store, Job(name, (JobInput("raw"),), pool="warehouse"))
    world.ready("raw", "1.0", "2.0")
    one, two, three = world.take("load"), world.take("extract"), world.take("load")
    found = ask(world, "late")
    users = f"load (runs {one.run_id}, {three.run_id}), extract (run {two.run_id})"
    assert found.verdict == f"PENDING: pool warehouse is full: 3 of 3 in use by {users}"
    assert found.next == f"dataflow logs {one.run_id} -f"
    assert answers(found)["safe"] == "yes"
    world.finish(two)
    assert ask(world, "late").verdict == "PENDING: nothing blocks it, and the next RunJob takes it"


def test_why_says_which_dataid_comes_first_when_that_is_the_newest(world: World) -> None:
    world.chain("raw", "clean", grain="sequence", order="newest")
    world.ready("raw", "9", "10")
    assert ask(world, "to_clean").dataid == "10"
    assert ask(world, "to_clean", "9").verdict == "PENDING: nothing blocks it, but 10 comes first"


def test_why_shows_the_evidence_of_a_quarantine(world: World, tmp_path: Path) -> None:
    world.chain("raw", "clean", max_crashes=2)
    world.ready("raw", "1")
    first, second = crash(world, 2)
    config = load_config(str(tmp_path), {"DATAFLOW_PROJECT": str(tmp_path)})
    world.poke(f"UPDATE run SET host = '{config.host}' WHERE run_id = {second}")
    logs = Path(config.log_dir)
    logs.mkdir(parents=True)
    (logs / f"{first}.log").write_text("not of this machine\n")
    (logs / f"{second}.log").write_text("one\ntwo\n\nthree\nallocating 64 GB\n")
    found = ask(world, "to_clean", "1", folder=tmp_path)
    assert (
        f"FAILED: quarantined after 2 crashes: runs {first}, {second} on etl1; "
        f"run {first} on etl1 was found dead at 20" in (found.verdict)
    )
    assert found.verdict.endswith("Z: two | three | allocating 64 GB")
    assert found.next == "dataflow resubmit to_clean 1"
    assert [(one.run_id, one.host, one.last_lines) for one in found.crashes] == [
        (first, "etl1", ()),
        (second, config.host, ("two", "three", "allocating 64 GB")),
    ]


def test_status_counts_quarantined_work(world: World) -> None:
    world.chain("raw", "clean", max_crashes=1)
    world.ready("raw", "1", "2")
    crash(world, 1)
    world.do("to_clean", "2", RunOutcome.FAILED, reason="exit 1")
    found = get_status(world.store)
    assert (found.jobs[0].counts["FAILED"], found.jobs[0].quarantined) == (2, 1)
    assert [(bad.dataid, bad.quarantined) for bad in found.failures] == [("1", True), ("2", False)]
