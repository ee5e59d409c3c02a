"""A browser for each file of tests, a served project on each kind of store, and people who look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.project import Project
from tests.web.browser import Visitor, launch
from tests.web.shop import open_shop


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a file; it occupies the event loop of the thread until it is closed."""
    with launch() as found:
        yield found


@pytest.fixture
def flow(project: Project, store_url: str) -> Iterator[Flow]:
    """The shop, once on each kind of store."""
    yield from _make(project, store_url)


@pytest.fixture
def sqlite_flow(project: Project, sqlite_url: str) -> Iterator[Flow]:
    """The shop on the embedded store."""
    yield from _make(project, sqlite_url)


def _make(project: Project, url: str) -> Iterator[Flow]:
    flow = Flow(project, url)
    open_shop(flow)
    yield flow
    flow.end()


@pytest.fixture
def served(flow: Flow) -> Iterator[Served]:
    with Served(flow) as found:
        yield found


@pytest.fixture
def sqlite_served(sqlite_flow: Flow) -> Iterator[Served]:
    with Served(sqlite_flow) as found:
        yield found


@pytest.fixture
def visitor(browser: Browser, served: Served) -> Iterator[Visitor]:
    """Somebody at the shop; the test fails if a page writes errors or asks another host."""
    yield from _visit(browser, served)


@pytest.fixture
def sqlite_visitor(browser: Browser, sqlite_served: Served) -> Iterator[Visitor]:
    """The same at the shop on the embedded store."""
    yield from _visit(browser, sqlite_served)


def _visit(browser: Browser, served: Served) -> Iterator[Visitor]:
    visitor = Visitor(browser, served)
    yield visitor
    for context in browser.contexts:
        context.close()
    assert visitor.watch.faults == []


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """The first page, Now."""
    return visitor.open()
