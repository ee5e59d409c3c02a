"""A project folder in which tests run the real commands, as a person at a shell would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src"
COMMANDS = {"RunJob": "dataflow.cli.runjob", "dataflow": "dataflow.cli.main"}
# What a developer's own shell may hold and a test must not see.
FOREIGN = ("DATAFLOW_", "PASSKEY", "PG", "XDG_")


class Project:
    """One folder, with a HOME beside it and no DataFlow settings but those a test gives."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path = path
        self.home = home

    def run(
        self,
        *argv: str,
        env: dict[str, str] | None = None,
        input: str | None = None,
        check: bool = True,
        timeout: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        """Run `dataflow …`, `RunJob …` or any other command to its end; `check` fails on a non-zero exit."""
        done = subprocess.run(
            self.command(*argv),
            cwd=self.path,
            env=self.environment(env),
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(
                f"{' '.join(argv)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}".rstrip()
            )
        return done

    def json(self, *argv: str, env: dict[str, str] | None = None) -> Any:
        """Run a reading command with `--json` and give what it answered."""
        return json.loads(self.run(*argv, "--json", env=env).stdout)

    def start(self, *argv: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        """Start a command and leave it running; `options` go to Popen."""
        return subprocess.Popen(
            self.command(*argv), cwd=self.path, env=self.environment(env), text=True, **options
        )

    def command(self, *argv: str) -> list[str]:
        """Give the argument vector: our two commands through this interpreter, others as they are."""
        name, *arguments = argv
        if name in COMMANDS:
            return [sys.executable, "-m", COMMANDS[name], *arguments]
        return [name, *arguments]

    def environment(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        """Give this process's environment without foreign settings, and with `extra`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return kept | {"HOME": str(self.home), "PYTHONPATH": str(SOURCE)} | (extra or {})

    def script(self, name: str, body: str, interpreter: str = "/bin/sh") -> Path:
        """Write an executable script into the project."""
        path = self.path / name
        path.write_text(f"#!{interpreter}\n{body.rstrip()}\n")
        path.chmod(0o755)
        return path
