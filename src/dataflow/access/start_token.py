"""The secret link of a server without logins: other users of the machine do not know it.

The server prints it when it starts, as Jupyter does; a browser exchanges it for a cookie. Both live in the
memory of one process and end with it.
"""

from __future__ import annotations

import hmac
import secrets

from dataflow.access.tokens import hash_of
from dataflow.errors import Unauthenticated


class StartToken:
    """The token in the link, and the cookie that it is exchanged for."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)

    def __repr__(self) -> str:
        return "StartToken()"

    def exchange(self, token: str) -> str:
        """Return the value of the cookie for the token; Unauthenticated if it is another."""
        if not hmac.compare_digest(hash_of(token), hash_of(self.token)):
            raise Unauthenticated(
                "This link is not valid: it belongs to an earlier start of the server, or is incomplete. "
                "Open the link that the server printed when it started."
            )
        return self._cookie

    def matches(self, cookie: str) -> bool:
        """Return whether a cookie is the one that the token was exchanged for."""
        return hmac.compare_digest(hash_of(cookie), hash_of(self._cookie))
