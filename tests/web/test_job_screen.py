"""A job, lineage, pipelines and the journal, as an operator reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.project import Project
from tests.web.browser import PHONE, Visitor, list_faults
from tests.web.shop import BAD


def test_a_group_of_failures_is_resubmitted(sqlite_visitor: Visitor) -> None:
    page = sqlite_visitor.open("/jobs/sum")
    failures = page.get_by_role("region", name="Failures")
    expect(failures).to_contain_text("exited with 3")
    failures.get_by_role("link", name="resubmit these").click()
    expect(page.get_by_text("1 dataid")).to_be_visible()
    page.get_by_label("Reason").fill("fixed")
    page.get_by_role("button", name="Resubmit").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_be_visible()
    page.goto("/jobs/sum")
    expect(page.get_by_role("region", name="Failures")).to_have_count(0)


def test_the_streams_of_a_job_are_changed(sqlite_visitor: Visitor) -> None:
    page = sqlite_visitor.open("/jobs/sum")
    page.get_by_label("Streams").fill("3")
    page.get_by_role("button", name="Change").click()
    page.get_by_label("Reason").fill("more")
    page.get_by_role("button", name="Scale").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_be_visible()
    page.goto("/jobs/sum")
    expect(page.locator("#job")).to_contain_text("limit 3")


def test_durations_are_plotted_and_in_a_table(sqlite_visitor: Visitor) -> None:
    page = sqlite_visitor.open("/jobs/sum", java_script_enabled=False, viewport=PHONE)
    bars = page.locator("svg.bars a")
    expect(bars).to_have_count(6)  # of seven days, one has failed
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("cell", name="2026-08-07").first).to_be_visible()


def test_the_graph_shows_live_state_and_leads_to_jobs(sqlite_visitor: Visitor) -> None:
    page = sqlite_visitor.open("/lineage")
    box = page.locator("svg.graph").get_by_role("link", name="job sum: 1 failed")
    expect(box).to_be_visible()
    sqlite_visitor.served.post("/jobs/sum/hold", why="wait")
    expect(page.locator("svg.graph").get_by_role("link", name="job sum: on hold")).to_be_visible()
    page.locator("svg.graph").get_by_role("link", name="job sum").click()
    expect(page.get_by_role("heading", name="sum", exact=True)).to_be_visible()


def test_the_graph_of_a_chunk_has_versions(sqlite_visitor: Visitor) -> None:
    page = sqlite_visitor.open("/lineage?dataset=totals&dataid=2026-08-01")
    graph = page.locator("svg.graph")
    expect(graph.get_by_role("link", name="chunk orders/2026-08-01: version 1")).to_be_visible()
    expect(graph.get_by_role("link", name="chunk report/2026-08-01: version 1")).to_be_visible()
    sqlite_visitor.served.post("/datasets/orders/ready", dataids=["2026-08-01"], again=True, why="late rows")
    expect(graph.get_by_role("link", name="chunk orders/2026-08-01: version 1, now 2")).to_be_visible()


def test_the_journal_is_filtered_and_downloaded(sqlite_visitor: Visitor) -> None:
    page = sqlite_visitor.open("/journal?limit=2")
    page.get_by_role("link", name="Older").click()
    expect(page.locator("#journal tbody tr")).to_have_count(2)
    page.get_by_label("Dataid").fill(BAD)
    page.get_by_role("button", name="Show").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("journal_id,at,actor")
    assert all(BAD in line for line in lines[1:])
    assert len(lines) > 1


@pytest.fixture
def pipelines(browser: Browser, project: Project, sqlite_url: str) -> Iterator[Visitor]:
    """Somebody at the project that `dataflow init --pipelines` writes."""
    flow = Flow(project, sqlite_url)
    flow.dataflow("init", "--pipelines")
    flow.declare(keep=False)
    with Served(flow) as served:
        visitor = Visitor(browser, served)
        yield visitor
        for context in browser.contexts:
            context.close()
        assert visitor.watch.faults == []
    flow.end()


def test_a_pipeline_shows_its_definition_sql_plan_and_columns(pipelines: Visitor) -> None:
    page = pipelines.open("/pipelines")
    names = [one["pipeline"] for one in pipelines.served.get("/pipelines")["pipelines"]]
    for name in names:
        page.goto(f"/pipelines/{name}")
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        expect(page.get_by_text("pipelines/").first).to_be_visible()
        expect(page.get_by_role("heading", name="Plan")).to_be_visible()
        expect(page.get_by_role("heading", name="Columns")).to_be_visible()
        assert list_faults(page) == [], name
    view = next(
        one["pipeline"] for one in pipelines.served.get("/pipelines")["pipelines"] if one["kind"] == "view"
    )
    page.goto(f"/pipelines/{view}")
    expect(page.get_by_role("heading", name="SQL as written")).to_be_visible()
