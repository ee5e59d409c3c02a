"""The `dataflow` command called in this process, which is quick enough for a hundred kinds of bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dataflow.cli.main import main
from dataflow.store.opening import open_store
from tests.project import FOREIGN

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
    """What a command left behind."""

    code: int
    out: str
    err: str


class Commands:
    """A shell in a project folder with a store of its own."""

    def __init__(
        self, path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.path = path
        self.url = url
        self.environment = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(path)
        monkeypatch.setenv("DATAFLOW_STORE", url)

    def __call__(self, *words: str, code: int = 0, stdin: str | bytes = b"") -> Done:
        """Run `dataflow …` and expect an exit code; a traceback is never expected."""
        given = self.path / ".stdin"
        given.write_bytes(stdin if isinstance(stdin, bytes) else stdin.encode())
        with given.open() as source, self.environment.context() as patch:
            patch.setattr("sys.stdin", source)
            found = main(words)
        given.unlink()
        done = Done(found, *self._capsys.readouterr())
        assert "Traceback" not in done.err
        assert done.code == code, done
        return done

    def json(self, *words: str) -> Any:
        """The answer of a reading command."""
        return json.loads(self(*words, "--json").out)

    def say(self, line: str, **options: Any) -> Done:
        """Run a command as it is typed, without quotes."""
        return self(*line.split(), **options)

    def facts(self) -> dict[str, list[Any]]:
        """Everything the store holds, to see that nothing moved."""
        store = open_store(self.url, "test@test")
        try:
            rows = {table: list(store.database.select(f"SELECT * FROM {table}")[1]) for table in TABLES}
        finally:
            store.close()
        return {table: sorted(map(repr, found)) for table, found in rows.items()}


def open_commands(
    path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """A shell in a new folder, without the settings of the developer's own, on a store that is there."""
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    folder = path / "project"
    folder.mkdir(exist_ok=True)
    commands = Commands(folder, url, monkeypatch, capsys)
    commands("db", "upgrade")
    return commands
