"""Messages for PostgreSQL's errors: one per cause, none with a password.

By code and text, so the driver need not be imported here.
"""

from __future__ import annotations

import re

from dataflow import errors

INVALID_PASSWORD = "28P01"
UNKNOWN_USER = "28000"
UNKNOWN_DATABASE = "3D000"
LACKING_RIGHT = "42501"
REFUSALS = (
    *("authentication", "does not exist", "no password", "permission denied", "no pg_hba"),
    "could not translate",
    *("certificate", "does not support ssl", "ssl error"),
)

UNTRUSTED = ("certificate", "does not support ssl", "ssl error")
"""What libpq says if a server is not the one in the URL, or does not support TLS."""

WRONG_OPTION = re.compile(r"invalid .*(value|option|number)")
"""What the driver says about a URL that it cannot use."""


def translate(error: Exception, shown: str, is_connection: bool) -> errors.StoreError:
    """Convert the driver's error to ours; `is_connection` if it is not about the statement."""
    text = message_of(error)
    lower = text.lower()
    code = getattr(error, "sqlstate", None)
    if code == INVALID_PASSWORD or "password authentication failed" in lower:
        return errors.StoreDenied(
            f"The store {shown} rejected the user or password. "
            "Check store_encryptedpass in dataflow.toml and PASSKEY, or DATAFLOW_STORE, or ~/.pgpass."
        )
    if "no password supplied" in lower:
        return errors.StoreDenied(
            f"The store {shown} requires a password. Put what `dataflow secret encrypt` prints under "
            "store_encryptedpass in dataflow.toml, or set DATAFLOW_STORE or PGPASSWORD, or use ~/.pgpass."
        )
    if code == UNKNOWN_DATABASE or ("database" in lower and "does not exist" in lower):
        name = shown.partition("://")[2].partition("?")[0].partition("/")[2] or "DATABASE"
        create = f"createdb {_server(shown)}{name}"
        return errors.StoreDenied(f"The server of {shown} has no such database. Create it: {create}")
    if "no pg_hba" in lower:
        return errors.StoreDenied(
            f"The server of {shown} rejects this user from this host: {text}. "
            "Ask the DBA to add a line to pg_hba.conf."
        )
    if code == UNKNOWN_USER or ("role" in lower and "does not exist" in lower):
        user = _authority(shown).rpartition("@")[0].partition(":")[0] or "USER"
        how = f"createuser {_server(shown)}--pwprompt {user}"
        return errors.StoreDenied(f"The server of {shown} does not know this user: {text}. Create it: {how}")
    if code == LACKING_RIGHT:
        return errors.StoreDenied(f"The user of {shown} lacks a privilege: {text}. Ask the DBA to grant it.")
    if is_connection and code is None and any(word in lower for word in UNTRUSTED):
        return errors.StoreDenied(
            f"The store {shown} could not be reached over TLS: {text}. "
            "Check sslmode, sslrootcert and the host name in its URL."
        )
    if is_connection and code is None and WRONG_OPTION.search(lower):
        return errors.StoreDenied(f"The URL of the store {shown} cannot be used: {text}. Correct it.")
    if is_connection:
        return errors.StoreUnreachable(
            f"The store {shown} does not answer: {text}. Check that the server is up, then run the same "
            "command again."
        )
    return errors.StoreError(f"The store {shown} returned an error: {text}.")


def _server(shown: str) -> str:
    """The options by which PostgreSQL's own programs reach the server of a URL."""
    host, _, port = _authority(shown).rpartition("@")[2].partition(",")[0].rpartition(":")
    if not host:
        host, port = port, ""
    options = f"-h {host} " if host else ""
    return f"{options}-p {port} " if port else options


def _authority(shown: str) -> str:
    return shown.partition("://")[2].partition("?")[0].partition("/")[0]


def may_pass(error: Exception) -> bool:
    """Return whether waiting may help: for a server that restarts, not one that rejects the user."""
    lower = str(error).lower()
    return not any(word in lower for word in REFUSALS)


def message_of(error: Exception) -> str:
    """Return the reason from the driver's message: the text after `failed:`, else the last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    failed = [line for line in lines if " failed: " in line]
    text = failed[-1].rpartition(" failed: ")[2] if failed else "".join(lines[-1:])
    return text.removeprefix("FATAL:").strip().rstrip(".?") or type(error).__name__
