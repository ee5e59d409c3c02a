"""Pages that are almost JSON, or too large: reported with the location and a solution."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from dataflow.model.record import replace
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.pagination import LinkHeader, NextLink, Pagination
from tests.pipelines.answer_server import AnswerServer, Reply
from tests.pipelines.fetch.fetching import QUICK, fetch, open_staging, refuse


def serve(body: bytes, content_type: str = "application/json") -> AnswerServer:
    return AnswerServer(lambda asked: Reply(body, headers=[("Content-Type", content_type)]))


def source_for(server: AnswerServer, pagination: Pagination = NextLink(), **fields: Any) -> HttpSource:  # noqa: B008
    return HttpSource(f"{server.origin}/rows", pagination, **({"limits": QUICK} | fields))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_constant_that_is_not_json_is_named_with_its_row(tmp_path: Path, constant: str) -> None:
    rows = f'[{{"id": 1, "price": 2.5}}, {{"id": 2, "price": {constant}}}]'
    with serve(f'{{"next": null, "results": {rows}}}'.encode()) as server:
        told = refuse(
            source_for(server), tmp_path, f"has {constant} in row 2, field 'price', which is not JSON"
        )
    assert 'set nan="null"' in told


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b'[{"a": 1}, {"a": {"b": [1, NaN]}}]', "has NaN in row 2, field 'a', which"),
        (b"[[1], [NaN]]", "has NaN in row 2, which"),
    ],
)
def test_a_constant_deep_within_a_row_is_found(tmp_path: Path, body: bytes, where: str) -> None:
    with serve(body) as server:
        refuse(source_for(server, LinkHeader()), tmp_path, where)


def test_a_constant_outside_the_rows_is_reported_without_a_row(tmp_path: Path) -> None:
    with serve(b'{"next": null, "took": NaN, "results": []}') as server:
        refuse(source_for(server), tmp_path, "has NaN, which is not JSON")


def test_constants_become_null_if_declared_and_nothing_else_changes(tmp_path: Path) -> None:
    body = (
        b'{"next": null, "took": Infinity,\n "results": [{"a": NaN, "b": "NaN -Infinity", "c": "\\"NaN\\\\"},'
        b' {"a": -Infinity, "b": 1.10, "c": 12345678901234567890123, "d": "\\ud800", "NaN": [NaN]}]}'
    )
    wanted = (
        b'{"next": null, "took": null,\n "results": [{"a": null, "b": "NaN -Infinity", "c": "\\"NaN\\\\"},'
        b' {"a": null, "b": 1.10, "c": 12345678901234567890123, "d": "\\ud800", "NaN": [null]}]}'
    )
    with serve(body) as server:
        (part,) = fetch(source_for(server, nan="null"), tmp_path)
        assert Path(part.path).read_bytes() == wanted
        assert part.size == len(wanted)
        # The next run finds it complete.
        staging = open_staging(source_for(server, nan="null"), tmp_path, 2)
        assert staging.continue_from({str(tmp_path / "1"): True}) == 1


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_a_page_in_utf_16_or_32_is_reported(tmp_path: Path, name: str) -> None:
    with serve('{"next": null, "results": []}'.encode(name)) as server:
        refuse(source_for(server), tmp_path, f"is {name[:6].upper()}, not UTF-8. JSON must be UTF-8")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("application/json; charset=ISO-8859-1", "its Content-Type says ISO-8859-1"),
        ("application/json", "perhaps it is Latin-1 or Windows-1252"),
    ],
)
def test_a_page_in_latin_1_is_reported(tmp_path: Path, kind: str, told: str) -> None:
    body = '{"next": null, "results": [{"a": "café"}]}'.encode("latin-1")
    with serve(body, kind) as server:
        refuse(source_for(server), tmp_path, f"is not UTF-8: its byte 38 is 0xE9; {told}")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    with serve(b'\xef\xbb\xbf{"next": null, "results": [{"a": 1}]}') as server:
        assert fetch(source_for(server), tmp_path)[0].rows == 1


def pack_many(value: bytes, count: int) -> bytes:
    """A page of this many equal values, compressed in pieces: a few kB that expand to many MB."""
    packer = zlib.compressobj(wbits=31)
    piece = b",".join([value] * 10_000) + b","
    pieces = [packer.compress(b'{"next":null,"results":[')]
    pieces += [packer.compress(piece) for _ in range(count // 10_000)]
    return b"".join([*pieces, packer.compress(value + b"]}"), packer.flush()])


@pytest.mark.parametrize("value", [b"{}", b"[]", b"0", b'{"a":[[[{}]]]}'], ids=bytes.decode)
def test_a_page_of_very_many_small_values_is_refused_before_it_uses_memory(
    tmp_path: Path, value: bytes
) -> None:
    body = pack_many(value, 12_000_000)
    assert len(body) < 500_000
    packed = [("Content-Encoding", "gzip")]
    with AnswerServer(lambda asked: Reply(body, headers=packed)) as server:
        tracemalloc.start()
        told = refuse(source_for(server), tmp_path, "MiB of memory, more than the limit of 1,024 MiB")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert "Request fewer rows per page, or raise the source's page_memory_bytes." in told
    assert peak < 500_000_000  # the page, in memory twice while its pieces are joined


def test_a_large_page_of_long_strings_is_accepted(tmp_path: Path) -> None:
    body = json.dumps(
        {"next": None, "results": [{"id": number, "a": "x, [y] {z}" * 50} for number in range(40_000)]}
    )
    packed = [("Content-Encoding", "gzip")]
    with AnswerServer(lambda asked: Reply(gzip.compress(body.encode(), 1), headers=packed)) as server:
        assert fetch(source_for(server), tmp_path)[0].rows == 40_000


def test_the_memory_limit_of_a_page_is_set_on_the_source(tmp_path: Path) -> None:
    body = json.dumps({"next": None, "results": [{"id": number} for number in range(1000)]}).encode()
    with serve(body) as server:
        refuse(
            source_for(server, limits=replace(QUICK, page_memory_bytes=200_000)), tmp_path, "1,001 objects"
        )
        assert fetch(source_for(server, limits=replace(QUICK, page_memory_bytes=400_000)), tmp_path, 2)


@pytest.mark.parametrize("emoji", ["\U0001f600", r"\ud83d\ude00"], ids=["plain", "escaped"])
def test_a_string_with_an_emoji_counts_four_bytes_per_character(tmp_path: Path, emoji: str) -> None:
    text = r"a\"" * 10_000 + emoji + r"\"a" * 10_000
    body = f'{{"next":null,"results":[{{"a":"{text}"}},{{"a":"é{"b" * 200_000}"}}]}}'.encode()
    with serve(body) as server:
        limits = replace(QUICK, page_memory_bytes=400_000)
        refuse(source_for(server, limits=limits), tmp_path, "of memory, more than the limit")
        plain = replace(QUICK, page_memory_bytes=600_000)
        assert fetch(source_for(server, limits=plain), tmp_path, 2)


def test_a_redirect_loop_that_expects_a_cookie_is_reported(tmp_path: Path) -> None:
    headers = [("Location", "/rows"), ("Set-Cookie", "session=hunter2; Path=/")]
    with AnswerServer(lambda asked: Reply(status=302, headers=headers)) as server:
        told = refuse(source_for(server), tmp_path, "redirects more than 5 times and sets a cookie each time")
        assert len(server.asked) == 6
    assert "Cookies are not kept: use the URL of the API" in told
    assert "hunter2" not in told
