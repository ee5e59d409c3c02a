"""The authentication headers of requests, made for each request and sent to the source's own origin only."""

from __future__ import annotations

import base64
import threading
import time

from dataflow.errors import Untrusted
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.authentication import Credentials, Headers, check_credentials
from dataflow.pipelines.fetch.hawk import (
    BadHawk,
    HawkKey,
    HawkRequest,
    find_server_time,
    sign_request,
    verify_response,
)
from dataflow.pipelines.fetch.oauth import Hide, Tokens
from dataflow.pipelines.fetch.transport import Transport


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
        self._tokens = (
            Tokens(credentials.grant, client, transport, hide) if credentials.kind == "oauth2" else None
        )
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
        return signed.hawk is not None and self._learn_clock(signed.hawk, challenge)

    def _learn_clock(self, request: HawkRequest, header: str) -> bool:
        """True when the server sent, signed with our key, a time other than the one we signed with."""
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
