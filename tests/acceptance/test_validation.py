"""Checks, staged outputs and in-place outputs: what is published, what stays, and who has to wait."""

from __future__ import annotations

import pytest

from tests.acceptance.flow import RECORDS, Flow, finish, wait_until

STAGED = """
[dataset.bobin]
[dataset.bobout]
location = "out/{dataid}/{run_id}.txt"
[dataset.end]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
[job.after]
in = ["bobout"]
out = ["end"]
"""

IN_PLACE = STAGED.replace("/{run_id}", "")
CHECKED = STAGED.replace('.txt"', '.txt"\ncheck = ["./check.sh"]')
WRITES = 'echo "$dataid from run $DATAFLOW_RUN_ID" > "$bobout_location"'
READS = 'cat "$bobout_location" >> read; echo "$bobout_version" >> versions'


def test_a_staged_output_is_published_and_read_downstream(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 1"]
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 1", "1 from run 3"]
    assert flow.lines("versions") == ["1", "2"]
    # The version a reader may still hold is left where it was.
    assert (flow.path / "out/1/1.txt").read_text() == "1 from run 1\n"


def test_a_staged_chunk_marked_ready_stays_where_it_was_written(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    flow.dataflow("mark", "loadbob", "1", "INVALID")
    flow.dataflow("mark", "loadbob", "1", "READY")
    flow.runjob("after.sh")
    assert (flow.lines("read"), flow.lines("versions")) == (["1 from run 1"], ["2"])


def test_a_staged_chunk_is_found_wherever_the_reader_keeps_the_project(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", 'cat "$bobout_location"')
    flow.runjob("loadbob.sh")
    with flow.store() as store:
        [(location,)] = list(store.database.select("select location from chunk where location <> ''")[1])
    assert location == "out/1/1.txt"
    elsewhere = flow.path.parent / "elsewhere"
    flow.path.rename(elsewhere)
    flow.path.mkdir()
    done = flow.runjob(str(elsewhere / "after.sh"), env={"DATAFLOW_PROJECT": str(elsewhere)})
    assert done.stdout == "1 from run 1\n"


def test_a_staged_dataset_cannot_be_made_ready_by_a_command(flow: Flow) -> None:
    flow.declare(STAGED)
    done = flow.dataflow("ready", "bobout", "1", check=False)
    assert done.returncode == 65
    assert "{run_id}" in done.stderr and "dataflow why loadbob DATAID" in done.stderr
    assert flow.status("bobout") == {}


def test_a_run_whose_output_folder_cannot_be_created_is_not_started(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    (flow.path / "out").write_text("a file")
    told = flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99).stderr
    assert "RunJob: loadbob 1: not started: bobout cannot be written to " in told
    assert "; now WAITING (run 1, " in told
    why = flow.json("why", "loadbob", "1")
    assert "PENDING: bobout could not be written" in why["verdict"]
    assert why["next"] == "dataflow dataset add bobout --location PLACE"


def test_invalid_leaves_the_published_version_readable(flow: Flow) -> None:
    flow.declare(CHECKED, keep=True)
    assert "Checks are not exported" in flow.dataflow("export").stderr
    flow.ready("bobin", "1")
    flow.script("check.sh", 'grep -q from "$bobout_location"')
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    flow.dataflow("resubmit", "loadbob", "1")
    flow.script("loadbob.sh", 'echo rubbish > "$bobout_location"')
    done = flow.runjob("loadbob.sh", code=1)
    assert "INVALID" in done.stderr
    assert flow.states() == {"1": "INVALID"}
    assert flow.version("bobout", "1") == 1

    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 1"]
    why = flow.json("why", "loadbob", "1")
    assert why["verdict"].startswith("INVALID")
    assert "check of bobout" in why["verdict"]
    # It is never retried by itself.
    flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    flow.script("loadbob.sh", WRITES)
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    assert flow.version("bobout", "1") == 2


def test_a_first_run_that_is_invalid_publishes_nothing(flow: Flow) -> None:
    flow.declare(CHECKED, keep=True)
    flow.ready("bobin", "1")
    flow.script("check.sh", "exit 4")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh", code=1)
    assert flow.status("bobout") == {"1": "INVALID"}
    flow.runjob("--waiting-exit-code", "99", "after.sh", code=99)
    assert flow.lines("read") == []


def test_checks_run_after_the_script_in_its_environment_and_their_output_is_logged(flow: Flow) -> None:
    flow.declare(CHECKED, keep=True)
    flow.ready("bobin", "1")
    flow.script(
        "check.sh",
        'echo "checking $bobout_location for $dataid"; ' + 'env > check.env; test -s "$bobout_location"',
    )
    flow.script("loadbob.sh", WRITES + "; env > script.env")
    flow.runjob("loadbob.sh")
    [run] = flow.runs()
    log = (flow.path / f".dataflow/logs/{run.run_id}.log").read_text()
    assert log == f"checking {flow.path}/out/1/1.txt for 1\n"
    own = {"DATAFLOW_GUARD_TOKEN", "_", "SHLVL"}
    script, check = (
        {line for line in flow.lines(name) if line.partition("=")[0] not in own}
        for name in ("script.env", "check.env")
    )
    assert check == script


def test_all_outputs_are_checked_before_any_is_published(flow: Flow) -> None:
    flow.declare(
        """
        [dataset.bobin]
        [dataset.first]
        location = "first/{run_id}"
        check = ["true"]
        [dataset.second]
        location = "second/{run_id}"
        check = ["false"]
        [job.loadbob]
        in = ["bobin"]
        out = ["first", "second"]
        """,
        keep=True,
    )
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", 'touch "$first_location" "$second_location"')
    flow.runjob("loadbob.sh", code=1)
    assert flow.version("first", "1") == flow.version("second", "1") == 0


def test_a_script_that_succeeds_without_writing_its_output_is_invalid(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", 'test "$dataid" = 1 || ' + WRITES)
    done = flow.runjob("--drain", "loadbob.sh", code=1)
    assert flow.states() == {"1": "INVALID", "2": "DONE"}
    assert f"bobout is not at {flow.path}/out/1/1.txt" in done.stderr


def test_a_failed_rerun_leaves_the_staged_version_in_use(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    flow.dataflow("resubmit", "loadbob", "1")
    flow.script("loadbob.sh", WRITES + "; exit 9")
    flow.runjob("loadbob.sh", code=9)
    assert flow.status("bobout") == {"1": "FAILED"}
    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 1"]


def test_a_check_that_cannot_run_makes_it_invalid(flow: Flow) -> None:
    flow.declare(CHECKED, keep=True)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    done = flow.runjob("loadbob.sh", code=1)
    assert "check" in done.stderr
    assert flow.states() == {"1": "INVALID"}


def test_an_in_place_output_is_not_overwritten_while_it_is_being_consumed(flow: Flow) -> None:
    flow.declare(IN_PLACE)
    flow.ready("bobin", "1")
    (flow.path / "out").mkdir()
    flow.script("loadbob.sh", RECORDS + "; " + WRITES)
    flow.script("after.sh", "touch reading; until test -e go; do sleep 0.01; done; " + READS)
    flow.runjob("loadbob.sh")
    reader = flow.start("after.sh")
    wait_until((flow.path / "reading").exists)

    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    assert flow.lines() == ["1"]
    [chunk] = flow.json("chunks", "bobout")
    assert chunk["readers"] == [2]
    assert "being consumed by run 2" in flow.dataflow("chunks", "bobout").stdout
    why = flow.json("why", "loadbob", "1")
    assert "being consumed by run 2" in str(why)

    (flow.path / "go").touch()
    assert finish(reader)[0] == 0
    assert flow.lines("read") == ["1 from run 1"]
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["1", "1"]
    assert flow.version("bobout", "1") == 2


def test_a_staged_output_is_replaced_while_the_old_version_is_being_consumed(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", "touch reading; until test -e go; do sleep 0.01; done; " + READS)
    flow.runjob("loadbob.sh")
    reader = flow.start("after.sh")
    wait_until((flow.path / "reading").exists)
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    assert flow.version("bobout", "1") == 2
    (flow.path / "go").touch()
    assert finish(reader)[0] == 0
    # It read the version it had pinned; its own output is out of date from birth, and it is done again.
    assert flow.lines("read") == ["1 from run 1"]
    assert flow.states("after") == {"1": "CLAIMABLE"}
    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 1", "1 from run 3"]
    assert flow.status("end") == {"1": "READY"}


def test_a_reader_does_not_start_while_an_in_place_producer_reruns(flow: Flow) -> None:
    flow.declare(IN_PLACE)
    flow.ready("bobin", "1")
    (flow.path / "out").mkdir()
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    flow.dataflow("resubmit", "loadbob", "1")
    flow.script(
        "loadbob.sh",
        "echo half > $bobout_location; touch half; until test -e go; do sleep 0.01; done; " + WRITES,
    )
    producer = flow.start("loadbob.sh")
    wait_until((flow.path / "half").exists)
    flow.runjob("--waiting-exit-code", "99", "after.sh", code=99)
    assert flow.lines("read") == []
    (flow.path / "go").touch()
    assert finish(producer)[0] == 0
    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 2"]


def test_an_in_place_output_that_failed_halfway_is_closed_until_it_is_done_again(flow: Flow) -> None:
    flow.declare(IN_PLACE)
    flow.ready("bobin", "1")
    (flow.path / "out").mkdir()
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    flow.dataflow("resubmit", "loadbob", "1")
    flow.script("loadbob.sh", "echo half > $bobout_location; exit 1")
    flow.runjob("loadbob.sh", code=1)
    flow.runjob("--waiting-exit-code", "99", "after.sh", code=99)
    assert flow.lines("read") == []
    flow.script("loadbob.sh", WRITES)
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    flow.runjob("after.sh")
    assert flow.lines("read") == ["1 from run 3"]


EXTERNAL = """
[dataset.bobin]
location = "in/{dataid}.csv"
check = ["./input.sh"]
[dataset.bobout]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
"""


def test_a_failed_input_check_makes_that_chunk_wait_and_the_others_run(flow: Flow) -> None:
    flow.declare(EXTERNAL, keep=True)
    flow.ready("bobin", "1", "2", "3")
    (flow.path / "in").mkdir()
    for dataid, text in {"1": "broken", "2": "good", "3": "good"}.items():
        (flow.path / f"in/{dataid}.csv").write_text(text)
    flow.script("input.sh", 'grep -q good "$bobin_location"')
    flow.script("loadbob.sh")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == ["2", "3"]
    assert flow.states() == {"1": "WAITING", "2": "DONE", "3": "DONE"}
    assert flow.select("SELECT sum(attempts) FROM work") == [(0,)]
    why = flow.json("why", "loadbob", "1")
    assert "check of input bobin" in str(why)
    (flow.path / "in/1.csv").write_text("good")
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["2", "3", "1"]


@pytest.mark.parametrize("words", [(), ("--drain",)])
def test_a_missing_input_file_on_the_oldest_chunk_does_not_stop_the_others(
    flow: Flow, words: tuple[str, ...]
) -> None:
    flow.declare(EXTERNAL.replace('check = ["./input.sh"]\n', ""))
    flow.ready("bobin", "1", "2", "3")
    (flow.path / "in").mkdir()
    for dataid in "23":
        (flow.path / f"in/{dataid}.csv").touch()
    flow.script("loadbob.sh")
    for _ in range(1 if words else 2):
        flow.runjob(*words, "loadbob.sh")
    assert flow.lines() == ["2", "3"]
    assert flow.states() == {"1": "WAITING", "2": "DONE", "3": "DONE"}
    assert flow.select("SELECT attempts, losses FROM work WHERE dataid = '1'") == [(0, 0)]
    why = flow.json("why", "loadbob", "1")
    located = next(answer for answer in why["answers"] if answer["question"] == "located")
    assert located["answer"] == "no"
    assert f"{flow.path}/in/1.csv" in located["evidence"]

    (flow.path / "in/1.csv").touch()
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob(*words, "loadbob.sh")
    assert flow.lines() == ["2", "3", "1"]
    done = [run for run in flow.runs() if run.outcome == "DONE" and run.dataid == "1"]
    assert [run.attempt for run in done] == [1]


def test_work_starts_when_its_missing_input_file_appears(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(EXTERNAL.replace('check = ["./input.sh"]\n', ""))
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    waiting = flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    assert "located" in waiting.stderr or "is not at" in waiting.stderr
    (flow.path / "in").mkdir()
    (flow.path / "in/1.csv").touch()
    # The first wait is five seconds.
    flow.repeat_until_done("--quiet", "loadbob.sh", limit_seconds=300)
    assert flow.lines() == ["1"]


def test_an_input_whose_size_changed_since_it_was_published_is_refused(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WRITES)
    flow.script("after.sh", READS)
    flow.runjob("loadbob.sh")
    (flow.path / "out/1/1.txt").write_text("tampered with, and longer than it was before")
    flow.runjob("--waiting-exit-code", "99", "after.sh", code=99)
    assert flow.lines("read") == []
    why = flow.json("why", "after", "1")
    right = next(answer for answer in why["answers"] if answer["question"] == "right")
    assert right["answer"] == "no"


def test_work_is_done_again_when_its_input_is_published_again_meanwhile(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", 'echo "$bobin_version" >> ran; until test -e go; do sleep 0.01; done')
    running = flow.start("loadbob.sh")
    wait_until(flow.lines)
    flow.dataflow("ready", "bobin", "1", "--again")
    (flow.path / "go").touch()
    assert finish(running)[0] == 0
    assert flow.states() == {"1": "CLAIMABLE"}
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["1", "2"]
    assert flow.status("bobout") == {"1": "READY"}
    assert flow.version("bobout", "1") == 2
