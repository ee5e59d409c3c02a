"""Cookies: their attributes, and the few that this server sets."""

from __future__ import annotations

from dataflow.model.record import record

SESSION, LOGIN = "dataflow_session", "dataflow_login"
HOST_PREFIX = "__Host-"
"""A browser accepts a cookie of such a name only from this host, over https and for all of its paths."""


@record
class Cookie:
    """One cookie to set; an empty value with `max_age_seconds` 0 deletes it."""

    name: str
    value: str
    secure: bool
    max_age_seconds: int | None = None  # None: until the browser ends

    _hidden = ("value",)

    @property
    def header(self) -> str:
        """The value of the header Set-Cookie.

        Lax, not Strict: whoever follows a link from a mail or a chat is still logged in, and the identity
        provider sends people back by such a link. Requests that change something are checked otherwise.
        """
        parts = [f"{self.name}={self.value}", "Path=/", "HttpOnly", "SameSite=Lax"]
        if self.max_age_seconds is not None:
            parts.append(f"Max-Age={self.max_age_seconds}")
        return "; ".join([*parts, "Secure"] if self.secure else parts)


def name_of(kind: str, secure: bool) -> str:
    """Return the name of a cookie of ours."""
    return HOST_PREFIX + kind if secure else kind


def make_cookie(kind: str, value: str, secure: bool, seconds: float | None = None) -> Cookie:
    """Return a cookie of ours to set."""
    return Cookie(name_of(kind, secure), value, secure, None if seconds is None else int(seconds))


def drop_cookie(kind: str, secure: bool) -> Cookie:
    """Return what deletes a cookie of ours."""
    return Cookie(name_of(kind, secure), "", secure, 0)


def find_cookie(header: str, name: str) -> str:
    """Return the value of a cookie in the header Cookie; "" if it is not there, or there twice."""
    pairs = [pair.strip().partition("=") for pair in header.split(";")]
    found = [value for key, _, value in pairs if key == name]
    # Two of one name: somebody else has set one of them, and nobody knows which.
    return found[0] if len(found) == 1 else ""
