"""The guard: when RunJob dies or a deadline passes, nothing the run started keeps writing."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dataflow.runjob.processes import (
    TOKEN_VARIABLE,
    join_tokens,
    kill_escaped,
    kill_orphans,
    list_live_processes,
)
from tests.runjob.claimant import (
    PRELUDE,
    SOURCE,
    Claimant,
    grows,
    is_running,
    is_stopped,
    read_pid,
    wait_until,
)

Claim = Callable[..., Claimant]


@pytest.fixture
def claim(tmp_path: Path) -> Iterator[Claim]:
    """Start a claimant with a body; nothing of it is left after the test."""
    claimants: list[Claimant] = []

    def start(body: str, **options: dict[str, str]) -> Claimant:
        claimants.append(Claimant(tmp_path, body, **options))
        return claimants[-1]

    yield start
    for claimant in claimants:
        claimant.process.kill()
        claimant.end()
        assert kill_orphans(claimant.name)


def signal_all(pids: list[int], number: int) -> None:
    """Sends a signal to each, and when it is SIGSTOP waits until all have stopped."""
    for pid in pids:
        os.kill(pid, number)
    if number == signal.SIGSTOP:
        wait_until(lambda: all(map(is_stopped, pids)))


def writer(path: Path) -> str:
    """A shell loop that adds a line every 10 ms."""
    return f"while :; do echo x >>{path}; sleep 0.01; done"


def daemon(path: Path, pid_path: Path, command: str = "") -> str:
    """A script that leaves a writer behind in its own session (double fork) and then waits."""
    loop = f"echo $$ >{pid_path}; {writer(path)}"
    return f"(setsid {command} sh -c '{loop}' &) ; while :; do sleep 1; done"


def test_when_runjob_is_killed_no_grandchild_writes_once_the_lock_is_free(
    claim: Claim, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    claimant = claim(f"""start({f"({writer(output)}) & wait"!r}); say(); wait()""")
    wait_until(output.exists)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert not grows(output)


def test_a_child_spawned_but_never_announced_dies_with_runjob_too(claim: Claim, tmp_path: Path) -> None:
    output = tmp_path / "output"
    claimant = claim(f"start({writer(output)!r}, watch=False); say(); wait()")
    wait_until(output.exists)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert not grows(output)


def test_a_daemonised_grandchild_dies_with_runjob_too(claim: Claim, tmp_path: Path) -> None:
    output, pid_path = tmp_path / "output", tmp_path / "pid"
    claimant = claim(f"start({daemon(output, pid_path)!r}); say(); wait()")
    pid = read_pid(pid_path)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert not is_running(pid)


def test_a_grandchild_in_its_own_group_and_without_environment_dies_with_runjob_too(
    claim: Claim, tmp_path: Path
) -> None:
    pid_path = tmp_path / "pid"
    program = f"import os; os.setpgid(0, 0); print(os.getpid(), file=open('{pid_path}', 'w'), flush=True)"
    script = f'env -i {sys.executable} -c "{program}; import time; time.sleep(60)" & wait'
    claimant = claim(f"_, pid = start({script!r}); say(child=pid); wait()")
    pid = read_pid(pid_path)
    assert os.getpgid(pid) != claimant.facts["child"]
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert not is_running(pid)


def test_a_runjob_inside_a_run_ends_with_it_and_so_does_its_own_work(claim: Claim, tmp_path: Path) -> None:
    output, told, locks = tmp_path / "output", tmp_path / "told", tmp_path / "locks"
    program, kill_script = tmp_path / "inner.py", f"sleep 0.2; : >{told}"
    program.write_text(f"{PRELUDE}start({writer(output)!r}, kill_script={kill_script!r}); time.sleep(60)")
    script = f"PYTHONPATH={SOURCE} {sys.executable} {program} {locks} beef"
    claimant = claim(f"start({script!r}); say(); wait()")
    wait_until(output.exists)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert told.exists()
    assert not grows(output)


@pytest.mark.parametrize("seed", range(15))
def test_whenever_runjob_is_killed_nothing_of_it_is_left_once_the_lock_is_free(
    claim: Claim, seed: int
) -> None:
    body = """
say()
while True:
    token, pid = start("true")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    guard.forget(token)
    os.waitpid(pid, 0)
    start("(setsid sleep 60 &); sleep 60 & exec sleep 60")
"""
    claimant = claim(body)
    time.sleep(random.Random(seed).random() * 0.03)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert list_live_processes([], lambda token: token.startswith(claimant.name)) == {}


@pytest.mark.parametrize("first", ["guard", "runjob"])
def test_when_runjob_and_its_guard_are_killed_nothing_writes_once_the_lock_is_free(
    claim: Claim, tmp_path: Path, first: str
) -> None:
    output, daemons, pid_path = tmp_path / "output", tmp_path / "daemons", tmp_path / "pid"
    claimant = claim(
        f"start({writer(output)!r}); start({daemon(daemons, pid_path)!r}, watch=False); say(); wait()"
    )
    wait_until(output.exists)
    read_pid(pid_path)
    pids = [claimant.facts["guard"], claimant.pid]
    # Stopped first, so that neither can do anything about the other's death.
    signal_all(pids, signal.SIGSTOP)
    signal_all(pids if first == "guard" else pids[::-1], signal.SIGKILL)
    claimant.wait_until_lock_is_free()
    assert not grows(output)
    assert not grows(daemons)


def test_when_runjob_is_killed_while_its_guard_is_frozen_its_children_die(
    claim: Claim, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    claimant = claim(f"_, pid = start({writer(output)!r}); say(child=pid); wait()")
    wait_until(output.exists)
    os.kill(claimant.facts["guard"], signal.SIGSTOP)
    claimant.kill()
    wait_until(lambda: not is_running(claimant.facts["child"]))
    os.kill(claimant.facts["guard"], signal.SIGKILL)


def test_at_the_deadline_a_child_dies_though_runjob_and_its_guard_are_frozen(
    claim: Claim, tmp_path: Path
) -> None:
    output, told = tmp_path / "output", tmp_path / "told"
    options = f"kill_in=1.0, grace=0.0, kill_script={f': >{told}'!r}"
    claimant = claim(f"_, pid = start({writer(output)!r}, {options}); say(child=pid); wait()")
    wait_until(output.exists)
    signal_all([claimant.facts["guard"], claimant.pid], signal.SIGSTOP)
    wait_until(lambda: not is_running(claimant.facts["child"]))
    wait_until(told.exists)
    signal_all([claimant.facts["guard"], claimant.pid], signal.SIGCONT)


def test_a_renewal_moves_the_deadline_of_the_backup_too(claim: Claim) -> None:
    body = """
_, renewed = start("sleep 60", kill_in=0.5, grace=0.0)
guard.extend(boottime() + 60)
_, other = start("sleep 60", kill_in=0.5, grace=0.0)
say(renewed=renewed, other=other)
wait()
"""
    claimant = claim(body)
    signal_all([claimant.facts["guard"], claimant.pid], signal.SIGSTOP)
    wait_until(lambda: not is_running(claimant.facts["other"]))
    assert is_running(claimant.facts["renewed"])
    signal_all([claimant.facts["guard"], claimant.pid], signal.SIGCONT)


def test_the_backup_does_not_end_what_the_guard_has_ended(claim: Claim, tmp_path: Path) -> None:
    told = tmp_path / "told"
    claimant = claim(f"start('sleep 60', kill_script={f'echo x >>{told}'!r}); say(); wait()")
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert told.read_text() == "x\n"


def test_a_successor_kills_what_is_left_when_runjob_and_both_guards_were_killed(
    claim: Claim, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    claimant = claim(f"start({writer(output)!r}); say(); wait()")
    wait_until(output.exists)
    pids = [claimant.facts["guard"], claimant.facts["backup"], claimant.pid]
    signal_all(pids, signal.SIGSTOP)
    signal_all(pids, signal.SIGKILL)
    claimant.wait_until_lock_is_free()
    assert grows(output)
    assert kill_orphans(claimant.name)
    assert not grows(output)


def test_at_its_deadline_a_child_gets_a_sigterm_and_may_clean_up(claim: Claim, tmp_path: Path) -> None:
    ready, cleaned = tmp_path / "ready", tmp_path / "cleaned"
    script = f"trap 'echo done >{cleaned}; exit 3' TERM; : >{ready}; while :; do sleep 0.01; done"
    claimant = claim(
        f"_, pid = start({script!r}, grace=60.0); say(child=pid); wait(); guard.extend(boottime()); wait()"
    )
    wait_until(ready.exists)
    claimant.go_on()
    wait_until(cleaned.exists)
    wait_until(lambda: not is_running(claimant.facts["child"]))


def test_a_child_that_ignores_the_sigterm_is_killed_when_its_grace_is_over(
    claim: Claim, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    script = f"trap '' TERM; : >{ready}; while :; do sleep 0.01; done"
    claimant = claim(
        f"_, pid = start({script!r}, grace=0.5); say(child=pid); wait(); guard.extend(boottime()); wait()"
    )
    wait_until(ready.exists)
    claimant.go_on()
    began = time.monotonic()
    wait_until(lambda: not is_running(claimant.facts["child"]))
    assert time.monotonic() - began >= 0.4


def test_at_the_deadline_a_stopped_child_of_a_stopped_runjob_dies(claim: Claim, tmp_path: Path) -> None:
    output = tmp_path / "output"
    claimant = claim(f"_, pid = start({f'({writer(output)}) & wait'!r}, kill_in=1.0); say(child=pid); wait()")
    wait_until(output.exists)
    claimant.kill(signal.SIGSTOP)
    os.killpg(claimant.facts["child"], signal.SIGSTOP)
    wait_until(lambda: not is_running(claimant.facts["child"]))
    wait_until(lambda: not list_live_processes([claimant.facts["child"]], lambda token: False))
    assert not grows(output)


def test_at_the_deadline_a_stopped_child_still_gets_to_clean_up(claim: Claim, tmp_path: Path) -> None:
    ready, cleaned, program = tmp_path / "ready", tmp_path / "cleaned", tmp_path / "program.py"
    # Not a shell: one that is just starting something is not seen as stopped.
    program.write_text(
        "import signal, sys\n"
        f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(open({str(cleaned)!r}, 'w').close()))\n"
        f"open({str(ready)!r}, 'w').close()\n"
        "while True: signal.pause()\n"
    )
    script = f"exec {sys.executable} {program}"
    claimant = claim(
        f"_, pid = start({script!r}, grace=60.0); say(child=pid); wait(); guard.extend(boottime()); wait()"
    )
    wait_until(ready.exists)
    os.killpg(claimant.facts["child"], signal.SIGSTOP)
    wait_until(lambda: is_stopped(claimant.facts["child"]))
    claimant.go_on()
    wait_until(cleaned.exists)


def test_at_the_deadline_a_daemonised_grandchild_dies_too(claim: Claim, tmp_path: Path) -> None:
    output, pid_path = tmp_path / "output", tmp_path / "pid"
    claimant = claim(
        f"start({daemon(output, pid_path)!r}, grace=0.0); say(); wait(); guard.extend(boottime()); wait()"
    )
    pid = read_pid(pid_path)
    claimant.go_on()
    wait_until(lambda: not is_running(pid))
    assert claimant.process.poll() is None


def test_a_renewed_child_outlives_its_first_deadline(claim: Claim) -> None:
    body = """
first, first_pid = start("sleep 60", kill_in=1.0)
second, second_pid = start("sleep 60", kill_in=1.0)
guard.extend(boottime() + 60, first)
say(first=first_pid, second=second_pid)
wait()
guard.extend(boottime() + 60)
"""
    claimant = claim(body)
    wait_until(lambda: not is_running(claimant.facts["second"]))
    assert is_running(claimant.facts["first"])


def test_a_renewal_for_all_reaches_every_child_still_watched(claim: Claim) -> None:
    body = """
pids = [start("sleep 60", kill_in=0.5)[1] for _ in range(2)]
guard.extend(boottime() + 60)
late = start("sleep 60", kill_in=1.0)[1]
say(pids=pids, late=late)
wait()
"""
    claimant = claim(body)
    wait_until(lambda: not is_running(claimant.facts["late"]))
    assert all(map(is_running, claimant.facts["pids"]))


def test_a_renewal_does_not_spare_a_child_that_got_its_sigterm(claim: Claim, tmp_path: Path) -> None:
    ready, told = tmp_path / "ready", tmp_path / "told"
    script = f"trap ': >{told}' TERM; : >{ready}; while :; do sleep 0.01; done"
    body = f"""
_, pid = start({script!r}, grace=1.0)
say(child=pid)
wait()
guard.extend(boottime())
wait()
guard.extend(boottime() + 3600)
wait()
"""
    claimant = claim(body)
    wait_until(ready.exists)
    claimant.go_on()
    wait_until(told.exists)
    claimant.go_on()
    wait_until(lambda: not is_running(claimant.facts["child"]), limit_seconds=60)


@pytest.mark.parametrize("which", ["guard", "backup"])
def test_runjob_notices_that_a_guard_was_killed(claim: Claim, which: str) -> None:
    body = """
poller = select.poll()
[poller.register(fd, 0) for fd in guard.list_fds()]
say(alive=guard.alive())
wait()
poller.poll()
token = guard.new_token()
say(alive=guard.alive(), sent=[guard.watch(token, 1, 0.0, 0.0), guard.extend(0.0), guard.forget(token)])
guard.stop()
"""
    claimant = claim(body)
    assert claimant.facts["alive"]
    os.kill(claimant.facts[which], signal.SIGKILL)
    claimant.go_on()
    facts = claimant.hear()
    assert not facts["alive"]
    assert facts["sent"] == [False, False, False]
    assert claimant.end() == 0


def test_a_guard_that_reads_no_messages_counts_as_gone(claim: Claim) -> None:
    body = """
guard_module._PATIENCE_SECONDS = 0.2
say()
wait()
sent = 0
while guard.extend(boottime() + 60):
    sent += 1
say(alive=guard.alive(), sent=sent)
guard.stop()
"""
    claimant = claim(body)
    os.kill(claimant.facts["guard"], signal.SIGSTOP)
    claimant.go_on()
    facts = claimant.hear()
    assert not facts["alive"]
    assert facts["sent"] > 1000
    assert claimant.end() == 0


def test_ctrl_c_and_sigterm_do_not_end_the_guard(claim: Claim) -> None:
    body = """
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda *_: None)
say()
wait()
token, pid = start("sleep 60")
guard.extend(boottime())
os.waitpid(pid, 0)
say(alive=guard.alive())
"""
    claimant = claim(body)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.killpg(claimant.pid, number)
        os.kill(claimant.facts["guard"], number)
    claimant.go_on()
    assert claimant.hear()["alive"]


def list_open_files(pid: int) -> list[str]:
    links = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(fd).partition(":")[0])
    return sorted(links)


@pytest.mark.parametrize("which", ["guard", "backup"])
def test_a_guard_keeps_only_its_pipes_and_the_lock_open(claim: Claim, which: str) -> None:
    claimant = claim("say(); wait()")
    lock_path = os.path.join(claimant.directory, f"{claimant.name}.lock")
    kept = [*[os.devnull] * 3, lock_path, "pipe", "pipe"]
    # Repeated until stable: the guard opens files while it renames itself.
    wait_until(lambda: list_open_files(claimant.facts[which]) == kept)
    assert os.getsid(claimant.facts[which]) == claimant.facts[which]


@pytest.mark.parametrize("which", ["guard", "backup"])
def test_a_guard_does_not_look_like_runjob_or_the_other_guard_to_pkill(claim: Claim, which: str) -> None:
    claimant = claim("say(); wait()")
    cmdline = Path(f"/proc/{claimant.facts[which]}/cmdline")
    wait_until(lambda: cmdline.read_bytes().rstrip(b"\0") == f"dataflow-{which}".encode())


def test_stopping_leaves_no_zombie_and_no_lock(claim: Claim) -> None:
    body = """
token, pid = start("exit 7")
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
guard.forget(token)
status = os.waitpid(pid, 0)[1]
guard.stop()
guard.stop()
lock.release()
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    say(status=status, left=os.listdir(directory))
"""
    claimant = claim(body)
    assert os.waitstatus_to_exitcode(claimant.facts["status"]) == 7
    assert claimant.facts["left"] == []


def test_stopping_even_a_stopped_guard_kills_the_children_not_forgotten(claim: Claim) -> None:
    body = """
start("sleep 60")
for guard_pid in guard.pids:
    os.kill(guard_pid, signal.SIGSTOP)
_, pid = start("sleep 60")
guard.stop()
say(child=pid)
wait()
"""
    claimant = claim(body)
    assert not is_running(claimant.facts["child"])


def test_what_a_forgotten_run_left_behind_is_not_touched_when_runjob_dies(
    claim: Claim, tmp_path: Path
) -> None:
    pid_path = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ >{pid_path}; exec sleep 60' & sleep 0.01"
    body = f"token, pid = start({script!r}); os.waitpid(pid, 0); guard.forget(token); say(); wait()"
    claimant = claim(body)
    pid = read_pid(pid_path)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert is_running(pid)


def test_the_kill_command_has_ended_before_the_lock_is_free(claim: Claim, tmp_path: Path) -> None:
    told, odd = tmp_path / "told", tmp_path / "odd"
    kill_script = f'printf %s "$odd" >{odd}; sleep 0.3; : >{told}'
    claimant = claim(f"start('sleep 60', kill_script={kill_script!r}); say(); wait()")
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert told.exists()
    assert odd.read_bytes() == b"a\n'\"$x\xff"


def test_the_kill_command_runs_at_the_deadline_once_the_child_is_dead(claim: Claim, tmp_path: Path) -> None:
    seen, pid_path = tmp_path / "seen", tmp_path / "pid"
    kill_script = f"echo state: $(cut -d' ' -f3 /proc/$(cat {pid_path})/stat) >>{seen}"
    script = f"trap '' TERM; sh -c 'echo $$ >{pid_path}; exec sleep 60' & wait; sleep 60"
    body = f"""
start({script!r}, grace=0.2, kill_script={kill_script!r})
start("sleep 60")
say()
wait()
guard.extend(boottime(), name + "-1")
wait()
"""
    claimant = claim(body)
    read_pid(pid_path)
    claimant.go_on()
    wait_until(lambda: seen.exists() and seen.read_text())
    claimant.kill()
    claimant.wait_until_lock_is_free()
    # Gone, or a zombie not reaped yet; and signalled only once.
    assert seen.read_text() in ("state:\n", "state: Z\n")


def test_the_guard_waits_for_a_kill_command_that_is_running_when_runjob_dies(
    claim: Claim, tmp_path: Path
) -> None:
    began, ended = tmp_path / "began", tmp_path / "ended"
    kill_script = f": >{began}; sleep 0.3; : >{ended}"
    claimant = claim(f"start('sleep 60', kill_in=0.0, grace=0.0, kill_script={kill_script!r}); say(); wait()")
    wait_until(began.exists)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert ended.exists()


def test_a_kill_command_is_not_run_for_a_forgotten_child(claim: Claim, tmp_path: Path) -> None:
    told = tmp_path / "told"
    body = f"""
token, pid = start("true", kill_script=": >{told}")
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
guard.forget(token)
say()
wait()
"""
    claimant = claim(body)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    assert not told.exists()


def test_a_kill_command_that_hangs_is_ended_at_its_limit(claim: Claim) -> None:
    body = """
commands = [KillCommand(argv, {}) for argv in (["/bin/sleep", "60"], ["/bin/sh", "-c", "exit 5"], ["/no"])]
say(codes=[command.run(0.5) for command in commands])
guard.stop()
"""
    assert claim(body).facts["codes"] == [None, 5, None]


def test_runjob_can_kill_what_escaped_one_run_without_touching_another(claim: Claim, tmp_path: Path) -> None:
    output, pid_path = tmp_path / "output", tmp_path / "pid"
    body = f"""
token, pid = start({daemon(output, pid_path)!r})
_, other = start("sleep 60")
say(child=pid, other=other)
wait()
say(gone=kill_escaped(token, pid))
wait()
"""
    claimant = claim(body)
    pid = read_pid(pid_path)
    claimant.go_on()
    assert claimant.hear()["gone"]
    assert not is_running(pid)
    assert not is_running(claimant.facts["child"])
    assert is_running(claimant.facts["other"])


def test_a_zombie_counts_as_gone() -> None:
    process = subprocess.Popen(["/bin/true"], start_new_session=True)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert list_live_processes([process.pid], lambda token: False) == {}
    process.wait()


def test_a_token_that_only_starts_like_ours_is_not_ours() -> None:
    environment = os.environ | {TOKEN_VARIABLE: join_tokens("f00d-1", "beef-11")}
    process = subprocess.Popen(["/bin/sleep", "60"], env=environment)
    wait_until(lambda: list_live_processes([], lambda token: token == "f00d-1") == {process.pid: 0})
    assert kill_escaped("beef-1")
    assert kill_orphans("bee")
    assert process.poll() is None
    assert kill_escaped("beef-11")
    assert process.wait() == -signal.SIGKILL
