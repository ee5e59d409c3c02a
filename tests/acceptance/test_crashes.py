"""Whatever is killed, and whenever: nothing keeps writing, and the ordinary command continues."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest

from dataflow.failpoints import PLACES
from tests.acceptance.flow import (
    RECORDS,
    Flow,
    find_guard,
    find_guards,
    finish,
    is_running,
    kill_together,
    signal_all,
    wait_until,
)

CHUNKS = ("1", "2", "3")

# A script whose own child keeps writing: in its group, or as a daemon in its own session.
WRITER = """sh -c '
    echo $$ >> writers
    while :; do echo "$DATAFLOW_RUN_ID $(date +%s%N)" >> growth; sleep 0.01; done
'"""
BODY = """
echo "$DATAFLOW_RUN_ID $(date +%s%N)" >> starts
{daemon} {writer} &
until grep -q "^$DATAFLOW_RUN_ID " growth 2> /dev/null; do sleep 0.01; done
touch "writing.$dataid"
test ! -e long || sleep 60
echo "$dataid" >> ran
"""


def declare(flow: Flow, kind: str) -> None:
    flow.declare()
    flow.ready("bobin", *CHUNKS)
    daemon = "setsid" if kind == "daemon" else ""
    flow.script("loadbob.sh", BODY.format(daemon=daemon, writer=WRITER))


def assert_nobody_wrote_after_a_successor_had_started(flow: Flow) -> None:
    """For each chunk, the last line of an earlier run is older than the start of the next run."""
    dataids = {str(run.run_id): run.dataid for run in flow.runs()}
    starts = [(int(at), run_id) for run_id, at in (line.split() for line in flow.lines("starts"))]
    # A writer may be killed in the middle of a line.
    written = [line.split() for line in flow.lines("growth") if len(line.split()) == 2]
    for at, run_id in starts:
        earlier = [
            int(written_at)
            for other, written_at in written
            if len(written_at) == 19 and dataids[other] == dataids[run_id] and int(other) < int(run_id)
        ]
        assert max(earlier, default=0) < at, f"an earlier run still wrote when run {run_id} had started"


def assert_each_chunk_ended_once(flow: Flow) -> None:
    done = Counter(run.dataid for run in flow.runs() if run.outcome == "DONE")
    assert done == Counter(CHUNKS)
    assert [flow.version("bobout", dataid) for dataid in CHUNKS] == [1, 1, 1]
    assert set(flow.lines()) == set(CHUNKS)
    assert set(flow.outcomes()) <= {"DONE", "LOST", "INTERRUPTED"}
    assert not [pid for pid in map(int, flow.lines("writers")) if is_running(pid)]


@pytest.mark.parametrize("kind", ["child", "daemon"])
@pytest.mark.parametrize("place", PLACES)
def test_after_kill_9_at_any_point_the_ordinary_command_continues(flow: Flow, place: str, kind: str) -> None:
    declare(flow, kind)
    killed = flow.runjob("--drain", "loadbob.sh", code=None, env={"DATAFLOW_FAILPOINT": f"{place}:kill"})
    assert killed.returncode == -signal.SIGKILL
    flow.repeat_until_done("--drain", "--quiet", "loadbob.sh")
    assert_nobody_wrote_after_a_successor_had_started(flow)
    if kind == "daemon":
        signal_all(map(int, flow.lines("writers")), signal.SIGKILL)  # left behind by scripts that ended well
        wait_until(lambda: not [pid for pid in map(int, flow.lines("writers")) if is_running(pid)])
    assert_each_chunk_ended_once(flow)


@pytest.mark.parametrize("kind", ["child", "daemon"])
@pytest.mark.parametrize("victims", ["RunJob", "RunJob and its guard", "RunJob and both guards"])
def test_kill_9_in_the_middle_ends_everything_before_a_successor_starts(
    flow: Flow, victims: str, kind: str
) -> None:
    declare(flow, kind)
    (flow.path / "long").touch()
    running = flow.start("--drain", "-j", "2", "loadbob.sh")
    wait_until(lambda: (flow.path / "writing.1").exists() and (flow.path / "writing.2").exists())
    guards = find_guards(running.pid)
    (flow.path / "long").unlink()
    killed = {"RunJob": [], "RunJob and its guard": guards[:1], "RunJob and both guards": guards}[victims]
    kill_together(*killed, running.pid)
    running.wait()
    flow.repeat_until_done("--drain", "--quiet", "loadbob.sh")
    assert_nobody_wrote_after_a_successor_had_started(flow)
    if kind == "daemon":
        signal_all(map(int, flow.lines("writers")), signal.SIGKILL)
        wait_until(lambda: not [pid for pid in map(int, flow.lines("writers")) if is_running(pid)])
    assert_each_chunk_ended_once(flow)
    assert flow.outcomes().count("LOST") == 2


def test_a_dead_runjob_is_noticed_at_once_not_when_its_lease_lapses(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo $$ > pid; exec sleep 60")
    running = flow.start("--lease", "1h", "loadbob.sh")
    child = flow.wait_for_pid("pid")
    running.kill()
    running.wait()
    wait_until(lambda: not is_running(child))
    flow.script("loadbob.sh")
    flow.repeat_until_done("loadbob.sh", limit_seconds=300)
    assert flow.outcomes() == ["LOST", "DONE"]
    assert flow.select("SELECT attempts, losses FROM work") == [(0, 0)]


def test_stopped_guards_do_not_let_an_orphan_write_beside_the_successor(flow: Flow) -> None:
    declare(flow, "child")
    (flow.path / "long").touch()
    running = flow.start("--lease", "3.2s", "--grace", "0.1s", "loadbob.sh")
    wait_until((flow.path / "writing.1").exists)
    guards = find_guards(running.pid)
    signal_all(guards, signal.SIGSTOP)
    running.kill()
    running.wait()
    (flow.path / "long").unlink()
    # Nobody can prove that it is dead, so its lease has to lapse; its child writes on until then.
    flow.repeat_until_done("--drain", "--quiet", "loadbob.sh")
    signal_all(guards, signal.SIGKILL)
    assert_nobody_wrote_after_a_successor_had_started(flow)
    assert_each_chunk_ended_once(flow)


def test_losing_runs_again_and_again_backs_off(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    for _ in range(2):
        flow.runjob("loadbob.sh", code=-signal.SIGKILL, env={"DATAFLOW_FAILPOINT": "after_claim:kill"})
    wait_until(lambda: "died" in flow.runjob("loadbob.sh").stderr)
    assert flow.states() == {"1": "WAITING"}
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["1"]


def test_kill_9_of_the_child_alone_is_a_failed_run_and_the_rest_continues(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", *CHUNKS)
    flow.script(
        "loadbob.sh", 'echo started; test "$dataid" != 2 || { echo $$ > pid; exec sleep 60; }; ' + RECORDS
    )
    running = flow.start("--drain", "loadbob.sh")
    os.kill(flow.wait_for_pid("pid"), signal.SIGKILL)
    code, _, error = finish(running)
    assert code == 1
    assert "killed by SIGKILL" in error
    assert flow.states() == {"1": "DONE", "2": "FAILED", "3": "DONE"}
    [failed] = [run for run in flow.runs() if run.dataid == "2"]
    assert failed.exit_code == 137
    assert (flow.path / f".dataflow/logs/{failed.run_id}.log").read_text() == "started\n"


def test_kill_9_of_the_guard_alone_hands_the_work_back(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo $$ > pid; exec sleep 60")
    running = flow.start("--grace", "1s", "loadbob.sh")
    child = flow.wait_for_pid("pid")
    os.kill(find_guard(running.pid), signal.SIGKILL)
    code, _, error = finish(running)
    assert code != 0
    assert error.count("guard") == 1
    assert "RunJob: loadbob 1: INTERRUPTED by SIGTERM" in error
    assert not is_running(child)
    assert flow.states() == {"1": "CLAIMABLE"}
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    assert flow.outcomes() == ["INTERRUPTED", "DONE"]


def start_one(flow: Flow, body: str, *words: str, chunks: tuple[str, ...] = ("1",)) -> tuple[int, ...]:
    flow.declare()
    flow.ready("bobin", *chunks)
    flow.script("loadbob.sh", f'{body}; echo $$ > "pid.$dataid"; while :; do sleep 0.05; done')
    flow.start(*words, "loadbob.sh")
    return tuple(flow.wait_for_pid(f"pid.{dataid}") for dataid in chunks)


def assert_handed_back(flow: Flow, code: int, *children: int) -> str:
    """Interrupted, not failed, no attempt used, and claimable at once."""
    found, _, error = finish(flow.started[0])
    assert found == code, error
    assert not [pid for pid in children if is_running(pid)]
    assert set(flow.outcomes()) == {"INTERRUPTED"}
    assert set(flow.states().values()) == {"CLAIMABLE"}
    assert flow.select("SELECT sum(attempts), sum(losses) FROM work") == [(0, 0)]
    flow.script("loadbob.sh")
    flow.runjob("--drain", "loadbob.sh")
    assert set(flow.states().values()) == {"DONE"}
    return error


def test_sigterm_ends_the_child_and_hands_the_work_back(flow: Flow) -> None:
    [child] = start_one(flow, "true")
    flow.started[0].terminate()
    assert_handed_back(flow, 128 + signal.SIGTERM, child)


def test_sigterm_hands_back_every_stream_of_a_drain(flow: Flow) -> None:
    children = start_one(flow, "true", "--drain", "-j", "3", chunks=CHUNKS)
    flow.started[0].terminate()
    assert_handed_back(flow, 128 + signal.SIGTERM, *children)


def test_a_child_that_ignores_sigterm_is_killed_after_the_grace(flow: Flow) -> None:
    [child] = start_one(flow, "trap '' TERM", "--grace", "0.5s")
    began = time.monotonic()
    flow.started[0].terminate()
    wait_until(lambda: not is_running(child))
    assert time.monotonic() - began > 0.4
    assert_handed_back(flow, 128 + signal.SIGTERM, child)


def test_a_second_sigterm_kills_at_once(flow: Flow) -> None:
    [child] = start_one(flow, "trap 'touch heard' TERM", "--grace", "60s")
    flow.started[0].terminate()
    wait_until((flow.path / "heard").exists)
    flow.started[0].terminate()
    wait_until(lambda: not is_running(child), limit_seconds=300)
    assert_handed_back(flow, 128 + signal.SIGTERM, child)


def test_a_stopped_child_can_be_ended(flow: Flow) -> None:
    [child] = start_one(flow, "true", "--grace", "5s")
    os.kill(child, signal.SIGSTOP)
    flow.started[0].terminate()
    assert_handed_back(flow, 128 + signal.SIGTERM, child)


def test_ctrl_c_to_the_whole_group_hands_the_work_back(flow: Flow) -> None:
    [child] = start_one(flow, "true")
    os.killpg(flow.started[0].pid, signal.SIGINT)
    error = assert_handed_back(flow, 128 + signal.SIGINT, child)
    assert "Traceback" not in error


def test_a_terminal_that_hangs_up_hands_the_work_back(sqlite_flow: Flow) -> None:
    [child] = start_one(sqlite_flow, "true")
    os.killpg(sqlite_flow.started[0].pid, signal.SIGHUP)
    assert_handed_back(sqlite_flow, 128 + signal.SIGHUP, child)


def test_nohup_keeps_it_running(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "touch started; until test -e go; do sleep 0.01; done")
    running = flow.start("loadbob.sh", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until((flow.path / "started").exists)
    os.killpg(running.pid, signal.SIGHUP)
    (flow.path / "go").touch()
    assert finish(running)[0] == 0


def test_sigterm_before_anything_was_claimed_starts_nothing(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    with flow.store() as store:
        connection = store.database._connection  # type: ignore[attr-defined]
        connection.execute("BEGIN IMMEDIATE")
        running = flow.start("loadbob.sh")
        find_guard(running.pid)
        # It has opened the store and waits for the lock; from then on it hears the signal.
        wait_until(lambda: _catches(running.pid, signal.SIGTERM))
        running.terminate()
        wait_until(lambda: not _is_pending(running.pid, signal.SIGTERM))
        connection.execute("ROLLBACK")
    assert finish(running)[0] == 128 + signal.SIGTERM
    assert flow.lines() == []
    assert flow.states() == {"1": "CLAIMABLE"}


def _catches(pid: int, number: int) -> bool:
    return bool(_mask(pid, "SigCgt") >> (number - 1) & 1)


def _is_pending(pid: int, number: int) -> bool:
    return bool((_mask(pid, "ShdPnd") | _mask(pid, "SigPnd")) >> (number - 1) & 1)


def _mask(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith(f"{name}:"))
