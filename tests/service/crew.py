"""Real workers on one project, for the tests of `dataflow worker`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.acceptance.flow import Flow, wait_until

CHAIN = """
[dataset.raw]
[dataset.mid]
[dataset.fin]
[dataset.end]
[job.extract]
in = ["raw"]
out = ["mid"]
command = ["./step.sh", "extract"]
[job.load]
in = ["mid"]
out = ["fin"]
command = ["./step.sh"]
[job.report]
in = ["fin"]
out = ["end"]
command = "./step.sh"
"""
ONE = """
[dataset.raw]
[job.load]
in = ["raw"]
command = ["./load.sh"]
"""
RECORDS_JOB = 'echo "$jobid $dataid" >> ran'
SLEEPS = 'echo $$ > "pid.$dataid.part"; mv "pid.$dataid.part" "pid.$dataid"; exec sleep 60'


PATIENT = (sys.executable, str(Path(__file__).with_name("patient_worker.py")))


class Worker:
    """One started worker and what it has said."""

    def __init__(self, process: subprocess.Popen[str], path: Path) -> None:
        self.process = process
        self._path = path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def said(self) -> str:
        return self._path.read_text(errors="replace")

    def wait_for(self, text: str, limit_seconds: float = 60.0) -> None:
        """Wait until it has said something."""
        try:
            wait_until(lambda: text in self.said or self.process.poll() is not None, limit_seconds)
        finally:
            assert text in self.said, self.said

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def end(self, number: int = signal.SIGTERM, limit_seconds: float = 60.0) -> int:
        """Send a signal and return the exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.send(number)
        return self.process.wait(limit_seconds)


class Crew:
    """The workers of one test."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def declare(self, text: str = CHAIN) -> None:
        """Register what a TOML text declares and leave it in the project."""
        self.flow.declare(text, keep=True)

    def start(
        self, *words: str, command: str = "worker", program: tuple[str, ...] = ("dataflow",), **options: Any
    ) -> Worker:
        """Start a worker and leave it running until the end of the test."""
        path = self.flow.path.parent / f"said-{len(self.flow.started)}"
        env = self.flow.env | (options.pop("env", None) or {})
        with path.open("w") as said:
            process = self.flow.project.start(
                *program,
                command,
                *words,
                env=env,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                **options,
            )
        self.flow.started.append(process)
        return Worker(process, path)

    def start_ready(self, *words: str, **options: Any) -> Worker:
        """Start a worker and wait until the store knows it."""
        worker = self.start(*words, **options)
        wait_until(lambda: worker.pid in self.list_pids() or worker.process.poll() is not None)
        assert worker.process.poll() is None, worker.said
        return worker

    def drain(self, *words: str, code: int = 0) -> str:
        """Run a worker until nothing is left and return what it said."""
        done = self.flow.dataflow("worker", "--until-idle", *words, check=False)
        assert done.returncode == code, (done.returncode, done.stderr)
        return done.stderr

    def list_pids(self) -> list[int]:
        """The processes of the workers that the store knows."""
        return [pid for (pid,) in self.flow.select("SELECT pid FROM worker ORDER BY started_at")]
