"""Encrypted passwords: AES-256-GCM under a scrypt key, bound to the dataset or connection.

Text in, text out. Messages never contain a password, a passphrase or a record.
"""

from __future__ import annotations

import hashlib
import os
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from functools import lru_cache

from dataflow.errors import SecretError
from dataflow.secrets.passphrase import THREE_WAYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = "df1"
SHORTEST_SECRET = 8
SCRYPT_N = 2**17
_SCRYPT_R = 8
_KEY_BYTES, _CHECK_BYTES, _SALT_BYTES, _NONCE_BYTES, _TAG_BYTES = 32, 4, 16, 12, 16
# start-up: base64 takes longer to import than the rest of this module
_TO_URLSAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URLSAFE = bytes.maketrans(b"-_", b"+/")


def encrypt(
    plaintext: str, passphrase: str, bound_to: str, salt: bytes | None = None, *, scrypt_n: int = SCRYPT_N
) -> str:
    """Return the record that only this passphrase opens, and only for `bound_to` ("dataset:bobin").

    Pass `salt_of` an existing record so that both open with one key derivation. The cost is not in the
    record, so that nobody who can write records can make guessing the passphrase cheaper.
    """
    secret = _secret_bytes(plaintext, bound_to)
    if not passphrase:
        raise SecretError(f"The passphrase for {_thing(bound_to)} is empty. {THREE_WAYS}")
    salt = os.urandom(_SALT_BYTES) if salt is None else salt
    if len(salt) != _SALT_BYTES:
        raise ValueError(f"a salt has {_SALT_BYTES} bytes, not {len(salt)}")
    key, check = _derive(passphrase, salt, scrypt_n)
    nonce = os.urandom(_NONCE_BYTES)
    ciphertext = _aesgcm(key).encrypt(nonce, secret, _associated_data(salt, bound_to))
    return ".".join([FORMAT, *(_to_text(part) for part in (salt, check, nonce, ciphertext))])


def decrypt(record: str, passphrase: str, bound_to: str, *, scrypt_n: int = SCRYPT_N) -> str:
    """Return the password in a record of ours, or of the first DataFlow.

    Raises SecretError, with different words for a wrong passphrase, a record that was modified or belongs to
    something else, and a string that is not a record.
    """
    if "." not in record:
        return decrypt_seed(record, passphrase, bound_to)
    salt, expected, nonce, ciphertext = _parse(record, bound_to)
    key, check = _derive(passphrase, salt, scrypt_n)
    if check != expected:
        raise SecretError(
            f"The passphrase does not decrypt the password of {_thing(bound_to)}. "
            f"Use the passphrase it was encrypted with, or replace the password: {_replace_command(bound_to)}"
        )
    secret = _open(key, nonce, ciphertext, _associated_data(salt, bound_to))
    if secret is None:
        raise SecretError(
            f"The encrypted password of {_thing(bound_to)} was modified, or copied from another dataset. "
            f"Replace it: {_replace_command(bound_to)}"
        )
    return secret


def decrypt_seed(encrypted: str, passphrase: str, bound_to: str = "store") -> str:
    """Return a password encrypted by the first DataFlow; new ones are never written this way.

    Base64 of a 12-byte IV and AES-GCM output, under the first 32 bytes of SHA-512 of the passphrase.
    It cannot distinguish a wrong passphrase from a modified record, and is not bound to a dataset.
    """
    try:
        blob = a2b_base64(encrypted.strip().encode("ascii"), strict_mode=True)
    except (Base64Error, UnicodeEncodeError):
        raise _malformed(bound_to) from None
    if len(blob) < _NONCE_BYTES + _TAG_BYTES:
        raise _malformed(bound_to)
    key = hashlib.sha512(_to_bytes(passphrase)).digest()[:_KEY_BYTES]
    secret = _open(key, blob[:_NONCE_BYTES], blob[_NONCE_BYTES:], None)
    if secret is None:
        raise SecretError(
            f"The passphrase does not decrypt the password of {_thing(bound_to)}, or the password was "
            "modified (its format cannot tell which). Check the passphrase, or replace the password: "
            f"{_replace_command(bound_to)}"
        )
    return secret


def salt_of(record: str) -> bytes | None:
    """Return the salt of a record of ours; None if it is not one (the older format, or damaged)."""
    try:
        return _parse(record, "")[0]
    except SecretError:
        return None


def _parse(record: str, bound_to: str) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the salt, the check of the key, the nonce and the ciphertext of a record."""
    parts = record.split(".")
    if parts[0] != FORMAT:
        raise _malformed(bound_to)
    try:
        salt, check, nonce, ciphertext = (_from_text(part) for part in parts[1:])
    except (ValueError, UnicodeEncodeError):
        raise _malformed(bound_to) from None
    lengths = (len(salt), len(check), len(nonce))
    if lengths != (_SALT_BYTES, _CHECK_BYTES, _NONCE_BYTES) or len(ciphertext) < _TAG_BYTES:
        raise _malformed(bound_to)
    return salt, check, nonce, ciphertext


# One passphrase and one salt cost one derivation per process (about half a second and 128 MiB).
@lru_cache(maxsize=256)
def _derive(passphrase: str, salt: bytes, scrypt_n: int) -> tuple[bytes, bytes]:
    try:
        material = hashlib.scrypt(
            _to_bytes(passphrase),
            salt=salt,
            n=scrypt_n,
            r=_SCRYPT_R,
            p=1,
            maxmem=256 * scrypt_n * _SCRYPT_R,
            dklen=_KEY_BYTES + _CHECK_BYTES,
        )
    except (MemoryError, ValueError) as error:
        needed = 128 * scrypt_n * _SCRYPT_R // 2**20
        raise SecretError(
            f"The key could not be derived from the passphrase: {str(error) or 'out of memory'}. "
            f"It needs {needed} MiB of memory; raise this process's limit (ulimit -v)."
        ) from error
    return material[:_KEY_BYTES], material[_KEY_BYTES:]


def _aesgcm(key: bytes) -> AESGCM:
    # Imported here for start-up: most runs have no secrets, and this costs more than the rest of RunJob.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _open(key: bytes, nonce: bytes, ciphertext: bytes, associated: bytes | None) -> str | None:
    # Imported here for start-up, as above.
    from cryptography.exceptions import InvalidTag

    try:
        return _aesgcm(key).decrypt(nonce, ciphertext, associated).decode("utf-8", "surrogateescape")
    except InvalidTag:
        return None


def _associated_data(salt: bytes, bound_to: str) -> bytes:
    # Format and salt have fixed lengths, so no two pairs of (salt, bound_to) give the same bytes.
    return FORMAT.encode() + salt + bound_to.encode()


def _secret_bytes(plaintext: str, bound_to: str) -> bytes:
    secret = _to_bytes(plaintext)
    if len(secret) < SHORTEST_SECRET:
        raise SecretError(
            f"The password of {_thing(bound_to)} is shorter than {SHORTEST_SECRET} bytes: too short to be "
            f"redacted from logs without damaging them. Choose a longer one."
        )
    if b"\0" in secret:
        raise SecretError(
            f"The password of {_thing(bound_to)} contains a NUL byte, which an environment variable "
            "cannot contain. Choose a password without it."
        )
    return secret


def _to_bytes(text: str) -> bytes:
    # surrogateescape: what came as bytes (PASSKEY, a file, stdin) is used as those bytes, UTF-8 or not.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # The original error carries the text, hence `from None`.
        raise SecretError(
            "A secret contains half of a surrogate pair: it cannot be encoded as UTF-8."
        ) from None


def _to_text(part: bytes) -> str:
    return b2a_base64(part, newline=False).translate(_TO_URLSAFE).rstrip(b"=").decode("ascii")


def _from_text(text: str) -> bytes:
    coded = text.encode("ascii").translate(_FROM_URLSAFE)
    part = a2b_base64(coded + b"=" * (-len(coded) % 4))
    # Base64 leaves bits of the last character unused: only the canonical form is accepted.
    if _to_text(part) != text:
        raise ValueError("not canonical base64url")
    return part


def _malformed(bound_to: str) -> SecretError:
    return SecretError(
        f"The encrypted password of {_thing(bound_to)} is not a record this version of DataFlow can read "
        f"(cut off, edited, or written by a newer one). Replace it: {_replace_command(bound_to)}"
    )


def _thing(bound_to: str) -> str:
    kind, _, name = bound_to.partition(":")
    return f"{kind} {name}" if name else f"the {kind}"


def _replace_command(bound_to: str) -> str:
    kind, _, name = bound_to.partition(":")
    return f"dataflow dataset add {name} --password-stdin" if kind == "dataset" else "dataflow secret encrypt"
