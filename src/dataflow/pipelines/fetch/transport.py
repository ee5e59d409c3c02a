"""One request and its response over the network; network errors are translated here.

Its sockets react to a stop and keep a request's time limit, even when the server only trickles.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import responses
from typing import Any

import httpcore

from dataflow.errors import FetchError
from dataflow.pipelines.fetch.address import Address
from dataflow.pipelines.fetch.authentication import Headers
from dataflow.pipelines.fetch.body import Damaged
from dataflow.pipelines.fetch.limits import SLICE_SECONDS, Limits, Watch, find_retry_after
from dataflow.pipelines.fetch.proxies import Proxies, Proxy

_READ_BYTES = 256 * 1024
_PASSING = frozenset((408, 425, 429))
_STAYING = frozenset((501, 505))
"""Server errors (500 and above) that waiting does not cure."""


class Passing(Exception):
    """A transient error; `wait_seconds` is what the server asked for."""

    def __init__(self, reason: str, status: int = 0, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.wait_seconds = wait_seconds


class _WatchedStream(httpcore.NetworkStream):
    """A network stream whose reads end when the request's time is up, even if bytes keep trickling."""

    def __init__(self, stream: httpcore.NetworkStream, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The bytes received; reads more at once than requested, because pages are large."""
        while True:
            seconds = min(self._left(), SLICE_SECONDS)
            try:
                return self._stream.read(max(max_bytes, _READ_BYTES), seconds)
            except httpcore.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Sends a request, which always fits the socket's buffer."""
        self._stream.write(buffer, self._left())

    def close(self) -> None:
        """Closes the connection."""
        self._stream.close()

    def start_tls(self, *arguments: Any, **named: Any) -> httpcore.NetworkStream:
        """The same connection, encrypted."""
        return _WatchedStream(self._stream.start_tls(*arguments, **named), self._watch)

    def get_extra_info(self, info: str) -> Any:
        """Socket details that httpcore requests."""
        return self._stream.get_extra_info(info)

    def _left(self) -> float:
        left = self._watch.get_request_seconds()
        if left <= 0:
            raise httpcore.ReadTimeout("the request's time is up")
        return left


class _WatchedBackend(httpcore.SyncBackend):
    """Opens watched connections."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def connect_tcp(self, *arguments: Any, **named: Any) -> httpcore.NetworkStream:
        """A connection to a host."""
        return _WatchedStream(super().connect_tcp(*arguments, **named), self._watch)


class Transport:
    """The connections of one fetch; thread-safe."""

    def __init__(self, limits: Limits, watch: Watch, proxies: Proxies) -> None:
        self._limits = limits
        self._watch = watch
        self._proxies = proxies
        self._context = ssl.create_default_context()
        self._pools: dict[Proxy | None, httpcore.ConnectionPool] = {}

    def close(self) -> None:
        """Closes all connections."""
        for pool in self._pools.values():
            pool.close()

    @contextmanager
    def send(
        self, address: Address, headers: Headers, method: str = "GET", content: bytes | None = None
    ) -> Iterator[httpcore.Response]:
        """The response, with its body still unread; Passing or FetchError for errors up to there."""
        proxy = self._proxies.find(address)
        url = httpcore.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.target)
        timeouts = {"connect": self._limits.connect_seconds, "pool": self._limits.request_seconds}
        with (
            self._explained(address, proxy),
            self._find_pool(proxy).stream(
                method,
                url,
                headers=[("Host", address.authority), *headers],
                content=content,
                extensions={"timeout": timeouts},
            ) as response,
        ):
            if proxy and response.status == 407:
                raise _refused_by(proxy, "407")
            yield response

    def _find_pool(self, proxy: Proxy | None) -> httpcore.ConnectionPool:
        """Connections kept alive between requests, directly to the server or through the proxy."""
        if proxy not in self._pools:
            self._pools.setdefault(proxy, self._open_pool(proxy))
        return self._pools[proxy]

    def _open_pool(self, proxy: Proxy | None) -> httpcore.ConnectionPool:
        options: dict[str, Any] = {
            "ssl_context": self._context,
            "max_connections": max(self._limits.parallel, 1),
            "network_backend": _WatchedBackend(self._watch),
        }
        if proxy is None:
            return httpcore.ConnectionPool(**options)
        return httpcore.HTTPProxy(
            proxy_url=httpcore.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port, target="/"),
            proxy_auth=(proxy.user.encode(), proxy.password.encode()) if proxy.user else None,
            proxy_ssl_context=self._context if proxy.scheme == "https" else None,
            **options,
        )

    @contextmanager
    def _explained(self, address: Address, proxy: Proxy | None) -> Iterator[None]:
        via = f" to the proxy {proxy.url}" if proxy else ""
        try:
            yield
        except httpcore.ConnectTimeout as late:
            raise Passing(f"no connection{via} within {self._limits.connect_seconds:g} s") from late
        except httpcore.TimeoutException as late:
            raise Passing(f"no complete response within {self._limits.request_seconds:g} s") from late
        except httpcore.ProxyError as wrong:
            raise _refused_by(proxy, str(wrong)) from wrong
        except httpcore.ConnectError as wrong:
            raise _unconnected(wrong, address, via) from wrong
        except httpcore.LocalProtocolError:
            # Its text quotes what we sent, which may be a secret.
            raise Passing("the request is malformed and cannot be sent") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as wrong:
            raise Passing(f"the connection was lost ({str(wrong) or type(wrong).__name__})") from wrong
        except Damaged as wrong:
            raise Passing(str(wrong)) from wrong


def text_headers(response: httpcore.Response) -> dict[str, str]:
    """The headers by lower-case name; the first of repeated ones, but Hawk's challenge is preferred."""
    found: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key == "link" and key in found:  # repetitions form one list
            found[key] += f", {text}"
        elif key not in found or (key == "www-authenticate" and text.lower().startswith("hawk ")):
            found[key] = text
    return found


def refuse_passing(status: int, headers: dict[str, str]) -> str:
    """The status in words; raises Passing for a transient one."""
    told = f"{status} {responses.get(status, '')}".rstrip()
    if status in _PASSING or (status >= 500 and status not in _STAYING):
        wait = find_retry_after(headers.get("retry-after", ""), headers.get("date", ""))
        raise Passing(told, status, wait)
    return told


def _unconnected(wrong: httpcore.ConnectError, address: Address, via: str) -> Exception:
    """Error of a failed connection: permanent for an invalid certificate, otherwise transient."""
    # httpcore drops the cause, but keeps the socket's own error as its argument.
    inner = wrong.args[0] if wrong.args else None
    if isinstance(inner, ssl.SSLCertVerificationError):
        where = f"{address.origin}, or of the connection{via}," if via else address.origin
        return FetchError(f"The certificate of {where} is not valid: {inner.verify_message}.")
    return Passing(f"no connection{via} ({wrong})")


def _refused_by(proxy: Proxy | None, answer: str) -> Exception:
    """The error for a refusal by the proxy itself."""
    shown = proxy.url if proxy else "unknown"
    found = re.match(r"[0-9]{3}", answer)
    status = int(found[0]) if found else 0
    told = f"the proxy {shown} returned {status} {responses.get(status, '')}".rstrip()
    if status == 407:
        return FetchError(
            f"The proxy {shown} requires a user and password: add them to its URL, "
            "http://user:password@host:port, in the variable that holds it or in the source's proxy."
        )
    if status in _PASSING or status >= 500:
        return Passing(told)
    return FetchError(f"T{told[1:]}: it does not connect to the source. Ask its operator, or set NO_PROXY.")
