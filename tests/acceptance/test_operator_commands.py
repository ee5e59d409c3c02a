"""The commands of an operator: ready, withdraw, resubmit, hold, release, mark, cancel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.commands import Commands, on_terminal, open_commands
from tests.acceptance.flow import RECORDS, Flow, finish, wait_until


@pytest.fixture
def bob(
    tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """One job between two datasets, on each kind of store."""
    dataflow = open_commands(tmp_path, store_url, monkeypatch, capsys)
    dataflow.say("dataset add bobin")
    dataflow.say("dataset add bobout")
    dataflow.say("job add loadbob --in bobin --out bobout")
    return dataflow


def dataids(dataflow: Commands, dataset: str = "bobin") -> list[str]:
    return [row["dataid"] for row in dataflow.json("chunks", dataset)]


def statuses(dataflow: Commands, dataset: str = "bobout") -> dict[str, str]:
    return {row["dataid"]: row["status"] for row in dataflow.json("chunks", dataset)}


def test_ready_takes_dataids_ranges_and_files(bob: Commands) -> None:
    assert "bobin: 2 made ready." in bob.say("ready bobin 2.0 10.0").err
    assert "bobin: 1 made ready, 1 already ready." in bob.say("ready bobin 2.0 1.0").err
    assert dataids(bob) == ["1.0", "2.0", "10.0"]
    assert "100 made ready" in bob.say("ready bobin --from shard-001 --to shard-100").err
    (bob.path / "list").write_bytes(b"\xef\xbb\xbfa\r\n\r\nb\nc")
    assert "3 made ready" in bob.say("ready bobin --file list").err
    assert "2 made ready" in bob.say("ready bobin --file -", stdin="d\ne\n").err
    assert len(dataids(bob)) == 108


def test_ready_of_what_runs_stage_advises_only_commands_that_work(bob: Commands) -> None:
    bob.say("dataset add bobout --location out/{dataid}/{run_id}")
    told = bob.say("ready bobout 7", code=65).err
    assert told.endswith("How to get one from job loadbob: dataflow why loadbob DATAID\n")
    assert "input bobin/7 is not ready" in bob.json("why", "loadbob", "7")["verdict"]
    bob.say("job remove loadbob")
    told = bob.say("ready bobout 7", code=65).err
    assert told.endswith("without {run_id}: dataflow dataset add bobout --location PLACE\n")
    bob.say("dataset add bobout --location out/{dataid}")
    assert "1 made ready" in bob.say("ready bobout 7").err


def test_a_range_follows_the_grain_of_the_dataset(bob: Commands) -> None:
    bob.say("dataset add days --grain daily")
    assert "3 made ready" in bob.say("ready days --from 2024-02-28 --to 2024-03-01").err
    assert dataids(bob, "days") == ["2024-02-28", "2024-02-29", "2024-03-01"]
    bob.say("dataset add hours --grain hourly --timezone Europe/London")
    assert "25 made ready" in bob.say("ready hours --from 2026-10-25T00 --to 2026-10-25T23").err


def test_a_new_version_is_created_only_on_request(bob: Commands) -> None:
    bob.say("ready bobin 1.0")
    assert "0 made ready, 1 already ready" in bob.say("ready bobin 1.0").err
    assert "1 made ready" in bob.say("ready bobin 1.0 --again").err
    assert bob.json("chunks", "bobin")[0]["version"] == 2


def test_chunks_are_withdrawn_and_come_back(bob: Commands) -> None:
    bob.say("ready bobin 1.0 2.0")
    assert "1 withdrawn, 1 not published" in bob.say("withdraw bobin 1.0 3.0 --why broken").err
    assert statuses(bob, "bobin") == {"1.0": "PENDING", "2.0": "READY"}
    bob.say("ready bobin 1.0")
    assert statuses(bob, "bobin") == {"1.0": "READY", "2.0": "READY"}


def test_work_is_held_released_marked_and_resubmitted(bob: Commands) -> None:
    bob.say("ready bobin --from 1 --to 9")
    assert "Held 2 dataids of loadbob." in bob.say("hold loadbob 1 2 --why ask").err
    assert "This work of loadbob was already on hold; nothing changed." in bob.say("hold loadbob 1").err
    assert statuses(bob)["1"] == "HOLD"
    assert "Released 2 dataids of loadbob." in bob.say("release loadbob --from 1 --to 5").err
    assert "Marked loadbob/3 READY (was CLAIMABLE)." in bob.say("mark loadbob 3 ready").err
    assert "Marked loadbob/4 FAILED (was CLAIMABLE)." in bob.say("mark loadbob 4 FAILED").err
    assert "Marked loadbob/5 INVALID (was CLAIMABLE)." in bob.say("mark loadbob 5 INVALID").err
    assert [statuses(bob)[name] for name in "345"] == ["READY", "FAILED", "INVALID"]
    assert "resubmitted 1 dataid." in bob.say("resubmit loadbob --failed").err
    assert "resubmitted 1 dataid." in bob.say("resubmit loadbob --invalid").err
    told = bob.say("resubmit loadbob --failed").err
    assert told == "loadbob: nothing is FAILED; nothing changed.\n"
    assert "resubmitted 9 dataids." in bob.say("resubmit loadbob --from 1 --to 9").err
    assert set(statuses(bob).values()) == {"RESUBMIT"}


def test_a_whole_job_is_held_and_released(bob: Commands) -> None:
    assert "Held job loadbob." in bob.say("hold loadbob").err
    assert "Job loadbob was already on hold; nothing changed." in bob.say("hold loadbob").err
    assert bob.json("job", "show", "loadbob")["hold"] is True
    assert "Released job loadbob." in bob.say("release loadbob").err
    assert "Job loadbob was not on hold; nothing changed." in bob.say("release loadbob").err


def test_a_terminal_is_asked_before_much_is_resubmitted(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", *map(str, range(101)))
    words = ["dataflow", "resubmit", "loadbob", "--from", "0", "--to", "100"]
    code, shown = on_terminal(flow.project, words, [("[y/N]", "n")], flow.env)
    assert (code, "RESUBMIT" in flow.status("bobout").values()) == (1, False)
    assert "Resubmit 101 dataids of loadbob? [y/N]" in shown
    assert "Nothing changed." in shown
    code, shown = on_terminal(flow.project, words, [("[y/N]", "y")], flow.env)
    assert (code, set(flow.status("bobout").values())) == (0, {"RESUBMIT"})
    code, shown = on_terminal(flow.project, [*words, "--yes"], [], flow.env)
    assert (code, "[y/N]" in shown) == (0, False)


def test_every_move_is_in_the_journal_with_who_and_why(bob: Commands) -> None:
    bob.say("ready bobin 1")
    bob("hold", "loadbob", "1", "--why", "ask the owner")
    bob("mark", "loadbob", "1", "FAILED", "--why", "no owner")
    lines = bob.json("journal")
    told = {line["action"]: line for line in lines}
    assert told["hold"]["why"] == "ask the owner"
    assert "no owner" in told["mark"]["why"]
    assert {"dataset add", "job add", "ready"} <= set(told)
    assert all("@" in line["actor"] for line in lines)


def test_a_cancelled_run_ends_and_its_work_waits_for_a_resubmit(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1.0")
    flow.script("loadbob.sh", f"{RECORDS}; sleep 60")
    running = flow.start("loadbob.sh")
    wait_until(flow.lines)
    [run] = flow.json("runs")
    told = flow.dataflow("cancel", str(run["run_id"]), "--why", "wrong day").stderr
    assert "Its process on this host stops within seconds." in told
    assert "dataflow resubmit loadbob 1.0" in told
    assert finish(running)[0] != 0
    assert flow.states() == {"1.0": "FAILED"}
    assert "already ended as CANCELLED" in flow.dataflow("cancel", str(run["run_id"]), check=False).stderr
    flow.script("loadbob.sh")
    flow.dataflow("resubmit", "loadbob", "1.0")
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["1.0", "1.0"]


def test_counts_have_correct_plurals(bob: Commands) -> None:
    bob.say("ready bobin 1.0 2.0")
    told = "loadbob: resubmitted 1 dataid. Next: RunJob --job loadbob, followed by its script"
    assert bob.say("resubmit loadbob 1.0").err == f"{told}\n"
    told = "loadbob: resubmitted 2 dataids. Next: RunJob --job loadbob, followed by its script"
    assert bob.say("resubmit loadbob 1.0 2.0").err == f"{told}\n"


def test_listing_failed_work_mentions_invalid_work(bob: Commands) -> None:
    bob.say("ready bobin 1.0")
    bob("mark", "loadbob", "1.0", "INVALID", "--why", "it is " + "very " * 40 + "wrong")
    told = bob.say("resubmit loadbob --failed").err
    assert "nothing is FAILED; nothing changed. 1 is INVALID: dataflow resubmit loadbob --invalid" in told
    status = bob.say("status").out
    assert "dataflow resubmit loadbob 1.0" in status and "wrong" not in status
    assert "wrong" in bob.say("status --json").out
