"""Credentials of a source (Hawk, OAuth 2, Bearer, Basic, API key or none), checked before they are sent."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.fetch.hawk import ALGORITHMS, is_header_text

Headers = tuple[tuple[str, str], ...]
CLIENT_AUTHS = ("basic", "body")


@record
class Grant:
    """Where and for what OAuth 2 tokens are requested; `client_auth` is how the client sends its secret."""

    url: str = ""
    scope: str = ""
    audience: str = ""
    client_auth: str = "basic"


@record
class Credentials:
    """Credentials in plain values: `kind` is hawk, oauth2, bearer, basic, api_key or none.

    `name` is the Hawk or client id, the Basic user, or the header of the API key.
    """

    kind: str = "none"
    name: str = ""
    secret: str = ""
    algorithm: str = "sha256"
    grant: Grant = Grant()
    variables: tuple[str, ...] = ()  # names of the variables that hold the values
    _hidden = ("secret",)

    @property
    def identity(self) -> tuple[str, ...]:
        """The identity behind the credentials; a token or API key has no name, so the secret itself is used.

        May contain a secret: hash it, do not store it.
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
    """Raise BadInput when these credentials can never be sent; the message holds no secret."""
    kind, name, secret = credentials.kind, credentials.name, credentials.secret
    if kind == "none":
        return
    if kind not in _WORDS:
        raise BadInput(f"Unknown authentication {kind!r}: use {', '.join(_WORDS)} or none.")
    if kind == "basic" and ":" in name:
        raise BadInput("The user name for Basic authentication must not contain a colon.")
    if (kind != "bearer" and not name) or (kind != "basic" and not secret):
        raise BadInput(f"Authentication {kind} is incomplete: it needs {_WORDS[kind]}.")
    if kind == "hawk" and credentials.algorithm not in ALGORITHMS:
        raise BadInput(f"Unknown Hawk algorithm {credentials.algorithm!r}: use {' or '.join(ALGORITHMS)}.")
    if kind == "hawk" and not is_header_text(name):
        raise BadInput("The Hawk id contains characters that are not allowed in a header.")
    if kind in ("bearer", "api_key") and not re.fullmatch(r"[!-~]+( [!-~]+)*", secret):
        raise BadInput(
            f"The {_WORDS[kind]} contains characters not allowed in a header, perhaps a line break."
        )
    if kind == "api_key" and not _HEADER_NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a header name.")


def check_headers(headers: Headers) -> None:
    """Raise BadInput when these headers can never be sent; values are not shown, since they may be keys."""
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name):
            raise BadInput(f"{name!r} is not a header name.")
        if not isinstance(value, str):
            raise BadInput(f"The value of header {name} must be a string.")
        if not re.fullmatch(r"[\t\x20-\x7e]*", value) or value != value.strip():
            raise BadInput(
                f"The value of header {name} contains characters not allowed in a header, perhaps a line "
                "break. Strip it: .strip()"
            )
