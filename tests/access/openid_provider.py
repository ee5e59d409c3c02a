"""A small OpenID provider on this machine, with real keys, that a test can make misbehave.

It also answers as a plain OAuth 2 server with a profile endpoint.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from tests.pipelines.local_server import LocalServer, QuietHandler

CLIENT_ID, CLIENT_SECRET = "data flow", "s3cret/with:signs"


def make_key() -> RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


KEY, OTHER_KEY = make_key(), make_key()


class OpenIdProvider(LocalServer):
    """Logs in whoever `profile` says; the fields below are what it gets wrong."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.profile: dict[str, Any] = {"sub": "42", "email": "Eve@Example.com", "email_verified": True}
        self.claims: dict[str, Any] = {}  # what the ID token says instead; None leaves a claim out
        self.key: Any = KEY
        self.kid: str | None = "one"
        self.algorithm = "RS256"
        self.keys = {"one": KEY}
        self.more_keys: list[dict[str, Any]] = []
        self.email_in_token = True
        self.discovery: dict[str, Any] = {}
        self.answers: dict[str, tuple[int, bytes]] = {}  # path: what it answers instead
        self.drips = False  # it sends a byte now and then, and never an answer
        self.codes: dict[str, dict[str, str]] = {}
        self.redeemed: set[str] = set()
        self.requests: list[tuple[str, str, dict[str, str], dict[str, str]]] = []

    @property
    def issuer(self) -> str:
        return self.origin

    def log_in(self, url: str) -> dict[str, str]:
        """What the browser does: goes to the provider, logs in, and comes back with these parameters."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code" and query["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"code": code, "state": query["state"]}

    def count(self, path: str) -> int:
        return len([one for _, one, _, _ in self.requests if one == path])

    def make_discovery(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.origin}/authorize?tenant=1",
            "token_endpoint": f"{self.origin}/token",
            "jwks_uri": f"{self.origin}/keys",
            "userinfo_endpoint": f"{self.origin}/profile",
        } | self.discovery
        return {name: value for name, value in found.items() if value is not None}

    def make_keys(self) -> dict[str, Any]:
        made = []
        for kid, key in self.keys.items():
            jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            made.append({**jwk, "kid": kid, "use": "sig"})
        return {"keys": [*made, *self.more_keys]}

    def make_tokens(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        if pair != "data%20flow:s3cret%2Fwith%3Asigns" and form.get("client_secret") != CLIENT_SECRET:
            return 401, {"error": "invalid_client"}
        began = self.codes.get(form["code"])
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (
            began is None
            or form["code"] in self.redeemed
            or began["code_challenge"] != challenge.decode().rstrip("=")
            or began["redirect_uri"] != form["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        self.redeemed.add(form["code"])
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": self.make_id_token(began)}

    def make_id_token(self, began: dict[str, str]) -> str:
        now = int(time.time())
        shown = self.profile if self.email_in_token else {"sub": self.profile["sub"]}
        claims = {
            **{
                "iss": self.issuer,
                "aud": CLIENT_ID,
                "iat": now,
                "exp": now + 300,
                "nonce": began.get("nonce"),
            },
            **shown,
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.algorithm == "HS256":
            return sign_with_public_key(claims, self.kid)
        key: Any = None if self.algorithm == "none" else self.key
        return jwt.encode(claims, key, self.algorithm, headers={"kid": self.kid} if self.kid else {})


def sign_with_public_key(claims: dict[str, Any], kid: str | None) -> str:
    """A token signed with HS256 and what everybody knows: the provider's public key."""
    import hmac

    pem = KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    parts = [{"alg": "HS256", "typ": "JWT", "kid": kid}, claims]
    signed = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    signature = hmac.new(pem, signed, hashlib.sha256).digest()
    return (signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


class _Handler(QuietHandler):
    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer({name: values[0] for name, values in parse_qs(body).items()})

    def _answer(self, form: dict[str, str]) -> None:
        owner: OpenIdProvider = self.server.owner
        path = urlsplit(self.path).path
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner.requests.append((self.command, path, headers, form))
        for _ in range(50 if owner.drips else 0):
            time.sleep(0.1)
            self.wfile.write(b"H")
            self.wfile.flush()
        if path == "/authorize":
            self._send_back(owner)
            return
        if path in owner.answers:
            status, content = owner.answers[path]
        else:
            status, found = self._find(owner, path, form, headers.get("authorization", ""))
            content = json.dumps(found).encode()
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", f"{owner.origin}/elsewhere?{urlencode(form)}")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send_back(self, owner: OpenIdProvider) -> None:
        """Log in whoever has a browser here, and say more than we asked, as many providers do."""
        found = owner.log_in(self.path) | {"session_state": "abc", "iss": owner.issuer}
        callback = parse_qs(urlsplit(self.path).query)["redirect_uri"][0]
        self.send_response(302)
        self.send_header("Location", f"{callback}?{urlencode(found)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _find(
        self, owner: OpenIdProvider, path: str, form: dict[str, str], authorization: str
    ) -> tuple[int, dict[str, Any]]:
        if path == "/.well-known/openid-configuration":
            return 200, owner.make_discovery()
        if path == "/keys":
            return 200, owner.make_keys()
        if path in ("/token", "/o/token/"):
            return owner.make_tokens(form, authorization)
        if path in ("/profile", "/api/v1/user/me/"):
            return (
                (200, owner.profile)
                if authorization == "Bearer access"
                else (401, {"error": "invalid_token"})
            )
        return 404, {}
