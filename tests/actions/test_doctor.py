"""The doctor finds what is wrong, says how to fix it, and reports no false problems."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dataflow.actions.doctor import (
    OK,
    PROBLEM,
    WARNING,
    Finding,
    examine,
    list_lock_findings,
    list_permission_findings,
    repair,
)
from dataflow.actions.oracle import expected_missing, list_discrepancies
from dataflow.config.settings import Config, load_config
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome
from tests.store.world import World


def nobody(_name: str) -> bool:
    return False


def look(world: World, check: str, is_dead: Callable[[str], bool] = nobody) -> list[Finding]:
    config = load_config("/", {"DATAFLOW_LOCK_DIR": "/nowhere/locks"})
    return [found for found in examine(world.store, config, is_dead) if found.check == check]


def discrepancies(world: World, job: str) -> dict[str, str]:
    return {found.dataid: found.text for found in list_discrepancies(world.store, world.plan(job))}


@dataclass
class Place:
    """A project folder whose files a test may open to others."""

    path: Path

    @property
    def config(self) -> Config:
        return load_config(str(self.path), {})

    def findings(self) -> list[Finding]:
        return list(list_permission_findings(self.config))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    tmp_path.chmod(0o755)
    (tmp_path / "dataflow.toml").write_text("")
    for name in (".dataflow", ".dataflow/logs", ".dataflow/locks"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / ".dataflow" / "dataflow.db").write_text("")
    return Place(tmp_path)


def test_a_store_in_use_is_healthy(world: World) -> None:
    world.chain("raw", "clean", "sums")
    world.ready("raw", "1", "2", "3")
    world.do("to_clean")
    world.take("to_clean")
    found = list(examine(world.store, load_config("/", {"DATAFLOW_LOCK_DIR": "/nowhere"}), nobody))
    # The servers of tests may run without fsync, and temporary folders may be in memory.
    assert not [item for item in found if item.level != OK and item.check not in ("postgresql", "disk")]
    assert {"store", "clock", "leases", "readiness", "locks", "permissions"} <= {item.check for item in found}


def test_a_wrong_count_is_found_and_repaired(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.poke("UPDATE work SET missing = 1, state = 'WAITING' WHERE dataid = '1'")
    assert discrepancies(world, "to_clean") == {"1": "counts 1 missing inputs, 0 are missing"}
    (found,) = look(world, "readiness")
    assert (found.level, found.next) == (PROBLEM, "dataflow doctor --repair")
    assert "to_clean/1 counts 1 missing inputs" in found.text
    assert repair(world.store) == ["to_clean"]
    assert look(world, "readiness")[0].level == OK
    assert world.states("to_clean") == {"1": "CLAIMABLE", "2": "CLAIMABLE"}
    assert world.journal("repair")[0]["job"] == "to_clean"
    assert repair(world.store) == []


def test_work_that_is_claimable_too_early_is_found(world: World) -> None:
    world.dataset("left")
    world.dataset("right")
    world.job("join", ["left", "right"])
    world.ready("left", "1")
    world.poke("UPDATE work SET state = 'CLAIMABLE'")
    assert discrepancies(world, "join") == {"1": "is CLAIMABLE although 1 inputs are missing"}


def test_work_that_waits_for_nothing_is_found(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.poke("UPDATE work SET state = 'WAITING'")
    assert discrepancies(world, "to_clean") == {"1": "is WAITING although nothing is missing"}


def test_work_that_was_never_created_is_found_and_created(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.poke("DELETE FROM work_input")
    world.poke("DELETE FROM work")
    assert discrepancies(world, "to_clean") == {"1": "is called for by a ready chunk but does not exist"}
    repair(world.store)
    assert world.states("to_clean") == {"1": "CLAIMABLE"}


def test_rows_that_disagree_with_their_sum_are_found(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.poke("UPDATE work_input SET present = 0")
    (found,) = look(world, "readiness")
    assert (found.level, "to_clean/1" in found.text) == (PROBLEM, True)
    assert repair(world.store) == ["to_clean"]
    assert look(world, "readiness")[0].level == OK


SPOILT = {
    "a state that its count does not allow": "UPDATE work SET state = 'WAITING' WHERE dataid = '1'",
    "a count and rows that agree and are wrong": "UPDATE chunk SET withdrawn = TRUE WHERE dataid = '1'",
    "work that was never made": "DELETE FROM work WHERE dataid = '1'",
    "a newest chunk that is none": "UPDATE job_input SET newest = 'x' WHERE mapping = 'latest'",
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_the_doctor_names_the_one_wrong_job_among_many(world: World, spoilt: str) -> None:
    world.chain("raw", "clean")
    world.chain("other", "fair")
    world.dataset("rates", grain="sequence")
    world.job("convert", ["other", "rates:latest"])
    world.ready("raw", "1", "2")
    if "newest" not in spoilt:
        world.remove_job("convert")
    assert [found.level for found in look(world, "readiness")] == [OK]
    if "DELETE" in SPOILT[spoilt]:
        world.poke("DELETE FROM work_input WHERE work_id IN (SELECT work_id FROM work WHERE dataid = '1')")
    world.poke(SPOILT[spoilt])
    (found,) = look(world, "readiness")
    job = "convert" if "newest" in spoilt else "to_clean"
    assert (found.level, found.text.partition("/")[0]) == (PROBLEM, job)
    assert repair(world.store) == [job]
    assert [found.level for found in look(world, "readiness")] == [OK]


def test_the_rule_holds_for_lagging_inputs(world: World) -> None:
    world.dataset("days", grain="daily")
    world.dataset("total", grain="daily")
    world.job("cumulate", ["days", "total:previous"], ["total"], start="2026-08-01")
    world.ready("days", "2026-08-01", "2026-08-02", "2026-08-04")
    plan = world.plan("cumulate")
    assert dict(expected_missing(world.store, plan)) == {"2026-08-01": 0, "2026-08-02": 1, "2026-08-04": 1}
    assert discrepancies(world, "cumulate") == {}
    world.do("cumulate")
    assert discrepancies(world, "cumulate") == {}
    world.poke("UPDATE work SET missing = 2 WHERE dataid = '2026-08-04'")
    assert discrepancies(world, "cumulate") == {"2026-08-04": "counts 2 missing inputs, 1 are missing"}


@pytest.mark.parametrize("seed", range(3))
def test_the_stored_readiness_always_equals_the_rule(world: World, seed: int) -> None:
    chance = random.Random(seed)
    world.dataset("a", grain="sequence")
    world.dataset("b", grain="sequence", location="/data/b/{dataid}")
    world.dataset("c", grain="sequence")
    world.job("to_b", ["a"], ["b"])
    world.job("to_c", ["b", "a", "c:previous"], ["c"], start="1")
    world.dataset("d", grain="sequence")
    world.job("to_d", ["b:latest", "a", "c:latest"], ["d"])
    for _ in range(40):
        dataid = str(chance.randrange(1, 5))
        move = chance.randrange(6)
        if move == 0:
            world.ready("a", dataid, again=chance.random() < 0.5)
        elif move == 1:
            world.ready("c", dataid)
        elif move == 2:
            world.withdraw(chance.choice("abc"), dataid)
        else:
            for run in world.claim(chance.choice(["to_b", "to_c", "to_d"])):
                outcome = chance.choice([RunOutcome.DONE, RunOutcome.FAILED, RunOutcome.RETURNED])
                world.finish(run, outcome, reason="chance", untouched=outcome is RunOutcome.RETURNED)
        assert discrepancies(world, "to_b") == {}
        assert discrepancies(world, "to_c") == {}
        assert discrepancies(world, "to_d") == {}


def test_a_lapsed_lease_nobody_took_over_is_a_warning(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.advance(1000)
    (found,) = look(world, "leases")
    assert (found.level, found.next) == (WARNING, "RunJob --job to_clean, followed by its script")
    assert f"run {run.run_id} of to_clean/1 on etl1: its lease has lapsed" in found.text


def test_a_dead_process_of_this_machine_is_a_warning(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.take("to_clean")
    world.poke(f"UPDATE run SET host = '{os.uname().nodename}'")
    (found,) = look(world, "leases", lambda name: name == "first")
    assert (found.level, "its process is gone" in found.text) == (WARNING, True)


def test_running_work_without_a_run_is_a_problem(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.poke("UPDATE work SET state = 'RUNNING', run_id = 99")
    found = [item for item in look(world, "leases") if item.level == PROBLEM]
    assert [item.next for item in found] == ["dataflow mark to_clean 1 FAILED"]


def test_a_wrong_clock_is_a_warning(postgres_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    assert look(postgres_world, "clock")[0].level == OK
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    (found,) = look(postgres_world, "clock")
    assert (found.level, "3600" in found.text or "3599" in found.text) == (WARNING, True)


def test_a_private_project_has_no_findings(place: Place) -> None:
    assert [found.level for found in place.findings()] == [OK]


def test_a_private_folder_protects_what_is_in_it(place: Place) -> None:
    (place.path / ".dataflow" / "dataflow.db").chmod(0o666)
    assert [found.level for found in place.findings()] == [OK]


def test_a_store_others_can_write_is_a_problem_and_one_they_can_read_a_warning(place: Place) -> None:
    store = place.path / ".dataflow" / "dataflow.db"
    (place.path / ".dataflow").chmod(0o755)
    store.chmod(0o666)
    (found,) = place.findings()
    assert (found.level, found.next) == (PROBLEM, f"chmod o-rw {store}")
    store.chmod(0o644)
    (found,) = place.findings()
    assert (found.level, found.next) == (WARNING, f"chmod o-r {store}")


def test_folders_others_can_write_to_are_a_problem(place: Place) -> None:
    (place.path / ".dataflow" / "dataflow.db").chmod(0o600)
    (place.path / ".dataflow").chmod(0o755)
    for name in ("logs", "locks"):
        (place.path / ".dataflow" / name).chmod(0o703)
    assert {found.level for found in place.findings()} == {PROBLEM}
    assert len(place.findings()) == 2


def test_a_project_file_with_a_secret_is_not_for_everyone(place: Place) -> None:
    file = place.path / "dataflow.toml"
    file.write_text('store = "postgresql://etl@db/x"\nstore_encryptedpass = "df1.a.b.c.d"\n')
    file.chmod(0o644)
    (found,) = place.findings()
    assert (found.level, found.next) == (WARNING, f"chmod o-r {file}")
    file.chmod(0o602)
    assert place.findings()[0].level == PROBLEM


def test_a_passphrase_file_others_can_read_is_a_problem(place: Place) -> None:
    key = place.path / "key"
    key.write_text("sesame")
    key.chmod(0o640)
    config = replace(place.config, passkey_file=str(key))
    (found,) = list_permission_findings(config)
    assert (found.level, found.next) == (PROBLEM, f"chmod go= {key}")


def test_lock_files_of_dead_processes_are_removed_unless_they_hold_runs(place: Place) -> None:
    locks = place.path / ".dataflow" / "locks"
    for name in ("aa", "bb", "cc"):
        (locks / f"{name}.lock").touch()

    def remove(name: str) -> bool:
        if name == "bb":
            return False
        (locks / f"{name}.lock").unlink()
        return True

    removed, left = list_lock_findings(place.config, lambda name: name in ("aa", "bb"), remove)
    assert (removed.level, removed.text) == (OK, f"removed 1 lock file of dead processes from {locks}")
    assert (left.level, left.next) == (WARNING, "dataflow runs --outcome RUNNING")
    assert left.text == f"{locks} has 1 lock file of dead processes whose runs are not taken over yet"
    assert sorted(path.name for path in locks.iterdir()) == ["bb.lock", "cc.lock"]
    (found,) = list_lock_findings(place.config, nobody)
    assert (found.level, found.text) == (OK, f"2 locks of live processes in {locks}")
