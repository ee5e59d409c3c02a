"""Hawk in both directions against mohawk: each accepts what the other signs, and nothing else."""

from __future__ import annotations

import time
from typing import Any

import mohawk
import mohawk.base
import mohawk.util
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.hawk import (
    BadHawk,
    HawkKey,
    HawkRequest,
    find_server_time,
    finish_payload,
    parse_header,
    sign_request,
    start_payload,
    verify_response,
)

KEY = HawkKey("our-id", "our-key")
URL = "http://api.example:8001/v4/dataset?page=2&name=a%20b"
keys = some.builds(
    HawkKey,
    some.text("abcXYZ019-_.@: ", min_size=1, max_size=20),
    some.text(some.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=70),
    some.sampled_from(["sha256", "sha1"]),
)
urls = some.builds(
    "{}://{}{}{}".format,
    some.sampled_from(["http", "https"]),
    some.sampled_from(["api.example", "API.example", "127.0.0.1", "bücher.example"]),
    some.sampled_from(["", ":80", ":443", ":8001"]),
    # Without `;`: mohawk drops what follows it, which is not what was sent.
    some.text(max_size=30).map(lambda text: "/" + text.translate({ord(each): "" for each in "#@;"})),
)


def credentials(key: HawkKey) -> dict[str, str]:
    return {"id": key.id, "key": key.key, "algorithm": key.algorithm}


def receive(request: HawkRequest, key: HawkKey, **more: Any) -> mohawk.Receiver:
    """A server's view of a request, through mohawk."""
    url = request.address.url
    settings = {"content": "", "content_type": "", "seen_nonce": lambda *_: False} | more
    return mohawk.Receiver(lambda _: credentials(key), request.header, url, request.method, **settings)


def digest_of(body: bytes, kind: str, algorithm: str = "sha256") -> str:
    payload = start_payload(algorithm, kind)
    payload.update(body)
    return finish_payload(payload)


def answered(body: Any, kind: Any = "application/json", **more: Any) -> tuple[HawkRequest, str]:
    """A request, and the Server-Authorization that mohawk makes for its response."""
    request = sign_request(KEY, "GET", parse_address(URL), int(time.time()))
    header = receive(request, KEY).respond(content=body, content_type=kind, **more)
    return request, header


@given(keys, urls, some.sampled_from(["GET", "POST"]))
@settings(max_examples=150, deadline=None)
def test_mohawk_accepts_every_request_we_sign(key: HawkKey, url: str, method: str) -> None:
    receive(sign_request(key, method, parse_address(url), int(time.time())), key)


@given(
    keys, some.binary(max_size=300), some.sampled_from(["", "text/plain", "Application/JSON; charset=utf-8"])
)
@settings(max_examples=150, deadline=None)
def test_we_accept_every_response_that_mohawk_signs(key: HawkKey, body: bytes, kind: str) -> None:
    request = sign_request(key, "GET", parse_address(URL), int(time.time()))
    header = receive(request, key).respond(content=body, content_type=kind)
    verify_response(request, header, (digest_of(body, kind, key.algorithm),))


@given(some.binary(max_size=100), some.text(max_size=30), some.sampled_from(["sha256", "sha1"]))
def test_a_payload_hash_equals_mohawks(body: bytes, kind: str, algorithm: str) -> None:
    theirs: bytes = mohawk.util.calculate_payload_hash(body, algorithm, kind)
    assert digest_of(body, kind, algorithm) == theirs.decode()


def test_the_extension_of_a_response_is_part_of_its_mac() -> None:
    request, header = answered(b"{}", ext="welcome")
    verify_response(request, header, (digest_of(b"{}", "application/json"),))
    with pytest.raises(BadHawk, match="MAC"):
        verify_response(
            request, header.replace("welcome", "farewell"), (digest_of(b"{}", "application/json"),)
        )


def test_a_response_to_an_old_request_is_still_valid() -> None:
    long_ago = int(time.time()) - 3600
    request = sign_request(KEY, "GET", parse_address(URL), long_ago)
    header = receive(request, KEY, timestamp_skew_in_seconds=4000).respond(
        content=b"{}", content_type="application/json"
    )
    verify_response(request, header, (digest_of(b"{}", "application/json"),))


def test_a_response_signed_with_another_key_is_refused() -> None:
    request, header = answered(b"{}")
    forged = HawkRequest(
        HawkKey("our-id", "not our key"), "GET", request.address, request.timestamp, request.nonce, ""
    )
    with pytest.raises(BadHawk, match="MAC"):
        verify_response(forged, header, (digest_of(b"{}", "application/json"),))


def test_the_response_to_another_request_is_refused() -> None:
    _, header = answered(b"{}")
    request = sign_request(KEY, "GET", parse_address(URL), int(time.time()))
    with pytest.raises(BadHawk, match="MAC"):
        verify_response(request, header, (digest_of(b"{}", "application/json"),))


def test_a_modified_body_is_refused() -> None:
    request, header = answered(b'{"a":1}')
    with pytest.raises(BadHawk, match="not the one that was signed"):
        verify_response(request, header, (digest_of(b'{"a":2}', "application/json"),))


def test_a_response_without_a_payload_hash_is_refused() -> None:
    nothing = mohawk.base.EmptyValue
    request, header = answered(nothing, kind=nothing, always_hash_content=False)
    with pytest.raises(BadHawk, match="no hash"):
        verify_response(request, header, (digest_of(b"", ""),))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Hawk",
        "Basic abc",
        'Hawk mac="a" hash="b"x',
        'Hawk mac="a", mac="a"',
        'Hawk evil="1"',
        "Hawk " + 5000 * "x",
    ],
)
def test_a_malformed_header_is_refused(header: str) -> None:
    request = sign_request(KEY, "GET", parse_address(URL), 1)
    with pytest.raises(BadHawk):
        verify_response(request, header, ())


def test_two_requests_never_share_a_nonce() -> None:
    address = parse_address(URL)
    assert len({sign_request(KEY, "GET", address, 1).nonce for _ in range(1000)}) == 1000


def test_the_server_time_is_trusted_only_if_signed_with_our_key() -> None:
    tsm: bytes = mohawk.util.calculate_ts_mac(1_700_000_000, credentials(KEY))
    header = f'Hawk ts="1700000000", tsm="{tsm.decode()}", error="Stale timestamp"'
    assert find_server_time(KEY, header) == 1_700_000_000
    assert find_server_time(HawkKey("our-id", "other"), header) is None
    assert find_server_time(KEY, header.replace("17", "18", 1)) is None
    assert find_server_time(KEY, "Basic realm=x") is None
    assert find_server_time(KEY, 'Hawk ts="12x", tsm=""') is None


def test_our_header_parses_back_to_what_was_written() -> None:
    request = sign_request(KEY, "GET", parse_address(URL), 17)
    values = parse_header(request.header)
    assert (values["id"], values["ts"], values["nonce"]) == ("our-id", "17", request.nonce)


def test_the_key_is_not_in_the_text_of_a_request() -> None:
    assert "our-key" not in repr(sign_request(KEY, "GET", parse_address(URL), 17))


def test_hashing_a_large_body_takes_no_longer_than_sha256() -> None:
    body = bytes(20_000_000)
    before = time.process_time()
    digest_of(body, "application/json")
    # mohawk takes 5 s for this; sha256 takes a few hundredths.
    assert time.process_time() - before < 0.5
