"""Nothing that a script started is left when its run has ended, however the script ended."""

from __future__ import annotations

import sys
import time

import pytest

from tests.acceptance.flow import (
    ONE_JOB,
    Flow,
    children_of,
    find_guards,
    finish,
    is_running,
    state_of,
    wait_until,
)

# A daemon in its own session whose parent sometimes ends before the script.
DAEMON = "sh -c 'echo $$ > daemon.$DATAFLOW_RUN_ID; exec sleep 60'"
LEFT = {
    "its own": f"setsid {DAEMON} > /dev/null 2>&1 &",
    "a grandchild's": f"(setsid {DAEMON} > /dev/null 2>&1 &)",
}


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("code", [0, 3])
def test_a_daemon_of_a_script_ends_with_it(sqlite_flow: Flow, left: str, code: int) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", f"{LEFT[left]}\nuntil test -s daemon.1; do sleep 0.01; done\nexit {code}")
    flow.runjob("loadbob.sh", code=code)
    assert not is_running(flow.wait_for_pid("daemon.1"))


def test_a_daemon_of_one_stream_is_left_alone_when_another_ends(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1", "2", "3", "4")
    script = f"""
        test $dataid = 1 || exit 0
        {LEFT["a grandchild's"]}
        until test -e go; do sleep 0.01; done
        read pid < daemon.1; read _ _ state _ < /proc/$pid/stat; echo $state > state
    """
    flow.script("loadbob.sh", script)
    running = flow.start("--drain", "-j", "2", "loadbob.sh")
    daemon = flow.wait_for_pid("daemon.1")
    wait_until(lambda: flow.outcomes().count("DONE") == 3)
    assert is_running(daemon)
    (flow.path / "go").touch()
    assert finish(running)[0] == 0
    assert not is_running(daemon)
    assert flow.lines("state") in (["S"], ["R"])


@pytest.mark.full
def test_dead_orphans_of_a_running_script_are_reaped(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(f"{ONE_JOB}lease = '60s'\n")
    flow.ready("bobin", "1")
    flow.script(
        "loadbob.py",
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    open('orphan', 'w').write(f'{os.getpid()}\\n')\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "time.sleep(60)\n",
        interpreter=sys.executable,
    )
    running = flow.start("loadbob.py")
    orphan = flow.wait_for_pid("orphan")
    guards = find_guards(running.pid)
    began_at = time.monotonic()
    wait_until(lambda: state_of(orphan) == "")
    assert time.monotonic() - began_at < 15
    assert len(children_of(running.pid)) == 3 and {*guards} < {*children_of(running.pid)}
