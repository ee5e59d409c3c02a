"""A project with a store in which the real commands run, and queries on that store.

Set-up goes through the Python floors, to save processes; what a test is about goes through the commands.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dataflow.actions.apply import apply_changes
from dataflow.actions.make_ready import Publication, make_ready
from dataflow.config.declarations import read_declarations
from dataflow.model.records import RunRow
from dataflow.runjob.processes import GUARD_NAMES
from dataflow.store.opener import open_store
from dataflow.store.store import Store
from tests.project import Project

ONE_JOB = """
[dataset.bobin]
[dataset.bobout]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
"""

RECORDS = 'echo "$dataid" >> ran'


class Flow:
    """One project folder and one store, empty until a test declares something."""

    def __init__(self, project: Project, url: str) -> None:
        self.project = project
        self.url = url
        self.path = project.path
        self.env = {"DATAFLOW_STORE": url, "DATAFLOW_LOCK_DIR": str(project.path.parent / "locks")}
        self.started: list[subprocess.Popen[str]] = []
        if url.startswith("postgresql"):
            with self.store() as store:
                store.database.upgrade()

    @property
    def is_postgres(self) -> bool:
        return self.url.startswith("postgresql")

    # commands

    def dataflow(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `dataflow …`; a non-zero exit fails the test unless `check=False`."""
        return self.project.run("dataflow", *words, **self._with_store(options))

    def runjob(self, *words: str, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `RunJob …` to its end and expect an exit code (None: any)."""
        done = self.project.run("RunJob", *words, check=False, **self._with_store(options))
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start `RunJob …` in its own session; what still runs at the end of the test is killed."""
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        process = self.project.start("RunJob", *words, start_new_session=True, **self._with_store(options))
        self.started.append(process)
        return process

    def elsewhere(self, *words: str) -> subprocess.Popen[str]:
        """Start `RunJob …` under another host's name, so that it cannot use what only this machine knows."""
        rename = 'hostname elsewhere && exec "$@"'
        command = ["unshare", "--uts", "/bin/sh", "-c", rename, "sh", *self.project.command("RunJob", *words)]
        if os.geteuid() != 0:
            pytest.skip("only root can take another host's name")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.project.start(*command, env=self.env, start_new_session=True, **pipes)
        self.started.append(process)
        return process

    def repeat_until_done(
        self, *words: str, job: str = "loadbob", limit_seconds: float = 30, **options: Any
    ) -> None:
        """Run the same `RunJob …` again and again, as cron does, until all of the job's work is DONE."""
        until = time.monotonic() + limit_seconds
        while set(self.states(job).values()) != {"DONE"}:
            assert time.monotonic() < until, (self.states(job), self.runs(job)[-3:])
            self.runjob(*words, **options)

    def json(self, *words: str) -> Any:
        """The answer of a reading command."""
        return self.project.json("dataflow", *words, env=self.env)

    def script(self, name: str, body: str = RECORDS, interpreter: str = "/bin/sh") -> Path:
        """Write an executable script into the project."""
        return self.project.script(name, body, interpreter)

    # set-up

    def declare(self, text: str = ONE_JOB, *, keep: bool = False) -> None:
        """Register what a TOML text declares; `keep` leaves it in the project as its dataflow.toml."""
        path = self.path / "dataflow.toml"
        path.write_text(text)
        with self.store() as store:
            apply_changes(store, read_declarations([str(path)]))
        if not keep:
            path.unlink()

    def ready(self, dataset: str, *dataids: str, again: bool = False) -> None:
        """Mark chunks as ready."""
        with self.store() as store:
            make_ready(store, dataset, dataids, Publication(again))

    # looking

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        store = open_store(self.url, "test@test")
        try:
            yield store
        finally:
            store.close()

    def select(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of one statement."""
        with self.store() as store:
            return list(store.database.select(sql)[1])

    def states(self, job: str = "loadbob") -> dict[str, str]:
        """The state of each work of a job, in order."""
        rows = self.select(
            "SELECT w.dataid, w.state FROM work w JOIN job j ON j.job_id = w.job_id "
            f"WHERE j.name = '{job}' ORDER BY w.sort_key"
        )
        return dict(rows)

    def runs(self, job: str = "") -> list[RunRow]:
        """Runs, oldest first."""
        with self.store() as store:
            return sorted(store.read.list_runs(most=100_000, job=job), key=lambda run: run.run_id)

    def outcomes(self, job: str = "") -> list[str]:
        """The outcomes of all runs, oldest first."""
        return [str(run.outcome) for run in self.runs(job)]

    def lines(self, name: str = "ran") -> list[str]:
        """The lines children wrote into a file of the project."""
        path = self.path / name
        return path.read_text(errors="surrogateescape").splitlines() if path.exists() else []

    def status(self, dataset: str) -> dict[str, str]:
        """The status of each chunk of a dataset, as people see it."""
        with self.store() as store:
            found = store.find_dataset(dataset)
            assert found is not None
            return {row.dataid: row.status for row in store.read.list_chunks(found[0])}

    def version(self, dataset: str, dataid: str) -> int:
        """The published version of a chunk."""
        with self.store() as store:
            found = store.find_dataset(dataset)
            assert found is not None
            return next((row.version for row in store.read.list_chunks(found[0]) if row.dataid == dataid), 0)

    def wait_for_file(self, name: str) -> str:
        """The text of a file, once a child has written it to its end of line."""
        path = self.path / name
        wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
        return path.read_text()

    def wait_for_pid(self, name: str) -> int:
        """The process id a child has written into a file."""
        return int(self.wait_for_file(name))

    def end(self) -> None:
        """Kill what the test left running, with everything it started."""
        for process in self.started:
            for pid in [*family(process.pid), process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()

    def _with_store(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"env": self.env | (options.get("env") or {})}


def wait_until(condition: Callable[[], object], limit_seconds: float = 120.0) -> None:
    """Wait for something another process does; fail if it never does it."""
    until = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < until, "It did not happen."
        time.sleep(0.01)


def finish(process: subprocess.Popen[str], timeout: float = 30) -> tuple[int, str, str]:
    """The exit code, standard output and error of a started command, at its end."""
    output, error = process.communicate(timeout=timeout)
    return process.returncode, output, error


def is_running(pid: int) -> bool:
    """Return True if the process exists and is not a zombie."""
    return state_of(pid) not in ("", "Z", "X")


def state_of(pid: int) -> str:
    """The kernel's letter for what a process does; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children_of(pid: int) -> list[int]:
    """The direct children of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(word) for word in text.split()]


def family(pid: int) -> list[int]:
    """All descendants of a process."""
    found = children_of(pid)
    return [*found, *(grandchild for child in found for grandchild in family(child))]


def find_guard(pid: int) -> int:
    """The guard of a RunJob."""
    return find_guards(pid)[0]


def find_guards(pid: int) -> list[int]:
    """The guard of a RunJob and its backup."""
    found: dict[str, int] = {}

    def look() -> bool:
        found.update({name_of(child): child for child in children_of(pid)})
        return all(name in found for name in GUARD_NAMES)

    wait_until(look)
    return [found[name] for name in GUARD_NAMES]


def name_of(pid: int) -> str:
    """The name of a process, as ps shows it."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes, in order."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_together(*pids: int) -> None:
    """Kill processes with SIGKILL so that none of them can react to the death of another."""
    signal_all(pids, signal.SIGSTOP)
    wait_until(lambda: all(state_of(pid) in ("T", "Z", "") for pid in pids))
    signal_all(pids, signal.SIGKILL)
