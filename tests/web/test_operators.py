"""Operators in trouble: bulk actions, races, odd names, what is removed and what goes away."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.postgres import PostgresServer
from tests.project import Project
from tests.web.browser import Visitor
from tests.web.shop import BAD, DAYS

OUTAGE_SECONDS = 10
SCRIPT = '"><script>window.hacked = true</script><img src=x onerror="window.hacked = true">'
# Every kind of character that a text dataid may have.
ODD = "A z0._=+:|@~%2F%-é日本"


def act(page: Page, word: str, reason: str) -> None:
    """Give a reason and press the button of a form."""
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=word, exact=True).click()


def actions_of(flow: Flow, action: str) -> list[str]:
    """The reasons of one kind of line in the journal."""
    with flow.store() as store:
        return [line.why for line in store.read.list_journal(100) if line.action == action]


def fail_all(flow: Flow) -> None:
    """Make every work of the job fail."""
    flow.dataflow("resubmit", "sum", "--from", DAYS[0], "--to", DAYS[-1])
    flow.script("sum.sh", "exit 3")
    flow.runjob("--drain", "./sum.sh", code=None)
    assert set(flow.states("sum").values()) == {"FAILED"}


def test_all_failures_are_resubmitted_after_a_preview(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    fail_all(flow)
    page = sqlite_visitor.open("/")
    page.get_by_role("region", name="Needs attention").get_by_role("link", name="resubmit").click()
    expect(page.get_by_text(f"7 dataids: {', '.join(DAYS)}")).to_be_visible()
    assert set(flow.states("sum").values()) == {"FAILED"}, "a preview changes nothing"
    act(page, "Resubmit", "the source is back")
    expect(page.get_by_text("7 changed.")).to_be_visible()
    assert set(flow.states("sum").values()) == {"CLAIMABLE"}


def test_an_invalidation_shows_what_was_made_from_it_first(visitor: Visitor) -> None:
    page = visitor.open("/datasets/orders?period=2026-08")
    page.locator("svg.grid").get_by_role("link", name="2026-08-02").click()
    page.get_by_role("link", name="Invalidate").click()
    rows = page.get_by_role("table").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="report")).to_contain_text("2026-08-02")
    assert visitor.served.flow.status("totals")["2026-08-02"] == "READY"
    act(page, "Invalidate", "wrong currency")
    expect(page.get_by_text("Done.")).to_be_visible()
    assert visitor.served.flow.status("totals")["2026-08-02"] != "READY"
    assert "wrong currency" in actions_of(visitor.served.flow, "invalidate")[0]


def test_a_form_sent_twice_is_done_once(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    page = sqlite_visitor.open(f"/act/jobs/sum/resubmit?dataids={BAD}")
    act(page, "Resubmit", "once")
    expect(page.get_by_text("1 changed.")).to_be_visible()
    page.reload()  # sends the form again
    expect(page.get_by_text("1 changed.")).to_be_visible()
    assert actions_of(flow, "resubmit").count("once") == 1


def test_the_second_of_two_operators_is_told_that_nothing_was_left_to_do(visitor: Visitor) -> None:
    flow = visitor.served.flow
    fail_all(flow)
    first, second = (visitor.open("/act/jobs/sum/resubmit?state=FAILED") for _ in range(2))
    act(first, "Resubmit", "first")
    expect(first.get_by_text("7 changed.")).to_be_visible()
    visitor.watch.expected = ("409",)
    act(second, "Resubmit", "second")
    expect(second.get_by_role("alert")).to_contain_text("0 are selected now, not 7; nothing was changed")
    expect(second.get_by_role("button", name="Resubmit", exact=True)).to_have_count(0)
    reasons = actions_of(flow, "resubmit")
    assert "first" in reasons and "second" not in reasons


def test_the_second_to_resubmit_a_chunk_is_refused_with_its_state(sqlite_visitor: Visitor) -> None:
    first, second = (sqlite_visitor.open(f"/act/jobs/sum/resubmit?dataids={BAD}") for _ in range(2))
    act(first, "Resubmit", "first")
    expect(first.get_by_text("1 changed.")).to_be_visible()
    sqlite_visitor.watch.expected = ("409",)
    act(second, "Resubmit", "second")
    expect(second.get_by_role("alert")).to_contain_text(f"{BAD} is CLAIMABLE. Nothing was changed.")
    assert "second" not in actions_of(sqlite_visitor.served.flow, "resubmit")


def test_odd_dataids_and_html_in_reasons_are_only_text(visitor: Visitor) -> None:
    flow = visitor.served.flow
    flow.ready("files", ODD)
    page = visitor.open("/datasets/files")
    page.locator("svg.grid").get_by_role("link", name=ODD).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"files/{ODD}")
    page.get_by_role("link", name="Withdraw").click()
    expect(page.get_by_text(f"1 dataid: {ODD}")).to_be_visible()
    act(page, "Withdraw", SCRIPT)
    expect(page.get_by_text("Done.")).to_be_visible()
    page.goto(f"/journal?dataid={quote(ODD)}")
    expect(page.get_by_text(SCRIPT).first).to_be_visible()
    page.goto(f"/search?q={quote(SCRIPT)}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Search: {SCRIPT}")
    page.goto(f"/why?job=load&dataid={quote(ODD)}")
    expect(page.get_by_role("heading", level=1)).to_contain_text(ODD)
    visitor.watch.expected = ("404",)
    page.goto(f"/datasets/{quote(SCRIPT, safe='')}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("script")
    assert page.evaluate("window.hacked") is None


def test_a_dataset_that_is_removed_while_it_is_open_is_said_to_be_unknown(visitor: Visitor) -> None:
    flow = visitor.served.flow
    page = visitor.open("/datasets/shards")
    visitor.watch.expected = ("404",)
    flow.dataflow("withdraw", "shards", "--from", "1", "--to", "1000")
    flow.dataflow("dataset", "remove", "shards")
    expect(page.get_by_role("heading", level=1)).to_contain_text("shards", timeout=20_000)
    expect(page.get_by_text("unknown-name")).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="Now").click()
    expect(page.get_by_role("heading", name="Now")).to_be_visible()


def test_a_live_log_grows_and_stays_where_one_reads(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    flow.script("load.sh", 'i=0; while [ ! -e stop ]; do i=$((i+1)); echo "line $i"; sleep 0.05; done')
    process = flow.start("./load.sh")
    page = sqlite_visitor.open("/runs?job=load")
    page.get_by_role("table").get_by_role("link").first.click()
    log = page.locator("#log")
    expect(log).to_contain_text("line 40", timeout=60_000)
    page.wait_for_function("() => { const l = document.getElementById('log'); return l.scrollTop > 0 }")
    log.evaluate("log => { log.scrollTop = 0; log.dispatchEvent(new Event('scroll')); }")
    grown = log.evaluate("log => log.textContent.length")
    page.wait_for_function("n => document.getElementById('log').textContent.length > n + 100", arg=grown)
    assert log.evaluate("log => log.scrollTop") == 0
    (flow.path / "stop").touch()
    process.wait(60)
    expect(page.locator("#run")).to_contain_text("DONE", timeout=20_000)


@pytest.fixture
def stoppable(browser: Browser, project: Project) -> Iterator[tuple[PostgresServer, Visitor]]:
    """A PostgreSQL of its own, and somebody at a project on it."""
    with PostgresServer.create() as server:
        flow = Flow(project, server.url("postgres"))
        flow.declare()
        with Served(flow) as served:
            yield server, Visitor(browser, served)
            for context in browser.contexts:
                context.close()
        flow.end()


def test_a_store_that_goes_away_is_announced_and_the_page_comes_back(
    stoppable: tuple[PostgresServer, Visitor],
) -> None:
    server, visitor = stoppable
    page = visitor.open("/datasets/bobin")
    page.evaluate("window.sameDocument = true")
    lost = page.get_by_text("does not answer")
    server.stop()
    expect(lost).to_be_visible(timeout=30_000)
    expect(page.get_by_role("heading", name="bobin")).to_be_visible()
    other = visitor.open("/jobs")
    expect(other.get_by_text("store-unreachable")).to_be_visible()
    time.sleep(OUTAGE_SECONDS)
    server.start()
    expect(lost).to_be_hidden(timeout=60_000)
    visitor.served.flow.ready("bobin", "7.0")
    expect(page.locator("svg.grid").get_by_role("link", name=re.compile("7.0"))).to_be_visible(timeout=30_000)
    assert page.evaluate("window.sameDocument"), "the page was not reloaded"
