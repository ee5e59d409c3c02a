"""The body of an answer: unpacked as it arrives, counted and hashed on the way, never beyond its limit."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable

from dataflow.model.record import record
from dataflow.pipelines.fetch.hawk import Hash, finish_payload, start_payload

_PIECE_BYTES = 1024 * 1024


@record
class Body:
    """A whole body; `digests` are its Hawk payload hashes, unpacked and, where it came packed, as sent."""

    data: bytes
    sha256: str
    digests: tuple[str, ...]


class Damaged(Exception):
    """A body that did not arrive whole: worth another attempt."""


class TooLarge(Exception):
    """A body beyond its limit."""


def read_body(chunks: Iterable[bytes], encoding: str, limit: int, payloads: tuple[Hash, ...]) -> Body:
    """Reads a body to its end; Damaged, or TooLarge as soon as it is. `payloads`: see `start_payloads`."""
    whole = hashlib.sha256()
    hashes = [whole, *payloads[:1]]
    pieces = []
    size = 0
    packed = _hashed(chunks, payloads[1:])
    for piece in _unpacked(packed, limit) if encoding else packed:
        size += len(piece)
        if size > limit:
            raise TooLarge
        for each in hashes:
            each.update(piece)
        pieces.append(piece)
    return Body(b"".join(pieces), whole.hexdigest(), tuple(finish_payload(payload) for payload in payloads))


def start_payloads(algorithm: str, content_type: str, encoding: str) -> tuple[Hash, ...]:
    """The payload hashes to compute: a server signs what it made, a proxy may pack it afterwards."""
    return tuple(start_payload(algorithm, content_type) for _ in range(2 if encoding else 1))


def _hashed(chunks: Iterable[bytes], payloads: tuple[Hash, ...]) -> Iterable[bytes]:
    for chunk in chunks:
        for payload in payloads:
            payload.update(chunk)
        yield chunk


def _unpacked(chunks: Iterable[bytes], limit: int) -> Iterable[bytes]:
    """The pieces behind gzip or zlib, all short: a bomb goes off no further than one piece past its limit."""
    longest = min(limit + 1, _PIECE_BYTES)
    unpacker = zlib.decompressobj(wbits=47)
    for chunk in chunks:
        rest = chunk
        while rest:
            if unpacker.eof:  # gzip data may consist of several members
                unpacker = zlib.decompressobj(wbits=47)
            try:
                yield unpacker.decompress(rest, longest)
            except zlib.error as wrong:
                raise Damaged("its gzip data is damaged") from wrong
            rest = unpacker.unused_data or unpacker.unconsumed_tail
    if not unpacker.eof:
        raise Damaged("its gzip data ends too early")
