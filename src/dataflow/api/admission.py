"""Who may use a server without a login: whoever has its start token, on this machine.

The checks of Host and origin are here too. A server with users replaces `StartToken` by its own `Admission`.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from dataflow.errors import ConfigError, Forbidden, Unauthenticated
from dataflow.model.record import record
from dataflow.model.wording import quoted

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
SAFE_METHODS = ("GET", "HEAD")
TOKEN_PARAMETER = "token"


class Permission(StrEnum):
    """What a route needs; each includes those before it."""

    PUBLIC = "public"  # nobody has to say who they are
    READ = "read"  # see everything
    OPERATE = "operate"  # act on work, chunks and jobs
    ADMINISTER = "administer"  # manage who may


@record
class Principal:
    """Who sends a request, and what they may."""

    name: str
    permission: Permission

    def may(self, needed: Permission) -> bool:
        """Return whether a route with this permission is allowed."""
        order = list(Permission)
        return order.index(self.permission) >= order.index(needed)


@record
class RequestFacts:
    """What is known of a request before it is answered; the names of headers are in lower case."""

    method: str
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    token: str  # in the URL

    _hidden = ("headers", "cookies", "token")


class Admission(Protocol):
    """Decides who sends a request."""

    def authenticate(self, facts: RequestFacts) -> Principal | None:
        """Return who sends it, None if that is unknown; Forbidden if it must not be answered at all."""

    def exchange(self, facts: RequestFacts) -> str:
        """Return the cookie to set for a token in the URL; Unauthenticated if it is wrong."""


class StartToken:
    """A random token, made at the start of the server and printed in its URL."""

    def __init__(self, actor: str, port: int) -> None:
        self._actor = actor
        self.token = secrets.token_urlsafe(24)
        # The cookie is not the token: who reads a cookie jar cannot make URLs. A browser sends cookies to all
        # ports of a host, so the name has the port.
        self.cookie_name = f"dataflow-{port}"
        self.cookie = hashlib.sha256(f"cookie:{self.token}".encode()).hexdigest()

    def authenticate(self, facts: RequestFacts) -> Principal | None:
        refuse_foreign_host(facts)
        scheme, _, given = facts.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self.token):
            return self._principal
        if _same(facts.cookies.get(self.cookie_name, ""), self.cookie):
            refuse_foreign_origin(facts)
            return self._principal
        return None

    def exchange(self, facts: RequestFacts) -> str:
        refuse_foreign_host(facts)
        if not _same(facts.token, self.token):
            raise Unauthenticated(
                "The token in the URL is not that of this server. Open the URL that dataflow serve printed."
            )
        return f"{self.cookie_name}={self.cookie}; Path=/; HttpOnly; SameSite=Lax"

    @property
    def _principal(self) -> Principal:
        return Principal(self._actor, Permission.ADMINISTER)


def refuse_foreign_host(facts: RequestFacts) -> None:
    """Raise Forbidden for a host name of another machine that resolves to this one (DNS rebinding)."""
    host = facts.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() not in LOOPBACK_NAMES:
        raise Forbidden(f"Host {quoted(host)} is not this server. Use http://localhost with its port.")


def refuse_foreign_origin(facts: RequestFacts) -> None:
    """Raise Forbidden for a change that another site makes a browser send with our cookie."""
    if facts.method in SAFE_METHODS:
        return
    site = facts.headers.get("sec-fetch-site")
    if site is None:  # an older browser, or a program
        origin = facts.headers.get("origin", "")
        site = "same-origin" if origin == f"http://{facts.headers.get('host', '')}" else "cross-site"
    if site != "same-origin":
        raise Forbidden(
            "A change with a cookie must come from the server's own page. Programs send the token instead: "
            "Authorization: Bearer TOKEN"
        )


def check_address(host: str) -> str:
    """Return the address to listen on; ConfigError for one that other machines can reach."""
    if host == "localhost":
        return "127.0.0.1"
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ConfigError(
            f"Cannot serve on {quoted(host)}: without a login, anybody who reaches this address could act. "
            "Use 127.0.0.1 or ::1, and reach it from elsewhere through ssh -L."
        )
    return host


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
