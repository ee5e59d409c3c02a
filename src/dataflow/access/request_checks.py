"""Checks of a request before anybody asks who sent it: proxies, Host and cross-site requests. Pure.

Each raises Forbidden with what to configure.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from dataflow.access.request_facts import SAFE_METHODS
from dataflow.config.server_values import is_loopback
from dataflow.errors import ConfigError, Forbidden
from dataflow.model.record import replace
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.access.request_facts import RequestFacts
    from dataflow.config.server import ServerSettings

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


def check_listen(settings: ServerSettings) -> None:
    """Raise ConfigError if others could reach the server without a login, or their passwords in clear."""
    if is_loopback(settings.host):
        return
    where = f"The server cannot listen on {settings.host}: others can reach this address"
    if not settings.requires_login:
        raise ConfigError(
            f"{where}, and there is no login. Set users = true in [server] of dataflow.toml and run dataflow "
            "user add NAME, or add [server.login]; or listen on 127.0.0.1."
        )
    if not settings.url.startswith("https://"):
        raise ConfigError(
            f"{where}, and cookies and passwords need https. Put a proxy with a certificate before it, set "
            'url = "https://…" and trusted_proxies in [server] of dataflow.toml; or listen on 127.0.0.1.'
        )


def check_request(facts: RequestFacts, settings: ServerSettings) -> RequestFacts:
    """Return the request as its client sent it; Forbidden if it must not be answered."""
    seen = follow_proxies(facts, settings.trusted_proxies)
    check_host(seen, settings)
    check_origin(seen, settings)
    return seen


def follow_proxies(facts: RequestFacts, trusted_proxies: Sequence[str]) -> RequestFacts:
    """Return the request as the client sent it to the outermost trusted proxy.

    Anybody can write the headers of a proxy, so they are refused from everybody else.
    """
    if not facts.forwarding:
        return facts
    if not _is_among(facts.address, trusted_proxies):
        raise Forbidden(
            f"The request comes through a proxy that is not trusted, at {facts.address or 'no address'}. "
            "Add its address to trusted_proxies in [server] of dataflow.toml."
        )
    headers = dict(facts.forwarding)
    hops = [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]
    address = facts.address
    while hops and _is_among(address, trusted_proxies):
        address = hops.pop()
    proto = headers.get("x-forwarded-proto", facts.scheme).rpartition(",")[2].strip().lower()
    return replace(
        facts,
        address=address,
        host=headers.get("x-forwarded-host", facts.host).rpartition(",")[2].strip(),
        scheme=proto if proto in ("http", "https") else facts.scheme,
        forwarding=(),
    )


def check_host(facts: RequestFacts, settings: ServerSettings) -> None:
    """Raise Forbidden unless the Host is a name of this server.

    A page of somebody else can have its own name resolve to this machine (DNS rebinding); the browser then
    sends our cookies to no one, but lets that page read what it gets from us.
    """
    if name_in(facts.host) not in known_hosts(settings):
        raise Forbidden(
            f"This server is not called {quoted(facts.host)}. If it is, add the name to hosts in [server] of "
            "dataflow.toml."
        )


def check_origin(facts: RequestFacts, settings: ServerSettings) -> None:
    """Raise Forbidden if a page of another site makes a browser change something here.

    Browsers say so in Sec-Fetch-Site, which no page can forge; older ones only in Origin. A request with
    neither is accepted only with an API token, which browsers do not send by themselves.
    """
    if facts.method in SAFE_METHODS or facts.bearer:
        return
    if facts.sec_fetch_site:
        is_own = facts.sec_fetch_site.lower() in ("same-origin", "none")
    else:
        is_own = facts.origin.lower() in own_origins(facts, settings)
    if not is_own:
        raise Forbidden(
            "The request comes from a page of another site, or does not say where it comes from. "
            "Use the page of this server, or an API token in the header Authorization."
        )


def known_hosts(settings: ServerSettings) -> frozenset[str]:
    """Return the names that this server answers to."""
    names = [settings.host, *settings.hosts, *(LOCAL_NAMES if is_loopback(settings.host) else ())]
    if settings.url:
        names.append(urlsplit(settings.url).hostname or "")
    return frozenset(name.lower() for name in names if name not in ("", "0.0.0.0", "::"))


def own_origins(facts: RequestFacts, settings: ServerSettings) -> frozenset[str]:
    """Return the origins of this server, as browsers write them."""
    origins = {f"{facts.scheme}://{facts.host}".lower()}
    return frozenset(origins | ({settings.url.lower()} if settings.url else set()))


def name_in(host: str) -> str:
    """Return the name in a Host header, without port and brackets; "" if it is not valid."""
    found = _HOST.fullmatch(host)
    return found[1].strip("[]").lower().removesuffix(".") if found else ""


def _is_among(address: str, networks: Sequence[str]) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if found.version == 6 else None
    return any((mapped or found) in ipaddress.ip_network(network) for network in networks)
