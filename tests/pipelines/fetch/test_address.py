"""URLs: the same bytes are signed and sent, origins compare as in browsers, secrets are not shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dataflow.errors import FetchError
from dataflow.pipelines.fetch.address import join_address, parse_address, with_query


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://api.example/a", "http://api.example"),
        ("HTTP://API.Example:80/a", "http://api.example"),
        ("https://api.example:443", "https://api.example"),
        ("http://api.example:443/a", "http://api.example:443"),
        ("http://[::1]:8000/a", "http://[::1]:8000"),
        ("http://bücher.example/a", "http://xn--bcher-kva.example"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert parse_address(url).origin == origin


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("/a?b=%2f&c=d e", "/a?b=%2f&c=d%20e"),
        ("?x=1", "/v4/set?x=1"),
        ("", "/v4/set?page=1"),
        ("/ü", "/%C3%BC"),
        ("/a\r\nHost: evil", "/aHost:%20evil"),
    ],
)
def test_escapes_are_kept_and_other_characters_are_escaped_as_needed(link: str, target: str) -> None:
    assert join_address(parse_address("http://api.example/v4/set?page=1"), link).target == target


@given(some.text())
def test_a_target_is_one_line_of_ascii_for_any_link(link: str) -> None:
    try:
        target = join_address(parse_address("http://api.example/a"), link).target
    except FetchError:
        return
    assert target.isascii() and target.startswith("/")
    assert not any(character <= " " or character == "\x7f" for character in target)


@given(some.text(max_size=20))
def test_an_address_round_trips_through_its_url(path: str) -> None:
    try:
        address = join_address(parse_address("http://api.example:8000/a"), path)
    except FetchError:
        return
    assert parse_address(address.url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example/a",
        "ftp://api.example",
        "http://",
        "http://a:b:c/",
        "http://x:99999/",
        "file:///etc/passwd",
    ],
)
def test_a_url_that_is_not_http_is_refused(url: str) -> None:
    with pytest.raises(FetchError, match=r"http\(s\)://host/path"):
        parse_address(url)


def test_a_url_with_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(FetchError, match="credentials") as refused:
        parse_address("https://me:hunter2@api.example/a?token=abc")
    assert "hunter2" not in str(refused.value)
    assert "abc" not in str(refused.value)


def test_a_message_shows_page_numbers_but_no_possible_secret() -> None:
    address = parse_address("https://api.example/a?page=12&api_key=123&q=word&aGkx&signature=99")
    assert str(address) == "https://api.example/a?page=12&api_key=…&q=…&…&signature=…"


def test_a_parameter_is_replaced_in_place_and_others_are_unchanged() -> None:
    address = parse_address("http://api.example/a?x=%2f&page=1&y=a+b")
    assert with_query(address, page="2").target == "/a?x=%2f&y=a+b&page=2"
    assert with_query(parse_address("http://api.example/a"), cursor="a/b=&").target == "/a?cursor=a%2Fb%3D%26"
