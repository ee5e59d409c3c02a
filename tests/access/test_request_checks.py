"""Proxies, Host and cross-site requests: what is refused before anybody asks who sent it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.access.cookies import SESSION, drop_cookie, find_cookie, make_cookie
from dataflow.access.next_path import safe_next
from dataflow.access.request_checks import check_listen, check_request, name_in
from dataflow.access.request_facts import RequestFacts, facts_of
from dataflow.config.login import LoginSettings
from dataflow.config.server import ServerSettings
from dataflow.errors import ConfigError, Forbidden

LOCAL = ServerSettings()
PUBLIC = ServerSettings(
    host="0.0.0.0", url="https://flow.example.com", users=True, trusted_proxies=("10.0.0.0/8", "fd00::/8")
)


def facts(**fields: Any) -> RequestFacts:
    given: dict[str, Any] = {
        "method": "GET",
        "scheme": "http",
        "host": "127.0.0.1:8150",
        "address": "127.0.0.1",
    }
    return RequestFacts(**given | fields)


def forwarded(address: str = "10.0.0.1", **headers: str) -> RequestFacts:
    """A request through a proxy; `x_forwarded_for` is a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return facts_of("GET", "http", address, {"host": "flow.example.com", **named})


# where the server may listen


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_without_a_login_only_this_machine_may_reach_the_server(host: str) -> None:
    check_listen(ServerSettings(host=host))


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.5", "etl1", "localhost.example.com", "127.0.0.1.nip.io"]
)
def test_another_address_without_a_login_is_refused_with_what_to_configure(host: str) -> None:
    with pytest.raises(
        ConfigError, match=r"cannot listen on .*no login\. Set users = true .*\[server\.login\]"
    ):
        check_listen(ServerSettings(host=host))


def test_another_address_with_a_login_needs_https() -> None:
    with pytest.raises(ConfigError, match="need https"):
        check_listen(ServerSettings(host="0.0.0.0", users=True))
    check_listen(PUBLIC)
    check_listen(ServerSettings(host="0.0.0.0", login=LoginSettings(), url="https://flow.example.com"))


# Host


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8150", "localhost:9", "LOCALHOST", "[::1]:8150", "localhost."]
)
def test_a_local_server_answers_to_the_names_of_this_machine(host: str) -> None:
    check_request(facts(host=host), LOCAL)


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example"),
        *(
            "localhost:8150:1",
            "localhost/x",
            "localhost, evil.example",
            "[::1",
            "::1",
            "0.0.0.0",
            "localhost\n",
        ),
    ],
)
def test_another_host_is_refused(host: str) -> None:
    with pytest.raises(Forbidden, match=r"add the name to hosts in \[server\]"):
        check_request(facts(host=host), LOCAL)


def test_a_public_server_answers_to_its_url_and_hosts_only() -> None:
    settings = ServerSettings(
        host="0.0.0.0", url="https://flow.example.com:8443", hosts=("flow",), users=True
    )
    for host in ("flow.example.com:8443", "flow"):
        check_request(facts(host=host), settings)
    for host in ("0.0.0.0", "localhost", "127.0.0.1", "example.com"):
        with pytest.raises(Forbidden):
            check_request(facts(host=host), settings)


@given(st.text(max_size=40))
def test_no_host_makes_the_check_fail_otherwise(host: str) -> None:
    assert name_in(host) == "" or name_in(host).isascii()


# cross-site requests


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "QUERY", "x"])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "CROSS-SITE", "anything"])
def test_a_page_of_another_site_changes_nothing(method: str, site: str) -> None:
    # Its own origin does not help: Sec-Fetch-Site cannot be forged by a page.
    request = facts(method=method, sec_fetch_site=site, origin="http://127.0.0.1:8150", cookie="x=1")
    with pytest.raises(Forbidden, match="another site"):
        check_request(request, LOCAL)


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_own_page_may_change_things(site: str) -> None:
    check_request(facts(method="POST", sec_fetch_site=site), LOCAL)


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "",
            "null",
            "http://evil.example",
            "http://127.0.0.1",
            "http://127.0.0.1:81500",
            "http://localhost:8150",
        ),
        *("https://127.0.0.1:8150", "http://127.0.0.1:8150.evil.example", "http://127.0.0.1:8150/"),
    ],
)
def test_without_sec_fetch_site_another_origin_or_none_is_refused(origin: str) -> None:
    with pytest.raises(Forbidden, match="another site"):
        check_request(facts(method="POST", origin=origin), LOCAL)


def test_without_sec_fetch_site_the_own_origin_is_accepted() -> None:
    check_request(facts(method="POST", origin="http://127.0.0.1:8150"), LOCAL)
    check_request(
        facts(method="POST", origin="https://flow.example.com", host="flow.example.com"),
        ServerSettings(url="https://flow.example.com"),
    )


def test_reading_needs_no_origin() -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        check_request(facts(method=method, sec_fetch_site="cross-site", origin="http://evil.example"), LOCAL)


def test_an_api_token_needs_no_origin_and_other_credentials_do() -> None:
    check_request(facts(method="POST", authorization="Bearer dft_x"), LOCAL)
    # A browser sends these by itself, after http://user:password@host/.
    for header in ("Basic eDp5", "Bearer", "Bearer ", "Negotiate abc"):
        with pytest.raises(Forbidden, match="another site"):
            check_request(facts(method="POST", authorization=header, cookie="x=1"), LOCAL)


def test_the_method_is_compared_in_capitals() -> None:
    assert facts_of("get", "http", "", {}).method == "GET"


# proxies


def test_the_headers_of_a_trusted_proxy_say_who_and_how() -> None:
    seen = check_request(forwarded(x_forwarded_for="203.0.113.9", x_forwarded_proto="https"), PUBLIC)
    assert (seen.address, seen.scheme, seen.host) == ("203.0.113.9", "https", "flow.example.com")


@pytest.mark.parametrize(
    ("hops", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("6.6.6.6, 203.0.113.9", "203.0.113.9"),  # the client wrote the first one itself
        ("203.0.113.9, 10.1.1.1", "203.0.113.9"),
        ("6.6.6.6, 203.0.113.9, 10.1.1.1 , 10.2.2.2", "203.0.113.9"),
        ("10.1.1.1", "10.1.1.1"),
        ("", "10.0.0.1"),
        ("nonsense, 10.1.1.1", "nonsense"),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(hops: str, address: str) -> None:
    assert check_request(forwarded(x_forwarded_for=hops), PUBLIC).address == address


@pytest.mark.parametrize("address", ["203.0.113.9", "127.0.0.1", "", "nonsense", "fe80::1", "11.0.0.1"])
@pytest.mark.parametrize(
    "header", ["x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "forwarded", "x_real_ip"]
)
def test_the_headers_of_any_other_proxy_are_refused(address: str, header: str) -> None:
    with pytest.raises(Forbidden, match="trusted_proxies"):
        check_request(forwarded(address, **{header: "10.0.0.1"}), PUBLIC)


@pytest.mark.parametrize("address", ["fd00::1", "::ffff:10.0.0.1", "10.255.0.1"])
def test_a_trusted_proxy_may_have_an_ipv6_address(address: str) -> None:
    assert check_request(forwarded(address, x_forwarded_for="203.0.113.9"), PUBLIC).address == "203.0.113.9"


def test_the_host_that_a_proxy_forwards_is_checked_too() -> None:
    with pytest.raises(Forbidden, match="not called"):
        check_request(forwarded(x_forwarded_host="evil.example"), PUBLIC)
    check_request(
        facts_of("GET", "http", "10.0.0.1", {"host": "inner", "x-forwarded-host": "flow.example.com"}), PUBLIC
    )


def test_a_strange_scheme_is_not_believed() -> None:
    assert check_request(forwarded(x_forwarded_proto="javascript"), PUBLIC).scheme == "http"


def test_a_request_shows_no_secret() -> None:
    shown = repr(facts(authorization="Bearer hunter2", cookie="a=hunter2"))
    assert "hunter2" not in shown


# next=


@pytest.mark.parametrize("path", ["/", "/datasets/orders?year=2026#grid", "/a//b", "/x%0d%0ay", "/@evil"])
def test_a_path_of_this_server_is_where_a_login_goes_on(path: str) -> None:
    assert safe_next(path) == path


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            None,
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
        ),
        *(
            "javascript:alert(1)",
            "evil",
            "/\t/evil.example",
            "/\n/evil.example",
            "/a b",
            " /a",
            "/é",
            "/a\x7f",
        ),
        "/" + "a" * 2000,
    ],
)
def test_everything_else_goes_to_the_first_page(text: str | None) -> None:
    assert safe_next(text) == "/"


@given(st.text(max_size=30))
def test_where_a_login_goes_on_is_always_a_path_of_this_server(text: str) -> None:
    found = safe_next(text)
    assert found.startswith("/") and not found.startswith(("//", "/\\")) and found.isprintable()


# cookies


def test_over_https_a_cookie_is_bound_to_the_host() -> None:
    assert make_cookie(SESSION, "abc", True, 3600.0).header == (
        "__Host-dataflow_session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure"
    )


def test_over_http_on_this_machine_a_cookie_has_no_secure() -> None:
    assert make_cookie(SESSION, "abc", False).header == "dataflow_session=abc; Path=/; HttpOnly; SameSite=Lax"


def test_a_cookie_is_deleted_with_the_same_attributes() -> None:
    assert drop_cookie(SESSION, True).header == (
        "__Host-dataflow_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure"
    )


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("a=1; b=2", "2"),
        ("b=2", "2"),
        ("bb=3; ab=4", ""),
        ("", ""),
        ("b", ""),
        ("b=2=3", "2=3"),
        ("b=2; b=3", ""),
    ],
)
def test_a_cookie_is_found_by_its_whole_name_if_it_is_there_once(header: str, value: str) -> None:
    assert find_cookie(header, "b") == value
