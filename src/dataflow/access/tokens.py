"""API tokens of programs: made once, shown once, kept as a hash.

A token is `dft_`, 30 random letters and digits (178 bits), and a checksum by which scanners of leaked secrets
recognise it without asking anybody.
"""

from __future__ import annotations

import hashlib
import secrets
import string
import zlib

from dataflow.access.users import accounts_of
from dataflow.actions.dataset_rules import check_name
from dataflow.actions.names import unknown
from dataflow.errors import BadInput, Conflict, Unauthenticated
from dataflow.model.record import record
from dataflow.model.wording import format_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.principal import Principal, Role, TokenRow
    from dataflow.store.store import Store

PREFIX = "dft_"
LONGEST_SECONDS = 730 * 86400.0
_ALPHABET = string.digits + string.ascii_letters
_RANDOM, _CHECKSUM = 30, 6


@record
class NewToken:
    """A token as its maker gets it, this once."""

    token: str
    row: TokenRow

    _hidden = ("token",)


def create_token(store: Store, name: str, role: Role, seconds: float) -> NewToken:
    """Make an API token that expires after some seconds; Conflict if there is one of that name."""
    check_name("token", name)
    if not 0 < seconds <= LONGEST_SECONDS:
        longest = format_seconds(LONGEST_SECONDS)
        raise BadInput(f"Token {name} must expire in at most {longest}, got {format_seconds(seconds)}.")
    token = make_token()
    accounts = accounts_of(store)
    if not accounts.add_token(name, role, hash_of(token), seconds):
        raise Conflict(
            f"Token {name} exists; nothing was changed. Choose another name, or: dataflow token revoke {name}"
        )
    return NewToken(token, next(row for row in accounts.list_tokens() if row.name == name))


def revoke_token(store: Store, name: str) -> None:
    """Make an API token invalid at once."""
    if not accounts_of(store).revoke_token(name):
        raise unknown("token", name, [row.name for row in list_tokens(store)], store.database.url)


def list_tokens(store: Store) -> list[TokenRow]:
    """Return all API tokens, by name; expired ones too."""
    return accounts_of(store).list_tokens()


def identify_token(store: Store, token: str) -> Principal:
    """Return the program that an API token belongs to; Unauthenticated if the token is not valid."""
    # A mistyped token, or anything else in its place, costs no look into the store.
    found = accounts_of(store).find_token(hash_of(token)) if is_token(token) else None
    if found is None:
        raise Unauthenticated(
            "The API token is not valid: mistyped, expired or revoked. "
            "List them: dataflow token list. Make one: dataflow token create NAME"
        )
    return found


def make_token() -> str:
    """Return a new token."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return PREFIX + body + _checksum(body)


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token, with the right checksum."""
    body, checksum = text[len(PREFIX) : -_CHECKSUM], text[-_CHECKSUM:]
    right = text.startswith(PREFIX) and len(body) == _RANDOM and set(text[len(PREFIX) :]) <= set(_ALPHABET)
    return right and checksum == _checksum(body)


def hash_of(secret: str) -> str:
    """Return what the store keeps of a random secret: long enough that nobody can guess it from its hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECKSUM):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
