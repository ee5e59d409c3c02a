"""Warnings about passwords sent over an unencrypted connection to another host."""

from __future__ import annotations

import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UnencryptedConnection(UserWarning):
    """A password was sent over a connection that others on the network can read."""


def warn_if_exposed(connection: Any, what: str) -> None:
    """Warn if a PostgreSQL connection sent a password to another host without encryption.

    `what` names the connection. Sockets and loopback addresses are on this machine.
    """
    if connection.ssl_in_use or not connection.used_password:
        return
    address = (connection.hostaddr or connection.host or b"").decode(errors="replace")
    if is_this_machine(address):
        return
    text = (
        f"{what} is not encrypted, and its password is sent to {address}: others on the network can "
        "read it. Add ?sslmode=verify-full&sslrootcert=FILE to the URL."
    )
    warnings.warn(text, UnencryptedConnection, stacklevel=2)


def is_this_machine(host: str) -> bool:
    """Return whether it is a loopback address or name, or the folder of a socket."""
    name = host.strip("[]").lower().rstrip(".")
    if not name or name.startswith(("/", "@")) or name == "localhost" or name.endswith(".localhost"):
        return True
    import ipaddress  # start-up: only a server needs it

    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback)
