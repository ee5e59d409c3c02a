"""OAuth 2 client credentials: tokens are requested when needed and kept in memory until they expire."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson

from dataflow.errors import FetchError
from dataflow.pipelines.fetch.address import Address, parse_address
from dataflow.pipelines.fetch.authentication import Grant, Headers
from dataflow.pipelines.fetch.body import TooLarge, read_body
from dataflow.pipelines.fetch.transport import Passing, Transport, refuse_passing, text_headers

Hide = Callable[[str], None]
"""Receives each secret that is learned, so that no message shows it."""

_BODY_BYTES = 1 << 20
_HEADERS: Headers = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
    ("Content-Type", "application/x-www-form-urlencoded"),
    ("User-Agent", "dataflow"),
)
# A token is renewed this long before it expires: a request may have to wait for its turn.
_MARGIN_SECONDS = 30.0


def show_no_secret(secret: str) -> None:
    """A Hide for callers that show no messages."""


class Tokens:
    """The access token of one client; thread-safe."""

    def __init__(self, grant: Grant, client: tuple[str, str], transport: Transport, hide: Hide) -> None:
        self._grant = grant
        self._client = client
        self._transport = transport
        self._hide = hide
        self._address = parse_address(grant.url)
        self._lock = threading.Lock()
        self._token = ""
        self._good_until = 0.0

    def get(self) -> str:
        """A token that has not expired; Passing or FetchError when none can be obtained."""
        with self._lock:
            if not self._token or time.monotonic() >= self._good_until:
                self._token, seconds = self._ask()
                self._hide(self._token)
                self._good_until = time.monotonic() + max(seconds - _MARGIN_SECONDS, seconds / 2)
            return self._token

    def drop(self, token: str) -> None:
        """Forget a token that the source refused; the next `get` requests another."""
        with self._lock:
            if self._token == token:
                self._token = ""

    def _ask(self) -> tuple[str, float]:
        """A new token, and its lifetime in seconds."""
        try:
            status, told, document = self._send()
        except Passing as trouble:
            raise Passing(f"no token from {self._address}: {trouble}", 0, trouble.wait_seconds) from trouble
        if status != 200:
            raise _refused(self._address, status, told, document)
        return _read(self._address, document)

    def _send(self) -> tuple[int, str, dict[str, Any]]:
        """The status of the response, the same in words, and its document."""
        headers, form = _request(self._grant, self._client)
        with self._transport.send(self._address, headers, "POST", form) as response:
            told = refuse_passing(response.status, text_headers(response))
            try:
                body = read_body(response.iter_stream(), None, _BODY_BYTES, ())
            except TooLarge:
                raise FetchError(f"The token endpoint {self._address} returned more than 1 MiB.") from None
        return response.status, told, _parse(body.data)


def _request(grant: Grant, client: tuple[str, str]) -> tuple[Headers, bytes]:
    fields = {"grant_type": "client_credentials", "scope": grant.scope, "audience": grant.audience}
    headers = _HEADERS
    if grant.client_auth == "body":
        fields |= {"client_id": client[0], "client_secret": client[1]}
    else:
        # RFC 6749, 2.3.1: both are form-encoded before they are joined.
        pair = ":".join(map(quote_plus, client))
        headers += (("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"),)
    return headers, urlencode({name: value for name, value in fields.items() if value}).encode()


def _parse(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _refused(address: Address, status: int, told: str, document: dict[str, Any]) -> FetchError:
    if 300 <= status < 400:
        return FetchError(
            f"{address} redirects, and the client secret is not sent elsewhere. Set token_url to the address "
            "it redirects to."
        )
    code = document.get("error")  # its description may quote what we sent
    named = f" ({code})" if isinstance(code, str) and re.fullmatch(r"[a-z_]{1,40}", code) else ""
    return FetchError(
        f"{address} returned no token: {told}{named}. Check the source's client id, secret, scope "
        "and audience."
    )


def _read(address: Address, document: dict[str, Any]) -> tuple[str, float]:
    token, kind = document.get("access_token"), document.get("token_type", "bearer")
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise FetchError(f"{address} returned no access_token: check the source's token_url.")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise FetchError(f"{address} returned a token that is not of type Bearer, which is not supported.")
    return token, _read_seconds(document.get("expires_in"))


def _read_seconds(expires_in: object) -> float:
    """Lifetime of a token in seconds; if not stated, it is used until refused."""
    try:
        return float(expires_in)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return float("inf")
