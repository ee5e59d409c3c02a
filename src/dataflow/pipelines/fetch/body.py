"""Response bodies: decompressed, counted and hashed as they arrive, never beyond the limit.

Pieces stay small whatever the compression ratio.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from dataflow.model.record import record
from dataflow.pipelines.fetch.hawk import finish_payload, start_payload

PIECE_BYTES = 1024 * 1024
# zstandard cannot limit the output of one call: 4 bytes may expand to 128 KiB, so it gets small inputs.
_ZSTD_SLICE_BYTES = 1024
_ZSTD_WINDOW_BYTES = 8 << 20  # the largest window that RFC 9659 allows
_PACKAGES = {"br": "brotli", "zstd": "zstandard"}

Unpack = Callable[[Iterable[bytes], int], Iterator[bytes]]


@record
class Body:
    """A complete body; `digests` are its Hawk payload hashes: decompressed and, if compressed, as sent."""

    data: bytes
    sha256: str
    digests: tuple[str, ...]


class TooLarge(Exception):
    """A body larger than its limit."""


class Damaged(Exception):
    """A body that arrived incomplete or corrupt: worth another attempt."""


def read_body(
    chunks: Iterable[bytes], unpack: Unpack | None, limit: int, payloads: tuple[hashlib._Hash, ...]
) -> Body:
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


def start_payloads(algorithm: str, content_type: str, is_packed: bool) -> tuple[hashlib._Hash, ...]:
    """Payload hashes to compute: a server signs what it made, but a proxy may compress it afterwards."""
    return tuple(start_payload(algorithm, content_type) for _ in range(2 if is_packed else 1))


def _hashed(chunks: Iterable[bytes], payloads: tuple[hashlib._Hash, ...]) -> Iterable[bytes]:
    for chunk in chunks:
        for payload in payloads:
            payload.update(chunk)
        yield chunk


def list_encodings() -> list[str]:
    """The encodings to request, including those of installed optional packages."""
    return ["gzip", *(name for name, package in _PACKAGES.items() if _find_package(package))]


def find_unpacker(encoding: str) -> Unpack | None:
    """Decoder for this Content-Encoding, in pieces of about the given length; None when unsupported."""
    if encoding in _PACKAGES and not _find_package(_PACKAGES[encoding]):
        return None
    return _UNPACKERS.get(encoding)


def explain_encoding(encoding: str) -> str:
    """Advice for an encoding that cannot be decoded here."""
    if encoding in _PACKAGES:
        return "to read it: pip install '.[compression]' in the DataFlow checkout"
    return f"only {', '.join(list_encodings())} were requested; check the source's headers"


@functools.cache
def _find_package(name: str) -> bool:
    try:
        found = importlib.import_module(name)
    except ImportError:
        return False
    # Before 1.2 brotli's output has no limit.
    return name != "brotli" or hasattr(found.Decompressor, "can_accept_more_data")


def _inflate(chunks: Iterable[bytes], longest: int, bits: int = 47) -> Iterator[bytes]:
    """gzip or zlib, recognised by their headers; `bits` of -15 is raw deflate."""
    unpacker = zlib.decompressobj(wbits=bits)
    for chunk in chunks:
        rest = chunk
        piece = b""
        # Output may remain though all input was consumed: raw deflate has no trailer.
        while rest or (len(piece) == longest and not unpacker.eof):
            if unpacker.eof:  # gzip data may consist of several members
                unpacker = zlib.decompressobj(wbits=bits)
            try:
                piece = unpacker.decompress(rest, longest)
            except zlib.error as wrong:
                raise Damaged("its gzip or deflate data is damaged") from wrong
            yield piece
            rest = unpacker.unused_data or unpacker.unconsumed_tail
    if not unpacker.eof:
        raise Damaged("its gzip or deflate data ends too early")


def _inflate_any(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """`deflate`: zlib's format according to the standard, raw deflate from some servers."""
    coming = iter(chunks)
    head = b""
    while len(head) < 2 and (chunk := next(coming, None)) is not None:
        head += chunk
    is_zlib = head[:1] and head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    is_headed = is_zlib or head[:2] == b"\x1f\x8b"
    return _inflate(chain([head], coming), longest, 47 if is_headed else -15)


def _unpack_brotli(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    import brotli

    unpacker = brotli.Decompressor()
    try:
        for chunk in chunks:
            piece = unpacker.process(chunk, output_buffer_limit=longest)
            while piece or not unpacker.can_accept_more_data():
                yield piece
                piece = unpacker.process(b"", output_buffer_limit=longest)
    except brotli.error as wrong:
        raise Damaged("its brotli data is damaged") from wrong
    if not unpacker.is_finished():
        raise Damaged("its brotli data ends too early")


def _unpack_zstd(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    import zstandard

    maker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    unpacker = maker.decompressobj()
    for chunk in chunks:
        for start in range(0, len(chunk), _ZSTD_SLICE_BYTES):
            rest = chunk[start : start + _ZSTD_SLICE_BYTES]
            while rest:
                if unpacker.eof:  # there may be several frames
                    unpacker = maker.decompressobj()
                try:
                    yield unpacker.decompress(rest)
                except zstandard.ZstdError as wrong:
                    raise Damaged(f"its zstd data is damaged ({wrong})") from wrong
                rest = unpacker.unused_data
    if not unpacker.eof:
        raise Damaged("its zstd data ends too early")


_UNPACKERS: dict[str, Unpack] = {
    "gzip": _inflate,
    "x-gzip": _inflate,
    "deflate": _inflate_any,
    "br": _unpack_brotli,
    "zstd": _unpack_zstd,
}
