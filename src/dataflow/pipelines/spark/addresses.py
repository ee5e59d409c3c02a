"""Spark addresses: checks that something listens there, before Spark tries for minutes."""

from __future__ import annotations

import socket

from dataflow.errors import ConfigError
from dataflow.model.url_text import percent_decode

PORTS = {"sc": 15002, "spark": 7077}
ANSWER_SECONDS = 10
PLAIN_PARAMETERS = ("user_id", "user_agent", "use_ssl", "session_id", "grpc_max_message_size")
"""Parameters after the `/;` of sc://host:port/;… that are not secret; all others are headers."""


def refuse_unreachable(place: str) -> None:
    """Raise ConfigError when nothing accepts connections at sc://… or spark://…; others are not checked."""
    scheme, slashes, rest = place.partition("://")
    if not slashes or scheme not in PORTS:
        return
    wrong = ""
    for server in rest.partition("/")[0].split(","):
        host, port = _split(server, PORTS[scheme])
        try:
            socket.create_connection((host, port), ANSWER_SECONDS).close()
            return
        except OSError as error:
            wrong = error.strerror or str(error)
    raise ConfigError(
        f"Nothing answers at {place}: {wrong}. Start Spark there, or change [spark] in dataflow.toml."
    )


def shown_address(address: str) -> str:
    """The address without the parameters of Spark Connect, which may include a token."""
    scheme, slashes, rest = address.partition("://")
    return f"{scheme}{slashes}{rest.partition(';')[0].rstrip('/')}" if scheme == "sc" else address


def list_remote_secrets(address: str) -> list[str]:
    """The token and other possible secrets in a Spark Connect address, as written and decoded."""
    parameters = [part.partition("=") for part in address.split(";")[1:]]
    found = [value for name, _, value in parameters if value and name not in PLAIN_PARAMETERS]
    return found + [percent_decode(secret) for secret in found]


def find_free_port() -> int:
    """A port on which nothing listens at the moment."""
    with socket.create_server(("", 0)) as probe:
        return int(probe.getsockname()[1])


def _split(server: str, port: int) -> tuple[str, int]:
    host, colon, number = server.rpartition(":")
    if colon and number.isdecimal():
        return host.strip("[]"), int(number)
    return server.strip("[]"), port
