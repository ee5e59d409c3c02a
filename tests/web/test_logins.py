"""Logging in with a browser, by password and by a real identity provider, and what a viewer sees."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.flow import Flow
from tests.access.openid_provider import CLIENT_ID, CLIENT_SECRET, OpenIdProvider
from tests.api.people import PASSWORD, browse, let_people_in, log_in
from tests.api.served import Served
from tests.web.browser import Visitor, list_faults
from tests.web.shop import BAD

PAGES = ("/", "/datasets/totals", f"/chunks/totals?dataid={BAD}", "/jobs/sum", "/runs", "/workers")
ACTIONS = "main a[href^='/act/'], main form[method=post] button"


@pytest.fixture
def guarded(browser: Browser, sqlite_flow: Flow) -> Iterator[Visitor]:
    """Somebody at a server with local users."""
    let_people_in(sqlite_flow)
    yield from serve(browser, sqlite_flow)


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with OpenIdProvider() as found:
        yield found


@pytest.fixture
def federated(browser: Browser, sqlite_flow: Flow, provider: OpenIdProvider) -> Iterator[Visitor]:
    """Somebody at a server where people log in with an identity provider."""
    table = f"""operators = ["eve@example.com"]
[server.login]
issuer = "{provider.issuer}"
client_id = "{CLIENT_ID}"
secret_variable = "SSO_SECRET"
allowed_domains = ["example.com"]
"""
    let_people_in(sqlite_flow, table)
    sqlite_flow.env["SSO_SECRET"] = CLIENT_SECRET
    yield from serve(browser, sqlite_flow, f"request to another host: {provider.origin}")


def serve(browser: Browser, flow: Flow, *expected: str) -> Iterator[Visitor]:
    with Served(flow) as served:
        visitor = Visitor(browser, served)
        visitor.watch.expected = ("status of 401", "status of 403", *expected)
        yield visitor
        for context in browser.contexts:
            context.close()
        assert visitor.watch.faults == []


def fill(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.daily
@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_local_user_logs_in_sees_who_they_are_and_logs_out(guarded: Visitor, has_scripts: bool) -> None:
    page = guarded.open("/jobs/sum", java_script_enabled=has_scripts)
    expect(page.get_by_role("heading", name="Log in to DataFlow")).to_be_visible()
    if has_scripts:
        assert list_faults(page) == []
    fill(page, "olaf", "wrong password")
    expect(page.get_by_role("alert")).to_contain_text("The user name or the password is wrong.")
    fill(page, "olaf")
    expect(page).to_have_url(f"{guarded.served.base}/jobs/sum")
    expect(page.get_by_role("contentinfo")).to_contain_text("olaf (operator)")
    expect(page.locator(ACTIONS).first).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in to DataFlow")).to_be_visible()


def test_a_viewer_sees_no_buttons_and_the_api_refuses_them(guarded: Visitor) -> None:
    page = guarded.open("/login")
    fill(page, "vera")
    for path in PAGES:
        page.goto(path)
        expect(page.get_by_role("contentinfo")).to_contain_text("vera (viewer)")
        assert page.locator(ACTIONS).all_inner_texts() == [], path
    assert page.goto("/act/jobs/sum/pause").status == 403  # type: ignore[union-attr]
    expect(page.get_by_text("vera has the role viewer")).to_be_visible()
    with browse(guarded.served) as client:
        log_in(client, "vera")
        refused = client.post("/api/v1/jobs/sum/pause", json={"why": "I want"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


@pytest.mark.daily
def test_a_person_logs_in_with_the_identity_provider_and_is_refused_from_another_domain(
    federated: Visitor, provider: OpenIdProvider
) -> None:
    page = federated.open("/jobs/sum")
    page.get_by_role("link", name="identity provider").click()
    expect(page).to_have_url(f"{federated.served.base}/jobs/sum")
    expect(page.get_by_role("contentinfo")).to_contain_text("eve@example.com (operator)")

    provider.profile |= {"email": "eve@evil.example"}
    other = federated.open("/jobs/sum")
    other.get_by_role("link", name="identity provider").click()
    expect(other.get_by_role("alert")).to_contain_text("eve@evil.example")
    expect(other.get_by_role("alert")).to_contain_text("its domain is not among those of this server")
    other.goto("/jobs/sum")
    expect(other.get_by_role("heading", name="Log in to DataFlow")).to_be_visible()
