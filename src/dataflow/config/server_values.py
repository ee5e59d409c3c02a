"""One reader per kind of value of the [server] table; each returns the setting or raises BadInput."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from dataflow.config import fields
from dataflow.config.channels import LOOPBACK, check_url
from dataflow.config.durations import parse_seconds
from dataflow.config.problems import Problems, suggestion
from dataflow.errors import BadInput
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dataflow.config.fields import Reader

    Keys = Mapping[str, tuple[str, Reader]]
    """The keys of a table, each with its field and the reader of its value."""

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8150
SHORTEST_SESSION_SECONDS = 60.0
_LISTEN = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::([0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK


def split_listen(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:8150`, `[::1]:8150`, `localhost` or `:8150`."""
    found = _LISTEN.fullmatch(text)
    if found is None or int(found[2] or 0) > 65535:
        raise BadInput(f"is {quoted(text)}; write it like 127.0.0.1:8150 or [::1]:8150")
    return found[1].strip("[]") or DEFAULT_HOST, int(found[2] or DEFAULT_PORT)


def read_listen(value: object) -> tuple[str, int]:
    """Host and port."""
    return split_listen(fields.read_name(value))


def check_https(text: str) -> str:
    """Return a URL of a provider or of this server: https, or http on this machine."""
    parts = urlsplit(check_url(text))
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise BadInput("must begin with https://: over http everybody on the way can read and change it")
    if parts.username or parts.fragment:
        raise BadInput("must not contain a user or a fragment (#)")
    return text


def read_https(value: object) -> str:
    """A URL that only we and its server can read."""
    return check_https(fields.read_name(value))


def read_url(value: object) -> str:
    """The URL of this server, without a slash at the end."""
    text = read_https(value).rstrip("/")
    if urlsplit(text).path or urlsplit(text).query:
        raise BadInput("must be only scheme, host and port, like https://flow.example.com")
    return text


def read_networks(value: object) -> tuple[str, ...]:
    """Addresses and networks."""
    names = fields.read_outputs(value)
    for name in names:
        try:
            network = ipaddress.ip_network(name)
        except ValueError:
            raise BadInput(f"has {quoted(name)}; write an address or a network like 10.0.0.0/8") from None
        if network.prefixlen == 0:
            raise BadInput(f"has {quoted(name)}: then everybody could claim to be anybody")
    return names


def read_domains(value: object) -> tuple[str, ...]:
    """Domains of e-mail addresses, in small letters."""
    names = tuple(name.strip().lower() for name in fields.read_outputs(value))
    for name in names:
        if "@" in name or "*" in name or "." not in name or not name.isprintable() or " " in name:
            raise BadInput(f"has {quoted(name)}; write a domain like example.com")
    return names


def read_emails(value: object) -> tuple[str, ...]:
    """E-mail addresses, in small letters."""
    names = tuple(name.strip().lower() for name in fields.read_outputs(value))
    for name in names:
        if name.count("@") != 1 or name.startswith("@") or name.endswith("@") or " " in name:
            raise BadInput(f"has {quoted(name)}; write an e-mail address like eve@example.com")
    return names


def read_session(value: object) -> float:
    """How long a session lasts."""
    seconds = parse_seconds(value)
    if seconds < SHORTEST_SESSION_SECONDS:
        raise BadInput(f"must be at least {SHORTEST_SESSION_SECONDS:.0f}s")
    return seconds


def read_values(origin: str, table: Mapping[str, Any], keys: Keys, problems: Problems) -> dict[str, Any]:
    """Return the values of a table by field, and note everything that is wrong with it."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            if key not in keys:
                raise BadInput(f"unknown key. {suggestion(key, keys)}")
            field, reader = keys[key]
            values[field] = reader(value)
        except BadInput as error:
            problems.add(f"{origin}.{key}", str(error))
    return values
