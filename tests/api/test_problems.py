"""Errors as answers: a code, what to do next, and nothing of the inside of the server."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from dataflow import errors
from dataflow.access.gate import Gate
from dataflow.access.tokens import create_token
from dataflow.api.application import Service, make_application
from dataflow.api.problems import split_hint
from dataflow.api.project import Project
from dataflow.api.route import Call, Route
from dataflow.config.server import ServerSettings
from dataflow.config.settings import load_config
from dataflow.model.principal import Permission, Role
from dataflow.secrets.known import KnownSecrets
from dataflow.store.opener import open_store

SECRET = "hunter2-hunter2"


def fail(_call: Call) -> object:
    raise RuntimeError(f"a bug near {SECRET}")


def refuse(_call: Call) -> object:
    raise errors.Conflict(f"It has {SECRET}. See: dataflow why {SECRET}")


def ask(path: str, url: str, folder: str) -> httpx.Response:
    """The answer of an application with two routes that fail, to whoever has the token."""
    config = load_config(folder, {}, url)
    store = open_store(url, config.actor)
    project = Project(config, {}, "1", store, lambda: "", KnownSecrets(SECRET))
    token = create_token(store, "tester", Role.ADMIN, 3600).token
    routes = [
        Route("GET", "/bug", Permission.READ, "", fail, {}),
        Route("GET", "/refusal", Permission.READ, "", refuse, {}),
        Route("POST", "/admin", Permission.ADMINISTER, "", refuse, {}),
    ]
    service = Service(project, Gate(ServerSettings(), "eve"))
    transport = httpx.ASGITransport(app=make_application(service, routes))

    async def send() -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, headers=headers)

    try:
        return asyncio.run(send())
    finally:
        service.close()
        store.close()


def test_a_bug_answers_500_with_an_id_and_is_reported_on_stderr_without_secrets(
    sqlite_url: str, tmp_path: object, capfd: pytest.CaptureFixture[str]
) -> None:
    response = ask("/bug", sqlite_url, str(tmp_path))
    found = response.json()
    assert (response.status_code, found["code"]) == (500, "dataflow")
    assert "bug" not in found["message"]
    assert "Traceback" not in response.text
    reported = capfd.readouterr().err
    assert f"request {found['request_id']} failed" in reported
    assert "RuntimeError: a bug near" in reported
    assert SECRET not in reported + response.text


def test_no_secret_is_in_a_message_or_its_hint(sqlite_url: str, tmp_path: object) -> None:
    response = ask("/refusal", sqlite_url, str(tmp_path))
    assert response.status_code == 409
    assert SECRET not in response.text


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("No job x. List them: dataflow job list", "No job x.", "List them: dataflow job list"),
        (
            'No job x. Did you mean "y"? List: dataflow job list',
            "No job x.",
            'Did you mean "y"? List: dataflow job list',
        ),
        ("It is 1.5 long.", "It is 1.5 long.", ""),
        (
            "a; nothing changed. Wait, or: dataflow cancel 1",
            "a; nothing changed.",
            "Wait, or: dataflow cancel 1",
        ),
    ],
)
def test_what_to_do_next_is_the_hint(text: str, message: str, hint: str) -> None:
    assert split_hint(text) == (message, hint)
