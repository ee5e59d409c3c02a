"""OAuth 2 client credentials: one token for many requests, renewed in time, sent nowhere else."""

from __future__ import annotations

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dataflow.model.record import replace
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.authentication import Credentials, Grant
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.limits import Watch
from dataflow.pipelines.fetch.pagination import NextLink, PageNumber
from tests.pipelines.answer_server import AnswerServer, Asked, Reply
from tests.pipelines.fetch.fetching import QUICK, fetch, ids_in, make_rows, open_staging, refuse

ID, SECRET = "our id/é", "our:secret+é"


class Login:
    """A token endpoint at /token and an API of 30 rows at /rows that accepts only its latest token."""

    def __init__(self) -> None:
        self.given = 0
        self.expires_in: Any = 3600
        self.refusals: list[Reply] = []
        self.elsewhere = ""
        self.lock = threading.Lock()

    def answer(self, asked: Asked) -> Reply:
        with self.lock:
            return self._give(asked) if asked.path == "/token" else self._page(asked)

    def _give(self, asked: Asked) -> Reply:
        if self.refusals:
            return self.refusals.pop(0)
        self.given += 1
        told = {"access_token": f"token-{self.given}", "token_type": "Bearer"}
        return Reply(told if self.expires_in is None else told | {"expires_in": self.expires_in})

    def _page(self, asked: Asked) -> Reply:
        if asked.headers.get("Authorization") != f"Bearer token-{self.given}":
            return Reply({}, 401)
        page = int(asked.query.get("page", 1))
        rows = make_rows(30)[(page - 1) * 10 : page * 10]
        following = f"{self.elsewhere}/rows?page={page + 1}" if page < 3 else None
        return Reply({"next": following, "results": rows})


def source_for(server: AnswerServer, grant: Grant | None = None, **fields: Any) -> HttpSource:
    grant = replace(grant or Grant(), url=f"{server.origin}/token")
    credentials = Credentials("oauth2", ID, SECRET, grant=grant)
    plain = HttpSource(f"{server.origin}/rows", credentials=credentials, limits=QUICK)
    return replace(plain, **fields)


def list_tokens(server: AnswerServer) -> list[Asked]:
    return [asked for asked in server.asked if asked.path == "/token"]


@pytest.mark.parametrize("pagination", [NextLink(), PageNumber()], ids=["one by one", "several at once"])
@pytest.mark.parametrize("expires_in", [3600, "3600", None])
def test_one_token_serves_all_pages(tmp_path: Path, pagination: Any, expires_in: Any) -> None:
    login = Login()
    login.expires_in = expires_in
    with AnswerServer(login.answer) as server:
        assert ids_in(fetch(source_for(server, pagination=pagination), tmp_path)) == list(range(30))
        assert login.given == 1


def test_the_client_sends_its_secret_in_a_header_by_default(tmp_path: Path) -> None:
    with AnswerServer(Login().answer) as server:
        fetch(source_for(server, Grant(scope="read all", audience="https://api.example")), tmp_path)
        (asked,) = list_tokens(server)
    assert asked.method == "POST"
    assert asked.form == {
        "grant_type": "client_credentials",
        "scope": "read all",
        "audience": "https://api.example",
    }
    pair = base64.b64decode(asked.headers["Authorization"].removeprefix("Basic ")).decode()
    assert pair == "our+id%2F%C3%A9:our%3Asecret%2B%C3%A9"


def test_the_client_sends_its_secret_in_the_body_if_declared(tmp_path: Path) -> None:
    with AnswerServer(Login().answer) as server:
        fetch(source_for(server, Grant(client_auth="body")), tmp_path)
        (asked,) = list_tokens(server)
    assert asked.form == {"grant_type": "client_credentials", "client_id": ID, "client_secret": SECRET}
    assert "Authorization" not in asked.headers


def test_an_expired_token_is_replaced_before_it_is_refused(tmp_path: Path) -> None:
    login = Login()
    login.expires_in = 0
    with AnswerServer(login.answer) as server:
        assert ids_in(fetch(source_for(server), tmp_path)) == list(range(30))
        assert [asked.path for asked in server.asked] == ["/token", "/rows"] * 3


def test_a_refused_token_is_replaced_once(tmp_path: Path) -> None:
    login = Login()
    with AnswerServer(login.answer) as server:
        source = source_for(server)
        parts = source.fetch(open_staging(source, tmp_path))
        first = next(parts)
        login.given += 1  # the server has revoked the token
        assert ids_in([first, *parts]) == list(range(30))
        login.given = 0

        def refuse_all(asked: Asked) -> Reply:
            return login.answer(asked) if asked.path == "/token" else Reply({}, 401)

        server.answer = refuse_all
        server.asked.clear()
        refuse(source, tmp_path / "2", "401 Unauthorized: check the source's credentials")
        assert [asked.path for asked in server.asked] == ["/token", "/rows", "/token", "/rows"]


def test_concurrent_threads_request_one_token(tmp_path: Path) -> None:
    login = Login()

    def answer_slowly(asked: Asked) -> Reply:
        time.sleep(0.2)  # long enough for the others to ask as well, if they did
        return login.answer(asked)

    with AnswerServer(answer_slowly) as server:
        source = source_for(server)
        watch = Watch(QUICK, threading.Event())
        client = source.open_client(watch, lambda secret: None)
        address = parse_address(source.url)
        with client, ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: client.get(address), range(4)))
    assert login.given == 1


def test_every_token_is_reported_as_a_secret(tmp_path: Path) -> None:
    login = Login()
    login.expires_in = 0
    hidden: list[str] = []
    with AnswerServer(login.answer) as server:
        source = source_for(server)
        list(source.fetch(open_staging(source, tmp_path), hide=hidden.append))
    assert hidden == ["token-1", "token-2", "token-3"]
    assert SECRET in source.list_secrets()
    assert SECRET not in repr(source)


def test_a_token_goes_to_the_sources_own_origin_only(tmp_path: Path) -> None:
    login = Login()
    with AnswerServer(lambda asked: Reply({"next": None, "results": []})) as other:
        with AnswerServer(login.answer) as server:
            login.elsewhere = other.origin
            refuse(source_for(server), tmp_path, "not to the source's own")
            fetch(source_for(server, allowed_origins=(other.origin,)), tmp_path, 2)
        (asked,) = other.asked
    assert "Authorization" not in asked.headers


def test_the_token_endpoint_may_be_elsewhere(tmp_path: Path) -> None:
    login = Login()
    with AnswerServer(login.answer) as server, AnswerServer(login.answer) as other:
        credentials = Credentials("oauth2", ID, SECRET, grant=Grant(f"{other.origin}/token"))
        assert ids_in(fetch(source_for(server, credentials=credentials), tmp_path)) == list(range(30))
        assert [asked.path for asked in other.asked] == ["/token"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (
            Reply({"error": "invalid_client", "error_description": f"bad {SECRET}"}, 401),
            r"returned no token: 401 Unauthorized \(invalid_client\)\. Check the source's client id, secret",
        ),
        (Reply({"error": SECRET}, 400), r"returned no token: 400 Bad Request\. Check"),
        (Reply(b"<html>", 403), r"returned no token: 403 Forbidden\. Check"),
        (Reply({"token_type": "Bearer"}), "returned no access_token"),
        (Reply({"access_token": "a b\n"}), "returned no access_token"),
        (Reply([]), "returned no access_token"),
        (Reply({"access_token": "x", "token_type": "mac"}), "a token that is not of type Bearer"),
        (Reply(b"x" * 2_000_000), "returned more than 1 MiB"),
        (
            Reply(status=302, headers=[("Location", "http://evil.example/")]),
            "redirects, and the client secret",
        ),
    ],
)
def test_a_refused_token_request_is_reported_immediately_without_the_secret(
    tmp_path: Path, reply: Reply, reason: str
) -> None:
    login = Login()
    login.refusals = [reply]
    with AnswerServer(login.answer) as server:
        told = refuse(source_for(server), tmp_path, reason)
        assert [asked.path for asked in server.asked] == ["/token"]
    assert SECRET not in told


def test_a_busy_token_endpoint_is_retried(tmp_path: Path) -> None:
    login = Login()
    login.refusals = [Reply({}, 503), Reply({}, 429, [("Retry-After", "0")])]
    with AnswerServer(login.answer) as server:
        assert ids_in(fetch(source_for(server), tmp_path)) == list(range(30))
        login.refusals = [Reply({}, 503)] * 9
        refuse(source_for(server), tmp_path / "2", "last error: no token from .*/token: 503 Service Unavail")


def test_pages_of_another_client_or_scope_are_not_mixed() -> None:
    def mark(name: str, grant: Grant, secret: str = "x") -> str:
        return HttpSource(
            "http://a/b", credentials=Credentials("oauth2", name, secret, grant=grant)
        ).fingerprint

    grant = Grant("http://a/token", "read")
    others = [replace(grant, scope="all"), replace(grant, audience="b"), replace(grant, url="http://c/token")]
    assert len({mark("a", grant), mark("b", grant), *(mark("a", other) for other in others)}) == 5
    assert mark("a", grant) == mark("a", grant, "another secret")
