"""A source from end to end over real sockets: every pagination, every authentication, order and rate."""

from __future__ import annotations

import base64
import os
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from dataflow.errors import BadInput, FetchError, FetchStopped
from dataflow.model.record import replace
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.authentication import Credentials
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.page_document import get_value
from dataflow.pipelines.fetch.pagination import Cursor, NextLink, Offset, PageNumber, Pagination
from dataflow.pipelines.handover.records import Part
from dataflow.secrets.known import KnownSecrets
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.fetch.fetching import (
    HAWK,
    QUICK,
    STYLE_NAMES,
    STYLES,
    fetch,
    ids_in,
    make_rows,
    open_staging,
    source_of,
)


@pytest.mark.parametrize(("style", "pagination"), STYLES, ids=STYLE_NAMES)
@pytest.mark.parametrize("count", [0, 1, 10, 95, 100])
def test_every_row_arrives_once_and_in_order(
    tmp_path: Path, style: str, pagination: Pagination, count: int
) -> None:
    with ApiServer(make_rows(count), 10, Hawk("our-id", "our-key")) as server:
        parts = fetch(source_of(server, style, pagination=pagination, credentials=HAWK), tmp_path)
    assert ids_in(parts) == list(range(count))
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert [part.rows for part in parts] == [len(ids_in([part])) for part in parts]
    assert [part.size for part in parts] == [os.path.getsize(part.path) for part in parts]


def test_a_part_is_the_page_as_it_was_received(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10) as server:
        parts = fetch(source_of(server), tmp_path)
        assert Path(parts[1].path).read_bytes() == server.body("next", 10, 10)


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_signed_page_may_be_compressed(tmp_path: Path, packed: bool, algorithm: str) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key", algorithm)) as server:
        server.packed = packed
        parts = fetch(source_of(server, credentials=replace(HAWK, algorithm=algorithm)), tmp_path)
    assert ids_in(parts) == list(range(30))


def test_the_url_keeps_its_own_query(tmp_path: Path) -> None:
    with ApiServer(make_rows(15), 10) as server:
        source = HttpSource(f"{server.origin}/pages?q=a%2fb", PageNumber(total="meta.count"), limits=QUICK)
        fetch(source, tmp_path)
        assert {seen.target for seen in server.seen} == {"/pages?q=a%2fb&page=1", "/pages?q=a%2fb&page=2"}


def test_a_relative_next_link_is_signed_exactly_as_it_is_sent(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10, Hawk("our-id", "our-key")) as server:
        server.fail(0, "relative next")
        assert ids_in(fetch(source_of(server, credentials=HAWK), tmp_path)) == list(range(20))
        assert server.seen[1].target == "/next?page=1&x=%2f/%C3%BC%20y"


@pytest.mark.parametrize(
    ("credentials", "header", "value"),
    [
        (Credentials("bearer", secret="a.b-c"), "Authorization", "Bearer a.b-c"),
        (
            Credentials("basic", "mé", "p:w"),
            "Authorization",
            "Basic " + base64.b64encode("mé:p:w".encode()).decode(),
        ),
        (Credentials("api_key", "X-Api-Key", "k 1"), "X-Api-Key", "k 1"),
    ],
    ids=["bearer", "basic", "api key"],
)
def test_credentials_go_with_every_request(
    tmp_path: Path, credentials: Credentials, header: str, value: str
) -> None:
    with ApiServer(make_rows(30), 10) as server:
        fetch(source_of(server, credentials=credentials), tmp_path)
        assert [seen.headers[header] for seen in server.seen] == [value] * 3


def test_no_credentials_send_no_authorization(tmp_path: Path) -> None:
    with ApiServer(make_rows(5), 10) as server:
        fetch(source_of(server), tmp_path)
        assert "Authorization" not in server.seen[0].headers


@pytest.mark.parametrize(
    "credentials",
    [
        Credentials("kerberos", "me", "very-secret"),
        Credentials("hawk", "me", ""),
        Credentials("hawk", 'm"e', "very-secret"),
        Credentials("hawk", "me", "very-secret", "md5"),
        Credentials("bearer", secret="very-secret\n"),
        Credentials("basic", "", "very-secret"),
        Credentials("basic", "a:b", "very-secret"),
        Credentials("api_key", "X Key", "very-secret"),
        Credentials("api_key", "", "very-secret"),
    ],
    ids=repr,
)
def test_credentials_that_cannot_be_sent_are_refused_without_showing_them(
    tmp_path: Path, credentials: Credentials
) -> None:
    with ApiServer(make_rows(5), 10) as server, pytest.raises(BadInput) as refused:
        fetch(source_of(server, credentials=credentials), tmp_path)
    assert "very-secret" not in str(refused.value)
    assert "very-secret" not in repr(credentials)


def test_numbered_pages_are_requested_in_parallel(tmp_path: Path) -> None:
    with ApiServer(make_rows(100), 10) as server:
        server.fail(1, "hang")
        source = source_of(server, "pages", pagination=PageNumber())
        parts: list[Part] = []
        fetching = threading.Thread(target=lambda: parts.extend(fetch(source, tmp_path)))
        fetching.start()
        until = time.monotonic() + 10
        while len(server.seen) < 5 and time.monotonic() < until:
            time.sleep(0.01)
        # Page 1 hangs; only pages 2, 3 and 4 were requested meanwhile.
        assert sorted(server.list_asked_pages()) == [0, 1, 2, 3, 4]
        server.released.set()
        fetching.join(20)
    assert ids_in(parts) == list(range(100))


def test_a_part_is_yielded_while_later_pages_are_still_arriving(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10) as server:
        server.fail(1, "hang", times=9)
        source = source_of(server)
        parts = source.fetch(open_staging(source, tmp_path))
        assert ids_in([next(parts)]) == list(range(10))
        parts.close()  # type: ignore[attr-defined]


def test_a_consumer_that_stops_cancels_the_requests_in_flight(tmp_path: Path) -> None:
    with ApiServer(make_rows(50), 10) as server:
        server.fail(2, "hang")
        source = source_of(server, "pages", pagination=PageNumber())
        parts = source.fetch(open_staging(source, tmp_path))
        next(parts), next(parts)
        before = time.monotonic()
        parts.close()  # type: ignore[attr-defined]
        assert time.monotonic() - before < 5
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fetch")]


@pytest.mark.parametrize("fault", ["hang", "429 seconds"])
def test_a_stop_is_noticed_during_a_request_and_during_a_wait(tmp_path: Path, fault: str) -> None:
    with ApiServer(make_rows(20), 10) as server:
        server.fail(1, fault, times=99)
        stop = threading.Event()
        source = source_of(server, limits=replace(QUICK, attempts=99))
        parts = source.fetch(open_staging(source, tmp_path), stop)
        next(parts)
        threading.Timer(0.3, stop.set).start()
        before = time.monotonic()
        with pytest.raises(FetchStopped):
            next(parts)
        assert time.monotonic() - before < 3
    assert not open_staging(source, tmp_path).complete


def test_requests_keep_the_rate_limit_even_when_several_run(tmp_path: Path) -> None:
    with ApiServer(make_rows(60), 10) as server:
        source = source_of(
            server,
            "pages",
            pagination=PageNumber(total="meta.count"),
            limits=replace(QUICK, requests_per_second=20),
        )
        before = time.monotonic()
        assert len(fetch(source, tmp_path)) == 6
        assert time.monotonic() - before >= 5 / 20


def test_the_total_is_known_after_the_first_page_and_after_resuming(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10) as server:
        source = source_of(server, pagination=NextLink(total="count"))
        staging = open_staging(source, tmp_path)
        assert staging.total is None
        next(source.fetch(staging))
    assert staging.total == 20
    assert open_staging(source, tmp_path).total == 20


def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    rows = [{"id": number, "text": "x" * 1000} for number in range(80_000)]
    with ApiServer(rows, 1000) as server:
        for page in range(80):
            server.body("pages", page * 1000, 1000)
        source = source_of(server, "pages", pagination=PageNumber(total="meta.count"))
        tracemalloc.start()
        parts = fetch(source, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert sum(part.size for part in parts) > 80_000_000
    # Four pages of 1 MB in flight, each in memory twice while joined, and the parsed one.
    assert peak < 30_000_000


def test_connections_are_kept_alive(tmp_path: Path) -> None:
    with ApiServer(make_rows(50), 10) as server:
        fetch(source_of(server), tmp_path)
        assert server.connections == 1


def test_cookies_and_parameters_with_secret_like_names_are_secrets() -> None:
    headers = (
        ("Cookie", "session=cookie-value-1; theme=dark; id=cookie-value-2"),
        ("X-Trace", "harmless-value"),
    )
    url = "https://api.example/a?sig=sig%2Dvalue1&page=2&country=united-kingdom&X-Amz-Credential=AKIA/2026"
    secrets = HttpSource(url, headers=headers).list_secrets()
    known = KnownSecrets(*secrets)
    shown = (
        "cookie-value-1 cookie-value-2 sig%2Dvalue1 sig-value1 AKIA/2026 dark harmless-value united-kingdom"
    )
    assert known.redact_text(shown) == "*** *** *** *** *** dark harmless-value united-kingdom"


def test_a_message_about_long_keys_shows_no_part_of_a_secret() -> None:
    token = "token-of-the-source"
    source = HttpSource("https://api.example/a", credentials=Credentials("bearer", secret=token))
    for padding in range(60):
        with pytest.raises(FetchError) as refused:
            get_value({"x" * padding + token: 1}, "results", parse_address(source.url))
        assert "tok" not in KnownSecrets(*source.list_secrets()).redact_text(str(refused.value))
    assert "a key of 78 characters" in str(refused.value)


def test_a_source_shows_neither_its_key_nor_its_url() -> None:
    source = HttpSource(
        "https://api.example/a?token=very-secret", credentials=Credentials("bearer", secret="hunter2")
    )
    assert "very-secret" not in repr(source)
    assert "hunter2" not in repr(source)


@pytest.mark.parametrize(
    "other",
    [
        {"url": "http://api.example/b"},
        {"pagination": NextLink(next="links.next")},
        {"pagination": Cursor()},
        {"pagination": Offset()},
        {"headers": (("Accept-Version", "2"),)},
    ],
    ids=repr,
)
def test_another_request_has_another_fingerprint(other: dict[str, object]) -> None:
    source = HttpSource("http://api.example/a", credentials=HAWK)
    assert replace(source, **other).fingerprint != source.fingerprint


def test_pages_of_different_callers_are_not_mixed_but_a_new_key_is_the_same_caller() -> None:
    def mark(kind: str, name: str = "", secret: str = "") -> str:
        credentials = Credentials(kind, name, secret)
        return HttpSource("http://api.example/a", credentials=credentials).fingerprint

    callers = [("hawk", "a", "x"), ("hawk", "b", "x"), ("basic", "a", "x"), ("bearer", "", "x"), ("none",)]
    callers += [("bearer", "", "y"), ("api_key", "X-Key", "x"), ("api_key", "X-Key", "y")]
    assert len({mark(*caller) for caller in callers}) == len(callers)
    assert mark("hawk", "a", "y") == mark("hawk", "a", "x")
    assert mark("basic", "a", "y") == mark("basic", "a", "x")


def test_the_total_time_limit_ends_an_endless_fetch(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10) as server:
        server.fail(1, "500", times=999)
        source = source_of(server, limits=replace(QUICK, attempts=999, total_seconds=0.6))
        with pytest.raises(FetchError, match=r"total limit of 0.6 s"):
            fetch(source, tmp_path)
        assert len(open_staging(source, tmp_path).entries) == 1


def test_a_page_with_a_number_beyond_double_precision_is_fetched(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10) as server:
        body = server.body("next", 10, 10)
        server._bodies["next", 10, 10] = body.replace(b'"id":15', b'"id":1e400')
        parts = fetch(source_of(server), tmp_path)
    assert [part.rows for part in parts] == [10, 10, 10]
    assert b"1e400" in Path(parts[1].path).read_bytes()
