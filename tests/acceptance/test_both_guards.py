"""RunJob and its guard killed or frozen together: their script ends before another host's starts."""

from __future__ import annotations

import signal

import pytest

from tests.acceptance.flow import (
    Flow,
    find_guard,
    finish,
    is_running,
    signal_all,
    state_of,
    wait_until,
)

TWO_AT_A_TIME = """
[dataset.bobin]
[dataset.bobout]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
max_running = 2
lease = "3.2s"
grace = "0.1s"
"""
# A grandchild in its own session does the work, outside the script's process group.
SCRIPT = """
echo $$ > "script.$DATAFLOW_RUN_ID"
setsid sh -c 'echo $$ > "worker.$DATAFLOW_RUN_ID"; until test -e "go.$DATAFLOW_RUN_ID"; do sleep 0.01; done' &
wait
"""
KILLED, FROZEN = signal.SIGKILL, signal.SIGSTOP


@pytest.mark.parametrize("fate", [KILLED, FROZEN])
def test_a_script_whose_runjob_and_guard_are_killed_or_frozen_ends_with_its_lease(
    flow: Flow, fate: signal.Signals
) -> None:
    flow.declare(TWO_AT_A_TIME)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", SCRIPT)
    lost = flow.start("loadbob.sh")
    pids = [flow.wait_for_pid("script.1"), flow.wait_for_pid("worker.1")]
    pair = [find_guard(lost.pid), lost.pid]
    # Frozen first in either case, so that neither acts on the other's death.
    signal_all(pair, signal.SIGSTOP)
    wait_until(lambda: all(state_of(pid) == "T" for pid in pair))
    signal_all(pair, fate)
    wait_until(lambda: not [pid for pid in pids if is_running(pid)])
    # The other host knows nothing of this one's processes: it goes by the lease.
    wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
    (flow.path / "go.2").touch()
    assert finish(flow.elsewhere("loadbob.sh"))[0] == 0
    assert flow.outcomes() == ["LOST", "DONE"]
    signal_all(pair, signal.SIGCONT)
