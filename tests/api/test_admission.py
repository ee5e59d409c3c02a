"""Who is let in: only the holder of the start token, from this machine, from our own pages."""

from __future__ import annotations

import httpx
import pytest

from dataflow.api.admission import Permission
from dataflow.api.table import ROUTES
from tests.api.served import Served

EXAMPLES = {
    "{dataset}": "bobin",
    "{job}": "loadbob",
    "{pipeline}": "Orders",
    "{run_id}": "1",
    "{incident}": "1",
}


def path_of(path: str) -> str:
    """A path of the table with names that may exist."""
    for name, example in EXAMPLES.items():
        path = path.replace(name, example)
    return path


def cookies_of(served: Served) -> httpx.Response:
    return served.anonymous.get(f"/?token={served.token}")


def test_every_route_but_the_public_ones_refuses_whoever_has_no_token(sqlite_served: Served) -> None:
    answered = {}
    for route in ROUTES:
        response = sqlite_served.anonymous.request(route.method, path_of(route.path))
        answered[route.path] = (response.status_code, route.permission is Permission.PUBLIC)
    assert {path: code for path, (code, public) in answered.items() if not public and code != 401} == {}
    assert [path for path, (_, public) in answered.items() if public] == ["/healthz", "/readyz"]
    assert all(code == 200 for code, public in answered.values() if public)


def test_whoever_has_no_token_does_not_hear_which_paths_exist(sqlite_served: Served) -> None:
    assert sqlite_served.anonymous.get("/api/v1/nothing").status_code == 401
    assert sqlite_served.client.get("/api/v1/nothing").status_code == 404


def test_a_wrong_token_is_refused(sqlite_served: Served) -> None:
    bearer = {"Authorization": "Bearer nonsense"}
    assert sqlite_served.anonymous.get("/api/v1/jobs", headers=bearer).status_code == 401
    refused = sqlite_served.anonymous.get("/?token=nonsense")
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers


def test_the_token_in_the_url_becomes_a_cookie_and_leaves_the_url(sqlite_served: Served) -> None:
    response = sqlite_served.anonymous.get(f"/api/v1/runs?limit=3&token={sqlite_served.token}")
    assert (response.status_code, response.headers["location"]) == (303, "/api/v1/runs?limit=3")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert sqlite_served.token not in cookie
    assert sqlite_served.anonymous.get("/api/v1/runs?limit=3").status_code == 200


def test_a_redirect_never_leads_to_another_site(sqlite_served: Served) -> None:
    response = sqlite_served.anonymous.get(f"{sqlite_served.base}//evil.example/?token={sqlite_served.token}")
    assert response.headers["location"] == "/evil.example/"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 404),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "OWN"}, 404),
        ({}, 403),
    ],
)
def test_a_change_with_the_cookie_must_come_from_our_own_page(
    sqlite_served: Served, headers: dict[str, str], code: int
) -> None:
    cookies_of(sqlite_served)
    sent = {name: value.replace("OWN", sqlite_served.base) for name, value in headers.items()}
    response = sqlite_served.anonymous.post("/api/v1/runs/99/cancel", json={}, headers=sent)
    assert response.status_code == code


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil"]
)
def test_another_host_name_is_refused_even_with_the_token(sqlite_served: Served, host: str) -> None:
    for path in ("/healthz", "/api/v1/jobs", f"/?token={sqlite_served.token}"):
        response = sqlite_served.client.get(path, headers={"Host": host})
        assert response.status_code == 403 and "forbidden" in response.text
        assert "set-cookie" not in response.headers


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8400", "LOCALHOST"])
def test_every_name_of_this_machine_is_accepted(sqlite_served: Served, host: str) -> None:
    assert sqlite_served.client.get("/api/v1/jobs", headers={"Host": host}).status_code == 200


def test_every_answer_has_the_security_headers_and_a_request_id(sqlite_served: Served) -> None:
    paths = ["/healthz", "/api/v1/jobs", "/api/v1/nothing", "/?token=no", "/api/v1/jobs?x=1"]
    for path in paths:
        headers = sqlite_served.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert len(headers["x-request-id"]) == 16
        assert "server" not in headers
