"""A project on each kind of store, for the tests that run the real commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.flow import Flow
from tests.project import Project


@pytest.fixture
def flow(project: Project, store_url: str) -> Iterator[Flow]:
    """A project with an empty store; the test runs once on each kind."""
    flow = Flow(project, store_url)
    yield flow
    flow.end()


@pytest.fixture
def sqlite_flow(project: Project, sqlite_url: str) -> Iterator[Flow]:
    """A project with the embedded store."""
    flow = Flow(project, sqlite_url)
    yield flow
    flow.end()


@pytest.fixture
def postgres_flow(project: Project, postgres_url: str) -> Iterator[Flow]:
    """A project with a PostgreSQL store."""
    flow = Flow(project, postgres_url)
    yield flow
    flow.end()
