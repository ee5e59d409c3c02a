"""Sockets that react to a stop and keep a request's time limit, even when the server only trickles."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import httpcore

from dataflow.pipelines.fetch.limits import SLICE_SECONDS, Watch
from dataflow.pipelines.fetch.proxies import Proxy

_READ_BYTES = 256 * 1024
Outcome = TypeVar("Outcome")


class WatchedStream(httpcore.NetworkStream):
    """A network stream whose reads end when the request's time is up, even if bytes keep trickling."""

    def __init__(self, stream: httpcore.NetworkStream, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The bytes received; reads more at once than requested, because pages are large."""
        wanted = max(max_bytes, _READ_BYTES)
        return self._patiently(lambda seconds: self._stream.read(wanted, seconds))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Sends a request, which always fits the socket's buffer."""
        self._stream.write(buffer, self._left())

    def close(self) -> None:
        """Closes the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted."""
        return WatchedStream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._watch)

    def get_extra_info(self, info: str) -> Any:
        """Socket details that httpcore requests."""
        return self._stream.get_extra_info(info)

    def _patiently(self, read: Callable[[float], Outcome]) -> Outcome:
        while True:
            seconds = min(self._left(), SLICE_SECONDS)
            try:
                return read(seconds)
            except httpcore.ReadTimeout:
                continue

    def _left(self) -> float:
        left = self._watch.get_request_seconds()
        if left <= 0:
            raise httpcore.ReadTimeout("the request's time is up")
        return left


class WatchedBackend(httpcore.NetworkBackend):
    """Opens watched connections."""

    def __init__(self, watch: Watch) -> None:
        self._backend = httpcore.SyncBackend()
        self._watch = watch

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the host."""
        stream = self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return WatchedStream(stream, self._watch)


def open_pool(
    watch: Watch, connections: int, context: ssl.SSLContext, proxy: Proxy | None
) -> httpcore.ConnectionPool:
    """Connections kept alive between requests, directly to the server or through the proxy."""
    backend = WatchedBackend(watch)
    if proxy is None:
        return httpcore.ConnectionPool(
            ssl_context=context, max_connections=connections, network_backend=backend
        )
    return httpcore.HTTPProxy(
        proxy_url=httpcore.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port, target="/"),
        proxy_auth=(proxy.user.encode(), proxy.password.encode()) if proxy.user else None,
        proxy_ssl_context=context if proxy.scheme == "https" else None,
        ssl_context=context,
        max_connections=connections,
        network_backend=backend,
    )
