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
    DatabasePool,
    DatabaseServer,
    ExternalServer,
    PostgresServer,
    make_server_directory,
)
from tests.project import Project

TESTS = Path(__file__).parent
# The directory and process id of the one server of this test run, shared by all of its worker processes.
SHARED = pytest.StashKey[tuple[str, int]]()

ON_SPARK = "on_spark"
"""The file, in the shared folder, that lists the tests on the one shared Spark session."""
DAILY_FOLDERS = ("acceptance", "actions", "architecture", "docs", "runjob", "store", "unit")
DAILY_PIPELINES = ("fetch", "shape")
LONGEST = ("tests/pipelines/", "tests/docs/test_demo.py")

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not _is_daily(item):
            item.add_marker("full")
    # The longest first, or a worker would be left with them at the end.
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    on_spark = [item.nodeid for item in items if "shared_spark" in getattr(item, "fixturenames", ())]
    path = Path(config.stash[SHARED][0]) / ON_SPARK
    path.with_suffix(f".{os.getpid()}").write_text("\n".join(on_spark))
    path.with_suffix(f".{os.getpid()}").rename(path)  # all workers write the same


def _is_daily(item: pytest.Item) -> bool:
    """Whether `make test` runs it: everything quick, the commands on SQLite, one pipeline of each kind."""
    folder, *rest = item.path.relative_to(TESTS).parts
    if item.get_closest_marker("daily"):
        return True
    if folder == "pipelines":
        return rest[0] in DAILY_PIPELINES
    if folder == "acceptance" and _is_on_postgres(item):
        return False
    return folder in DAILY_FOLDERS and not item.get_closest_marker("full")


def _is_on_postgres(item: pytest.Item) -> bool:
    return "[postgres" in item.name or "postgres_server" in getattr(item, "fixturenames", ())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    on_spark: set[str] = set()

    class Files(LoadScopeScheduling):  # type: ignore[misc]
        """Gives each worker a file at a time; all tests on the shared Spark session count as one file."""

        def _split_scope(self, nodeid: str) -> str:
            if not on_spark:  # the workers have collected by now
                on_spark.update((Path(config.stash[SHARED][0]) / ON_SPARK).read_text().splitlines(), [""])
            return "spark" if nodeid in on_spark else nodeid.partition("::")[0]

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


@pytest.fixture(scope="session")
def database_pool(postgres_server: DatabaseServer) -> Iterator[DatabasePool]:
    """The databases of this process's tests."""
    pool = DatabasePool(postgres_server)
    yield pool
    pool.close()


@pytest.fixture
def postgres_url(postgres_server: DatabaseServer, database_pool: DatabasePool) -> Iterator[str]:
    """The URL of an empty PostgreSQL database that only this test uses."""
    dbname = database_pool.take()
    yield postgres_server.url(dbname)
    database_pool.give_back(dbname)


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
