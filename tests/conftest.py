"""Fixtures every test may ask for: fresh stores of both kinds, a shared PostgreSQL, a project folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.postgres import (
    DatabaseServer,
    ExternalServer,
    PostgresServer,
    create_database,
    drop_database,
    make_server_directory,
)
from tests.project import Project

# The directory and process id of the one server of this test run, shared by all of its worker processes.
SHARED = pytest.StashKey[tuple[str, int]]()

ON_SPARK = ("tests/pipelines/test_", "tests/pipelines/sql/")
WITH_THEIR_OWN = ("tests/pipelines/test_clusters.py", "tests/pipelines/test_crashes.py")
LONGEST = (*ON_SPARK, "tests/docs/test_demo.py")

# Whatever Java the tests start is up in two thirds of the time without its second compiler.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

# On a busy machine a slow example is no failure.
settings.register_profile("dataflow", deadline=None)
settings.load_profile("dataflow")


def pytest_configure(config: pytest.Config) -> None:
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:
        config.stash[SHARED] = (str(make_server_directory()), os.getpid())
    else:
        config.stash[SHARED] = tuple(workerinput["shared_postgres"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["shared_postgres"] = node.config.stash[SHARED]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The longest first, or a worker would be left with them at the end.
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Files(LoadScopeScheduling):  # type: ignore[misc]
        """Gives each worker a file at a time; all that share the one Spark session are as one file."""

        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return "spark" if path.startswith(ON_SPARK) and path not in WITH_THEIR_OWN else path

    return Files(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    # Workers end before the process that started them, which alone takes the server away.
    if not hasattr(config, "workerinput") and SHARED in config.stash:
        PostgresServer(Path(config.stash[SHARED][0])).destroy()


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> DatabaseServer:
    """The run's shared PostgreSQL: DATAFLOW_TEST_POSTGRES, or one started when a test first asks."""
    if external := os.environ.get("DATAFLOW_TEST_POSTGRES"):
        return ExternalServer(external)
    directory, owner_pid = pytestconfig.stash[SHARED]
    server = PostgresServer(Path(directory), owner_pid=owner_pid)
    with (Path(directory) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not server.is_running():
            server.start()
    return server


@pytest.fixture
def postgres_url(postgres_server: DatabaseServer) -> Iterator[str]:
    """The URL of an empty PostgreSQL database that only this test uses."""
    dbname = create_database(postgres_server)
    yield postgres_server.url(dbname)
    drop_database(postgres_server, dbname)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'dataflow.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store; the test runs once on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project folder in which to run `dataflow` and `RunJob`."""
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    return Project(tmp_path / "project", tmp_path / "home")
