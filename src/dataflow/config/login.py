"""The identity provider that people log in with: [server.login], or the variables of the first DataFlow."""

from __future__ import annotations

from dataflow.config import fields
from dataflow.config.project import PROJECT_FILE
from dataflow.config.server_values import check_https, read_domains, read_https, read_values
from dataflow.errors import BadInput
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dataflow.config.problems import Problems
    from dataflow.config.server_values import Keys

BROKER_PATHS = {"authorize_url": "/o/authorize/", "token_url": "/o/token/", "profile_url": "/api/v1/user/me/"}
"""The endpoints below AUTHBROKER_URL."""
BROKER_VARIABLES = (
    "AUTHBROKER_URL",
    "AUTHBROKER_CLIENT_ID",
    "AUTHBROKER_CLIENT_SECRET",
    "AUTHBROKER_ALLOWED_DOMAINS",
)


@record
class LoginSettings:
    """An identity provider: OpenID Connect if it has an issuer, else OAuth 2 with a profile endpoint."""

    issuer: str = ""
    authorize_url: str = ""
    token_url: str = ""
    profile_url: str = ""
    client_id: str = ""
    secret_variable: str = ""
    encryptedsecret: str = ""
    scopes: tuple[str, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    assume_verified: bool = False

    _hidden = ("encryptedsecret",)


def _refuse_secret(value: object) -> object:
    raise BadInput(
        "is a secret in plain text; remove it and name a variable that holds it with secret_variable, or set "
        "encryptedsecret to the output of: dataflow secret encrypt --login"
    )


LOGIN_KEYS: Keys = {
    **{key: (key, read_https) for key in ("issuer", *BROKER_PATHS)},
    "client_id": ("client_id", fields.read_name),
    "secret_variable": ("secret_variable", fields.read_name),
    "encryptedsecret": ("encryptedsecret", fields.read_name),
    "scopes": ("scopes", fields.read_outputs),
    "allowed_domains": ("allowed_domains", read_domains),
    "assume_verified": ("assume_verified", fields.read_flag),
}
"""The keys of [server.login], each with its field."""

_READERS: Keys = {**LOGIN_KEYS, "client_secret": ("", _refuse_secret)}


def read_login(origin: str, table: object, problems: Problems) -> LoginSettings:
    """Return the provider of [server.login], and note everything that is wrong with it."""
    if not isinstance(table, dict):
        problems.add(origin, "must be a table, like [server.login]")
        return LoginSettings()
    login = LoginSettings(**read_values(origin, table, _READERS, problems))
    for problem in _list_missing(table):
        problems.add(origin, problem)
    return login


def _list_missing(table: Mapping[str, Any]) -> list[str]:
    """What a provider lacks, or has twice."""
    found = [f"has no {key}" for key in ("client_id", "allowed_domains") if not table.get(key)]
    endpoints = [key for key in BROKER_PATHS if key in table]
    if "issuer" in table and endpoints:
        found.append(f"has both issuer and {endpoints[0]}. Keep issuer for OpenID Connect.")
    elif "issuer" not in table and len(endpoints) < len(BROKER_PATHS):
        found.append(f"has no issuer. For plain OAuth 2 set {', '.join(BROKER_PATHS)} instead.")
    secrets = [key for key in ("secret_variable", "encryptedsecret") if key in table]
    if not secrets:
        found.append("has no secret. Set secret_variable or encryptedsecret.")
    elif len(secrets) > 1:
        found.append(f"has both {secrets[0]} and {secrets[1]}. Keep one of them.")
    return found


def read_broker(
    environ: Mapping[str, str], login: LoginSettings | None, problems: Problems
) -> LoginSettings | None:
    """Return the provider that the variables of the first DataFlow name, or the one of the file."""
    given = [name for name in BROKER_VARIABLES if environ.get(name)]
    if not given:
        return login
    if login is not None:
        problems.add(given[0], f"is set, and {PROJECT_FILE} has [server.login]. Keep one of them.")
        return login
    for name in BROKER_VARIABLES:
        if name not in given:
            problems.add(name, f"is not set, and {given[0]} is")
    values: dict[str, Any] = {}
    try:
        url = check_https(environ.get("AUTHBROKER_URL") or "https://unset.invalid").rstrip("/")
        values = {key: url + path for key, path in BROKER_PATHS.items()}
    except BadInput as error:
        problems.add("AUTHBROKER_URL", str(error))
    try:
        domains = environ.get("AUTHBROKER_ALLOWED_DOMAINS", "").split(",")
        values["allowed_domains"] = read_domains([name.strip() for name in domains if name.strip()])
    except BadInput as error:
        problems.add("AUTHBROKER_ALLOWED_DOMAINS", str(error))
    client_id = environ.get("AUTHBROKER_CLIENT_ID", "")
    return LoginSettings(client_id=client_id, secret_variable="AUTHBROKER_CLIENT_SECRET", **values)
