"""How a request shows who asks: Hawk, Bearer, Basic, an API key, nothing; only to the source's own origin."""

from __future__ import annotations

import base64
import re
import threading
import time

from dataflow.errors import BadInput, Untrusted
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.hawk import (
    ALGORITHMS,
    BadHawk,
    HawkKey,
    HawkRequest,
    find_server_time,
    is_header_text,
    sign_request,
    verify_response,
)

Headers = tuple[tuple[str, str], ...]


@record
class Credentials:
    """Who asks, in plain values: `kind` is hawk, bearer, basic, api_key or none.

    `name` is the Hawk id, the Basic user, or the header of the API key.
    """

    kind: str = "none"
    name: str = ""
    secret: str = ""
    algorithm: str = "sha256"
    _hidden = ("secret",)

    @property
    def identity(self) -> tuple[str, str, str]:
        """Who asks, as far as it can be told: a token or API key names nobody, so it counts itself.

        It holds that secret: to be hashed, not to be kept.
        """
        return self.kind, self.name, self.secret if self.kind in ("bearer", "api_key") else ""


NOBODY = Credentials()
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_WORDS = {"hawk": "id and key", "bearer": "token", "basic": "user", "api_key": "header name and key"}


def check_credentials(credentials: Credentials) -> None:
    """BadInput when these credentials could never be sent; its text holds no secret."""
    kind, name, secret = credentials.kind, credentials.name, credentials.secret
    if kind == "none":
        return
    if kind not in _WORDS:
        raise BadInput(f"Authentication {kind!r} is unknown: use hawk, bearer, basic, api_key or none.")
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


class Signer:
    """Makes the headers of each request, and checks the answers, of one source; threads may share it."""

    def __init__(self, credentials: Credentials, origin: str) -> None:
        check_credentials(credentials)
        self._credentials = credentials
        self._origin = origin
        self._key = HawkKey(credentials.name, credentials.secret, credentials.algorithm)
        self._offset_seconds = 0
        self._lock = threading.Lock()

    def sign(self, address: Address) -> tuple[Headers, HawkRequest | None]:
        """The headers that go with a GET of this address: none for any origin but the source's own."""
        if address.origin != self._origin:
            return (), None
        if self._credentials.kind == "hawk":
            request = sign_request(self._key, "GET", address, int(time.time()) + self._offset_seconds)
            return (("Authorization", request.header),), request
        return _plain_headers(self._credentials), None

    def verify(self, request: HawkRequest, header: str, digests: tuple[str, ...]) -> None:
        """Raises Untrusted unless the answer to this request is the server's own, untouched."""
        try:
            if not header:
                raise BadHawk("it has no Server-Authorization header")
            verify_response(request, header, digests)
        except BadHawk as wrong:
            raise Untrusted(
                f"The answer of {request.address} is not proven to be the server's own: {wrong}. "
                "Nothing of it was used; check the Hawk key, and for a proxy that changes answers."
            ) from None

    def learn_clock(self, request: HawkRequest, header: str) -> bool:
        """True when a 401 told, under our key, another time than the one we signed with: sign again."""
        told = find_server_time(self._key, header)
        if told is None:
            return False
        with self._lock:
            self._offset_seconds = told - int(time.time())
        return abs(told - request.timestamp) > 1


def _plain_headers(credentials: Credentials) -> Headers:
    if credentials.kind == "bearer":
        return (("Authorization", f"Bearer {credentials.secret}"),)
    if credentials.kind == "basic":
        pair = base64.b64encode(f"{credentials.name}:{credentials.secret}".encode()).decode()
        return (("Authorization", f"Basic {pair}"),)
    if credentials.kind == "api_key":
        return ((credentials.name, credentials.secret),)
    return ()
