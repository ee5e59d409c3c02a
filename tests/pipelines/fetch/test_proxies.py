"""Requests through a real proxy: forwarded, tunnelled, by option and by variable, without leaks."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from dataflow.errors import BadInput, ConfigError
from dataflow.model.record import replace
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.authentication import Credentials, Grant
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.proxies import DIRECT, Proxies, find_proxies
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.fetch.fetching import HAWK, QUICK, fetch, ids_in, make_rows, refuse
from tests.pipelines.proxy_server import ProxyServer

API = "http://api.example"
"""Known only to the proxy: no machine has this name."""
TOKEN = Credentials("bearer", secret="our-token")


class ApiElsewhere(ApiServer):
    """An API called api.example that only a proxy can find, at `local`."""

    def __init__(self, hawk: Hawk | None = None, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(make_rows(30), 10, hawk, tls=tls)
        self.local = int(self.origin.rpartition(":")[2])
        self.origin = f"{'https' if tls else 'http'}://api.example"


def source_for(url: str, proxies: Proxies, credentials: Credentials = TOKEN) -> HttpSource:
    return HttpSource(url, credentials=credentials, limits=QUICK, proxies=proxies)


def test_plain_requests_are_forwarded_and_signed_for_the_source(tmp_path: Path) -> None:
    with (
        ApiElsewhere(hawk=Hawk("our-id", "our-key")) as server,
        ProxyServer({"api.example": server.local}) as proxy,
    ):
        source = source_for(f"{API}/next", find_proxies(proxy.origin, {}), HAWK)
        assert ids_in(fetch(source, tmp_path)) == list(range(30))
        assert proxy.seen[1] == "GET http://api.example:80/next?page=1"


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("proxy_tls", [False, True], ids=["http proxy", "https proxy"])
def test_tls_goes_through_a_tunnel_that_the_proxy_cannot_read(
    tmp_path: Path, context: ssl.SSLContext, proxy_tls: bool
) -> None:
    tls = context if proxy_tls else None
    with (
        ApiElsewhere(tls=context) as server,
        ProxyServer({"api.example": server.local}, "me:pass/word", tls) as proxy,
    ):
        url = proxy.origin.replace("://", "://me:pass%2Fword@")
        source = source_for(
            "https://api.example/next", find_proxies(url, {}), Credentials("bearer", secret="tok")
        )
        assert ids_in(fetch(source, tmp_path)) == list(range(30))
        assert proxy.seen == ["CONNECT api.example:443"]
        assert "tok" not in str(proxy.headers)
        assert all("Proxy-Authorization" not in seen.headers for seen in server.seen)
        assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer tok"] * 3


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_another_host_is_refused_behind_a_proxy_too(
    tmp_path: Path, context: ssl.SSLContext
) -> None:
    with ApiElsewhere(tls=context) as server, ProxyServer({"other.example": server.local}) as proxy:
        source = source_for("https://other.example/next", find_proxies(proxy.origin, {}))
        refuse(source, tmp_path, "The certificate of https://other.example.* is not valid: Hostname mismatch")
        assert server.seen == []


@pytest.mark.parametrize(
    "variables",
    [
        {"http_proxy": "{proxy}"},
        {"HTTP_PROXY": "{proxy}"},
        {"all_proxy": "{proxy}"},
        {"ALL_PROXY": "{bare}"},
        {"http_proxy": "{proxy}", "HTTP_PROXY": "http://127.0.0.1:1"},
        {"http_proxy": "{proxy}", "all_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"},
        {"http_proxy": "{proxy}", "no_proxy": "other.example, 10.0.0.0/8"},
    ],
    ids=str,
)
def test_the_usual_variables_set_the_proxy(tmp_path: Path, variables: dict[str, str]) -> None:
    with ApiElsewhere() as server, ProxyServer({"api.example": server.local}) as proxy:
        bare = proxy.origin.removeprefix("http://")
        found = find_proxies(None, {k: v.format(proxy=proxy.origin, bare=bare) for k, v in variables.items()})
        assert ids_in(fetch(source_for(f"{API}/next", found), tmp_path)) == list(range(30))


@pytest.mark.parametrize(("scheme", "host"), [("http", "web"), ("https", "secure"), ("ftp", "")])
def test_each_scheme_has_its_own_proxy(scheme: str, host: str) -> None:
    found = find_proxies(None, {"http_proxy": "web:1", "https_proxy": "secure:1", "all_proxy": "all:1"})
    proxy = found.find(replace(parse_address("http://api.example/"), scheme=scheme))
    assert (proxy.host if proxy else "") == host


@pytest.mark.parametrize(
    ("no_proxy", "url", "spared"),
    [
        ("*", "http://api.example/", True),
        ("example", "http://api.example/", True),
        (".example", "http://api.example/", True),
        ("*.example", "http://api.example/", True),
        ("api.example", "http://API.example/", True),
        ("api.example:8080", "http://api.example:8080/", True),
        ("api.example:8080", "http://api.example/", False),
        ("pi.example", "http://api.example/", False),
        ("a, b\tapi.example", "http://api.example/", True),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("10.1.2.3", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://10.example/", False),
        ("fd00::/8", "http://[fd00::1]:8080/", True),
        ("[fd00::1]:8080", "http://[fd00::1]:8080/", True),
        ("", "http://api.example/", False),
        (",", "http://api.example/", False),
        ("", "http://localhost:8080/", True),
        ("", "http://127.0.0.1/", True),
        ("", "http://[::1]/", True),
    ],
)
def test_no_proxy_excludes_hosts_domains_and_networks(no_proxy: str, url: str, spared: bool) -> None:
    found = find_proxies(None, {"http_proxy": "http://proxy:3128", "NO_PROXY": no_proxy})
    assert (found.find(parse_address(url)) is None) == spared


def test_a_proxy_set_on_the_source_overrides_the_variables() -> None:
    variables = {"http_proxy": "http://wrong:1", "NO_PROXY": "*"}
    named = find_proxies("http://proxy:3128", variables).find(parse_address("http://127.0.0.1/"))
    assert named is not None and named.url == "http://proxy:3128"
    assert find_proxies("", variables) == DIRECT
    assert find_proxies(None, {"http_proxy": "", "NO_PROXY": "x"}) == DIRECT


@pytest.mark.parametrize(
    "url", ["socks5://me:hunter2@proxy:1080", "http://me:hunter2@", "http://me:hunter2@x:y"]
)
def test_an_invalid_proxy_is_refused_without_showing_its_password(url: str) -> None:
    found = find_proxies(None, {"https_proxy": url})
    assert "hunter2" in found.list_secrets()
    assert "hunter2" not in repr(found)
    assert found.find(parse_address("https://localhost/")) is None
    with pytest.raises(ConfigError, match="https_proxy is") as told:
        found.find(parse_address("https://api.example/"))
    assert "hunter2" not in str(told.value)
    with pytest.raises(BadInput, match="proxy is") as refused:
        find_proxies(url, {})
    assert "hunter2" not in str(refused.value)


def test_a_proxys_password_is_a_secret() -> None:
    source = source_for(f"{API}/next", find_proxies("http://me:hun%2Fter2@proxy:3128", {}))
    assert "hun/ter2" in source.list_secrets()
    assert "hun/ter2" in find_proxies(None, {"http_proxy": "me:hun%2Fter2@proxy:3128"}).list_secrets()
    assert "ter2" not in repr(source)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_requires_a_password_is_reported_immediately(
    tmp_path: Path, context: ssl.SSLContext, scheme: str
) -> None:
    with ApiElsewhere(tls=context if scheme == "https" else None) as server:
        with ProxyServer({"api.example": server.local}, "me:password") as proxy:
            wrong = proxy.origin.replace("://", "://me:hunter2@")
            source = source_for(f"{scheme}://api.example/next", find_proxies(wrong, {}))
            told = refuse(source, tmp_path, f"The proxy {proxy.origin} requires a user and password")
            assert len(proxy.seen) == 1
        assert "hunter2" not in told
        assert server.seen == []


@pytest.mark.usefixtures("trusted")
def test_a_proxy_that_refuses_the_host_is_reported_and_a_busy_one_is_retried(
    tmp_path: Path, context: ssl.SSLContext
) -> None:
    with ApiElsewhere(tls=context) as server, ProxyServer({"api.example": server.local}) as proxy:
        source = source_for("https://api.example/next", find_proxies(proxy.origin, {}))
        proxy.refusal = 403
        refuse(source, tmp_path, f"The proxy {proxy.origin} returned 403 Forbidden: it does not connect")
        assert len(proxy.seen) == 1
        proxy.refusal = 503
        refuse(source, tmp_path, "3 attempts; last error: the proxy .* returned 503 Service Unavailable")
        assert len(proxy.seen) == 4


def test_an_unreachable_proxy_is_reported_as_such(tmp_path: Path) -> None:
    with ProxyServer({}) as proxy:
        pass
    source = source_for(f"{API}/next", find_proxies(proxy.origin, {}))
    refuse(source, tmp_path, f"last error: no connection to the proxy {proxy.origin} ")


def test_tokens_are_requested_through_the_proxy_too(tmp_path: Path) -> None:
    grant = Grant("http://login.example/token")
    credentials = Credentials("oauth2", "me", "our-secret", grant=grant)
    with ProxyServer({}) as proxy:
        proxy.refusal = 403
        source = source_for(f"{API}/next", find_proxies(proxy.origin, {}), credentials)
        refuse(source, tmp_path, "http://login.example/token returned no token: 403 Forbidden")
        assert proxy.seen == ["POST http://login.example:80/token"]
