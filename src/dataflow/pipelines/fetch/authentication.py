"""Who asks: Hawk, OAuth 2, Bearer, Basic, an API key or nobody, and which values of theirs can be sent."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.fetch.hawk import ALGORITHMS, is_header_text

Headers = tuple[tuple[str, str], ...]
CLIENT_AUTHS = ("basic", "body")


@record
class Grant:
    """Where OAuth 2 tokens are given, and for what; `client_auth` is how the client shows its secret."""

    url: str = ""
    scope: str = ""
    audience: str = ""
    client_auth: str = "basic"


@record
class Credentials:
    """Who asks, in plain values: `kind` is hawk, oauth2, bearer, basic, api_key or none.

    `name` is the Hawk or client id, the Basic user, or the header of the API key.
    """

    kind: str = "none"
    name: str = ""
    secret: str = ""
    algorithm: str = "sha256"
    grant: Grant = Grant()
    variables: tuple[str, ...] = ()  # the names of those that the values came from
    _hidden = ("secret",)

    @property
    def identity(self) -> tuple[str, ...]:
        """Who asks, as far as it can be told: a token or API key names nobody, so it counts itself.

        It holds that secret: to be hashed, not to be kept.
        """
        if self.kind == "oauth2":
            return self.kind, self.name, self.grant.url, self.grant.scope, self.grant.audience
        return self.kind, self.name, self.secret if self.kind in ("bearer", "api_key") else ""


NOBODY = Credentials()
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_WORDS = {
    "hawk": "id and key",
    "oauth2": "client id and client secret",
    "bearer": "token",
    "basic": "user",
    "api_key": "header name and key",
}


def check_credentials(credentials: Credentials) -> None:
    """BadInput when these credentials could never be sent; its text holds no secret."""
    kind, name, secret = credentials.kind, credentials.name, credentials.secret
    if kind == "none":
        return
    if kind not in _WORDS:
        raise BadInput(f"Authentication {kind!r} is unknown: use {', '.join(_WORDS)} or none.")
    if kind == "basic" and ":" in name:
        raise BadInput("A Basic user cannot have a colon in its name.")
    if (kind != "bearer" and not name) or (kind != "basic" and not secret):
        raise BadInput(f"Authentication {kind} is incomplete: it needs {_WORDS[kind]}.")
    if kind == "hawk" and credentials.algorithm not in ALGORITHMS:
        raise BadInput(f"Hawk algorithm {credentials.algorithm!r} is unknown: use {' or '.join(ALGORITHMS)}.")
    if kind == "hawk" and not is_header_text(name):
        raise BadInput("The Hawk id has characters that cannot stand in a header.")
    if kind in ("bearer", "api_key") and not re.fullmatch(r"[!-~]+( [!-~]+)*", secret):
        raise BadInput(
            f"The {_WORDS[kind]} has characters that cannot stand in a header; is there a line end in it?"
        )
    if kind == "api_key" and not _HEADER_NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no header name.")


def check_headers(headers: Headers) -> None:
    """BadInput when such headers could never be sent; a value, which may be a key, is not shown."""
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name):
            raise BadInput(f"{name!r} is no header name.")
        if not isinstance(value, str):
            raise BadInput(f"The value of header {name} is no text.")
        if not re.fullmatch(r"[\t\x20-\x7e]*", value) or value != value.strip():
            raise BadInput(
                f"The value of header {name} has characters that cannot stand in a header; is there a line "
                "end in it? Strip it: .strip()"
            )
