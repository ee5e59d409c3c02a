"""People and programs of every role at a server with logins."""

from __future__ import annotations

from typing import Any

import httpx

from dataflow.access.tokens import create_token
from dataflow.access.users import add_user
from dataflow.model.principal import Role
from tests.acceptance.flow import Flow
from tests.api.served import Served

PASSWORD = "correct horse battery"
NAMES = {Role.VIEWER: "vera", Role.OPERATOR: "olaf", Role.ADMIN: "ada"}


def let_people_in(flow: Flow, table: str = "users = true\n") -> dict[Role, str]:
    """Add a user of each role and [server] to the project; return an API token of each role."""
    path = flow.path / "dataflow.toml"
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\n[server]\n{table}")
    with flow.store() as store:
        for role, name in NAMES.items():
            add_user(store, name, role, PASSWORD)
        return {role: create_token(store, f"{name}-tool", role, 3600).token for role, name in NAMES.items()}


def browse(served: Served) -> httpx.Client:
    """A browser of nobody yet, at our own page."""
    return httpx.Client(base_url=served.base, headers={"Sec-Fetch-Site": "same-origin"}, timeout=120)


def log_in(client: httpx.Client, name: str, password: str = PASSWORD, **fields: Any) -> httpx.Response:
    return client.post("/login", data={"name": name, "password": password, **fields})
