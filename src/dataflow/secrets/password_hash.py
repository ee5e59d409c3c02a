"""Passwords of local users: Argon2id, as one text with its salt and cost. Text in, text out."""

from __future__ import annotations

import os
from threading import BoundedSemaphore
from unicodedata import normalize

from dataflow.errors import SecretError

ITERATIONS, LANES, MEMORY_KIB = 3, 1, 64 * 1024
"""64 MiB and a fraction of a second for each guess.

One lane: with several, two passwords verified at once wait for each other's threads in OpenSSL, forever.
"""

SHORTEST_CHARACTERS, LONGEST_BYTES = 12, 1024
_SALT_BYTES, _HASH_BYTES = 16, 32

_at_once = BoundedSemaphore(2)
"""A crowd at the login must not take the memory of the machine."""


def hash_password(password: str) -> str:
    """Return the record of a new password; SecretError if it is too short or too long."""
    if len(password) < SHORTEST_CHARACTERS:
        raise SecretError(
            f"The password is shorter than {SHORTEST_CHARACTERS} characters. Choose a longer one."
        )
    given = _to_bytes(password)
    if len(given) > LONGEST_BYTES:
        raise SecretError(f"The password is longer than {LONGEST_BYTES} bytes. Choose a shorter one.")
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    salt = os.urandom(_SALT_BYTES)
    with _at_once:
        return Argon2id(
            salt=salt, length=_HASH_BYTES, iterations=ITERATIONS, lanes=LANES, memory_cost=MEMORY_KIB
        ).derive_phc_encoded(given)


def verify_password(password: str, password_record: str | None) -> bool:
    """Return whether a password is the one of a record; False, after as long, without a record."""
    from cryptography.exceptions import InvalidKey
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    given = _to_bytes(password)[:LONGEST_BYTES]
    with _at_once:
        try:
            Argon2id.verify_phc_encoded(given, password_record or _NOBODY)
        except InvalidKey:
            return False
    return True


def _to_bytes(password: str) -> bytes:
    # Keyboards write the same letter in different ways; and no text at all may make this fail.
    return normalize("NFC", password).encode("utf-8", "surrogatepass")


_NOBODY = (
    f"$argon2id$v=19$m={MEMORY_KIB},t={ITERATIONS},p={LANES}"
    "$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
