"""The identity provider: sends people to it and asks it who came back.

Authorization code flow with PKCE, state and nonce; OpenID Connect, or OAuth 2 with a profile endpoint.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from threading import Lock
from urllib.parse import quote, urlencode

from dataflow.access import id_token
from dataflow.access.id_token import Expected
from dataflow.access.next_path import safe_next
from dataflow.access.provider_http import get_json, post_form
from dataflow.config.server_values import check_https
from dataflow.errors import BadInput, ProviderFailed, Unauthenticated
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from dataflow.config.login import LoginSettings

LOGIN_SECONDS = 600.0
"""How long somebody may take to log in at the provider."""
DISCOVERY_PATH = "/.well-known/openid-configuration"
FRESH_SECONDS = 3600.0
KEYS_PAUSE_SECONDS = 60.0
"""How often an unknown key of the provider makes us ask for its keys again."""


@record
class PendingLogin:
    """A login under way, kept in a cookie of the browser that began it."""

    state: str
    nonce: str
    verifier: str
    next: str
    began_at: float

    _hidden = ("state", "nonce", "verifier")

    @property
    def text(self) -> str:
        """The login as the value of a cookie."""
        fields = [self.state, self.nonce, self.verifier, self.next, self.began_at]
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


@record
class Profile:
    """Whom the provider says it is; `verified` is None if it says nothing about the address."""

    email: str
    verified: bool | None


@record
class Endpoints:
    """Where the provider is asked what."""

    authorize_url: str
    token_url: str
    profile_url: str = ""
    issuer: str = ""
    keys_url: str = ""
    secret_in_form: bool = False


class Provider:
    """One identity provider; it may be used by several threads."""

    def __init__(
        self, settings: LoginSettings, secret: str, callback_url: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._callback_url = callback_url
        self._clock = clock
        self._lock = Lock()
        self._endpoints: tuple[Endpoints, float] | None = None
        self._keys: tuple[list[dict[str, Any]], float] | None = None

    def begin(self, next_path: str) -> tuple[str, PendingLogin]:
        """Return the URL to send somebody to, and the login to keep until they come back."""
        login = PendingLogin(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(48),
            safe_next(next_path),
            self._clock(),
        )
        endpoints = self._find_endpoints()
        challenge = hashlib.sha256(login.verifier.encode()).digest()
        scopes = self._settings.scopes or (("openid", "email") if endpoints.issuer else ())
        fields = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._callback_url,
            "state": login.state,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
            "code_challenge_method": "S256",
            **({"nonce": login.nonce} if endpoints.issuer else {}),
            **({"scope": " ".join(scopes)} if scopes else {}),
        }
        join = "&" if "?" in endpoints.authorize_url else "?"
        return f"{endpoints.authorize_url}{join}{urlencode(fields)}", login

    def finish(self, login: PendingLogin, query: Mapping[str, str]) -> Profile:
        """Return who came back; Unauthenticated if it is not the login that began, or was refused."""
        given = query.get("state", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), login.state.encode()):
            raise Unauthenticated("This login was begun in another browser, or long ago. Log in again.")
        if self._clock() - login.began_at > LOGIN_SECONDS:
            raise Unauthenticated("The login took too long. Log in again.")
        if not query.get("code"):
            raise Unauthenticated("The identity provider refused the login. Log in again, or ask its owner.")
        endpoints = self._find_endpoints()
        answer = self._redeem(endpoints, query["code"], login.verifier)
        access_token = answer.get("access_token")
        bearer = access_token if isinstance(access_token, str) else ""
        if not endpoints.issuer:
            return _profile_from(get_json(endpoints.profile_url, bearer))
        expected = Expected(endpoints.issuer, self._settings.client_id, login.nonce)
        claims = self._verify(endpoints, str(answer.get("id_token", "")), expected)
        if "email" not in claims and endpoints.profile_url:
            more = get_json(endpoints.profile_url, bearer)
            if more.get("sub") != claims["sub"]:
                raise Unauthenticated(
                    "The identity provider gave the profile of somebody else. Log in again."
                )
            claims = more
        return _profile_from(claims)

    def _redeem(self, endpoints: Endpoints, code: str, verifier: str) -> dict[str, Any]:
        """Exchange the code, which the provider accepts once, for tokens."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback_url,
            "code_verifier": verifier,
        }
        client = self._settings.client_id
        if endpoints.secret_in_form:
            return post_form(
                endpoints.token_url, form | {"client_id": client, "client_secret": self._secret}, {}
            )
        pair = f"{quote(client, safe='')}:{quote(self._secret, safe='')}"
        header = "Basic " + base64.b64encode(pair.encode()).decode()
        return post_form(endpoints.token_url, form, {"Authorization": header})

    def _verify(self, endpoints: Endpoints, token: str, expected: Expected) -> dict[str, Any]:
        key = id_token.find_key(token, self._find_keys(endpoints.keys_url, FRESH_SECONDS))
        if key is None:
            # The provider may have changed its keys.
            key = id_token.find_key(token, self._find_keys(endpoints.keys_url, KEYS_PAUSE_SECONDS))
        if key is None:
            raise id_token.refuse("none of the provider's keys signed it")
        return id_token.verify(token, key, expected)

    def _find_endpoints(self) -> Endpoints:
        settings = self._settings
        if not settings.issuer:
            return Endpoints(settings.authorize_url, settings.token_url, settings.profile_url)
        with self._lock:
            if self._endpoints is None or self._clock() - self._endpoints[1] > FRESH_SECONDS:
                self._endpoints = _discover(settings.issuer), self._clock()
            return self._endpoints[0]

    def _find_keys(self, url: str, fresh_seconds: float) -> list[dict[str, Any]]:
        with self._lock:
            if self._keys is None or self._clock() - self._keys[1] > fresh_seconds:
                found = get_json(url).get("keys")
                keys = [key for key in found if isinstance(key, dict)] if isinstance(found, list) else []
                self._keys = keys, self._clock()
            return self._keys[0]


def read_pending(text: str) -> PendingLogin:
    """Return the login that a cookie holds; Unauthenticated if it holds none.

    The cookie is not signed: only the browser that began the login can read or set it, and it could begin one
    with any values. What it holds is checked as if it came from anybody.
    """
    try:
        padded = text.encode() + b"=" * (-len(text) % 4)
        state, nonce, verifier, next_path, began_at = json.loads(base64.urlsafe_b64decode(padded))
        if not all(isinstance(part, str) and part for part in (state, nonce, verifier, next_path)):
            raise ValueError("not texts")
        return PendingLogin(state, nonce, verifier, safe_next(next_path), float(began_at))
    except (ValueError, TypeError, RecursionError):
        raise Unauthenticated("No login has begun in this browser. Log in again.") from None


def _discover(issuer: str) -> Endpoints:
    found = get_json(issuer.rstrip("/") + DISCOVERY_PATH)
    names = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
    missing = [name for name in names if not isinstance(found.get(name), str)]
    if missing:
        raise ProviderFailed(f"The discovery document of {issuer} has no {missing[0]}.")
    if found["issuer"].rstrip("/") != issuer.rstrip("/"):
        raise ProviderFailed(f"The discovery document of {issuer} is that of another issuer.")
    methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    profile_url = found.get("userinfo_endpoint", "")
    try:
        authorize_url = check_https(found["authorization_endpoint"])  # the others when they are asked
    except BadInput as error:
        raise ProviderFailed(f"The authorization_endpoint of {issuer} {error}.") from error
    return Endpoints(
        authorize_url,
        found["token_endpoint"],
        profile_url if isinstance(profile_url, str) else "",
        found["issuer"],
        found["jwks_uri"],
        isinstance(methods, list) and "client_secret_basic" not in methods,
    )


def _profile_from(claims: Mapping[str, Any]) -> Profile:
    email, verified = claims.get("email"), claims.get("email_verified")
    if not isinstance(email, str):
        raise Unauthenticated(
            "The identity provider does not give an e-mail address. Ask for the scope email."
        )
    # Some send it as text.
    return Profile(email, None if verified is None else verified in (True, "true"))
