"""An output that is overwritten in place stays closed exactly when its script has begun."""

from __future__ import annotations

import signal

import pytest

from tests.acceptance.flow import Flow, finish, wait_until

IN_PLACE = """
[dataset.bobin]
grain = "text"
[dataset.bobout]
location = "out.{dataid}"
check = ["./after.sh"]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
lease = "6s"
grace = "1s"
"""

READ_AGAIN = """
[dataset.bobin]
grain = "text"
location = "in.{dataid}"
[dataset.bobmid]
location = "mid.{dataid}"
[job.make]
in = ["bobin"]
out = ["bobmid"]
[job.load]
in = ["bobmid"]
"""
ONE_PLACE = """
[dataset.days]
grain = "sequence"
[dataset.table]
grain = "sequence"
mode = "snapshot"
location = "table"
[job.make]
in = ["days"]
out = ["table"]
[job.load]
in = ["table"]
"""


def why(flow: Flow, dataid: str = "1") -> tuple[str, str]:
    """The verdict on a job's work and the next command."""
    found = flow.json("why", "load", dataid)
    return found["verdict"], found["next"]


def make(flow: Flow, content: str, code: int = 0) -> None:
    flow.script("make.sh", f'echo {content} > "${{bobmid_location:-$table_location}}"; exit {code}')
    flow.runjob("make.sh", code=code)


def test_work_whose_input_has_another_size_says_so_before_anybody_has_tried(flow: Flow) -> None:
    flow.declare(READ_AGAIN, keep=True)
    (flow.path / "in.1").write_text("in")
    flow.ready("bobin", "1")
    make(flow, "good")
    (flow.path / "mid.1").write_text("x")
    wrong = "bobmid/1 has 1 byte, but 5 were recorded when it was published"
    assert why(flow) == (f"PENDING: the next RunJob would not start it: {wrong}", "dataflow resubmit make 1")
    flow.script("load.sh")
    flow.runjob("load.sh")
    verdict, following = why(flow)
    assert verdict.startswith(f"PENDING: {wrong}; the next attempt is in ")
    assert following == "dataflow resubmit make 1"
    (flow.path / "mid.1").write_text("good\n")
    verdict, following = why(flow)
    past = wrong.replace(" has ", " had ")
    assert verdict.startswith(f"PENDING: {past}; it is right now; the next attempt is in ")
    assert following == "dataflow resubmit load 1"
    flow.dataflow("resubmit", "load", "1")
    flow.runjob("load.sh")
    assert flow.states("load") == {"1": "DONE"}


def test_work_whose_input_was_left_partly_overwritten_names_the_run_and_the_repair(flow: Flow) -> None:
    flow.declare(READ_AGAIN, keep=True)
    (flow.path / "in.1").write_text("in")
    flow.ready("bobin", "1")
    make(flow, "good")
    flow.dataflow("resubmit", "make", "1")
    make(flow, "bad", code=1)
    overwritten = "input bobmid/1 is not ready: it was left partly overwritten by run 2"
    told = f"PENDING: {overwritten}, and job make FAILED in run 2 (exited with 1)"
    assert why(flow) == (told, "dataflow resubmit make 1")


def test_work_whose_place_another_dataid_left_partly_overwritten_is_blocked(flow: Flow) -> None:
    flow.declare(ONE_PLACE, keep=True)
    for number in ("1", "2"):
        flow.ready("days", number)
        make(flow, "good")
    flow.ready("days", "3")
    flow.script("make.sh", "touch begun; while [ ! -e go_on ]; do sleep 0.1; done; exit 1")
    writer = flow.start("make.sh")
    wait_until((flow.path / "begun").exists)
    told = "PENDING: the next RunJob would not start it: run 3 is overwriting table/1"
    assert why(flow) == (told, "dataflow logs 3 -f")
    (flow.path / "go_on").touch()
    assert finish(writer)[0] == 1
    told = "PENDING: the next RunJob would not start it: table/1 was left partly overwritten by run 3"
    assert why(flow) == (told, "dataflow resubmit make 3")
    answers = {one["question"]: one["answer"] for one in flow.json("why", "load", "1")["answers"]}
    assert answers["safe"] == "no"
    newest = (
        "PENDING: input table/2 is not ready: it was left partly overwritten by run 3, which was to make 3"
    )
    assert why(flow, "2") == (newest, "dataflow resubmit make 3")
    flow.dataflow("resubmit", "make", "3")
    make(flow, "good")
    assert why(flow, "3")[0] == "PENDING: nothing blocks it, but 1 comes first"


def produce(flow: Flow, text: str = IN_PLACE) -> None:
    """A good chunk that must be made again."""
    flow.declare(text, keep=True)
    flow.ready("bobin", "1")
    flow.script("before.sh", "test ! -e slow || { echo $$ > checking; sleep 60; }")
    flow.script("after.sh", "grep -q good out.1")
    flow.script("loadbob.sh", 'echo "$CONTENT" > "$bobout_location"')
    flow.runjob("loadbob.sh", env={"CONTENT": "good"})
    assert flow.status("bobout") == {"1": "READY"}
    flow.dataflow("resubmit", "loadbob", "1")


def test_output_that_was_too_late_for_its_check_stays_unpublished(flow: Flow) -> None:
    produce(flow)
    go_on = flow.path / "go_on"
    paused = flow.start(
        "loadbob.sh", env={"CONTENT": "evil", "DATAFLOW_FAILPOINT": f"after_child_exit:wait={go_on}"}
    )
    # Its commands must be ended 3 s before the lease is over, so none is started any more.
    wait_until(lambda: len(flow.runs()) == 2 and (flow.runs()[1].lease_left_seconds or 0) < 2.8)
    assert flow.status("bobout") == {"1": "RUNNING"}
    go_on.touch()
    assert finish(paused)[0] == 125
    assert flow.states() == {"1": "CLAIMABLE"}
    assert flow.select("SELECT dirty_run_id FROM chunk WHERE version > 0 AND run_id = 1") == [(2,)]


@pytest.mark.parametrize("how", ["told to stop", "out of time"])
def test_an_interrupted_input_check_leaves_the_output_readable(flow: Flow, how: str) -> None:
    produce(flow, IN_PLACE.replace('"text"', '"text"\ncheck = ["./before.sh"]'))
    (flow.path / "slow").touch()
    words = ("--timeout", "0.5s") if how == "out of time" else ()
    stopped = flow.start(*words, "loadbob.sh", env={"CONTENT": "evil"})
    flow.wait_for_pid("checking")
    if how == "told to stop":
        stopped.send_signal(signal.SIGTERM)
    finish(stopped)
    assert (flow.path / "out.1").read_text() == "good\n"
    assert flow.select("SELECT dirty_run_id FROM chunk WHERE version > 0 AND run_id = 1") == [(None,)]
