"""Serves a project until it is stopped: the socket, the signals, the end of open streams."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn

from dataflow.access.gate import open_gate
from dataflow.access.request_checks import check_listen
from dataflow.api.application import Service, ShowProblem, make_application
from dataflow.api.project import Project
from dataflow.api.route import Route
from dataflow.api.table import ROUTES
from dataflow.config.server import ServerSettings
from dataflow.errors import ConfigError, Conflict
from dataflow.model.record import record, replace

ENDING_SECONDS = 5
"""Time for requests to end after a signal."""


@record
class Pages:
    """What is served beside the API: pages, and how they show errors."""

    routes: Sequence[Route]
    show_problem: ShowProblem


class _Server(uvicorn.Server):
    """On a signal, ends open streams and returns instead of dying of the signal."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, _frame: object) -> None:
        self._service.events.close()
        self.handle_exit(number, None)  # a second Ctrl-C waits for no request


def serve(project: Project, settings: ServerSettings, announce: Callable[[str], None], pages: Pages) -> None:
    """Serve a project until SIGINT or SIGTERM; `announce` receives the URL once requests are taken."""
    check_listen(settings)
    with listen(settings.host, settings.port) as listener:
        bound = replace(settings, port=listener.getsockname()[1])  # port 0 is any that is free
        gate = open_gate(bound, project.config.actor, project.environ, project.passphrase)
        project.secrets.add(*gate.secrets)
        service = Service(project, gate, pages.show_problem)
        config = uvicorn.Config(
            make_application(service, (*ROUTES, *pages.routes)),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=False,  # the gate follows proxies, by trusted_proxies
            timeout_graceful_shutdown=ENDING_SECONDS,
        )
        announce(gate.start_link)
        try:
            asyncio.run(_Server(config, service).serve(sockets=[listener]))
        finally:
            service.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that takes connections; Conflict if another process has the port."""
    address = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Conflict(
                f"Port {port} on {address} is in use. Choose another (0: any): dataflow serve --port N"
            ) from error
        raise ConfigError(f"Cannot listen on {address}, port {port}: {error.strerror}.") from error
    # asyncio does this only for sockets that it has made itself; without it small answers take 40 ms longer.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
