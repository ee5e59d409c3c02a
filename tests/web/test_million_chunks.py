"""A dataset with a million chunks in all statuses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from benchmarks import scene
from dataflow.store import queries
from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.project import Project
from tests.web.browser import Visitor

CHUNKS = 1_000_000
MOST_BYTES = 300_000


@pytest.fixture
def visitor(browser: Browser, project: Project, sqlite_url: str) -> Iterator[Visitor]:
    queries.add_folder(os.path.dirname(scene.__file__))  # the statements that fill the store
    flow = Flow(project, sqlite_url)
    with flow.store() as store:
        scene.fill_mixed(store, scene.register(store), CHUNKS)
    with Served(flow) as served:
        found = Visitor(browser, served)
        yield found
        for context in browser.contexts:
            context.close()
    assert found.watch.faults == []


def test_a_million_chunks_are_a_small_page_and_three_clicks_from_each_of_them(visitor: Visitor) -> None:
    path = f"/datasets/{scene.TARGET}"
    for query in ("", "?status=FAILED"):
        assert len(visitor.served.client.get(path + query).content) < MOST_BYTES
    page = visitor.open(path)
    expect(page.get_by_role("list", name="Chunks by status")).to_contain_text("1,000,000 chunks")
    cells = page.locator("svg.grid a")
    clicks = 0
    while "/chunks/" not in page.url and clicks < 3:
        before = page.url
        cells.nth(cells.count() // 2).click()
        expect(page).not_to_have_url(before)
        assert len(page.content()) < MOST_BYTES
        clicks += 1
    expect(page).to_have_url(re.compile("/chunks/"))
