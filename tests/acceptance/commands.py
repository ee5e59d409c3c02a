"""The `dataflow` command called in this process, which is fast enough for a hundred kinds of bad input."""

from __future__ import annotations

import contextlib
import json
import os
import pty
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dataflow.cli.main import main
from dataflow.store.opener import open_store
from tests.project import FOREIGN, Project

TABLES = (
    "dataset",
    "job",
    "job_input",
    "job_output",
    "job_environment",
    "calendar",
    "chunk",
    "work",
    "journal",
)


class Done(NamedTuple):
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


class Commands:
    """A shell in a project folder with its own store."""

    def __init__(
        self, path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.path = path
        self.url = url
        self.environment = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(path)
        monkeypatch.setenv("DATAFLOW_STORE", url)

    def __call__(self, *words: str, code: int | None = 0, stdin: str | bytes = b"") -> Done:
        """Run `dataflow …` and expect an exit code (None: any); a traceback is never expected."""
        given = self.path / ".stdin"
        given.write_bytes(stdin if isinstance(stdin, bytes) else stdin.encode())
        with given.open() as source, self.environment.context() as patch:
            patch.setattr("sys.stdin", source)
            found = main(words)
        given.unlink()
        done = Done(found, *self._capsys.readouterr())
        assert "Traceback" not in done.err
        assert code in (None, done.code), done
        return done

    def json(self, *words: str) -> Any:
        """The answer of a reading command."""
        return json.loads(self(*words, "--json").out)

    def say(self, line: str, **options: Any) -> Done:
        """Run a command as it is typed, without quotes."""
        return self(*line.split(), **options)

    def facts(self) -> dict[str, list[Any]]:
        """All rows of the store, to see that nothing changed."""
        store = open_store(self.url, "test@test")
        try:
            rows = {table: list(store.database.select(f"SELECT * FROM {table}")[1]) for table in TABLES}
        finally:
            store.close()
        return {table: sorted(map(repr, found)) for table, found in rows.items()}


def open_commands(
    path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """A shell in a new folder with an existing store, without the developer's settings."""
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    folder = path / "project"
    folder.mkdir(exist_ok=True)
    commands = Commands(folder, url, monkeypatch, capsys)
    commands("db", "upgrade")
    return commands


def on_terminal(
    project: Project, words: list[str], answers: list[tuple[str, str]], env: dict[str, str]
) -> tuple[int, str]:
    """Run a command on a terminal where each prompt gets its answer; return its exit code and screen."""
    master, slave = pty.openpty()
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    process = project.start(*words, env=env, start_new_session=True, **streams)
    os.close(slave)
    shown, seen = b"", 0
    waiting = [(prompt.encode(), answer.encode()) for prompt, answer in answers]
    # Reading the terminal of a process that has ended is an error, not an end of file.
    with contextlib.suppress(OSError):
        while data := os.read(master, 4096):
            shown += data
            # A password prompt throws away what was typed before it.
            if waiting and waiting[0][0] in shown[seen:]:
                seen = len(shown)
                os.write(master, waiting.pop(0)[1] + b"\n")
    os.close(master)
    return process.wait(timeout=300), shown.decode()
