"""Starting commands: found where shells find them, with values byte for byte, and clear errors."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput, CannotExecute
from dataflow.runjob.spawn import exit_code_of, find_command, script_hash, spawn
from tests.runjob.claimant import SOURCE


def run(argv: list[str], environment: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Run it and return its exit code and what it wrote to both streams."""
    read_end, write_end = os.pipe()
    try:
        pid = spawn(argv, environment or {}, write_end, write_end)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    with open(read_end, "rb") as file:
        output = file.read()
    return exit_code_of(os.waitpid(pid, 0)[1]), output


def make_script(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_bytes(os.fsencode(text))
    path.chmod(mode)
    return str(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_name_with_a_slash_is_used_unchanged(folder: Path) -> None:
    make_script(folder / "load.sh", "")
    assert find_command("./load.sh", "/bin", str(folder)) == "./load.sh"


def test_a_plain_name_is_searched_on_the_path_and_then_in_the_folder(folder: Path) -> None:
    make_script(folder / "load.sh", "", mode=0o644)
    assert find_command("load.sh", "/bin", str(folder)) == str(folder / "load.sh")
    (folder / "bin").mkdir()
    on_path = make_script(folder / "bin" / "load.sh", "")
    assert find_command("load.sh", f"/bin:{folder}/bin", str(folder)) == on_path
    assert find_command("load.sh", "/bin:bin", str(folder)) == on_path


def test_a_file_on_the_path_that_is_not_executable_is_skipped(folder: Path) -> None:
    for name, mode in (("first", 0o644), ("second", 0o755)):
        (folder / name).mkdir()
        make_script(folder / name / "load", "", mode=mode)
    assert find_command("load", f"{folder}/first:{folder}/second", str(folder)) == f"{folder}/second/load"


@pytest.mark.parametrize(
    ("argv0", "hint"),
    [
        ("./loadbbo.sh", r'no such file in "/[^"]+[^/.]".*Did you mean "\./loadbob\.sh"'),
        ("loadbbo.sh", r'neither on PATH nor in.*Did you mean "\./loadbob\.sh"'),
        ("nothing-like-it", "Check the name, or give its path"),
        ("./none/x.sh", r'no such file in "/[^"]+/none"'),
        ("", "not found"),
    ],
)
def test_a_missing_command_is_127_with_the_nearest_name(folder: Path, argv0: str, hint: str) -> None:
    make_script(folder / "loadbob.sh", "")
    with pytest.raises(CannotExecute, match=hint) as caught:
        find_command(argv0, f"{folder}/none", str(folder))
    assert caught.value.exit_code == 127


def test_a_script_without_an_interpreter_line_runs_as_in_a_shell(folder: Path) -> None:
    make_script(folder / "loadbob.sh", 'echo "$dataid" "$1" "$bobin_datasetid"\n')
    environment = {"dataid": "1.0", "bobin_datasetid": "bobin"}
    assert run(["./loadbob.sh", "a b"], environment) == (0, b"1.0 a b bobin\n")
    assert run([make_script(folder / "empty.sh", "")]) == (0, b"")


def test_a_script_whose_path_looks_like_an_option_is_still_a_script(folder: Path) -> None:
    (folder / "-x").mkdir()
    make_script(folder / "-x" / "s", "echo fine\n")
    assert run(["-x/s"]) == (0, b"fine\n")


ODD_VALUES = [
    "",
    "two\nlines",
    "'\"`$(id)${HOME}\\",
    "a=b",
    "/../;|&",
    "\t ",
    "ünïcødé 🙂",
    os.fsdecode(b"\xff\xfe\x80"),
]


def test_values_reach_the_child_byte_for_byte() -> None:
    environment = {f"v{number}": value for number, value in enumerate(ODD_VALUES)}
    code, output = run(["/usr/bin/env", "-0"], environment)
    assert code == 0
    assert dict(item.split(b"=", 1) for item in output.split(b"\0")[:-1]) == {
        name.encode(): os.fsencode(value) for name, value in environment.items()
    }


@given(st.binary().filter(lambda value: b"\0" not in value))
def test_any_bytes_without_nul_can_be_a_value_and_an_argument(value: bytes) -> None:
    script = 'printf %s "$value"; printf "\\0%s" "$1"'
    argv = ["/bin/sh", "-c", script, "sh", os.fsdecode(value)]
    assert run(argv, {"value": os.fsdecode(value)}) == (0, value + b"\0" + value)


def test_a_child_leads_a_session_and_has_an_empty_input() -> None:
    script = "import os,sys; print(os.getpid() == os.getsid(0) == os.getpgrp(), sys.stdin.read() == '')"
    read_end, write_end = os.pipe()
    os.write(write_end, b"meant for us\n")
    os.close(write_end)
    saved = os.dup(0)
    os.dup2(read_end, 0)
    try:
        assert run([sys.executable, "-c", script]) == (0, b"True True\n")
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(read_end)


def test_a_child_that_asks_the_terminal_for_something_fails_instead_of_hanging() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os._exit(run(["/bin/sh", "-c", "read line </dev/tty || exit 9"])[0])
        finally:
            os._exit(1)
    assert exit_code_of(os.waitpid(pid, 0)[1]) != 0
    os.close(terminal)


def test_a_child_starts_with_default_signals_whatever_we_ignore() -> None:
    ignored = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ]
    before = [signal.signal(number, signal.SIG_IGN) for number in ignored]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ignored)
    try:
        code, output = run(["/bin/grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in zip(ignored, before, strict=True):
            signal.signal(number, handler)
    assert code == 0
    blocked, still_ignored = (int(line.split()[1], 16) for line in output.splitlines())
    assert blocked == 0
    # The C library ignores two signals of its own (32 and 33) in every child it starts this way.
    assert still_ignored & ~(0b11 << 31) == 0


def test_our_own_descriptors_are_not_inherited() -> None:
    fd = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 500)
    code, output = run(["/bin/ls", "/proc/self/fd"])
    os.close(fd)
    assert code == 0
    assert {b"0", b"1", b"2"} <= set(output.split())
    assert b"%d" % fd not in output.split()


CANNOT_RUN = {
    "not executable": ("#!/bin/sh\n", 0o644, r"not executable\. Make it so: chmod \+x"),
    "bad interpreter": ("#!/no/such/python3 -u\n", 0o755, r'interpreter "/no/such/python3" does not exist'),
    "windows lines": ("#!/bin/sh\r\necho\r\n", 0o755, r"has Windows line endings.*sed -i"),
    "interpreter is a folder": ("#!/usr/bin\n", 0o755, r'interpreter "/usr/bin" is not executable'),
    "foreign binary": ("\x7fELF\0\0\0garbage", 0o755, r"another kind of machine, or damaged"),
}


@pytest.mark.parametrize(("text", "mode", "message"), CANNOT_RUN.values(), ids=CANNOT_RUN)
def test_a_command_that_cannot_run_is_126_with_the_reason(
    folder: Path, text: str, mode: int, message: str
) -> None:
    path = make_script(folder / "it.sh", text, mode)
    with pytest.raises(CannotExecute, match=message) as caught:
        run([path])
    assert caught.value.exit_code == 126
    assert path in str(caught.value)


def test_a_folder_and_a_broken_link_cannot_be_run(folder: Path) -> None:
    with pytest.raises(CannotExecute, match="is a directory") as caught:
        run([str(folder)])
    assert caught.value.exit_code == 126
    (folder / "link").symlink_to("nowhere")
    with pytest.raises(CannotExecute, match='link to "nowhere"') as caught:
        run([find_command("./link", "", str(folder))])
    assert caught.value.exit_code == 126


def test_a_command_that_vanished_after_it_was_found_is_127(folder: Path) -> None:
    with pytest.raises(CannotExecute, match="not found") as caught:
        run(["./gone.sh"])
    assert caught.value.exit_code == 127
    make_script(folder / "file", "")
    with pytest.raises(CannotExecute, match="not found") as caught:
        run(["./file/gone.sh"])
    assert caught.value.exit_code == 127


def test_a_program_that_is_still_being_written_is_reported_as_such(folder: Path) -> None:
    path = folder / "true"
    path.write_bytes(Path("/bin/true").read_bytes())
    path.chmod(0o755)
    with path.open("r+b"), pytest.raises(CannotExecute, match="still writing it"):
        run([str(path)])


def test_too_large_an_environment_names_the_largest_item_but_not_its_value() -> None:
    with pytest.raises(CannotExecute, match=r"of which bobin_password has 4000000") as caught:
        run(["/bin/true"], {"small": "1", "bobin_password": "s" * 4_000_000})
    assert caught.value.exit_code == 126
    assert "sss" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"ok": "1", "bobin_password": "sec\0ret"}, "'bobin_password' cannot be passed"),
        ({"a=b": "1"}, "'a=b' cannot be the name"),
        ({"": "1"}, "'' cannot be the name"),
        ({"half": "\ud800"}, "'half' cannot be passed"),
    ],
)
def test_an_unusable_item_is_named_but_its_value_is_not_shown(
    environment: dict[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        run(["/bin/true"], environment)
    assert "sec" not in str(caught.value)


def test_an_argument_with_a_nul_is_refused() -> None:
    with pytest.raises(BadInput, match="Argument 1 contains a NUL"):
        run(["/bin/true", "a\0b"])


def test_exit_codes_are_those_of_a_shell() -> None:
    assert run(["/bin/sh", "-c", "exit 3"])[0] == 3
    assert run(["/bin/sh", "-c", "kill -9 $$"])[0] == 137
    assert run(["/bin/sh", "-c", "kill -TERM $$"])[0] == 143


def test_the_hash_of_a_script_follows_its_content(folder: Path) -> None:
    path = make_script(folder / "load.sh", "echo one\n")
    assert script_hash(path) == hashlib.sha256(b"echo one\n").hexdigest()
    assert script_hash(path) == hashlib.sha256(b"echo one\n").hexdigest()
    make_script(folder / "load.sh", "echo two!\n")
    assert script_hash(path) == hashlib.sha256(b"echo two!\n").hexdigest()
    assert script_hash(str(folder / "none")) is None
    (folder / "long.sh").write_bytes(b"# long\n" * 50_000)
    assert script_hash(str(folder / "long.sh")) == hashlib.sha256(b"# long\n" * 50_000).hexdigest()
    assert script_hash(str(folder)) is None


def test_closed_standard_streams_and_an_ignored_sigchld_are_restored() -> None:
    program = """
import os, signal
from dataflow.runjob.spawn import exit_code_of, restore_process_defaults, spawn
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
restore_process_defaults()
pipe = os.pipe()
assert min(pipe) > 2, pipe
pid = spawn(["/bin/sh", "-c", "echo hello; exit 4"], {}, pipe[1], pipe[1])
assert os.read(pipe[0], 100) == b"hello\\n"
os._exit(exit_code_of(os.waitpid(pid, 0)[1]))
"""
    shell = f'exec {sys.executable} -c "$program" 0<&- 1>&- 2>&-'
    environment = os.environ | {"program": program, "PYTHONPATH": str(SOURCE)}
    assert subprocess.run(["/bin/sh", "-c", shell], env=environment, check=False).returncode == 4
