"""The ID token of OpenID Connect: whose it is, once its signature and claims are verified.

The one file that imports PyJWT.
"""

from __future__ import annotations

import hmac

import jwt

from dataflow.errors import Unauthenticated
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that only the provider can make: neither `none` nor a shared secret (HS256)."""

KEY_TYPES = ("RSA", "EC", "OKP")
LEEWAY_SECONDS = 60


@record
class Expected:
    """What an ID token must say."""

    issuer: str
    client_id: str
    nonce: str


def find_key(id_token: str, keys: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the key among the provider's that the token names; None if there is none.

    A token that names no key has the only one that the provider has.
    """
    header = _header_of(id_token)
    usable = [key for key in keys if key.get("kty") in KEY_TYPES and key.get("use", "sig") == "sig"]
    named = [key for key in usable if key.get("kid") == header["kid"]] if "kid" in header else usable
    return named[0] if len(named) == 1 else None


def verify(id_token: str, key: dict[str, Any], expected: Expected) -> dict[str, Any]:
    """Return the claims of an ID token; Unauthenticated if any of its checks fails."""
    algorithm = _header_of(id_token)["alg"]
    try:
        claims: dict[str, Any] = jwt.decode(
            id_token,
            jwt.PyJWK(key, algorithm=algorithm),
            algorithms=list(ALGORITHMS),
            audience=expected.client_id,
            issuer=expected.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["sub", "exp", "iat"]},
        )
    except jwt.exceptions.PyJWTError as error:
        raise refuse(str(error)) from error
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), expected.nonce.encode()):
        raise refuse("it was not made for this login (nonce)")
    if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and claims.get("azp") != expected.client_id:
        raise refuse("it was made for another client (azp)")
    return claims


def refuse(reason: str) -> Unauthenticated:
    """Return the error for an ID token that is not valid."""
    return Unauthenticated(f"The ID token of the identity provider is not valid: {reason}. Log in again.")


def _header_of(id_token: str) -> dict[str, Any]:
    try:
        header: dict[str, Any] = jwt.get_unverified_header(id_token)
    except jwt.exceptions.PyJWTError as error:
        raise refuse(str(error)) from error
    if header.get("alg") not in ALGORITHMS:
        raise refuse(f"its algorithm {str(header.get('alg'))[:20]!r} is not allowed")
    return header
