"""Pipelines that cannot be loaded at first: the worker goes on and loads them later. No Spark is needed."""

from __future__ import annotations

import os
import signal
import sys

from dataflow.pipelines.declare.catalog import Catalog
from tests.acceptance.flow import Flow, wait_until
from tests.postgres import PostgresServer, create_database
from tests.project import Project
from tests.service.crew import ONE, RECORDS_JOB, Crew
from tests.service.test_pipelines import python_processes

JOB = """
import dataflow
{before}
@dataflow.job(inputs=["raw"], outputs=["{name}_out"])
def {name}(run):
    pass
"""
STARTS = """
import os
from dataflow.config.settings import load_config
from dataflow.runjob.guard import Guard
from dataflow.runjob.lock import ClaimantLock
from dataflow.runjob.output import Terminal
from dataflow.service.pipeline_child import PipelineChild
from dataflow.service.report import WorkerReport
from dataflow.service.request import WorkerRequest

config = load_config(os.getcwd(), {}, "sqlite:///store.db")
lock = ClaimantLock.take(config.lock_dir, os.urandom(8).hex())
guard = Guard.start(lock.name, (lock.fileno(),))
request = WorkerRequest(config, {"LONG": "x" * 200_000}, os.getcwd(), None, "1", 1)
child = PipelineChild(request, guard, WorkerReport(Terminal(2), False))
print(child.load(), child.may_run("load"), child.list_fds())
child.run("load")
print(child.busy)
guard.stop()
lock.release()
"""


def write(crew: Crew, name: str, before: str = "") -> None:
    folder = crew.flow.path / "pipelines"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(JOB.format(name=name, before=before))


def list_jobs(crew: Crew) -> list[str]:
    return [name for (name,) in crew.flow.select("SELECT name FROM job ORDER BY name")]


def test_a_process_that_cannot_be_started_is_reported_and_stops_nothing_else(project: Project) -> None:
    done = project.run(sys.executable, "-c", STARTS)
    assert done.stdout.splitlines() == ["[] False []", "0"]
    assert done.stderr.count("The process of the pipelines cannot be started: Argument list too long.") == 1


def test_a_definition_that_changes_during_an_outage_is_loaded_after_it(project: Project) -> None:
    with PostgresServer.create(durable=True) as server:
        flow = Flow(project, server.url(create_database(server)))
        try:
            crew = Crew(flow)
            crew.declare(ONE)
            flow.script("load.sh", RECORDS_JOB)
            write(crew, "first")
            worker = crew.start_ready("--jobs", "load")
            assert list_jobs(crew) == ["first", "load"]
            server.stop()
            write(crew, "second")
            worker.wait_for("keeps the pipelines it has")
            server.start()
            wait_until(lambda: list_jobs(crew) == ["first", "load", "second"], 60)
            assert worker.end() == 0, worker.said
        finally:
            flow.end()


def test_a_process_that_is_killed_while_it_loads_is_reported_and_loads_again(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", RECORDS_JOB)
    write(crew, "first")
    worker = crew.start_ready("--jobs", "load")
    slow, loading = crew.flow.path / "slow", crew.flow.path / "loading"
    slow.touch()
    waits = f'import os, time\nopen("{loading}", "w")\nwhile os.path.exists("{slow}"): time.sleep(0.05)\n'
    write(crew, "second", waits)
    wait_until(loading.exists)
    slow.unlink()
    (process,) = python_processes(worker.pid)
    os.kill(process, signal.SIGSTOP)
    os.kill(process, signal.SIGKILL)
    worker.wait_for("The process of the pipelines has died")
    wait_until(lambda: list_jobs(crew) == ["first", "load", "second"], 60)
    assert worker.end() == 0, worker.said


def test_the_catalog_names_every_broken_file(project: Project) -> None:
    folder = project.path / "pipelines"
    folder.mkdir()
    view = (
        "from dataflow.pipelines.declare.bases import ViewPipeline\n"
        'class {0}(ViewPipeline):\n    view_name = "{0}"\n    dataset_pipeline = "{1}"\n'
    )
    (folder / "a.py").write_text(view.format("A", "B"))
    (folder / "b.py").write_text(view.format("B", "A"))
    (folder / "c.py").write_text("class C(:\n")
    (folder / "d.py").write_text(JOB.format(name="good", before=""))
    catalog = Catalog(str(project.path), {})
    assert catalog.broken_files == {f"pipelines/{letter}.py" for letter in "abc"}
    assert [one.file for one in catalog.definitions.values()] == ["pipelines/d.py"]
