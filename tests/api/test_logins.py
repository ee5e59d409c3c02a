"""Logging in and out over HTTP, as a browser without JavaScript does it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.acceptance.flow import Flow
from tests.api.people import browse, let_people_in, log_in
from tests.api.served import Served


@pytest.fixture
def guarded(sqlite_flow: Flow) -> Iterator[Served]:
    """A server with local users."""
    let_people_in(sqlite_flow)
    with Served(sqlite_flow) as served:
        yield served


@pytest.fixture
def client(guarded: Served) -> Iterator[httpx.Client]:
    with browse(guarded) as found:
        yield found


def test_with_logins_the_link_that_is_printed_has_no_token(guarded: Served, client: httpx.Client) -> None:
    assert guarded.url == f"{guarded.base}/"
    refused = client.get("/start?token=anything")
    assert refused.status_code == 403
    assert "no start link" in refused.text


def test_a_page_without_a_login_leads_to_the_login_and_then_back(client: httpx.Client) -> None:
    first = client.get("/datasets/bobin?from=1.0")
    target = first.headers["location"]
    assert (first.status_code, target) == (303, "/login?next=%2Fdatasets%2Fbobin%3Ffrom%3D1.0")
    form = client.get(target)
    assert form.status_code == 200
    assert 'name="next" value="/datasets/bobin?from=1.0"' in form.text
    done = log_in(client, "vera", next=parse_qs(urlsplit(target).query)["next"][0])
    assert (done.status_code, done.headers["location"]) == (303, "/datasets/bobin?from=1.0")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    page = client.get("/datasets/bobin")
    assert page.status_code == 200
    assert "vera (viewer)" in page.text


def test_the_api_does_not_redirect(client: httpx.Client) -> None:
    refused = client.get("/api/v1/jobs")
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert refused.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("target", ["//evil.example/x", "https://evil.example", "/\\evil.example", "/a\tb"])
def test_nobody_is_led_to_another_site_after_the_login(client: httpx.Client, target: str) -> None:
    assert 'name="next" value="/"' in client.get("/login", params={"next": target}).text
    assert log_in(client, "vera", next=target).headers["location"] == "/"


def test_a_path_that_looks_like_another_site_is_not_gone_back_to(
    client: httpx.Client, guarded: Served
) -> None:
    target = client.get(f"{guarded.base}//evil.example/").headers["location"]
    assert 'name="next" value="/"' in client.get(target).text


def test_a_wrong_password_is_refused_and_after_some_the_form_says_how_long_to_wait(
    client: httpx.Client,
) -> None:
    for _ in range(5):
        refused = log_in(client, "vera", "wrong <b>password</b>", next="/jobs")
        assert refused.status_code == 401
        assert "The user name or the password is wrong." in refused.text
        assert "set-cookie" not in refused.headers
        assert 'value="/jobs"' in refused.text and 'value="vera"' in refused.text
        assert "password</b>" not in refused.text
    late = log_in(client, "vera")
    assert late.status_code == 429
    seconds = int(late.headers["retry-after"])
    assert seconds >= 1
    assert f"Try again in {seconds} second" in late.text


def test_the_button_logs_out_for_good(client: httpx.Client) -> None:
    log_in(client, "vera")
    session = dict(client.cookies)
    assert '<form class="inline" method="post" action="/logout">' in client.get("/").text
    assert client.post("/logout").status_code == 303
    assert client.get("/").status_code == 303
    client.cookies.update(session)
    assert client.get("/").status_code == 303, "the session itself has ended"


def test_a_link_can_neither_log_in_nor_log_out(client: httpx.Client) -> None:
    log_in(client, "vera")
    assert client.get("/logout").status_code == 405
    assert client.get("/").status_code == 200


def test_a_user_who_is_removed_is_out_at_once(client: httpx.Client, guarded: Served) -> None:
    log_in(client, "vera")
    assert client.get("/api/v1/jobs").status_code == 200
    guarded.flow.dataflow("user", "remove", "vera")
    assert client.get("/api/v1/jobs").status_code == 401


def test_without_logins_the_token_of_the_start_link_becomes_a_cookie(sqlite_served: Served) -> None:
    with browse(sqlite_served) as client:
        assert client.get("/").headers["location"] == "/login?next=%2F"
        assert "link that the server printed" in client.get("/login").text
        wrong = client.get("/start?token=wrong")
        assert wrong.status_code == 401 and "set-cookie" not in wrong.headers
        assert "This link is not valid" in wrong.text
        entry = client.get("/start", params={"token": sqlite_served.token, "next": "/jobs"})
        assert (entry.status_code, entry.headers["location"]) == (303, "/jobs")
        assert sqlite_served.token not in entry.headers["set-cookie"]
        assert client.get("/jobs").status_code == 200
        assert log_in(client, "vera").status_code == 403, "there are no users"
        client.post("/logout")
        assert client.get("/jobs").status_code == 303


PROXIED = 'users = true\nurl = "https://flow.example.com"\ntrusted_proxies = ["127.0.0.1"]\n'
FORWARDED = {
    "X-Forwarded-For": "10.1.1.1",
    "X-Forwarded-Host": "flow.example.com",
    "X-Forwarded-Proto": "https",
}


def test_a_server_behind_a_trusted_proxy_believes_it_and_sets_cookies_for_https(sqlite_flow: Flow) -> None:
    let_people_in(sqlite_flow, PROXIED)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Served(sqlite_flow, "--port", str(port)) as served:
        assert served.url == "https://flow.example.com/"
        own = FORWARDED | {"Origin": "https://flow.example.com"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=own, timeout=120) as client:
            cookie = log_in(client, "vera").headers["set-cookie"]
            assert cookie.startswith(f"__Host-dataflow_session_{port}=") and cookie.endswith("; Secure")
            other = client.post("/login", headers={"Origin": "https://other.example.com"})
            assert other.status_code == 403
            assert client.get("/login", headers={"X-Forwarded-Host": "evil.example"}).status_code == 403


def test_two_servers_of_a_machine_do_not_take_the_session_of_the_other(sqlite_flow: Flow) -> None:
    with Served(sqlite_flow) as one, Served(sqlite_flow) as other, httpx.Client() as client:
        for served in (one, other):
            assert client.get(served.url).status_code == 303
        assert [client.get(f"{served.base}/jobs").status_code for served in (one, other)] == [200, 200]
