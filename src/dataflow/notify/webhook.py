"""HTTP POST of one notification. Redirects are not followed, and no answer is read beyond its status."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from dataflow.notify.failures import NotSent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.notify.message import Message

KEY_PREFIX = "whsec_"


def post_signed(url: str, message: Message, secret: str, timeout_seconds: float) -> None:
    """Post a notification as JSON, signed as Standard Webhooks does if there is a secret."""
    body = message.as_json()
    headers = {"webhook-id": message.key, "webhook-timestamp": str(int(time.time()))}
    if secret:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(_key_of(secret), signed, hashlib.sha256).digest()
        headers["webhook-signature"] = "v1," + base64.b64encode(digest).decode()
    _post(url, body, headers, timeout_seconds)


def post_to_slack(url: str, message: Message, timeout_seconds: float) -> None:
    """Post the text of a notification to an incoming webhook of Slack or a compatible service."""
    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    _post(url, json.dumps({"text": text}).encode(), {}, timeout_seconds)


def _key_of(secret: str) -> bytes:
    if secret.startswith(KEY_PREFIX):
        try:
            return base64.b64decode(secret[len(KEY_PREFIX) :], validate=True)
        except ValueError:
            raise NotSent(f"its secret starts with {KEY_PREFIX}, and what follows is not base64") from None
    return secret.encode("utf-8", "surrogateescape")


def _post(url: str, body: bytes, headers: dict[str, str], timeout_seconds: float) -> None:
    parts = urlsplit(url)
    assert parts.hostname is not None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=timeout_seconds, context=context
        )
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_seconds)
    headers = {"Content-Type": "application/json", "User-Agent": "dataflow", "Connection": "close"} | headers
    # A timeout counts from each byte to the next; this one from the beginning to the end.
    cut = threading.Event()
    watchdog = threading.Timer(timeout_seconds, _cut, (connection, cut))
    watchdog.daemon = True
    watchdog.start()
    try:
        connection.request("POST", target, body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _not_sent(error, cut.is_set(), timeout_seconds) from error
    finally:
        watchdog.cancel()
        connection.close()
    if 300 <= status < 400:
        raise NotSent(f"the server answered {status}; redirects are not followed")
    if not 200 <= status < 300:
        raise NotSent(f"the server answered {status}")


def _cut(connection: http.client.HTTPConnection, cut: threading.Event) -> None:
    cut.set()
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _not_sent(error: Exception, was_cut: bool, timeout_seconds: float) -> NotSent:
    if was_cut or isinstance(error, TimeoutError):
        return NotSent(f"no answer within {timeout_seconds:g} s")
    if isinstance(error, ssl.SSLCertVerificationError):
        return NotSent(f"the server's certificate is not valid: {error.verify_message}")
    if isinstance(error, OSError) and error.strerror:
        return NotSent(f"cannot reach the server: {error.strerror}")
    return NotSent(f"the server's answer is not HTTP ({type(error).__name__})")
