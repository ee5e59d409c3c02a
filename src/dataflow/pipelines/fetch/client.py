"""GET with retries: signs, sends, checks and repeats requests until one succeeds. Knows nothing of pages."""

from __future__ import annotations

import httpcore

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.model.wording import shortened
from dataflow.pipelines.fetch.address import Address, join_address
from dataflow.pipelines.fetch.authentication import NOBODY, Credentials, Headers, check_headers
from dataflow.pipelines.fetch.body import (
    Body,
    Damaged,
    TooLarge,
    explain_encoding,
    find_unpacker,
    list_encodings,
    read_body,
    start_payloads,
)
from dataflow.pipelines.fetch.limits import Limits, Watch
from dataflow.pipelines.fetch.proxies import DIRECT, Proxies
from dataflow.pipelines.fetch.signer import Hide, Signed, Signer
from dataflow.pipelines.fetch.transport import Passing, Transport, refuse_passing, text_headers
from dataflow.secrets.known import KnownSecrets

_HEADERS: Headers = (("Accept", "application/json"), ("User-Agent", "dataflow"))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
_CREDENTIALS = frozenset((401, 403))
_REFUSAL_BYTES = 64 << 10
_SHOWN_REFUSAL = 300
_ADVICE = {
    401: "check the source's credentials",
    403: "check that the source's credentials allow reading this",
    404: "check the source's URL",
}


@record
class Origins:
    """Where requests may go: the source's own origin, and origins listed in `allowed_origins`."""

    own: str
    allowed: frozenset[str] = frozenset()

    def check(self, address: Address, whence: str) -> None:
        """Raise FetchError unless the address is on one of these origins."""
        if address.origin != self.own and address.origin not in self.allowed:
            raise FetchError(
                f"{whence} leads to {address.origin}, not to the source's own {self.own}, and was not "
                "followed. If this is expected, add it to the source's allowed_origins; credentials are not "
                "sent there."
            )


@record
class HttpAnswer:
    """A complete, verified response, and the address it came from."""

    address: Address
    body: Body
    content_type: str = ""
    link: str = ""  # its Link headers, as one list


@record
class Access:
    """Origins, credentials, proxies and limits of requests."""

    origins: Origins
    credentials: Credentials = NOBODY
    limits: Limits = Limits()
    headers: Headers = ()
    proxies: Proxies = DIRECT
    secrets: tuple[str, ...] = ()  # a server may echo them; no message may show them
    _hidden = ("headers", "secrets")


@record
class _Redirect:
    address: Address
    sets_cookie: bool


class Client:
    """Sends requests to one source; thread-safe."""

    def __init__(self, access: Access, watch: Watch, hide: Hide) -> None:
        check_headers(access.headers)
        self.origins = access.origins
        self._access = access
        self._watch = watch
        self._transport = Transport(access.limits, watch, access.proxies)
        self._secrets = KnownSecrets(*access.secrets)

        def learn(secret: str) -> None:
            self._secrets.add(secret)
            hide(secret)

        self._signer = Signer(access.credentials, access.origins.own, self._transport, learn)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def get(self, address: Address) -> HttpAnswer:
        """The response at this address, after retries; FetchError says what failed."""
        attempt = 1
        while True:
            try:
                return self._get_once(address)
            except Passing as trouble:
                if attempt >= self._access.limits.attempts:
                    kept = " The pages staged so far are kept for the next run."
                    raise FetchError(
                        f"{address} returned no page in {attempt} attempts; last error: {trouble}."
                        f"{kept if self._watch.has_staged else ''}",
                        status=trouble.status,
                    ) from trouble
                self._watch.wait_to_retry(str(trouble), self._get_wait(address, attempt, trouble))
            attempt += 1

    def _get_wait(self, address: Address, attempt: int, trouble: Passing) -> float:
        try:
            return self._watch.get_retry_wait(attempt, trouble.wait_seconds)
        except FetchError as refusal:
            raise FetchError(f"{address} returned {trouble}: {refusal}.", status=trouble.status) from trouble

    def _get_once(self, address: Address) -> HttpAnswer:
        whence = "A request"
        sets_cookie = False
        for _ in range(_MOST_REDIRECTS + 1):
            self.origins.check(address, whence)
            outcome = self._send(address, may_sign_again=True)
            if isinstance(outcome, HttpAnswer):
                return outcome
            whence = f"The redirect of {address}"
            address, sets_cookie = outcome.address, sets_cookie or outcome.sets_cookie
        told = f"{address} redirects more than {_MOST_REDIRECTS} times"
        if sets_cookie:
            raise FetchError(
                f"{told} and sets a cookie each time: it expects a browser that returns the cookie, as login "
                "pages do. Cookies are not kept: use the URL of the API, with auth=."
            )
        raise FetchError(f"{told}; check the source's URL.")

    def _send(self, address: Address, may_sign_again: bool) -> HttpAnswer | _Redirect:
        """Send one request; returns the response, or the redirect."""
        self._watch.wait_for_turn()
        self._watch.begin_request()
        signed = self._signer.sign(address)
        extra = self._access.headers if address.origin == self.origins.own else ()
        asked = (("Accept-Encoding", ", ".join(list_encodings())),)
        with self._transport.send(address, (*_HEADERS, *asked, *extra, *signed.headers)) as response:
            found = text_headers(response)
            if response.status == 200:
                return self._read(response, found, address, signed)
            status = response.status
            said = self._read_refusal(response, found) if status in _CREDENTIALS else ""
        challenge = found.get("www-authenticate", "")
        if status == 401 and may_sign_again and self._signer.learn(signed, challenge):
            return self._send(address, may_sign_again=False)
        return _redirect_or_error(status, found, address, said)

    def _read_refusal(self, response: httpcore.Response, headers: dict[str, str]) -> str:
        """Where the credentials came from and what the server says about them, without secrets."""
        variables = self._access.credentials.variables
        told = f" They came from {', '.join(variables)}." if variables else ""
        unpack = find_unpacker(_encoding_of(headers))
        try:
            body = read_body(response.iter_stream(), unpack, _REFUSAL_BYTES, ()).data
        except (TooLarge, Damaged):
            return told
        # Shortened after redaction: half a secret would not be recognised.
        words = " ".join(self._secrets.redact_text(body.decode(errors="replace")).split())
        return f"{told} The server said: {shortened(words, _SHOWN_REFUSAL).rstrip('.')}." if words else told

    def _read(
        self, response: httpcore.Response, headers: dict[str, str], address: Address, signed: Signed
    ) -> HttpAnswer:
        encoding = _encoding_of(headers)
        unpack = find_unpacker(encoding)
        if encoding and not unpack:
            raise FetchError(
                f"{address} returned the encoding {encoding!r}, which was not requested: "
                f"{explain_encoding(encoding)}."
            )
        kind = headers.get("content-type", "")
        algorithm = self._access.credentials.algorithm
        payloads = start_payloads(algorithm, kind, unpack is not None) if signed.hawk else ()
        limit = self._access.limits.body_bytes
        try:
            body = read_body(response.iter_stream(), unpack, limit, payloads)
        except TooLarge:
            raise FetchError(
                f"The page at {address} is larger than {limit:,} bytes uncompressed; reading stopped there. "
                "Request smaller pages, or raise the source's body_bytes."
            ) from None
        if signed.hawk:
            self._signer.verify(signed.hawk, headers.get("server-authorization", ""), body.digests)
        return HttpAnswer(address, body, kind, headers.get("link", ""))


def _encoding_of(headers: dict[str, str]) -> str:
    return headers.get("content-encoding", "").strip().lower().removeprefix("identity")


def _redirect_or_error(status: int, headers: dict[str, str], address: Address, said: str) -> _Redirect:
    """Target of a redirect; raises for every other status."""
    if status in _REDIRECTS and "location" in headers:
        return _Redirect(join_address(address, headers["location"]), "set-cookie" in headers)
    told = refuse_passing(status, headers)
    advice = _ADVICE.get(status, "check the source's URL and parameters")
    raise FetchError(f"{address} returned {told}: {advice}.{said}", status=status)
