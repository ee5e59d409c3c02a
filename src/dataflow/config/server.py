"""The [server] table of dataflow.toml: where the API and the page are served, and who may use them.

Validated whole. Of a secret it knows the variable or the encrypted record that holds it.
"""

from __future__ import annotations

import os

from dataflow.config import fields
from dataflow.config.login import LoginSettings, read_broker, read_login
from dataflow.config.problems import Problems
from dataflow.config.project import PROJECT_FILE, find_file
from dataflow.config.server_values import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    read_emails,
    read_listen,
    read_networks,
    read_session,
    read_url,
    read_values,
)
from dataflow.config.toml import load_toml
from dataflow.errors import BadInput
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dataflow.config.server_values import Keys


@record
class ServerSettings:
    """Where the server listens and who may use it."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    url: str = ""  # as people type it, without a slash at the end; "": that of the address
    hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    users: bool = False
    operators: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    session_idle_seconds: float = 12 * 3600.0
    session_seconds: float = 7 * 86400.0
    login: LoginSettings | None = None

    @property
    def requires_login(self) -> bool:
        """Whether people log in; without, only the link that the server prints opens it."""
        return self.users or self.login is not None


SERVER_KEYS: Keys = {
    "listen": ("listen", read_listen),
    "url": ("url", read_url),
    "hosts": ("hosts", fields.read_outputs),
    "trusted_proxies": ("trusted_proxies", read_networks),
    "users": ("users", fields.read_flag),
    "operators": ("operators", read_emails),
    "admins": ("admins", read_emails),
    "session_idle": ("session_idle_seconds", read_session),
    "session": ("session_seconds", read_session),
}
"""The keys of [server], each with its field; `listen` is host and port."""

VARIABLES: Keys = {"DATAFLOW_LISTEN": ("listen", read_listen), "DATAFLOW_URL": ("url", read_url)}
"""The variables that take precedence over the table."""


def load_server_settings(project_dir: str, environ: Mapping[str, str]) -> ServerSettings:
    """Return the settings of the server; one ConfigError reports everything that is wrong."""
    problems = Problems()
    path = os.path.join(project_dir, PROJECT_FILE)
    document = load_toml(path, problems) if find_file(project_dir, PROJECT_FILE) else {}
    table = document.get("server", {})
    if not isinstance(table, dict):
        problems.add(f"{path}: server", "must be a table, like [server]")
        table = {}
    origin = f"{path}: server"
    values = read_values(origin, {key: table[key] for key in table if key != "login"}, SERVER_KEYS, problems)
    values |= _read_variables(environ, problems)
    if "listen" in values:
        values["host"], values["port"] = values.pop("listen")
    login = read_login(f"{origin}.login", table["login"], problems) if "login" in table else None
    login = read_broker(environ, login, problems)
    settings = ServerSettings(**values, login=login)
    _check_roles(origin, settings, problems)
    problems.raise_if_any()
    return settings


def _read_variables(environ: Mapping[str, str], problems: Problems) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, (field, reader) in VARIABLES.items():
        if environ.get(name):
            try:
                values[field] = reader(environ[name])
            except BadInput as error:
                problems.add(name, str(error))
    return values


def _check_roles(origin: str, settings: ServerSettings, problems: Problems) -> None:
    """Note e-mail addresses that have a role and could never log in."""
    for key, emails in (("operators", settings.operators), ("admins", settings.admins)):
        domains = settings.login.allowed_domains if settings.login else ()
        if emails and settings.login is None:
            problems.add(f"{origin}.{key}", "needs [server.login]; local users have their role in the store")
        for email in emails if domains else ():
            if email.rpartition("@")[2] not in domains:
                problems.add(f"{origin}.{key}", f"has {email}, whose domain is not in allowed_domains")
