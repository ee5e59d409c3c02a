"""The folder of the demo, the commands it runs there, and how it shows them and fails."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = {"RunJob": "dataflow.cli.runjob", "dataflow": "dataflow.cli.main"}
# Settings of this shell, such as another store, a passphrase or a database, must not reach the demo.
FOREIGN = ("DATAFLOW_", "PASSKEY", "AIRFLOW_CONN_", "HAWK_", "DATAHUB_", "INGEST_", "SPARK_", "PYSPARK_")
# For commands that need a shell: finds ours without installing them.
PRELUDE = """python() { "$DEMO_PYTHON" "$@"; }
dataflow() { "$DEMO_PYTHON" -m dataflow.cli.main "$@"; }
"""


class Demo:
    """The project folder and the commands that run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger.txt"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        path = os.pathsep.join([str(ROOT / "src"), *filter(None, [kept.get("PYTHONPATH")])])
        self.environment = kept | {"PYTHONPATH": path, "DEMO_PYTHON": sys.executable}
        self._step = 0

    def step(self, text: str) -> None:
        """Print the headline of the next step."""
        self._step += 1
        print(f"\n{self._step}. {text}", flush=True)

    def start(self, line: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command in the project folder."""
        argv = ["sh", "-c", PRELUDE + line] if "$(" in line else as_arguments(line)
        return subprocess.Popen(argv, cwd=self.folder, env=self.environment, text=True, **options)

    def run(self, line: str, exit_code: int = 0) -> str:
        """Show a command and run it; return its output. Fail if its exit code differs."""
        print(f"   $ {line}", flush=True)
        process = self.start(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = process.communicate()
        if process.returncode != exit_code:
            fail(f"{line} exited with {process.returncode}, not {exit_code}:\n{output}")
        return output

    def ask(self, line: str) -> Any:
        """Return the JSON that a command prints, without showing it."""
        output = subprocess.PIPE
        process = self.start(f"{line} --json", stdin=subprocess.DEVNULL, stdout=output)
        answer, _ = process.communicate()
        if process.returncode:
            fail(f"{line} --json exited with {process.returncode}")
        return json.loads(answer)

    def list_recorded(self) -> list[tuple[str, str, int]]:
        """List what the scripts recorded at their end: job, dataid and run id."""
        if not self.ledger.exists():
            return []
        lines = [line.split() for line in self.ledger.read_text().splitlines()]
        return [(job, dataid, int(run_id)) for job, dataid, run_id in lines]


def as_arguments(line: str) -> list[str]:
    """Split a command into arguments; Python and our commands run with this interpreter."""
    name, *arguments = shlex.split(line)
    if name in COMMANDS:
        return [sys.executable, "-m", COMMANDS[name], *arguments]
    return [sys.executable if name == "python" else name, *arguments]


def show(output: str, most: int = 3) -> None:
    """Print the end of a command's output."""
    lines = output.rstrip().splitlines()
    if len(lines) > most:
        print(f"   … {len(lines) - most} earlier lines")
    for line in lines[-most:]:
        print(f"   {line}".rstrip())


def expect(is_so: bool, message: str) -> None:
    """End the demo with a message if a condition does not hold."""
    if not is_so:
        fail(message)


def fail(message: str) -> NoReturn:
    """End the demo with exit code 1."""
    print(f"\nThe demo failed: {message}", file=sys.stderr)
    raise SystemExit(1)
