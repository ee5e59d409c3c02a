"""Output: everything reaches the terminal and the log, and their failures do not stop a run."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import select
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dataflow.runjob.output import LONGEST_LINE_BYTES, OutputPump, RunLog, Terminal
from dataflow.runjob.spawn import spawn
from tests.runjob.claimant import wait_until

NEVER_OPEN_FD = 1 << 30


class Shouter:
    """A redactor that shows what went through it, and holds one byte back."""

    def __init__(self) -> None:
        self.held = b""

    def feed(self, data: bytes) -> bytes:
        data = self.held + data
        self.held = data[-1:]
        return data[:-1].upper()

    def flush(self) -> bytes:
        return self.held.upper() + b"<end>"


class Screen:
    """Two files in place of standard output and error."""

    def __init__(self, folder: Path) -> None:
        self.paths = (folder / "stdout", folder / "stderr")
        self.fds = tuple(os.open(path, os.O_WRONLY | os.O_CREAT) for path in self.paths)
        self.terminals = (Terminal(self.fds[0]), Terminal(self.fds[1]))

    def read(self) -> tuple[bytes, bytes]:
        return self.paths[0].read_bytes(), self.paths[1].read_bytes()


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    screen = Screen(tmp_path)
    yield screen
    for fd in screen.fds:
        os.close(fd)


def start(pump: OutputPump, script: str) -> int:
    pid = spawn(["/bin/sh", "-c", script], {"PATH": "/bin:/usr/bin"}, *pump.child_ends)
    pump.close_child_ends()
    return pid


def pump_until_end(pump: OutputPump) -> None:
    while fds := pump.list_fds():
        poller = select.poll()
        for fd in fds:
            poller.register(fd, select.POLLIN)
        for fd, _ in poller.poll():
            pump.pump(fd)


def run(pump: OutputPump, script: str) -> int:
    pid = start(pump, script)
    pump_until_end(pump)
    pump.drain()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_both_streams_reach_their_terminals_and_the_log(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path / "logs"), 7)
    assert run(OutputPump(log, screen.terminals), "echo out; echo err >&2; exit 3") == 3
    assert screen.read() == (b"out\n", b"err\n")
    path = tmp_path / "logs" / "7.log"
    assert log.path == str(path)
    assert sorted(path.read_bytes().split()) == [b"err", b"out"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    log.close()


def test_a_silent_run_leaves_no_log(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path / "logs"), 7)
    run(OutputPump(log, screen.terminals), ":")
    log.close()
    assert not (tmp_path / "logs").exists()
    assert log.list_last_lines(5) == []


def test_each_stream_goes_through_its_own_redactor_to_its_last_byte(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path), 7)
    pump = OutputPump(log, screen.terminals, (Shouter(), Shouter()))
    run(pump, "printf abc; printf xyz >&2")
    assert screen.read() == (b"ABC<end>", b"XYZ<end>")
    log.close()
    assert b"abc" not in Path(log.path).read_bytes()


def test_bytes_that_are_not_text_pass_through_unchanged(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path), 7)
    run(OutputPump(log, screen.terminals), r"printf '\377\376\000\200\n\303'")
    assert screen.read()[0] == b"\xff\xfe\x00\x80\n\xc3"
    log.close()
    assert Path(log.path).read_bytes() == b"\xff\xfe\x00\x80\n\xc3"


def test_200_megabytes_without_a_newline_need_no_memory(tmp_path: Path) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    log = RunLog(str(tmp_path), 7, limit_bytes=1024 * 1024)
    pump = OutputPump(log, (Terminal(null), Terminal(null)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert run(pump, "head -c 200000000 /dev/zero") == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024
    os.close(null)
    log.close()


def test_the_log_ends_at_its_limit_with_one_line_about_it(tmp_path: Path) -> None:
    log = RunLog(str(tmp_path), 7, limit_bytes=10)
    for _ in range(4):
        log.write(b"123456\n")
    log.write(b"last\n")
    log.close()
    assert Path(log.path).read_bytes() == (
        b"123456\n123\n[dataflow: the log ends here, at its limit of 10 bytes]\n"
    )
    assert log.list_last_lines(2) == [b"123456", b"last"]
    assert log.error is None


def test_the_last_lines_are_the_end_of_the_output_however_long_it_was(tmp_path: Path) -> None:
    log = RunLog(str(tmp_path), 7)
    log.write(b"".join(b"line %d\n" % number for number in range(5000)))
    log.write(b"no newline at the end")
    assert log.list_last_lines(3) == [b"line 4998", b"line 4999", b"no newline at the end"]
    assert sum(map(len, log.list_last_lines(10000))) <= 8192
    assert log.list_last_lines(0) == []
    log.close()


def test_a_closed_log_continues_where_it_ended(tmp_path: Path) -> None:
    log = RunLog(str(tmp_path), 7)
    log.write(b"one\n")
    log.close()
    log.write(b"two\n")
    log.close()
    assert Path(log.path).read_bytes() == b"one\ntwo\n"


def test_a_full_disk_is_remembered_and_the_run_goes_on(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path), 7)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    pump = OutputPump(log, screen.terminals)
    pid = start(pump, "echo early; head -c 100000 /dev/zero | tr '\\0' x; echo; echo late")
    os.lseek(screen.fds[0], 0, os.SEEK_SET)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, screen.fds[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        pump_until_end(pump)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        os.close(null)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert log.error is not None
    assert log.error.errno == errno.EFBIG
    assert log.list_last_lines(1) == [b"late"]
    log.close()
    assert Path(log.path).stat().st_size == 50_000


def test_a_log_on_a_full_device_or_in_an_impossible_folder_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "logs", tmp_path / "file"):
        log = RunLog(str(folder), 7)
        log.write(b"hello\n")
        assert log.error is not None
        assert log.list_last_lines(1) == [b"hello"]
        log.close()


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "7.log").symlink_to(tmp_path / "precious")
    log = RunLog(str(tmp_path), 7)
    log.write(b"hello\n")
    assert log.error is not None
    assert not (tmp_path / "precious").exists()


@pytest.mark.parametrize("kind", ["broken pipe", "closed", "full"])
def test_a_closed_terminal_is_remembered_and_the_log_is_complete(tmp_path: Path, kind: str) -> None:
    if kind == "full":
        fd, wanted = os.open("/dev/full", os.O_WRONLY), errno.ENOSPC
    else:
        read_end, fd = os.pipe()
        os.close(read_end)
        wanted = errno.EPIPE
    if kind == "closed":
        wanted = errno.EBADF
    terminal = Terminal(NEVER_OPEN_FD if kind == "closed" else fd)
    log = RunLog(str(tmp_path), 7)
    assert run(OutputPump(log, (terminal, terminal)), "echo one; sleep 0.05; echo two") == 0
    assert terminal.error is not None
    assert terminal.error.errno == wanted
    assert terminal.pending_bytes == 0
    log.close()
    assert Path(log.path).read_bytes() == b"one\ntwo\n"
    os.close(fd)


def test_a_terminal_whose_other_side_hung_up_is_remembered() -> None:
    master, slave = os.openpty()
    os.close(master)
    terminal = Terminal(slave)
    terminal.write(b"hello\n")
    assert terminal.error is not None
    assert terminal.error.errno == errno.EIO
    os.close(slave)


def make_sockets() -> tuple[int, int]:
    left, right = socket.socketpair()
    return left.detach(), right.detach()


@pytest.mark.parametrize("make", [os.pipe, make_sockets, os.openpty])
def test_a_paused_reader_delays_nothing_and_loses_no_byte(
    tmp_path: Path, make: Callable[[], tuple[int, int]]
) -> None:
    reader, fd = make()
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    terminal = Terminal(fd)
    log = RunLog(str(tmp_path), 7)
    pump = OutputPump(log, (terminal, terminal))
    text = b"".join(b"%06d\n" % number for number in range(60_000))
    (tmp_path / "text").write_bytes(text)
    pid = start(pump, f"cat {tmp_path / 'text'}")
    wait_until(lambda: pump.pump(pump.list_fds()[0]) and terminal.pending_bytes)
    began = time.monotonic()
    for _ in range(10):
        pump.pump(pump.list_fds()[0])
    assert time.monotonic() - began < 5
    assert 0 < terminal.pending_bytes <= 256 * 1024
    assert fcntl.fcntl(fd, fcntl.F_GETFL) == flags
    received = b""
    os.set_blocking(reader, False)
    while len(received.replace(b"\r", b"")) < len(text):
        try:
            received += os.read(reader, 1 << 20)
        except BlockingIOError:
            if terminal.flush(0) and pump.list_fds():
                pump.pump(pump.list_fds()[0])
    assert received.replace(b"\r", b"") == text
    assert terminal.flush(None)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    log.close()
    assert Path(log.path).read_bytes() == text
    os.close(reader)
    os.close(fd)


def test_a_noisy_child_does_not_starve_the_others(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path), 7)
    pump = OutputPump(log, screen.terminals)
    pid = start(pump, "exec cat /dev/zero")
    fd = pump.list_fds()[0]
    for _ in range(20):
        size = screen.paths[0].stat().st_size
        assert pump.pump(fd)
        assert screen.paths[0].stat().st_size - size <= 256 * 1024
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    pump.drain()
    log.close()


def test_the_output_of_a_dead_child_is_read_even_if_a_grandchild_keeps_the_pipe_open(
    tmp_path: Path, screen: Screen
) -> None:
    log = RunLog(str(tmp_path), 7)
    pump = OutputPump(log, screen.terminals, (Shouter(), None))
    pid = start(pump, "sleep 60 & echo last words")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    pump.drain()
    assert screen.read()[0] == b"LAST WORDS\n<end>"
    assert pump.list_fds() == []
    os.killpg(pid, 9)
    os.waitpid(pid, 0)
    log.close()


def test_a_grandchild_that_never_stops_writing_cannot_hold_up_the_end(tmp_path: Path) -> None:
    class Slow(Shouter):
        """Gives the writer time to fill the pipe again after each read."""

        def feed(self, data: bytes) -> bytes:
            time.sleep(0.005)
            return super().feed(data)

    null = os.open(os.devnull, os.O_WRONLY)
    log = RunLog(str(tmp_path), 7, limit_bytes=1000)
    pump = OutputPump(log, (Terminal(null), Terminal(null)), (Slow(), None))
    pid = start(pump, "cat /dev/zero & exit 0")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    poller = select.poll()
    poller.register(pump.list_fds()[0], select.POLLIN)
    poller.poll()
    pump.drain()
    os.killpg(pid, 9)
    os.waitpid(pid, 0)
    os.close(null)
    log.close()


def test_a_child_may_close_its_output_and_continue(tmp_path: Path, screen: Screen) -> None:
    log = RunLog(str(tmp_path), 7)
    pump = OutputPump(log, screen.terminals)
    pid = start(pump, "echo bye; exec >&- 2>&-; sleep 0.1; exit 6")
    pump_until_end(pump)
    wait_until(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG))
    pump.drain()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6
    assert screen.read()[0] == b"bye\n"
    log.close()


def test_start_up_loads_none_of_the_slow_modules() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "import dataflow.runjob.guard, dataflow.runjob.lock, dataflow.runjob.output\n"
        "import dataflow.runjob.spawn\n"
        "slow = 'typing re subprocess threading selectors dataclasses json hashlib difflib ctypes pathlib'\n"
        "sys.exit(', '.join(set(slow.split()) & (set(sys.modules) - before)) or 0)"
    )
    pid = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", program], {"PYTHONPATH": "src"})
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_the_lines_of_runs_that_share_a_terminal_are_not_mixed(screen: Screen, tmp_path: Path) -> None:
    terminals = (Terminal(screen.fds[0], is_shared=True), Terminal(screen.fds[1], is_shared=True))
    pumps = [OutputPump(RunLog(str(tmp_path), number), terminals) for number in (1, 2)]
    for texts in ((b"one ", b"uno "), (b"line\n1st ", b"linea\n"), (b"", b"the end")):
        for pump, text in zip(pumps, texts, strict=True):
            os.write(pump.child_ends[0], text)
            pump.pump(pump.list_fds()[0])
    assert screen.read()[0] == b"one line\nuno linea\n"
    assert (tmp_path / "1.log").read_bytes() == b"one line\n1st "
    os.write(pumps[0].child_ends[0], b"x" * LONGEST_LINE_BYTES)
    pumps[0].pump(pumps[0].list_fds()[0])
    assert len(screen.read()[0]) > LONGEST_LINE_BYTES
    for pump in pumps:
        pump.drain()
    assert screen.read()[0].endswith(b"xxthe end")
