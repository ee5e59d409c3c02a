"""From a failure to its repair, as an operator goes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser import Visitor
from tests.web.shop import BAD, fix_and_run


@pytest.mark.daily
def test_a_failed_chunk_is_found_explained_resubmitted_and_becomes_ready_without_a_reload(
    visitor: Visitor, page: Page
) -> None:
    attention = page.get_by_role("region", name="Needs attention")
    row = attention.get_by_role("row").filter(has_text=BAD)
    expect(row).to_contain_text("failed")
    row.get_by_role("link", name="why").click()
    expect(page.get_by_text("cannot read orders").first).to_be_visible()
    page.get_by_role("link", name="Resubmit").click()
    expect(page.get_by_text("1 dataid")).to_be_visible()
    page.get_by_label("Reason").fill("the file is there <b>now</b>")
    page.get_by_role("button", name="Resubmit").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_be_visible()

    page.goto(f"/chunks/totals?dataid={BAD}")
    page.evaluate("window.sameDocument = true")
    status = page.locator("#chunk dd").nth(1)
    expect(status).to_contain_text("RESUBMIT")
    fix_and_run(visitor.served.flow)
    expect(status).to_contain_text("READY")
    assert page.evaluate("window.sameDocument"), "the page was not reloaded"
    page.goto("/journal?job=sum")
    expect(page.get_by_text("the file is there <b>now</b>").first).to_be_visible()
