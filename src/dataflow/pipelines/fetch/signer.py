"""The authentication headers of requests, made for each request and sent to the source's own origin only."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson

from dataflow.errors import FetchError, Untrusted
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address, parse_address
from dataflow.pipelines.fetch.authentication import Credentials, Grant, Headers, check_credentials
from dataflow.pipelines.fetch.body import TooLarge, read_body
from dataflow.pipelines.fetch.hawk import (
    BadHawk,
    HawkKey,
    HawkRequest,
    find_server_time,
    sign_request,
    verify_response,
)
from dataflow.pipelines.fetch.transport import Passing, Transport, refuse_passing, text_headers

Hide = Callable[[str], None]
"""Receives each secret that is learned, so that no message shows it."""

_TOKEN_BYTES = 1 << 20
_TOKEN_HEADERS: Headers = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
    ("Content-Type", "application/x-www-form-urlencoded"),
    ("User-Agent", "dataflow"),
)
# A token is renewed this long before it expires: a request may have to wait for its turn.
_MARGIN_SECONDS = 30.0


@record
class Signed:
    """The headers of one request, and what is needed to verify its response."""

    headers: Headers = ()
    hawk: HawkRequest | None = None
    token: str = ""
    _hidden = ("headers", "token")


class Signer:
    """Signs requests to one source and verifies their responses; thread-safe."""

    def __init__(self, credentials: Credentials, origin: str, transport: Transport, hide: Hide) -> None:
        check_credentials(credentials)
        self._credentials = credentials
        client = credentials.name, credentials.secret
        has_tokens = credentials.kind == "oauth2"
        self._tokens = AccessTokens(credentials.grant, client, transport, hide) if has_tokens else None
        self._origin = origin
        self._key = HawkKey(credentials.name, credentials.secret, credentials.algorithm)
        self._offset_seconds = 0
        self._lock = threading.Lock()

    def sign(self, address: Address) -> Signed:
        """The headers for a GET of this address: none for any origin but the source's own."""
        if address.origin != self._origin:
            return Signed()
        if self._credentials.kind == "hawk":
            request = sign_request(self._key, "GET", address, int(time.time()) + self._offset_seconds)
            return Signed((("Authorization", request.header),), request)
        if self._tokens:
            token = self._tokens.get()
            return Signed((("Authorization", f"Bearer {token}"),), token=token)
        return Signed(_plain_headers(self._credentials))

    def verify(self, request: HawkRequest, header: str, digests: tuple[str, ...]) -> None:
        """Raise Untrusted unless the response to this request is the server's own, unmodified."""
        try:
            if not header:
                raise BadHawk("it has no Server-Authorization header")
            verify_response(request, header, digests)
        except BadHawk as wrong:
            raise Untrusted(
                f"The response of {request.address} could not be verified: {wrong}. "
                "It was not used; check the Hawk key, and look for a proxy that modifies responses."
            ) from None

    def learn(self, signed: Signed, challenge: str) -> bool:
        """True when a 401 justifies signing again: the server's clock differs, or the token has expired."""
        if signed.token and self._tokens:
            self._tokens.drop(signed.token)
            return True
        told = find_server_time(self._key, challenge) if signed.hawk else None
        if signed.hawk is None or told is None:
            return False
        with self._lock:
            self._offset_seconds = told - int(time.time())
        return abs(told - signed.hawk.timestamp) > 1


def _plain_headers(credentials: Credentials) -> Headers:
    if credentials.kind == "bearer":
        return (("Authorization", f"Bearer {credentials.secret}"),)
    if credentials.kind == "basic":
        pair = base64.b64encode(f"{credentials.name}:{credentials.secret}".encode()).decode()
        return (("Authorization", f"Basic {pair}"),)
    return ((credentials.name, credentials.secret),) if credentials.kind == "api_key" else ()


class AccessTokens:
    """The OAuth 2 access token of one client, in memory until it expires; thread-safe."""

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
        headers, form = _request(self._grant, self._client)
        try:
            with self._transport.send(self._address, headers, "POST", form) as response:
                told = refuse_passing(response.status, text_headers(response))
                body = read_body(response.iter_stream(), None, _TOKEN_BYTES, ())
        except TooLarge:
            raise FetchError(f"The token endpoint {self._address} returned more than 1 MiB.") from None
        except Passing as trouble:
            raise Passing(f"no token from {self._address}: {trouble}", 0, trouble.wait_seconds) from trouble
        document = _parse(body.data)
        if response.status != 200:
            raise _refused(self._address, response.status, told, document)
        return _read(self._address, document)


def _request(grant: Grant, client: tuple[str, str]) -> tuple[Headers, bytes]:
    fields = {"grant_type": "client_credentials", "scope": grant.scope, "audience": grant.audience}
    headers = _TOKEN_HEADERS
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
