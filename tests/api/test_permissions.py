"""Who is let in where: every route of the API and of the page, with each role and each wrong request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from dataflow.api.route import Route
from dataflow.api.table import ROUTES
from dataflow.model.principal import PERMISSIONS, Permission, Role
from dataflow.web.pages import PAGES
from tests.acceptance.flow import Flow
from tests.api.people import NAMES, browse, let_people_in, log_in
from tests.api.served import Served

ALL = (*ROUTES, *PAGES.routes)
EXAMPLES = {
    "{dataset}": "bobin",
    "{job}": "loadbob",
    "{pipeline}": "Orders",
    "{run_id}": "1",
    "{incident}": "1",
    "{hash}": "0",
    "{file}": "style.css",
}
FOR_EVERYBODY = {
    *("/healthz", "/readyz", "/static/{hash}/{file}"),
    *("/login", "/login/provider", "/oauth2callback", "/start", "/logout"),
}
REFUSED = (401, 403)


class People:
    """A server with logins, an API token of each role, and a browser of each."""

    def __init__(self, flow: Flow, stack: ExitStack) -> None:
        self.tokens = let_people_in(flow)
        self.served = stack.enter_context(Served(flow))
        self.nobody = stack.enter_context(browse(self.served))
        self.browsers = {role: stack.enter_context(browse(self.served)) for role in Role}
        for role, client in self.browsers.items():
            assert log_in(client, NAMES[role]).status_code == 303


@pytest.fixture
def people(sqlite_flow: Flow) -> Iterator[People]:
    with ExitStack() as stack:
        yield People(sqlite_flow, stack)


def code_of(client: httpx.Client, route: Route, headers: dict[str, str] | None = None) -> int:
    """The status that a route answers with, without a body; of a stream, without its events."""
    path = route.path
    for name, example in EXAMPLES.items():
        path = path.replace(name, example)
    with client.stream(route.method, path, headers=headers) as response:
        if response.status_code == 303 and response.headers["location"].startswith("/login?next="):
            return 401  # a person is sent to the login
        return response.status_code


def is_public(route: Route) -> bool:
    return route.permission is Permission.PUBLIC


def test_the_routes_that_everybody_may_use_are_these_and_no_others() -> None:
    assert {route.path for route in ALL if is_public(route)} == FOR_EVERYBODY


def test_without_credentials_every_other_route_refuses(people: People) -> None:
    private = [route for route in ALL if not is_public(route)]
    codes = {(route.method, route.path): code_of(people.nobody, route) for route in private}
    assert {key: code for key, code in codes.items() if code != 401} == {}
    assert len(codes) > 80


def test_without_credentials_nobody_hears_which_paths_exist(people: People) -> None:
    for path in ("/api/v1/nothing", "/api/v1/healthz", "/healthz/", "/healthz/x", "/readyzz", "/nothing"):
        response = people.nobody.get(path)
        assert response.status_code in (303, 401), path
        assert people.browsers[Role.VIEWER].get(path).status_code == 404, path


@pytest.mark.parametrize("role", list(Role))
def test_each_role_may_use_the_routes_of_its_permissions_by_session_and_by_token(
    people: People, role: Role
) -> None:
    bearer = {"Authorization": f"Bearer {people.tokens[role]}", "Sec-Fetch-Site": "cross-site"}
    wrong = []
    for route in ALL:
        if is_public(route):
            continue
        may = route.permission in PERMISSIONS[role]
        by_session = code_of(people.browsers[role], route)
        by_token = code_of(people.nobody, route, bearer)
        if may in (by_session in REFUSED, by_token in REFUSED) or by_session >= 500:
            wrong.append((route.method, route.path, by_session, by_token))
    assert wrong == []


def test_an_invalid_token_is_refused_everywhere_even_with_a_session(people: People) -> None:
    headers = {"Authorization": f"Bearer {people.tokens[Role.ADMIN][:-1]}x"}
    for route in ROUTES:
        if not is_public(route):
            assert code_of(people.browsers[Role.ADMIN], route, headers) == 401, route.path


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "x:y:z"])
def test_another_host_name_is_refused_on_every_route_but_those_of_monitors(people: People, host: str) -> None:
    admin = people.browsers[Role.ADMIN]
    codes = {(route.method, route.path): code_of(admin, route, {"Host": host}) for route in ALL}
    answered = {path for (_, path), code in codes.items() if code != 403}
    assert answered == {"/healthz", "/readyz"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "", "Origin": "null"},
        {"Sec-Fetch-Site": ""},
    ],
)
def test_another_site_can_change_nothing_with_the_session_of_a_person(
    people: People, headers: dict[str, str]
) -> None:
    admin = people.browsers[Role.ADMIN]
    changes = [route for route in ALL if route.method != "GET"]
    assert {code_of(admin, route, headers) for route in changes} == {403}
    assert len(changes) > 20


def test_a_proxy_that_is_not_trusted_is_refused_on_every_route(people: People) -> None:
    headers = {"X-Forwarded-For": "10.1.1.1", "X-Forwarded-Host": "localhost"}
    codes = {route.path: code_of(people.browsers[Role.ADMIN], route, headers) for route in ALL}
    assert {path for path, code in codes.items() if code != 403} == {"/healthz", "/readyz"}


def test_every_answer_has_the_security_headers_and_a_request_id(people: People) -> None:
    for path in ("/healthz", "/api/v1/jobs", "/nothing", "/login", "/", "/start?token=no"):
        headers = people.nobody.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert len(headers["x-request-id"]) == 16
        assert "server" not in headers


def test_the_journal_names_who_acted(people: People) -> None:
    why = {"why": "late"}
    operator = people.browsers[Role.OPERATOR]
    assert operator.post("/api/v1/jobs/loadbob/pause", json=why).status_code == 200
    bearer = {"Authorization": f"Bearer {people.tokens[Role.OPERATOR]}"}
    assert httpx.post(f"{people.served.base}/api/v1/jobs/loadbob/resume", json=why, headers=bearer).is_success
    lines = operator.get("/api/v1/journal?job=loadbob&limit=2").json()
    assert [line["actor"] for line in lines] == ["token:olaf-tool", "olaf"]


def test_only_the_exact_paths_of_monitors_pass_the_checks(people: People) -> None:
    evil = {"Host": "evil.example"}
    for path in ("/healthz", "/readyz"):
        assert people.nobody.get(path, headers=evil).status_code == 200
    for path in ("/healthz/", "/healthz/x", "/readyzz", "/HEALTHZ", "/healthz/../jobs", "/%2e/healthz"):
        assert people.nobody.get(path, headers=evil).status_code == 403, path
