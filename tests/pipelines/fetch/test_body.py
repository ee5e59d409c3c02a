"""Bodies, compressed or not, split into chunks anywhere: the output equals the input, or is an error."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dataflow.pipelines.fetch.body import Body, Damaged, TooLarge, find_unpacker, start_payloads
from dataflow.pipelines.fetch.body import read_body as read
from dataflow.pipelines.fetch.hawk import finish_payload, start_payload

LIMIT = 5_000_000
PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, zlib.compress]
datas = some.one_of(some.binary(max_size=3000), some.integers(0, 4_300_000).map(bytes))


def read_body(chunks: list[bytes], encoding: str, limit: int, payloads: tuple[Any, ...]) -> Body:
    return read(chunks, find_unpacker(encoding), limit, payloads)


def chunks_of(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(datas, some.integers(1, 100_000), some.sampled_from(PACKERS))
def test_a_compressed_body_is_decompressed_from_any_chunks(
    data: bytes, size: int, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(data)
    body = read_body(chunks_of(packed, size), "gzip", LIMIT, start_payloads("sha256", "a/b", True))
    assert body.data == data
    assert body.sha256 == hashlib.sha256(data).hexdigest()
    digests = []
    for each in (data, packed):
        payload = start_payload("sha256", "a/b")
        payload.update(each)
        digests.append(finish_payload(payload))
    assert body.digests == tuple(digests)


def test_a_body_of_several_gzip_members_is_decompressed_completely() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    for size in range(1, len(packed) + 1):
        assert read_body(chunks_of(packed, size), "gzip", LIMIT, ()).data == b"one two"


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_body_may_reach_its_limit_but_not_exceed_it_by_a_byte(encoding: str) -> None:
    for size in (1_000_000, 1_048_575, 1_048_576, 1_048_577, 3_000_000):
        data = gzip.compress(bytes(size)) if encoding else bytes(size)
        assert len(read_body([data], encoding, size, ()).data) == size
        with pytest.raises(TooLarge):
            read_body([data], encoding, size - 1, ())


@given(some.integers(1, 200))
def test_a_truncated_compressed_body_is_damaged(missing: int) -> None:
    packed = gzip.compress(hashlib.sha512(b"x").digest() * 5)
    with pytest.raises(Damaged):
        read_body([packed[: max(len(packed) - missing, 1)]], "gzip", LIMIT, ())


def test_a_body_that_does_not_match_its_encoding_is_damaged() -> None:
    with pytest.raises(Damaged):
        read_body([b"{}"], "gzip", LIMIT, ())
