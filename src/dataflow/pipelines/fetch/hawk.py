"""The client side of Hawk: signs a request and verifies that a response is the server's own. No I/O here.

Verification ignores the clock: a page that took minutes is as good as a quick one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re

from dataflow.model.record import record, replace
from dataflow.pipelines.fetch.address import Address

ALGORITHMS = ("sha256", "sha1")
_ATTRIBUTE = re.compile(r'(\w+)="([^"\\]*)"\s*(?:,\s*|$)')
_NAMES = frozenset(("id", "ts", "tsm", "nonce", "hash", "error", "ext", "mac", "app", "dlg"))
_VALUE = re.compile(r"[ \w!#$%&'()*+,\-./:;<=>?@\[\]^`{|}~]*", re.ASCII)
_LONGEST_HEADER = 4096


@record
class HawkKey:
    """A Hawk id with its key and algorithm."""

    id: str
    key: str
    algorithm: str = "sha256"
    _hidden = ("key",)


@record
class HawkRequest:
    """A signed request: `header` is sent, the rest is used to verify the response."""

    key: HawkKey
    method: str
    address: Address
    timestamp: int
    nonce: str
    header: str


class BadHawk(Exception):
    """The reason why a Hawk header cannot be verified."""


def is_header_text(text: str) -> bool:
    """True if the string is allowed in a Hawk header."""
    return _VALUE.fullmatch(text) is not None


def sign_request(key: HawkKey, method: str, address: Address, timestamp: int) -> HawkRequest:
    """Sign a request without body, with a fresh nonce; sign again for every retry."""
    nonce = base64.urlsafe_b64encode(os.urandom(9)).decode()
    digest = finish_payload(start_payload(key.algorithm, ""))
    request = HawkRequest(key, method, address, timestamp, nonce, "")
    mac = _mac(key, _normalized("header", request, digest, ""))
    header = f'Hawk id="{key.id}", ts="{timestamp}", nonce="{nonce}", hash="{digest}", mac="{mac}"'
    return replace(request, header=header)


def start_payload(algorithm: str, content_type: str) -> hashlib._Hash:
    """A payload hash: update it with the body, then call `finish_payload`."""
    kind = content_type.partition(";")[0].strip().lower()
    return hashlib.new(algorithm, f"hawk.1.payload\n{kind}\n".encode())


def finish_payload(payload: hashlib._Hash) -> str:
    """The hash of the complete body in Hawk's notation."""
    payload.update(b"\n")
    return base64.b64encode(payload.digest()).decode()


def verify_response(request: HawkRequest, header: str, digests: tuple[str, ...]) -> None:
    """Raises BadHawk unless `header` (Server-Authorization) was made with our key for this request and body.

    `digests` are the payload hashes of the body; several when a proxy may have compressed it after signing.
    """
    values = parse_header(header)
    if "mac" not in values:
        raise BadHawk("Server-Authorization has no mac")
    normalized = _normalized("response", request, values.get("hash", ""), values.get("ext", ""))
    if not _equal(values["mac"], _mac(request.key, normalized)):
        raise BadHawk("the MAC in Server-Authorization is wrong")
    if "hash" not in values:
        raise BadHawk("Server-Authorization has no hash of the body")
    if not any(_equal(values["hash"], digest) for digest in digests):
        raise BadHawk("the body is not the one that was signed")


def find_server_time(key: HawkKey, header: str) -> int | None:
    """The server's time from the WWW-Authenticate of a 401; None if missing or not signed with our key."""
    try:
        values = parse_header(header)
    except BadHawk:
        return None
    timestamp = values.get("ts", "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp, re.ASCII):
        return None
    return int(timestamp) if _equal(values.get("tsm", ""), _mac(key, f"hawk.1.ts\n{timestamp}\n")) else None


def parse_header(header: str) -> dict[str, str]:
    """The attributes of a Hawk header; BadHawk when it is malformed."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "hawk" or len(header) > _LONGEST_HEADER:
        raise BadHawk("its header is not a Hawk header")
    values: dict[str, str] = {}
    position = 0
    while position < len(rest):
        found = _ATTRIBUTE.match(rest, position)
        if not found or found[1] not in _NAMES or found[1] in values or not is_header_text(found[2]):
            raise BadHawk("its Hawk header is malformed")
        values[found[1]] = found[2]
        position = found.end()
    return values


def _normalized(kind: str, request: HawkRequest, digest: str, ext: str) -> str:
    address = request.address
    return (
        f"hawk.1.{kind}\n{request.timestamp}\n{request.nonce}\n{request.method}\n{address.target}\n"
        f"{address.host}\n{address.port}\n{digest}\n{ext}\n"
    )


def _mac(key: HawkKey, text: str) -> str:
    return base64.b64encode(hmac.digest(key.key.encode(), text.encode(), key.algorithm)).decode()


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
