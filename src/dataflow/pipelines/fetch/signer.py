"""The headers that show a source who asks, made for each request and sent to its own origin only."""

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
    """The headers of one request, and what its answer is checked against."""

    headers: Headers = ()
    hawk: HawkRequest | None = None
    token: str = ""
    _hidden = ("headers", "token")


class Signer:
    """Makes the headers of each request, and checks the answers, of one source; threads may share it."""

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
        """The headers that go with a GET of this address: none for any origin but the source's own."""
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

    def learn(self, signed: Signed, challenge: str) -> bool:
        """True when a 401 is a reason to sign again: the server's clock differs, or the token is used up."""
        if signed.token and self._tokens:
            self._tokens.drop(signed.token)
            return True
        return signed.hawk is not None and self._learn_clock(signed.hawk, challenge)

    def _learn_clock(self, request: HawkRequest, header: str) -> bool:
        """True when the server told, under our key, another time than the one we signed with."""
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
