"""GET with patience: signs, sends, checks and repeats requests until an answer is here. No pages here."""

from __future__ import annotations

import ssl
from http import HTTPStatus
from types import TracebackType

import httpcore

from dataflow.errors import FetchError
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import Address, join_address
from dataflow.pipelines.fetch.authentication import Credentials, Headers, Signer, check_headers
from dataflow.pipelines.fetch.body import Body, Damaged, TooLarge, read_body, start_payloads
from dataflow.pipelines.fetch.connection import open_pool
from dataflow.pipelines.fetch.limits import Limits, Watch, find_retry_after

_HEADERS: Headers = (("Accept", "application/json"), ("Accept-Encoding", "gzip"), ("User-Agent", "dataflow"))
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_PASSING = frozenset((408, 425, 429))
_STAYING = frozenset((501, 505))
"""Of the errors of servers (500 and above) those that no waiting mends."""
_MOST_REDIRECTS = 5
_ADVICE = {
    401: "check the source's credentials",
    403: "check that the source's credentials may read this",
    404: "check the source's URL",
}


@record
class Origins:
    """Where requests may go: the source's own origin, and others allowed by name."""

    own: str
    allowed: frozenset[str] = frozenset()

    def check(self, address: Address, whence: str) -> None:
        """FetchError unless the address is on one of these origins."""
        if address.origin != self.own and address.origin not in self.allowed:
            raise FetchError(
                f"{whence} leads to {address.origin}, not to the source's own {self.own}; it was not "
                "followed. If that is right, name it in the source's allowed_origins; credentials are not "
                "sent there."
            )


@record
class Answer:
    """A whole, trusted answer, and the address it came from."""

    address: Address
    body: Body


class _Passing(Exception):
    """A trouble that may pass; `wait_seconds` is what the server asked for."""

    def __init__(self, reason: str, status: int = 0, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.wait_seconds = wait_seconds


class Client:
    """Requests to one source; may be used by several threads at once."""

    def __init__(
        self, origins: Origins, credentials: Credentials, limits: Limits, watch: Watch, headers: Headers = ()
    ) -> None:
        check_headers(headers)
        self._origins = origins
        self._signer = Signer(credentials, origins.own)
        self._algorithm = credentials.algorithm
        self._limits = limits
        self._watch = watch
        self._headers = headers
        self._pool = open_pool(watch, max(limits.parallel, 1))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()

    def get(self, address: Address) -> Answer:
        """The answer at this address, after as many attempts as allowed; FetchError says why not."""
        attempt = 1
        while True:
            try:
                return self._get_once(address)
            except _Passing as trouble:
                if attempt >= self._limits.attempts:
                    raise FetchError(
                        f"{address} gave no page in {attempt} attempts; the last one: {trouble}. The pages "
                        "staged so far are kept for when it is done again.",
                        status=trouble.status,
                    ) from trouble
                self._watch.wait_to_retry(str(trouble), self._get_wait(address, attempt, trouble))
            attempt += 1

    def _get_wait(self, address: Address, attempt: int, trouble: _Passing) -> float:
        try:
            return self._watch.get_retry_wait(attempt, trouble.wait_seconds)
        except FetchError as refusal:
            raise FetchError(f"{address} answered {trouble}: {refusal}.", status=trouble.status) from trouble

    def _get_once(self, address: Address) -> Answer:
        whence = "A request"
        for _ in range(_MOST_REDIRECTS + 1):
            self._origins.check(address, whence)
            outcome = self._send(address, may_sign_again=True)
            if isinstance(outcome, Answer):
                return outcome
            whence = f"The redirect of {address}"
            address = outcome
        raise FetchError(f"{address} redirects more than {_MOST_REDIRECTS} times; check the source's URL.")

    def _send(self, address: Address, may_sign_again: bool) -> Answer | Address:
        """One request: its answer, or where it redirects to."""
        self._watch.wait_for_turn()
        self._watch.begin_request()
        try:
            return self._exchange(address, may_sign_again)
        except httpcore.ConnectTimeout as late:
            raise _Passing(f"no connection within {self._limits.connect_seconds:g} s") from late
        except httpcore.TimeoutException as late:
            raise _Passing(f"no whole answer within {self._limits.request_seconds:g} s") from late
        except httpcore.ConnectError as wrong:
            raise _explained(wrong, address) from wrong
        except httpcore.LocalProtocolError:
            # Its text quotes what we sent, and that may be a secret.
            raise _Passing("the request cannot be sent as it is") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as wrong:
            raise _Passing(f"the connection broke off ({str(wrong) or type(wrong).__name__})") from wrong
        except Damaged as wrong:
            raise _Passing(str(wrong)) from wrong

    def _exchange(self, address: Address, may_sign_again: bool) -> Answer | Address:
        own, signed = self._signer.sign(address)
        extra = self._headers if address.origin == self._origins.own else ()
        headers = [("Host", address.authority), *_HEADERS, *extra, *own]
        timeouts = {"connect": self._limits.connect_seconds, "pool": self._limits.request_seconds}
        url = httpcore.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.target)
        with self._pool.stream("GET", url, headers=headers, extensions={"timeout": timeouts}) as response:
            found = _text_headers(response)
            if response.status == 200:
                body = self._read(response, found, address, hashed=signed is not None)
                if signed:
                    self._signer.verify(signed, found.get("server-authorization", ""), body.digests)
                return Answer(address, body)
            status = response.status
        challenge = found.get("www-authenticate", "")
        if status == 401 and may_sign_again and signed and self._signer.learn_clock(signed, challenge):
            return self._send(address, may_sign_again=False)
        return _redirect_or_error(status, found, address)

    def _read(
        self, response: httpcore.Response, headers: dict[str, str], address: Address, hashed: bool
    ) -> Body:
        encoding = headers.get("content-encoding", "").strip().lower().removeprefix("identity")
        if encoding not in ("", "gzip", "x-gzip", "deflate"):
            raise FetchError(
                f"{address} answered in the encoding {encoding!r}, though only gzip was offered."
            )
        kind = headers.get("content-type", "")
        payloads = start_payloads(self._algorithm, kind, encoding) if hashed else ()
        try:
            return read_body(response.iter_stream(), encoding, self._limits.body_bytes, payloads)
        except TooLarge:
            raise FetchError(
                f"The page at {address} is larger than {self._limits.body_bytes:,} bytes unpacked; reading "
                "stopped there. Ask for smaller pages, or raise the source's body_bytes."
            ) from None


def _explained(wrong: httpcore.ConnectError, address: Address) -> Exception:
    """A connection that could not be made: for want of trust it never will be, else it may yet."""
    # httpcore drops the cause, but keeps the socket's own error as its argument.
    inner = wrong.args[0] if wrong.args else None
    if isinstance(inner, ssl.SSLCertVerificationError):
        return FetchError(f"The certificate of {address.origin} is not valid: {inner.verify_message}.")
    return _Passing(f"no connection ({wrong})")


def _text_headers(response: httpcore.Response) -> dict[str, str]:
    """The headers by lower-case name; of a repeated one the first, but Hawk's challenge is preferred."""
    found: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key not in found or (key == "www-authenticate" and text.lower().startswith("hawk ")):
            found[key] = text
    return found


def _redirect_or_error(status: int, headers: dict[str, str], address: Address) -> Address:
    """Where a redirect leads; raises for every other status."""
    if status in _REDIRECTS and "location" in headers:
        return join_address(address, headers["location"])
    told = f"{status} {_phrase(status)}".rstrip()
    if status in _PASSING or (status >= 500 and status not in _STAYING):
        wait = find_retry_after(headers.get("retry-after", ""), headers.get("date", ""))
        raise _Passing(told, status, wait)
    advice = _ADVICE.get(status, "check the source's URL and parameters")
    raise FetchError(f"{address} answered {told}: {advice}.", status=status)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
