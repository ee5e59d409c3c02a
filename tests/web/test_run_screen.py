"""A run: its log is followed, searched and quick at any size, and readable without JavaScript."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from tests.acceptance.flow import Flow, wait_until
from tests.web.browser import PHONE, Visitor, list_faults
from tests.web.shop import BAD

FILLED = "for i in $(seq 500); do echo line $i; done; "


def start_load(flow: Flow) -> None:
    """Start a run that writes a line each time one is put into the pipe."""
    # Open for both, so that neither end ever waits for the other or reads its end.
    reading = "mkfifo gate; exec 3<> gate; echo waiting; while read word <&3; do echo got $word; done"
    flow.script("load.sh", f"{FILLED} {reading}")
    flow.start("./load.sh")
    wait_until((flow.path / "gate").exists)


def get_run_id(flow: Flow, job: str) -> int:
    return flow.runs(job)[0].run_id


@pytest.mark.daily
def test_a_live_log_is_followed_until_one_scrolls_up(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    start_load(flow)
    page = sqlite_visitor.open(f"/runs/{get_run_id(flow, 'load')}")
    log = page.locator("#log")
    expect(log).to_contain_text("line 500")
    put(flow, "first")
    expect(log).to_contain_text("got first")
    is_at_end = "log => log.scrollTop + log.clientHeight >= log.scrollHeight - 8"
    assert log.evaluate(is_at_end), "it follows"
    log.evaluate("log => { log.scrollTop = 0; }")
    put(flow, "second")
    expect(log).to_contain_text("got second")
    assert log.evaluate("log => log.scrollTop") == 0, "it stays where one reads"
    log.evaluate("log => { log.scrollTop = log.scrollHeight; }")
    put(flow, "third")
    expect(log).to_contain_text("got third")
    page.wait_for_function(
        "(() => { const log = document.getElementById('log'); "
        "return log.scrollTop + log.clientHeight >= log.scrollHeight - 8; })()"
    )


def put(flow: Flow, word: str) -> None:
    (flow.path / "gate").write_text(f"{word}\n")


def test_a_log_of_a_hundred_megabytes_opens_quickly(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    run_id = get_run_id(flow, "sum")
    (path,) = flow.path.rglob(f"{run_id}.log")
    line = b"2026-08-20 04:12:07 one of very many lines of a log that nobody reads\n"
    with path.open("wb") as log:
        for _ in range(100):
            log.write(line * (1_000_000 // len(line)))
        log.write(b"the needle\n")
    began_at = time.monotonic()
    answer = sqlite_visitor.served.client.get(f"/runs/{run_id}")
    served_seconds = time.monotonic() - began_at
    assert len(answer.content) < 300_000
    page = sqlite_visitor.open(f"/runs/{run_id}")
    expect(page.locator("#log")).to_contain_text("the needle")
    assert served_seconds < 2, f"{served_seconds:.2f} s"
    page.get_by_role("link", name="Start").click()
    expect(page.locator("#log .line").first).to_have_attribute("id", "b0")
    page.get_by_role("link", name="Later").click()
    expect(page.locator("#log .line").first).not_to_have_attribute("id", "b0")


def test_the_log_has_lines_with_addresses_a_search_and_the_first_error(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    run_id = next(run.run_id for run in flow.runs("sum") if run.dataid == BAD)
    page = sqlite_visitor.open(f"/runs/{run_id}")
    page.locator("#log .line").first.click()
    assert page.url.endswith("?offset=0#b0")
    page.get_by_label("Lines with").fill("cannot read")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name=f"cannot read orders of {BAD}").click()
    expect(page.locator("#log .line:target")).to_contain_text("cannot read")
    page.get_by_role("link", name="First error").click()
    expect(page.get_by_role("status").filter(has_text="No line tells of an error")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert "cannot read" in download.value.path().read_text()


def test_a_run_is_read_without_javascript_and_on_a_phone(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    run_id = get_run_id(flow, "sum")
    page = sqlite_visitor.open(f"/runs/{run_id}", java_script_enabled=False, viewport=PHONE)
    expect(page.locator("#log")).to_contain_text("summing")
    expect(page.get_by_role("link", name="orders").first).to_be_visible()


def test_the_screens_have_no_serious_fault(sqlite_visitor: Visitor) -> None:
    flow = sqlite_visitor.served.flow
    run_id = get_run_id(flow, "sum")
    page = sqlite_visitor.open()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for path in (
            f"/runs/{run_id}",
            "/jobs/sum",
            "/lineage",
            "/lineage?dataset=totals&dataid=2026-08-01",
            "/journal",
            "/pipelines",
        ):
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 200, path
            assert list_faults(page) == [], f"{path} {scheme}"
