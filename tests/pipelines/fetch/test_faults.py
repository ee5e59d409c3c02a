"""Faults of a source: transient ones are retried, others reported in a sentence, and nothing leaks."""

from __future__ import annotations

import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dataflow.errors import BadInput, FetchError, FetchStopped, Untrusted
from dataflow.model.record import replace
from dataflow.pipelines.fetch.authentication import Credentials
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.limits import Limits, Watch, find_retry_after
from dataflow.pipelines.fetch.pagination import Cursor, NextLink, Offset, PageNumber, Pagination
from dataflow.pipelines.handover.records import Part
from tests.pipelines.answer_server import AnswerServer, Reply
from tests.pipelines.api_server import ApiServer, Hawk, make_bomb
from tests.pipelines.fetch.fetching import (
    HAWK,
    QUICK,
    STYLE_NAMES,
    STYLES,
    fetch,
    ids_in,
    make_rows,
    open_staging,
    refuse,
    source_of,
)

PASSING = ["429", "500", "503", "520", "break off", "half packed", "not packed", "hang", "trickle"]


@pytest.mark.parametrize("fault", PASSING)
def test_a_transient_error_only_costs_time(tmp_path: Path, fault: str) -> None:
    with ApiServer(make_rows(30), 10) as server:
        server.fail(1, fault, times=2)
        source = source_of(server, limits=replace(QUICK, request_seconds=0.4))
        assert ids_in(fetch(source, tmp_path)) == list(range(30))
        assert server.list_asked_pages() == [0, 1, 1, 1, 2]


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize(("style", "pagination"), STYLES[1:3], ids=STYLE_NAMES[1:3])
def test_a_lasting_error_is_reported_after_the_last_attempt(
    tmp_path: Path, fault: str, style: str, pagination: Pagination
) -> None:
    with ApiServer(make_rows(30), 10) as server:
        server.fail(1, fault, times=99)
        source = source_of(server, style, pagination=pagination, limits=replace(QUICK, request_seconds=0.4))
        with pytest.raises(FetchError, match=r"returned no page in 3 attempts; last error: .* next run"):
            fetch(source, tmp_path)
    assert len(open_staging(source, tmp_path).entries) == 1


@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_a_response_that_never_ends_is_abandoned_at_the_time_limit(tmp_path: Path, fault: str) -> None:
    with ApiServer(make_rows(30), 10) as server:
        server.fail(0, fault)
        source = source_of(server, limits=replace(QUICK, attempts=1, request_seconds=0.5))
        before = time.monotonic()
        with pytest.raises(FetchError, match=r"no complete response within 0.5 s"):
            fetch(source, tmp_path)
        assert 0.5 <= time.monotonic() - before < 3


@pytest.mark.parametrize(
    "header", [("X-Api-Key", "hunter2\n"), ("X-Api-Key", "hunter2\u20ac"), ("X Api", "x")]
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(
    tmp_path: Path, header: tuple[str, str]
) -> None:
    with ApiServer(make_rows(1)) as server:
        with pytest.raises(BadInput, match=r"X.Api") as refused:
            fetch(source_of(server, headers=(header,)), tmp_path)
        assert server.seen == []
    assert "hunter2" not in str(refused.value)


def test_a_refused_connection_is_reported_after_the_last_attempt(tmp_path: Path) -> None:
    with ApiServer(make_rows(1)) as server:
        source = source_of(server)
    with pytest.raises(FetchError, match=r"3 attempts; last error: no connection") as told:
        fetch(source, tmp_path)
    assert "kept" not in str(told.value)


def test_pages_are_called_kept_only_when_there_are_some(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10) as server:
        server.fail(0, "500", times=3)
        source = source_of(server)
        refusal = refuse(source, tmp_path, "returned no page in 3 attempts")
        assert "staged so far" not in refusal and not refusal.endswith("..")
        stop = threading.Event()
        stop.set()
        with pytest.raises(FetchStopped, match=r"^Fetching was stopped\.$"):
            list(source.fetch(open_staging(source, tmp_path), stop))
        late = replace(QUICK, total_seconds=0.0)
        refuse(
            source_of(server, limits=late), tmp_path, r"limit of 0 s\. Raise the source's total_seconds\.$"
        )


@pytest.mark.parametrize("fault", ["429 seconds", "429 date"])
def test_retry_after_is_respected(tmp_path: Path, fault: str) -> None:
    with ApiServer(make_rows(20), 10) as server:
        server.clock_offset_seconds = -500
        server.fail(1, fault)
        before = time.monotonic()
        assert ids_in(fetch(source_of(server), tmp_path)) == list(range(20))
        assert 0.9 <= time.monotonic() - before < 5


def test_a_retry_after_of_a_day_ends_the_fetch(tmp_path: Path) -> None:
    with ApiServer(make_rows(20), 10) as server:
        server.fail(1, "429 tomorrow")
        with pytest.raises(FetchError, match="asks to wait 86400 s, more than the limit of 300 s"):
            fetch(source_of(server), tmp_path)


def test_the_reason_for_waiting_is_reported(tmp_path: Path) -> None:
    told: list[str] = []
    with ApiServer(make_rows(30), 10) as server:
        server.fail(1, "503")
        source = source_of(server)
        staging = open_staging(source, tmp_path)
        list(source.fetch(staging, tell=lambda trouble, following: told.append(f"{trouble}, {following}")))
    assert told == ["503 Service Unavailable, retrying in 1 s", "503 Service Unavailable, retrying"]


def test_only_one_of_several_waiting_threads_reports_the_time_left() -> None:
    told: list[tuple[str, str]] = []
    watch = Watch(Limits(), threading.Event(), lambda *words: told.append(words))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: watch.wait_to_retry(name, 1.2), "abcd"))
    teller = told[0][0]
    assert told == [(teller, "retrying in 2 s"), (teller, "retrying in 1 s"), (teller, "retrying")]


def test_retry_after_is_parsed_in_both_forms() -> None:
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert find_retry_after("120", "") == 120
    assert find_retry_after("Wed, 21 Oct 2026 07:28:30 GMT", date) == 30
    assert find_retry_after("Wed, 21 Oct 2026 07:27:00 GMT", date) == 0
    assert find_retry_after("", date) is None
    assert find_retry_after("soon", date) is None


def test_waits_double_and_have_jitter() -> None:
    watch = Watch(Limits(first_wait_seconds=1, longest_wait_seconds=200), threading.Event())
    waits = [[watch.get_retry_wait(attempt, None) for _ in range(200)] for attempt in range(1, 10)]
    for attempt, drawn in enumerate(waits):
        longest = min(2**attempt, 200)
        assert longest / 2 <= min(drawn) < max(drawn) <= longest
    assert watch.get_retry_wait(1, 15.0) == 15


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("truncated", "is not a complete JSON document"),
        ("html", "returned HTML instead of JSON, with status 200"),
        ("no next", "has no 'next': its keys are 'count', 'previous', 'results'"),
        ("no results", "has no 'results': its keys are 'count', 'next', 'previous'"),
        ("rows are no list", "has a JSON object under 'results', not a list of rows"),
        ("next is a number", "has a number under 'next', not a URL"),
        ("password in next", "contains a user or password"),
        ("next is no URL", r"links to 'http://\[::1', which is not a URL"),
        ("loop", "links back to .*page=1, which was already fetched"),
        ("repeat", "repeats the previous page: the"),
        ("401", "401 Unauthorized: check the source's credentials"),
        ("404", "404 Not Found: check the source's URL"),
        ("410", "410 Gone: check the source's URL and parameters"),
        ("501", "501 Not Implemented: check the source's URL and parameters"),
        ("redirect for ever", "redirects more than 5 times"),
    ],
)
def test_an_unusable_page_is_reported_immediately_and_not_staged(
    tmp_path: Path, fault: str, message: str
) -> None:
    with ApiServer(make_rows(50), 10) as server:
        server.fail(2, fault, times=99)
        source = source_of(server)
        with pytest.raises(FetchError, match=message) as told:
            fetch(source, tmp_path)
        assert server.list_asked_pages().count(2) == (6 if "redirect" in fault else 1)
    assert str(told.value).endswith(".")
    assert "secret" not in str(told.value)
    staging = open_staging(source, tmp_path)
    assert (len(staging.entries), staging.complete, staging.closed) == (2, False, "")


def test_the_next_run_requests_a_bad_page_again(tmp_path: Path) -> None:
    with ApiServer(make_rows(50), 10) as server:
        source = source_of(server)
        for run, fault in enumerate(["loop", "truncated", "repeat", "elsewhere"], start=1):
            server.elsewhere = "http://elsewhere.example"
            server.fail(2, fault)
            staging = open_staging(source, tmp_path, run)
            staging.continue_from({str(tmp_path / str(earlier)): True for earlier in range(1, run)})
            with pytest.raises(FetchError):
                list(source.fetch(staging))
        last = open_staging(source, tmp_path, 9)
        last.continue_from({str(tmp_path / str(earlier)): True for earlier in range(1, 5)})
        assert ids_in(list(source.fetch(last))) == list(range(50))
        assert server.list_asked_pages() == [0, 1, 2, 2, 2, 2, 2, 3, 4]


def test_endless_empty_pages_stop_the_fetch(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10) as server:
        for page in range(2, 40):
            server.fail(page, "empty")
        with pytest.raises(FetchError, match="11 consecutive empty pages up to"):
            fetch(source_of(server), tmp_path)


def test_a_few_empty_pages_are_not_the_end(tmp_path: Path) -> None:
    with ApiServer(make_rows(60), 10) as server:
        for page in (1, 2, 4):
            server.fail(page, "empty")
        parts = fetch(source_of(server, limits=replace(QUICK, empty_pages=2)), tmp_path)
        assert [part.rows for part in parts] == [10, 0, 0, 10, 0, 10]


@pytest.mark.parametrize("pagination", [PageNumber(), PageNumber(total="meta.count")], ids=["", "total"])
def test_a_source_that_ignores_the_page_number_is_detected(tmp_path: Path, pagination: PageNumber) -> None:
    with ApiServer(make_rows(50), 10) as server:
        server.fail(1, "repeat")
        with pytest.raises(FetchError, match="ignores the parameter 'page'"):
            fetch(source_of(server, "pages", pagination=pagination), tmp_path)


def test_rows_that_an_offset_would_skip_are_detected(tmp_path: Path) -> None:
    with ApiServer(make_rows(50), 10) as server:
        server.fail(2, "short")
        source = source_of(server, "offset", pagination=Offset(limit=10))
        with pytest.raises(FetchError, match="rows would be lost"):
            fetch(source, tmp_path)
    assert "rows would be lost" in open_staging(source, tmp_path).closed


def test_a_source_with_smaller_pages_than_requested_is_read_completely(tmp_path: Path) -> None:
    with ApiServer(make_rows(95), 10) as server:
        parts = fetch(source_of(server, "offset", pagination=Offset(limit=1000)), tmp_path)
    assert ids_in(parts) == list(range(95))


@pytest.mark.parametrize(
    ("style", "pagination"), [("next", NextLink(total="count")), ("pages", PageNumber(total="meta.count"))]
)
def test_fewer_rows_than_announced_fail_the_fetch(tmp_path: Path, style: str, pagination: Pagination) -> None:
    with ApiServer(make_rows(50), 10) as server:
        server.fail(2, "short")
        source = source_of(server, style, pagination=pagination)
        with pytest.raises(FetchError, match=r"has 50 rows .* but only 49 arrived"):
            fetch(source, tmp_path)
    staging = open_staging(source, tmp_path)
    assert staging.closed and not staging.complete


TOLD: list[tuple[str, Pagination]] = [
    ("next", NextLink(total="count")),
    ("pages", PageNumber(total="meta.count")),
    ("offset", Offset(limit=10, total="meta.count")),
]


@pytest.mark.parametrize("next_run", [False, True])
@pytest.mark.parametrize(("style", "pagination"), TOLD)
def test_rows_deleted_during_the_fetch_are_detected(
    tmp_path: Path, style: str, pagination: Pagination, next_run: bool
) -> None:
    with ApiServer(make_rows(80), 10) as server:
        source = source_of(server, style, pagination=pagination, limits=replace(QUICK, parallel=1))
        staging = open_staging(source, tmp_path)
        pages = source.fetch(staging)
        for _ in range(3):
            next(pages)
        server.rows = server.rows[10:]  # the fourth page's rows are on the third now
        server._bodies.clear()
        if next_run:
            pages.close()  # type: ignore[attr-defined]
            staging = open_staging(source, tmp_path, 2)
            staging.continue_from({str(tmp_path / "1"): True})
            pages = source.fetch(staging)
        with pytest.raises(FetchError, match=r"had 80 rows, but has 70 according to its page"):
            list(pages)
    assert "some were deleted" in staging.closed


@pytest.mark.parametrize(("style", "pagination"), TOLD)
def test_rows_appended_during_the_fetch_do_no_harm(
    tmp_path: Path, style: str, pagination: Pagination
) -> None:
    with ApiServer(make_rows(80), 10) as server:
        source = source_of(server, style, pagination=pagination)
        parts: list[Part] = []
        for part in source.fetch(open_staging(source, tmp_path)):
            parts.append(part)
            if len(parts) <= 5:
                server.rows = [*server.rows, {"id": len(server.rows)}]
                server._bodies.clear()
    assert ids_in(parts) == list(range(len(ids_in(parts))))
    assert len(ids_in(parts)) >= 80


def test_a_missing_next_key_ends_the_pages_only_if_declared(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10) as server:
        server.fail(1, "no next")
        parts = fetch(source_of(server, pagination=NextLink(last_page_omits=True)), tmp_path)
    assert ids_in(parts) == list(range(20))


def test_prefetching_past_the_end_does_no_harm(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10) as server:
        for page in range(4, 9):
            server.fail(page, "500", times=99)
        parts = fetch(source_of(server, "pages", pagination=PageNumber()), tmp_path)
    assert ids_in(parts) == list(range(30))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("wrong mac", "the MAC in Server-Authorization is wrong"),
        ("no mac", "it has no Server-Authorization header"),
        ("no body hash", "Server-Authorization has no hash of the body"),
        ("tampered", "the body is not the one that was signed"),
    ],
)
def test_a_response_that_fails_verification_is_refused(tmp_path: Path, fault: str, reason: str) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key")) as server:
        server.fail(1, fault, times=99)
        source = source_of(server, credentials=HAWK)
        with pytest.raises(Untrusted, match=reason):
            fetch(source, tmp_path)
        assert server.list_asked_pages() == [0, 1]
    assert len(open_staging(source, tmp_path).entries) == 1


def test_a_wrong_hawk_key_is_reported_as_such(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "another key")) as server:
        with pytest.raises(FetchError, match="401 Unauthorized: check the source's credentials"):
            fetch(source_of(server, credentials=HAWK), tmp_path)
        assert len(server.seen) == 1


@pytest.mark.parametrize("padding", ["", "x" * 280])
def test_a_refusal_quotes_the_server_and_names_the_source_of_the_credentials(
    tmp_path: Path, padding: str
) -> None:
    secret = "a-secret-token-of-some-length"
    credentials = Credentials("bearer", secret=secret, variables=("API_TOKEN",))
    with AnswerServer(lambda asked: Reply({"detail": f"{padding} {secret} has expired"}, 401)) as server:
        source = HttpSource(f"{server.origin}/rows", credentials=credentials, limits=QUICK)
        told = refuse(source, tmp_path, "401 Unauthorized: check the source's credentials")
    assert "They came from API_TOKEN. The server said: " in told
    assert "a-secret" not in told
    assert ("*** has expired" in told) == (not padding)


@pytest.mark.parametrize("ahead", [-7200, 7200])
def test_a_clock_difference_is_learned_once(tmp_path: Path, ahead: int) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key")) as server:
        server.clock_offset_seconds = ahead
        assert ids_in(fetch(source_of(server, credentials=HAWK), tmp_path)) == list(range(30))
        assert server.list_asked_pages() == [0, 0, 1, 2]


def test_a_server_that_rejects_every_timestamp_is_asked_only_twice(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key")) as server:
        server.fail(0, "401 never in time", times=99)
        with pytest.raises(FetchError, match="401 Unauthorized"):
            fetch(source_of(server, credentials=HAWK), tmp_path)
        assert len(server.seen) == 2


def test_a_server_time_not_signed_with_our_key_is_ignored(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key")) as server:
        server.fail(0, "401 forged time")
        with pytest.raises(FetchError, match="401 Unauthorized"):
            fetch(source_of(server, credentials=HAWK), tmp_path)
        assert len(server.seen) == 1


def test_every_retry_is_signed_again(tmp_path: Path) -> None:
    # The server refuses a nonce it has seen before.
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key")) as server:
        server.fail(1, "500", times=2)
        assert ids_in(fetch(source_of(server, credentials=HAWK), tmp_path)) == list(range(30))


def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10) as server:
        server.fail(1, "bomb")
        source = source_of(server, limits=replace(QUICK, body_bytes=10_000_000))
        make_bomb()
        tracemalloc.start()
        with pytest.raises(FetchError, match="larger than 10,000,000 bytes uncompressed"):
            fetch(source, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20_000_000
    assert len(open_staging(source, tmp_path).entries) == 1


def test_a_page_that_is_too_large_without_compression_is_refused_too(tmp_path: Path) -> None:
    with (
        ApiServer(make_rows(2000), 1000) as server,
        pytest.raises(FetchError, match="larger than 1,000 bytes"),
    ):
        fetch(source_of(server, limits=replace(QUICK, body_bytes=1000)), tmp_path)


SECRETS = [
    HAWK,
    Credentials("bearer", secret="our-key"),
    Credentials("basic", "our-id", "our-key"),
    Credentials("api_key", "X-Api-Key", "our-key"),
]


@pytest.mark.parametrize("fault", ["elsewhere", "redirect elsewhere"])
@pytest.mark.parametrize("credentials", SECRETS, ids=lambda each: each.kind)
def test_nothing_is_sent_to_another_origin(tmp_path: Path, credentials: Credentials, fault: str) -> None:
    hawk = Hawk("our-id", "our-key") if credentials.kind == "hawk" else None
    with ApiServer(make_rows(50), 10) as other, ApiServer(make_rows(50), 10, hawk) as server:
        server.elsewhere = other.origin
        server.fail(2, fault)
        with pytest.raises(
            FetchError, match=f"leads to {other.origin}, not to the source's own {server.origin}"
        ):
            fetch(source_of(server, credentials=credentials), tmp_path)
        assert other.seen == []


@pytest.mark.parametrize("fault", ["elsewhere", "redirect elsewhere"])
@pytest.mark.parametrize("credentials", SECRETS, ids=lambda each: each.kind)
def test_an_origin_allowed_by_name_is_followed_without_credentials(
    tmp_path: Path, credentials: Credentials, fault: str
) -> None:
    hawk = Hawk("our-id", "our-key") if credentials.kind == "hawk" else None
    with ApiServer(make_rows(50), 10) as other, ApiServer(make_rows(50), 10, hawk) as server:
        server.elsewhere = other.origin
        server.fail(2, fault)
        allowed: dict[str, Any] = {
            "allowed_origins": (other.origin,),
            "headers": (("X-Tenant", "our-tenant"),),
        }
        if fault == "elsewhere":
            # From here on the links are the other server's own.
            parts = fetch(source_of(server, credentials=credentials, **allowed), tmp_path)
            assert ids_in(parts) == list(range(50))
        else:
            with pytest.raises(FetchError, match="leads to"):
                fetch(
                    source_of(server, credentials=credentials, **allowed | {"allowed_origins": ()}), tmp_path
                )
            assert ids_in(fetch(source_of(server, credentials=credentials, **allowed), tmp_path, 2)) == list(
                range(50)
            )
        assert all("our-" not in str(seen.headers) for seen in other.seen)


def test_the_same_host_on_another_port_or_scheme_is_another_origin(tmp_path: Path) -> None:
    with ApiServer(make_rows(50), 10) as server:
        for elsewhere in (server.origin.replace("http", "https"), "http://127.0.0.1:1", "http://localhost"):
            server.elsewhere = elsewhere
            server.fail(0, "elsewhere")
            with pytest.raises(FetchError, match="not followed"):
                fetch(source_of(server), tmp_path / elsewhere.replace("/", ""))


def test_a_redirect_on_the_same_origin_is_followed_and_signed_again(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10, Hawk("our-id", "our-key")) as server:
        server.fail(1, "redirect")
        assert ids_in(fetch(source_of(server, credentials=HAWK), tmp_path)) == list(range(30))
        assert server.seen[2].target == "/next?page=1&again=1"


def test_no_message_shows_a_secret_of_the_query(tmp_path: Path) -> None:
    with ApiServer(make_rows(30), 10) as server:
        server.fail(0, "404")
        source = HttpSource(f"{server.origin}/next?api_key=hunter2&page=0", limits=QUICK)
        with pytest.raises(FetchError, match="page=0 returned 404") as told:
            fetch(source, tmp_path)
    assert "hunter2" not in str(told.value)


def test_a_cursor_must_be_a_string_or_a_number(tmp_path: Path) -> None:
    with (
        ApiServer(make_rows(30), 10) as server,
        pytest.raises(FetchError, match="has a list under 'results', not a cursor"),
    ):
        fetch(source_of(server, "cursor", pagination=Cursor(next="results")), tmp_path)


def test_a_key_inside_a_value_that_is_not_an_object_is_missing(tmp_path: Path) -> None:
    with (
        ApiServer(make_rows(30), 10) as server,
        pytest.raises(FetchError, match=r"has no 'results.next': found a list"),
    ):
        fetch(source_of(server, pagination=NextLink(next="results.next")), tmp_path)
