"""An API's rows through a pipeline into PostgreSQL, against a loop by hand, dlt and Spark's own writer."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.measurement import Measurement
from benchmarks.memory import MemoryWatch, Sample
from benchmarks.page_server import COLUMNS, PAGE_ROWS
from benchmarks.place import NO_POSTGRES, Place
from benchmarks.server import PrivateServer, find_wheel
from dataflow.errors import ConfigError, DataFlowError

NEEDED = ("pyspark", "pyarrow", "pandas", "httpcore", "msgspec", "orjson", "pgpq", "psycopg", "httpx")
JDBC_JAR = "/usr/share/java/postgresql.jar"
HEAP_MB = 1024
"""What Spark's Java may have, unless a project says otherwise."""
MOST_MB = "< 400 MB"
DLT_ROWS = 200_000
FRAME_ROWS = 1_000_000
DATAID = "2026-11-01"
RUNS = ("Cold", "Warm")
PIPELINE = """
class {name}DatasetPipeline:
    table_name = "orders_{name}"
    source_url = "{api}"
    target_db = "bench"
    field_mapping = {mapping!r}
"""


def measure(place: Place) -> Iterator[Measurement]:
    """The loop before and after the pipeline, so that a machine that gets busier favours neither."""
    if reason := _find_missing(place):
        place.say(f"bench: skipped ingest: {reason}")
        return
    with ExitStack() as stack:
        server = PrivateServer(with_port=True)
        stack.callback(server.close)
        scene = Scene(place, server.port_url)
        yield from _compare_ingest(scene)
        yield from _compare_frame(scene)


class Scene:
    """A database, and processes that fill it."""

    def __init__(self, place: Place, target: str) -> None:
        self.place = place
        self.pages = -(-place.rows // PAGE_ROWS)
        self.rows = self.pages * PAGE_ROWS
        self.env = place.environment() | {"TARGET": target, "DATAFLOW_CONN_BENCH": target}
        self.env |= {"RUNTIME__DLTHUB_TELEMETRY": "false"}

    def start(self, module: str, *arguments: str) -> subprocess.Popen[str]:
        """Starts one of the bench's modules as a process."""
        return subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.{module}", *arguments],
            env=self.env,
            cwd=self.place.folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def call(self, module: str, *arguments: str) -> str:
        """The last line that one of the bench's modules prints."""
        process = self.start(module, *arguments)
        said, errors = process.communicate()
        if process.returncode:
            raise DataFlowError(f"bench: {module} {' '.join(arguments)} failed: {errors[-1000:]}")
        return said.strip().splitlines()[-1]

    @contextmanager
    def api(self, pages: int) -> Iterator[str]:
        """The URL of the first page of an API with that many pages."""
        process = self.start("page_server", str(pages))
        assert process.stdin is not None and process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/0"
        finally:
            process.communicate()


def _compare_ingest(scene: Scene) -> Iterator[Measurement]:
    with scene.api(scene.pages) as api:
        before = float(scene.call("ingest_peers", "loop", api, "loop_before"))
        (cold, warm), samples = _run_pipelines(scene, api)
        dlt_rate = _run_dlt(scene)
        loop = (before + float(scene.call("ingest_peers", "loop", api, "loop_after"))) / 2
    name = f"ingest of {scene.rows:,} rows from an API into PostgreSQL"
    cold_rate, warm_rate, loop_rate = (scene.rows / seconds for seconds in (cold, warm, loop))
    peer = "a loop by hand: httpx, json, COPY"
    yield Measurement(f"{name}, warm", warm_rate, "rows/s", peer, loop_rate, ">= 1.8")
    yield Measurement(f"{name}, with the start of Spark", cold_rate, "rows/s", peer, loop_rate, "> 0")
    yield from _judge_memory(name, samples)
    if dlt_rate:
        peer = "dlt, replace by staging-optimized"
        yield Measurement(f"{name}, warm", warm_rate, "rows/s", peer, dlt_rate, ">= 4")


def _run_dlt(scene: Scene) -> float:
    """The rows per second of dlt on a part of the rows; 0 where it is not installed."""
    if importlib.util.find_spec("dlt") is None:
        scene.place.say("bench: skipped the comparison with dlt: pip install 'dlt[postgres]'")
        return 0.0
    pages = max(1, min(scene.rows, DLT_ROWS) // PAGE_ROWS)
    with scene.api(pages) as api:
        return pages * PAGE_ROWS / float(scene.call("ingest_peers", "dlt", api, "orders"))


def _run_pipelines(scene: Scene, api: str) -> tuple[tuple[float, float], list[Sample]]:
    """The seconds of a cold and a warm run of the same load, and the memory during the warm one."""
    project = os.path.join(scene.place.folder, "project")
    os.makedirs(os.path.join(project, "pipelines"))
    open(os.path.join(project, "dataflow.toml"), "w", encoding="ascii").close()
    mapping = [(name, name, kind) for name, kind in COLUMNS.items()]
    with open(os.path.join(project, "pipelines", "orders.py"), "w", encoding="ascii") as file:
        file.writelines(PIPELINE.format(name=name, api=api, mapping=mapping) for name in RUNS)
    process = scene.start("ingest_worker", project, DATAID, *(f"{name}DatasetPipeline" for name in RUNS))
    with MemoryWatch(process.pid) as watch:
        said, errors = process.communicate()
    if process.returncode:
        raise DataFlowError(f"bench: the pipeline failed: {errors[-1000:]}")
    cold, warm = (json.loads(line) for line in said.splitlines())
    return (cold[1] - cold[0], warm[1] - warm[0]), watch.between(*warm)


def _judge_memory(name: str, samples: list[Sample]) -> Iterator[Measurement]:
    early = samples[: max(1, len(samples) // 4)]
    peer = "in its first quarter"
    for who, most in (("the driver", "own"), ("a task's Python", "tasks")):
        found, first = (max(getattr(one, most) for one in some) for some in (samples, early))
        yield Measurement(f"{name}: memory of {who}", found, "MB", peer, first, MOST_MB)
    java = max(sample.java for sample in samples)
    yield Measurement(f"{name}: memory of Java", java, "MB", "its heap", HEAP_MB, "<= 1")


def _compare_frame(scene: Scene) -> Iterator[Measurement]:
    rows = min(scene.rows, FRAME_ROWS)
    jar = JDBC_JAR if os.path.exists(JDBC_JAR) else ""
    if not jar:
        scene.place.say(
            "bench: skipped the comparison with Spark's JDBC writer: apt-get install libpostgresql-jdbc-java"
        )
        return
    ours, theirs = json.loads(scene.call("frame_worker", str(rows), scene.place.folder, jar))
    name = f"staging of a Spark frame of {rows:,} rows in PostgreSQL"
    peer = "Spark's JDBC writer with its defaults"
    yield Measurement(name, rows / ours, "rows/s", peer, rows / theirs, ">= 2")


def _find_missing(place: Place) -> str:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return f"{missing[0]} is not installed: pip install 'dataflow-runjob[spark]' httpx"
    if find_wheel() is None:
        return NO_POSTGRES
    # Not before its packages are known to be installed.
    from dataflow.pipelines.spark.session_setup import check_java

    try:
        check_java(place.environment())
    except ConfigError as error:
        return str(error)
    return ""
