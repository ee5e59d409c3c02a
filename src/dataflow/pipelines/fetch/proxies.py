"""Selection of a proxy: the source's own, or one from the usual environment variables. No network here."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from dataflow.errors import BadInput, ConfigError
from dataflow.model.exposure import is_this_machine
from dataflow.model.record import record
from dataflow.pipelines.fetch.address import PORTS, Address

Found = TypeVar("Found")


@record
class Proxy:
    """An HTTP proxy; its string form shows neither user nor password."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""
    _hidden = ("user", "password")

    @property
    def url(self) -> str:
        """Its URL, without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@record
class Variable:
    """A variable that sets the proxy for requests of one scheme."""

    scheme: str
    name: str
    value: str
    _hidden = ("value",)


@record
class Proxies:
    """The proxies of a fetch: one for all requests, or one per scheme, with hosts that bypass it."""

    fixed: Proxy | None = None
    variables: tuple[Variable, ...] = ()
    exceptions: tuple[str, ...] = ()

    def find(self, address: Address) -> Proxy | None:
        """The proxy for requests to this address; None means a direct connection. ConfigError."""
        if self.fixed or not self.variables:
            return self.fixed
        if is_this_machine(address.host) or any(_matches(entry, address) for entry in self.exceptions):
            return None
        for variable in self.variables:
            if variable.scheme == address.scheme:
                try:
                    return parse_proxy(variable.value, variable.name)
                except BadInput as wrong:
                    bypass = "To bypass the proxy for this host, add the host to NO_PROXY."
                    raise ConfigError(f"{wrong} {bypass}") from None
        return None

    def list_secrets(self) -> list[str]:
        """The passwords of the proxies."""
        secrets = [self.fixed.password] if self.fixed else []
        for variable in self.variables:
            _, _, password = variable.value.rpartition("@")[0].rpartition("://")[2].partition(":")
            secrets += [password, unquote(password)]
        return [secret for secret in secrets if secret]


DIRECT = Proxies()


def find_proxies(given: str | None, environ: Mapping[str, str]) -> Proxies:
    """The proxies of a source: its own, none (""), or those of the variables (None)."""
    if given is not None:
        return Proxies(parse_proxy(given, "proxy")) if given else DIRECT
    found = []
    for scheme in PORTS:
        names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
        name = next((name for name in names if environ.get(name)), "")
        if name:
            found.append(Variable(scheme, name, environ[name]))
    spared = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    return Proxies(None, tuple(found), tuple(re.split(r"[,\s]+", spared.strip()))) if found else DIRECT


def parse_proxy(url: str, name: str) -> Proxy:
    """Parse a proxy's URL; BadInput, which shows only the scheme, when it is invalid."""
    try:
        split = urlsplit(url if "://" in url else f"http://{url}")
        host, port = split.hostname, split.port
    except ValueError:
        host, port = None, None
    if not host:
        raise BadInput(
            f"{name} is not the URL of a proxy: write http://host:port, or http://user:password@host:port."
        )
    if split.scheme not in PORTS:
        raise BadInput(f"{name} is a {split.scheme!r} proxy: only http and https proxies are supported.")
    user, password = unquote(split.username or ""), unquote(split.password or "")
    return Proxy(split.scheme, host, port or PORTS[split.scheme], user, password)


def _matches(entry: str, address: Address) -> bool:
    """True if an item of NO_PROXY (a domain, host or network, perhaps with a port) matches this address."""
    if entry == "*":
        return True
    network = _find(partial(ipaddress.ip_network, strict=False), entry.strip("[]"))
    if network is not None:
        host = _find(ipaddress.ip_address, address.host)
        return host is not None and host in network
    name, _, port = (
        entry.strip("[]").rpartition(":") if re.search(r"[^:]:[0-9]+$", entry) else (entry, "", "")
    )
    name = name.strip("[]").removeprefix("*").removeprefix(".").lower()
    host_name = address.host.lower()
    fits = host_name == name or host_name.endswith(f".{name}")
    return bool(name) and fits and port in ("", str(address.port))


def _find(parse: Callable[[str], Found], text: str) -> Found | None:
    try:
        return parse(text)
    except ValueError:
        return None
