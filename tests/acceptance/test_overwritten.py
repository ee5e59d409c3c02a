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
