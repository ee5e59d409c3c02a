"""Requests to the identity provider: bounded in time and size, never redirected, JSON answers only."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

from dataflow.config.server_values import check_https
from dataflow.errors import BadInput, ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TIMEOUT_SECONDS = 10.0
LARGEST_ANSWER = 512 * 1024


def get_json(url: str, bearer: str = "") -> dict[str, Any]:
    """Return the JSON object at a URL; ProviderFailed if there is none."""
    return _ask("GET", url, b"", {"Authorization": f"Bearer {bearer}"} if bearer else {})


def post_form(url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    """Post a form and return the JSON object that answers it; ProviderFailed if there is none."""
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return _ask("POST", url, urlencode(form).encode(), kind | dict(headers))


def _ask(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    where = _shown(url)
    try:
        check_https(url)  # those that the provider itself names, too
    except BadInput as error:
        raise ProviderFailed(f"The URL {where} of the identity provider {error}.") from error
    status, answer = _exchange(method, url, body, headers)
    if not 200 <= status < 300:
        raise ProviderFailed(f"The identity provider answered {status} at {where}.{_reason_in(answer)}")
    found = _parse(answer)
    if found is None:
        raise ProviderFailed(f"The answer of the identity provider at {where} is not a JSON object.")
    return found


def _exchange(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    common = {"Accept": "application/json", "User-Agent": "dataflow", "Connection": "close"}
    # A timeout counts from each byte to the next; this one from the beginning to the end.
    cut = threading.Event()
    watchdog = threading.Timer(TIMEOUT_SECONDS, _cut, (connection, cut))
    watchdog.daemon = True
    watchdog.start()
    try:
        connection.request(method, target, body or None, common | dict(headers))
        response = connection.getresponse()
        answer = response.read(LARGEST_ANSWER + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = _reason_of(TimeoutError() if cut.is_set() else error)
        raise ProviderFailed(f"The identity provider at {_shown(url)} {reason}.") from error
    finally:
        watchdog.cancel()
        connection.close()
    if len(answer) > LARGEST_ANSWER:
        raise ProviderFailed(
            f"The answer of the identity provider at {_shown(url)} is longer than {LARGEST_ANSWER} bytes."
        )
    return response.status, answer


def _cut(connection: http.client.HTTPConnection, cut: threading.Event) -> None:
    cut.set()
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _reason_of(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"did not answer within {TIMEOUT_SECONDS:g} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"has a certificate that is not valid: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be reached: {error.strerror}"
    return f"gave no whole answer ({type(error).__name__})"


def _reason_in(answer: bytes) -> str:
    """Return the reason in an answer of OAuth 2, which is one of a few words; nothing else is shown."""
    error = (_parse(answer) or {}).get("error")
    if not isinstance(error, str) or not re.fullmatch("[a-z_]{1,60}", error):
        return ""
    return f" It says: {error}."


def _parse(answer: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _shown(url: str) -> str:
    """Return a URL without its query, which may hold a secret."""
    return url.partition("?")[0].partition("#")[0]
