"""`dataflow top` in a pipe and on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios

from tests.acceptance.flow import Flow


def declare(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob", '[ "$dataid" != 2 ]')
    flow.runjob("--drain", "./loadbob", code=None)


def test_off_a_terminal_one_frame_of_80_columns_is_printed(flow: Flow) -> None:
    declare(flow)
    lines = flow.dataflow("top").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].endswith("1 job, 0 running, 1 incident: failed loadbob")
    (row,) = [line.split() for line in lines if line.startswith("loadbob")]
    assert row[2:5] == ["2/3", "0", "1"]
    assert flow.dataflow("top", "--once").stdout.splitlines()[1:3] == lines[1:3]


def test_a_killed_run_is_gone_and_a_pause_is_named(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2")
    flow.script("loadbob", "kill -9 $PPID")
    flow.runjob("./loadbob", code=None)
    flow.dataflow("pause")
    lines = flow.dataflow("top").stdout.splitlines()
    assert ", 0 running (1 gone), paused" in lines[0]
    (row,) = [line.split() for line in lines if line.startswith("loadbob")]
    assert row[2:4] == ["0/2", "0"]
    assert row[-1] == "paused"


def test_overdue_intervals_count_before_anybody_adds_them(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.dataflow("dataset", "add", "out", "--grain", "daily")
    flow.dataflow("job", "add", "nightly", "--schedule", "@daily", "--out", "out", "--start", "2026-01-01")
    (row,) = [line.split() for line in flow.dataflow("top").stdout.splitlines() if line.startswith("nightly")]
    assert row[2].startswith("0/")
    assert row[2] != "0/0"


def test_on_a_terminal_it_goes_on_until_interrupted(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    declare(flow)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = flow.env | {"TERM": "xterm"}
    process = flow.project.start(
        *("dataflow", "top", "--interval", "0.2s"), env=env, stdin=slave, stdout=slave, stderr=subprocess.PIPE
    )
    os.close(slave)
    shown = b""
    frames = 3
    with contextlib.suppress(OSError):
        while data := os.read(master, 4096):
            shown += data
            if frames and shown.count(b"done/total") >= 4 - frames:
                frames -= 1
                if not frames:
                    process.send_signal(signal.SIGINT)
    os.close(master)
    assert process.communicate(timeout=30)[1] == ""
    assert process.returncode == 0
    assert "loadbob" in shown.decode()
