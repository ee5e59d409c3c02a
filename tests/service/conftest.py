"""A project on each kind of store, and workers on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.flow import Flow
from tests.project import Project
from tests.service.crew import Crew


@pytest.fixture
def crew(project: Project, store_url: str) -> Iterator[Crew]:
    """A project with an empty store; the test runs once on each kind."""
    flow = Flow(project, store_url)
    yield Crew(flow)
    flow.end()


@pytest.fixture
def sqlite_crew(project: Project, sqlite_url: str) -> Iterator[Crew]:
    """A project with the embedded store."""
    flow = Flow(project, sqlite_url)
    yield Crew(flow)
    flow.end()
