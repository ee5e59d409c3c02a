"""Compressed pages: every requested encoding is decoded, up to its limit; others are explained."""

from __future__ import annotations

import hashlib
import json
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as some

from dataflow.model.record import replace
from dataflow.pipelines.fetch.body import (
    PIECE_BYTES,
    Damaged,
    TooLarge,
    _find_package,
    find_unpacker,
    read_body,
)
from dataflow.pipelines.fetch.http_source import HttpSource
from tests.pipelines.answer_server import AnswerServer, Reply
from tests.pipelines.fetch.fetching import QUICK, fetch, ids_in, make_rows, refuse

PAGE = json.dumps({"next": None, "results": make_rows(500)}).encode()


def deflate_without_header(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", lambda data: zlib.compress(data, wbits=31)),
    ("deflate", zlib.compress),
    ("deflate", deflate_without_header),
    ("br", lambda data: brotli.compress(data, quality=5)),
    ("zstd", zstandard.compress),
]
NAMES = ["gzip", "deflate", "bare deflate", "br", "zstd"]
packed = pytest.mark.parametrize(("encoding", "pack"), PACKERS, ids=NAMES)


def source_for(server: AnswerServer, body_bytes: int = 10_000_000) -> HttpSource:
    return HttpSource(f"{server.origin}/rows", limits=replace(QUICK, body_bytes=body_bytes))


def serve(body: bytes, encoding: str) -> AnswerServer:
    return AnswerServer(lambda asked: Reply(body, headers=[("Content-Encoding", encoding)]))


@packed
def test_a_body_that_ends_at_a_piece_boundary_is_complete(
    encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    unpack = find_unpacker(encoding)
    for size in range(PIECE_BYTES - 2, PIECE_BYTES + 300):
        assert len(read_body([pack(b"a" * size)], unpack, 10_000_000, ()).data) == size


@packed
def test_a_compressed_page_is_decompressed(
    tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    with serve(pack(PAGE), encoding) as server:
        assert ids_in(fetch(source_for(server), tmp_path)) == list(range(500))
        assert server.asked[0].headers["Accept-Encoding"] == "gzip, br, zstd"


@packed
@given(data=some.binary(max_size=3000), size=some.integers(1, 5000))
def test_a_body_in_any_encoding_is_decompressed_from_any_chunks(
    encoding: str, pack: Callable[[bytes], bytes], data: bytes, size: int
) -> None:
    whole = pack(data)
    chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert read_body(chunks, find_unpacker(encoding), 5000, ()).data == data


@packed
def test_a_truncated_body_is_damaged(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    whole = pack(hashlib.sha512(b"x").digest() * 5)
    for missing in range(1, len(whole)):
        with pytest.raises(Damaged):
            read_body([whole[:-missing]], find_unpacker(encoding), 5000, ())


@packed
def test_a_damaged_page_is_requested_again(
    tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    bodies = [b"\xffnothing of the kind", pack(PAGE)[:-9], pack(PAGE)]
    with AnswerServer(lambda asked: Reply(bodies.pop(0), headers=[("Content-Encoding", encoding)])) as server:
        assert ids_in(fetch(source_for(server), tmp_path)) == list(range(500))


def bomb_of(encoding: str, size: int) -> bytes:
    """A few bytes that expand to this many blanks; built in pieces, since its test measures memory."""
    blanks = b" " * 1_000_000
    if encoding == "br":
        brotli_packer = brotli.Compressor(quality=5)
        return b"".join([brotli_packer.process(blanks) for _ in range(size)] + [brotli_packer.finish()])
    packer = zstandard.ZstdCompressor().compressobj() if encoding == "zstd" else zlib.compressobj(wbits=31)
    return b"".join([packer.compress(blanks) for _ in range(size)] + [packer.flush()])


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_a_bomb_stops_at_the_limit(tmp_path: Path, encoding: str) -> None:
    bomb = bomb_of(encoding, 150)
    assert len(bomb) < 1_000_000
    with serve(bomb, encoding) as server:
        source = source_for(server)
        tracemalloc.start()
        refuse(source, tmp_path, "larger than 10,000,000 bytes uncompressed")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 60_000_000


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_a_body_may_reach_its_limit_but_not_exceed_it_by_a_byte(encoding: str) -> None:
    for size in (1000, 1_048_576, 3_000_000):
        body = dict(PACKERS)[encoding](bytes(size))
        assert len(read_body([body], find_unpacker(encoding), size, ()).data) == size
        with pytest.raises(TooLarge):
            read_body([body], find_unpacker(encoding), size - 1, ())


def test_zstd_that_asks_for_a_large_window_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = packer.compress(PAGE) + packer.flush()
    with serve(body, "zstd") as server:
        refuse(source_for(server), tmp_path, r"zstd data is damaged \(.*memory")


def test_several_frames_are_one_body() -> None:
    body = zstandard.compress(b"one ") + zstandard.compress(b"two")
    for size in range(1, len(body) + 1):
        chunks = [body[start : start + size] for start in range(0, len(body), size)]
        assert read_body(chunks, find_unpacker("zstd"), 100, ()).data == b"one two"


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("brotli", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    _find_package.cache_clear()
    yield
    monkeypatch.undo()
    _find_package.cache_clear()


@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_an_encoding_without_its_package_is_neither_requested_nor_accepted(
    tmp_path: Path, encoding: str
) -> None:
    with serve(b"x", encoding) as server:
        told = refuse(source_for(server), tmp_path, f"the encoding '{encoding}', which was not requested")
        assert server.asked[0].headers["Accept-Encoding"] == "gzip"
    assert "pip install '.[compression]' in the DataFlow checkout" in told


def test_an_unknown_encoding_is_reported(tmp_path: Path) -> None:
    with serve(b"x", "compress") as server:
        refuse(source_for(server), tmp_path, "'compress', which was not requested: only gzip, br, zstd were")
