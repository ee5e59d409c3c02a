"""Probes every executor with a task: its Python, its packages, and the databases and files it reaches.

The probe is sent by value and imports nothing of ours at first: it must run where DataFlow is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.model.record import record
from dataflow.pipelines.spark.session import count_slots

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from dataflow.pipelines.postgres.sealed import SealedConnection

PACKAGES = ("dataflow", "pyarrow", "pandas", "orjson", "pgpq", "psycopg")
"""The packages that tasks import."""
ROUNDS = 5
TASK_SECONDS = 0.5
"""Long enough that no executor does the work of another."""


@record
class Executor:
    """Findings for one executor; empty strings mean no problem."""

    host: str
    process: int
    python: str
    packages: dict[str, str]
    databases: dict[str, str]
    folders: dict[str, str]

    @property
    def name(self) -> str:
        """Name of the executor for messages."""
        return f"{self.host}, process {self.process}"


def probe_executors(
    session: SparkSession, databases: Sequence[SealedConnection], folders: Sequence[str], is_local: bool
) -> list[Executor]:
    """One record per executor, which tries to reach these; on a cluster until a round finds no new one."""
    work = _make_probe([(each.name, each.path, each.owner, each.key) for each in databases], folders)
    found: dict[tuple[str, int], Executor] = {}
    for _ in range(1 if is_local else ROUNDS):
        known = len(found)
        for executor in _look(session, work):
            found[(executor.host, executor.process)] = executor
        if len(found) == known:
            break
    return [found[key] for key in sorted(found)]


def _look(session: SparkSession, work: Any) -> list[Executor]:
    tasks = 2 * count_slots(session)
    rows = session.range(0, tasks, 1, tasks).mapInArrow(work, "found string").collect()
    return [Executor(**json.loads(row.found)) for row in rows]


def _make_probe(databases: Sequence[tuple[Any, ...]], folders: Sequence[str]) -> Any:
    # Nested functions are pickled by value, with these constants; they import what they need where they run.
    def importing(name: str) -> str:
        import importlib

        try:
            importlib.import_module(name)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def connecting(*sealed: Any) -> str:
        try:
            from dataflow.pipelines.postgres.sealed import SealedConnection
            from dataflow.pipelines.postgres.transactions import connect

            connect(SealedConnection(*sealed).opened()).close()
        except Exception as error:
            words = str(error).strip().splitlines()
            return f"{type(error).__name__}: {words[0] if words else ''}"
        return ""

    def looking(folder: str) -> str:
        import os

        return "" if os.access(folder, os.R_OK | os.W_OK) else "it does not exist or is not writable"

    def probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import os
        import platform
        import socket
        import time

        import pyarrow as pa

        for _ in batches:
            pass
        time.sleep(TASK_SECONDS)
        found = {
            "host": socket.gethostname(),
            # All Python workers of an executor have the same parent.
            "process": os.getppid(),
            "python": platform.python_version(),
            "packages": {name: importing(name) for name in PACKAGES},
            "databases": {sealed[0]: connecting(*sealed) for sealed in databases},
            "folders": {folder: looking(folder) for folder in folders},
        }
        yield pa.record_batch([pa.array([json.dumps(found)])], names=["found"])

    return probe
