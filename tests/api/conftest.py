"""A server over a project with one job, on each kind of store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.project import Project


@pytest.fixture
def flow(project: Project, store_url: str) -> Iterator[Flow]:
    """A project with a job and two ready chunks; the test runs once on each kind of store."""
    yield from make_flow(project, store_url)


@pytest.fixture
def sqlite_flow(project: Project, sqlite_url: str) -> Iterator[Flow]:
    """The same on the embedded store only."""
    yield from make_flow(project, sqlite_url)


def make_flow(project: Project, url: str) -> Iterator[Flow]:
    flow = Flow(project, url)
    flow.declare()
    flow.ready("bobin", "1.0", "2.0")
    yield flow
    flow.end()


@pytest.fixture
def served(flow: Flow) -> Iterator[Served]:
    """A server of that project."""
    with Served(flow) as found:
        yield found


@pytest.fixture
def sqlite_served(sqlite_flow: Flow) -> Iterator[Served]:
    """A server of the embedded store."""
    with Served(sqlite_flow) as found:
        yield found
