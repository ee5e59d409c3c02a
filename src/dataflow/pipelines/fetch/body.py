"""Response bodies: decompressed, counted and hashed as they arrive, never beyond the limit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from dataflow.model.record import record
from dataflow.pipelines.fetch.hawk import Hash, finish_payload, start_payload
from dataflow.pipelines.fetch.unpacking import PIECE_BYTES, Unpack


@record
class Body:
    """A complete body; `digests` are its Hawk payload hashes: decompressed and, if compressed, as sent."""

    data: bytes
    sha256: str
    digests: tuple[str, ...]


class TooLarge(Exception):
    """A body larger than its limit."""


def read_body(chunks: Iterable[bytes], unpack: Unpack | None, limit: int, payloads: tuple[Hash, ...]) -> Body:
    """Read a body completely; raises Damaged or TooLarge. For `payloads` see `start_payloads`."""
    whole = hashlib.sha256()
    hashes = [whole, *payloads[:1]]
    pieces = []
    size = 0
    packed = _hashed(chunks, payloads[1:])
    for piece in unpack(packed, min(limit + 1, PIECE_BYTES)) if unpack else packed:
        size += len(piece)
        if size > limit:
            raise TooLarge
        for each in hashes:
            each.update(piece)
        pieces.append(piece)
    return Body(b"".join(pieces), whole.hexdigest(), tuple(finish_payload(payload) for payload in payloads))


def start_payloads(algorithm: str, content_type: str, is_packed: bool) -> tuple[Hash, ...]:
    """Payload hashes to compute: a server signs what it made, but a proxy may compress it afterwards."""
    return tuple(start_payload(algorithm, content_type) for _ in range(2 if is_packed else 1))


def _hashed(chunks: Iterable[bytes], payloads: tuple[Hash, ...]) -> Iterable[bytes]:
    for chunk in chunks:
        for payload in payloads:
            payload.update(chunk)
        yield chunk
