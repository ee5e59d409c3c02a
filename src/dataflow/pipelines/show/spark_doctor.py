"""Checks of `dataflow doctor --spark`: Spark, its Java, and each executor's Python, packages and access."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dataflow.actions.doctor import OK, PROBLEM, WARNING, Finding
from dataflow.config.settings import Config
from dataflow.errors import ConfigError, DataFlowError
from dataflow.model.record import replace
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.spark.probe import Executor, probe_executors
from dataflow.pipelines.spark.session import (
    SUPPORTED,
    explained,
    find_versions,
    is_authenticated,
    start_session,
    stop_session,
)
from dataflow.pipelines.spark.session_setup import OLDEST_JAVA
from dataflow.private_files import STATE_FOLDER, make_private_folder

if TYPE_CHECKING:
    from dataflow.pipelines.postgres.sealed import SealedConnection

AGAIN = "dataflow doctor --spark"
OPEN = "does not authenticate: anyone who can reach its ports can read the rows it processes"
AUTHENTICATE = "set spark.authenticate and spark.authenticate.secret on the cluster and in [spark.options]"
INSTALL = (
    "pip install '.[spark]' in the DataFlow checkout  # on every machine of the cluster, in its tasks' Python"
)


def examine_spark(
    config: Config, settings: PipelineSettings, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Starts Spark as pipelines do and checks each executor; every failure is a finding."""
    log_path = os.path.join(config.log_dir, f"spark-{os.getpid()}.log")
    try:
        settings.spark.refuse_unshared()
    except ConfigError as error:
        yield Finding("spark files", PROBLEM, str(error), AGAIN)
    # In staging: an executor on a machine that does not share it cannot see the folder.
    staging = os.path.join(config.project_dir, STATE_FOLDER, "staging")
    make_private_folder(staging)
    probe = TemporaryDirectory(prefix="probe-", dir=staging, ignore_cleanup_errors=True)
    try:
        with explained(log_path), probe as folder:
            sealed, wrong = _list_databases(config, settings, environ, folder)
            yield from wrong
            databases = () if settings.spark.copy_on_driver else sealed
            is_shared = settings.spark.shared_files and not settings.spark.is_local
            folders = (folder,) if is_shared else ()
            # Unshared files are reported above; the executors can still be checked.
            session = start_session(replace(settings.spark, shared_files=True), log_path)
            try:
                spark, java = find_versions(session)
                is_closed = is_authenticated(session)
                executors = probe_executors(session, databases, folders, settings.spark.is_local)
            finally:
                stop_session(session)
    except DataFlowError as error:
        yield Finding("spark", PROBLEM, str(error), AGAIN)
        return
    yield _judge_spark(spark, java, settings.spark.place)
    if not is_closed:
        yield Finding("spark ports", WARNING, f"Spark at {settings.spark.place} {OPEN}", AUTHENTICATE)
    names = "; ".join(one.name for one in executors)
    yield Finding("spark executors", OK, f"{len(executors)} checked: {names}")
    yield from _judge_python(executors)
    yield from _judge_packages(executors)
    for database in databases:
        yield from _judge_database(database.name, executors)
    for shared in folders:
        yield from _judge_folder(shared, executors)


def _judge_spark(spark: str, java: str, place: str) -> Finding:
    text = (
        f"Spark {spark} on Java {java} at {place}; supported: Spark {SUPPORTED}, Java {OLDEST_JAVA} or newer"
    )
    if spark.startswith(f"{SUPPORTED}."):
        return Finding("spark", OK, text)
    return Finding("spark", WARNING, text, f"pip install 'pyspark=={SUPPORTED}.*'")


def _judge(subject: str, problems: list[str], advice: str, praise: str) -> list[Finding]:
    """A finding for each problem; one that all is well if there is none."""
    return [Finding(subject, PROBLEM, text, advice) for text in problems] or [Finding(subject, OK, praise)]


def _judge_python(executors: list[Executor]) -> list[Finding]:
    here, ours = platform.python_version(), platform.python_version_tuple()[:2]
    problems = [
        f"{one.name}: Python {one.python}, but {here} here; both must be the same"
        for one in executors
        if tuple(one.python.split("."))[:2] != ours
    ]
    advice = f"export PYSPARK_PYTHON=python{'.'.join(ours)}"
    return _judge("spark python", problems, advice, f"Python {here} on every executor, as here")


def _judge_packages(executors: list[Executor]) -> list[Finding]:
    missing = {one.name: list(filter(None, one.packages.values())) for one in executors}
    problems = [f"{name}: {'; '.join(wrong)}" for name, wrong in missing.items() if wrong]
    names = ", ".join(executors[0].packages) if executors else ""
    return _judge("spark packages", problems, INSTALL, f"every executor imports {names}")


def _judge_database(name: str, executors: list[Executor]) -> list[Finding]:
    wrong = [f"{one.name}: {one.databases[name]}" for one in executors if one.databases[name]]
    problems = [f"connection {name} is not reachable from {'; '.join(wrong)}"] if wrong else []
    advice = "add to dataflow.toml: [spark] copy_on_driver = true"
    return _judge("spark connections", problems, advice, f"every executor reaches connection {name}")


def _judge_folder(folder: str, executors: list[Executor]) -> list[Finding]:
    place = os.path.dirname(folder)
    wrong = [f"{one.name}: {one.folders[folder]}" for one in executors if one.folders[folder]]
    problems = [f"{place} is declared shared, but not seen by {'; '.join(wrong)}"] if wrong else []
    return _judge("spark files", problems, f"mount it there, then: {AGAIN}", f"every executor sees {place}")


def _list_databases(
    config: Config, settings: PipelineSettings, environ: Mapping[str, str], folder: str
) -> tuple[tuple[SealedConnection, ...], list[Finding]]:
    """The databases of dataflow.toml and of the pipelines, in the form tasks receive."""
    from dataflow.pipelines.postgres.sealed import seal

    catalog = Catalog(config.project_dir, environ)
    targets = {definition.target for definition in catalog.definitions.values() if definition.target}
    found, wrong = [], []
    for name in sorted({*settings.list_connections(), *targets}):
        try:
            connection = settings.get_connection(name)
        except DataFlowError as error:
            wrong.append(Finding("spark connections", PROBLEM, str(error), AGAIN))
            continue
        if not connection.is_lake:
            found.append(seal(connection, folder))
    return tuple(found), wrong
