"""Logins with a real identity provider on this machine: what is accepted, and every way to be refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dataflow.access import provider_http
from dataflow.access.cookies import find_cookie
from dataflow.access.gate import CALLBACK_PATH, Entry, Gate, open_gate
from dataflow.access.provider import PendingLogin, read_pending
from dataflow.access.request_facts import facts_of
from dataflow.config.login import LoginSettings, read_broker
from dataflow.config.problems import Problems
from dataflow.config.server import ServerSettings
from dataflow.errors import DataFlowError, Forbidden, ProviderFailed, Unauthenticated
from dataflow.model.principal import Permission, Principal, PrincipalKind, Role
from dataflow.model.record import replace
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.store import Store
from tests.access.openid_provider import CLIENT_ID, CLIENT_SECRET, KEY, OTHER_KEY, OpenIdProvider

HEADERS = {"host": "127.0.0.1:8150"}


class Browser:
    """Keeps cookies and follows a login, as a person's browser does."""

    def __init__(self, gate: Gate, store: Store) -> None:
        self.gate = gate
        self.store = store
        self.cookies: dict[str, str] = {}

    @property
    def headers(self) -> dict[str, str]:
        return HEADERS | {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def visit(self) -> Any:
        visit = self.gate.check(facts_of("GET", "http", "127.0.0.1", self.headers))
        return self.gate.identify(visit, lambda: nullcontext(self.store))

    def keep(self, entry: Entry) -> str:
        for cookie in entry.cookies:
            self.cookies[cookie.name] = cookie.value
            if cookie.max_age_seconds == 0:
                del self.cookies[cookie.name]
        return entry.location

    def begin(self, next_path: str = "/") -> str:
        return self.keep(self.gate.begin_login(self.visit(), next_path))

    def finish(self, query: dict[str, str]) -> str:
        return self.keep(self.gate.finish_login(self.store, self.visit(), query))


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with OpenIdProvider() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(SqliteDatabase(str(tmp_path / "dataflow.db")), "op@desk")
    yield store
    store.close()


def settings_for(provider: OpenIdProvider, **fields: Any) -> ServerSettings:
    login = LoginSettings(
        issuer=provider.issuer,
        client_id=CLIENT_ID,
        secret_variable="SECRET",
        allowed_domains=("example.com",),
    )
    return ServerSettings(login=replace(login, **fields), operators=("eve@example.com",))


def open_browser(settings: ServerSettings, store: Store) -> Browser:
    return Browser(open_gate(settings, "op@desk", {"SECRET": CLIENT_SECRET}, lambda: ""), store)


@pytest.fixture
def browser(provider: OpenIdProvider, store: Store) -> Browser:
    return open_browser(settings_for(provider), store)


def go_through(browser: Browser, provider: OpenIdProvider) -> Principal:
    """A whole login; who is logged in afterwards."""
    browser.finish(provider.log_in(browser.begin()))
    principal: Principal = browser.visit().require(Permission.READ)
    return principal


def refused(browser: Browser, provider: OpenIdProvider, kind: type[DataFlowError], reason: str) -> None:
    """A login that must fail, and leave nobody logged in."""
    query = provider.log_in(browser.begin())
    with pytest.raises(kind, match=reason) as caught:
        browser.finish(query)
    assert browser.visit().principal is None
    assert CLIENT_SECRET not in str(caught.value)


# the happy path


def test_somebody_logs_in_and_goes_on_where_they_were(browser: Browser, provider: OpenIdProvider) -> None:
    assert browser.visit().principal is None
    url = browser.begin("/datasets/orders")
    query = parse_qs(urlsplit(url).query)
    assert url.startswith(f"{provider.origin}/authorize?tenant=1&")
    assert query["scope"] == ["openid email"] and query["client_id"] == [CLIENT_ID]
    assert query["redirect_uri"] == [f"http://127.0.0.1:8150{CALLBACK_PATH}"]
    assert browser.finish(provider.log_in(url)) == "/datasets/orders"
    who = browser.visit().require(Permission.OPERATE)
    assert who == Principal("eve@example.com", Role.OPERATOR, PrincipalKind.LOGIN)
    assert list(browser.cookies) == ["dataflow_session_8150"]


def test_the_verifier_and_the_nonce_are_new_for_each_login(
    browser: Browser, provider: OpenIdProvider
) -> None:
    urls = [parse_qs(urlsplit(browser.begin()).query) for _ in range(2)]
    for name in ("state", "nonce", "code_challenge"):
        assert urls[0][name] != urls[1][name]
        assert len(urls[0][name][0]) >= 43


def test_whoever_is_in_no_list_is_a_viewer(browser: Browser, provider: OpenIdProvider) -> None:
    provider.profile |= {"email": "bob@example.com"}
    assert go_through(browser, provider).role is Role.VIEWER


def test_an_administrator_is_one_even_if_also_an_operator(provider: OpenIdProvider, store: Store) -> None:
    settings = replace(settings_for(provider), admins=("eve@example.com",))
    assert go_through(open_browser(settings, store), provider).role is Role.ADMIN


def test_the_role_follows_the_settings_and_not_the_login(
    browser: Browser, provider: OpenIdProvider, store: Store
) -> None:
    go_through(browser, provider)
    later = replace(settings_for(provider), operators=())
    again = Browser(open_gate(later, "op@desk", {"SECRET": CLIENT_SECRET}, lambda: ""), store)
    again.cookies = browser.cookies
    assert again.visit().principal.role is Role.VIEWER
    elsewhere = settings_for(provider, allowed_domains=("example.org",))
    again.gate = open_gate(replace(elsewhere, operators=()), "op@desk", {"SECRET": CLIENT_SECRET}, lambda: "")
    assert again.visit().principal is None


def test_logging_out_ends_the_session_for_a_copied_cookie_too(
    browser: Browser, provider: OpenIdProvider
) -> None:
    go_through(browser, provider)
    copied = dict(browser.cookies)
    browser.keep(browser.gate.log_out(browser.store, browser.visit()))
    assert browser.cookies == {}
    browser.cookies = copied
    assert browser.visit().principal is None


def test_the_address_may_come_from_the_profile_endpoint(browser: Browser, provider: OpenIdProvider) -> None:
    provider.email_in_token = False
    assert go_through(browser, provider).name == "eve@example.com"


def test_the_profile_of_somebody_else_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    provider.email_in_token = False
    provider.claims = {"sub": "43"}
    refused(browser, provider, Unauthenticated, "profile of somebody else")


def test_a_provider_that_takes_the_secret_only_in_the_form_gets_it_there(
    browser: Browser, provider: OpenIdProvider
) -> None:
    provider.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    go_through(browser, provider)
    form = next(form for _, path, _, form in provider.requests if path == "/token")
    assert form["client_secret"] == CLIENT_SECRET


# who may not come in


@pytest.mark.parametrize(
    "email",
    [
        *(
            "eve@example.org",
            "eve@sub.example.com",
            "eve@notexample.com",
            "eve@example.com.evil.example",
            "eve",
        ),
        *("@example.com", "eve@evil.example@example.com", "eve @example.com", "eve\n@example.com", ""),
    ],
)
def test_another_domain_is_refused(browser: Browser, provider: OpenIdProvider, email: str) -> None:
    provider.profile |= {"email": email}
    refused(browser, provider, Forbidden, "domain is not among those of this server")


@pytest.mark.parametrize("verified", [False, None, "false", 0, "yes"])
def test_an_address_that_is_not_verified_is_refused(
    browser: Browser, provider: OpenIdProvider, verified: Any
) -> None:
    provider.profile |= {"email_verified": verified}
    refused(browser, provider, Forbidden, "has not verified this address")


def test_a_provider_that_never_says_so_can_be_trusted_by_a_setting(
    provider: OpenIdProvider, store: Store
) -> None:
    browser = open_browser(settings_for(provider, assume_verified=True), store)
    provider.profile |= {"email_verified": False}
    refused(browser, provider, Forbidden, "has not verified")
    del provider.profile["email_verified"]
    assert go_through(browser, provider).name == "eve@example.com"


def test_a_provider_without_an_address_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    provider.profile = {"sub": "42"}
    refused(browser, provider, Unauthenticated, "does not give an e-mail address")


# the ID token


def in_(seconds: int) -> int:
    return int(time.time()) + seconds


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "another"}, "not made for this login"),
        ({"nonce": None}, "not made for this login"),
        ({"nonce": 5}, "not made for this login"),
        ({"aud": "another"}, "[Aa]udience"),
        ({"aud": None}, "aud"),
        ({"aud": [CLIENT_ID, "another"]}, "another client"),
        ({"aud": [CLIENT_ID, "another"], "azp": "another"}, "another client"),
        ({"iss": "https://evil.example"}, "[Ii]ssuer"),
        ({"iss": None}, "iss"),
        ({"exp": in_(-120)}, "expired"),
        ({"exp": None}, "exp"),
        ({"iat": in_(86_400)}, "iat"),
        ({"iat": None}, "iat"),
        ({"sub": None}, "sub"),
    ],
)
def test_an_id_token_with_a_wrong_claim_is_refused(
    browser: Browser, provider: OpenIdProvider, claims: dict[str, Any], reason: str
) -> None:
    provider.claims = claims
    refused(browser, provider, Unauthenticated, f"ID token .* is not valid: .*{reason}")


def test_an_id_token_for_several_audiences_names_us_as_its_party(
    browser: Browser, provider: OpenIdProvider
) -> None:
    provider.claims = {"aud": [CLIENT_ID, "another"], "azp": CLIENT_ID}
    go_through(browser, provider)


def test_a_clock_that_is_a_little_wrong_does_not_matter(browser: Browser, provider: OpenIdProvider) -> None:
    provider.claims = {"iat": in_(30), "exp": in_(-30)}
    go_through(browser, provider)


def test_a_signature_of_another_key_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    provider.key = OTHER_KEY
    refused(browser, provider, Unauthenticated, "(?i)signature")


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_an_algorithm_that_proves_nothing_is_refused(
    browser: Browser, provider: OpenIdProvider, algorithm: str
) -> None:
    provider.algorithm = algorithm
    refused(browser, provider, Unauthenticated, f"algorithm '{algorithm}' is not allowed")


def test_a_shared_secret_among_the_keys_is_not_used(browser: Browser, provider: OpenIdProvider) -> None:
    provider.keys = {}
    provider.more_keys = [{"kty": "oct", "k": "c2VjcmV0", "kid": "one", "alg": "RS256"}]
    refused(browser, provider, Unauthenticated, "none of the provider's keys")


def test_a_key_for_encryption_does_not_sign(browser: Browser, provider: OpenIdProvider) -> None:
    (key,) = provider.make_keys()["keys"]
    provider.keys, provider.more_keys = {}, [key | {"use": "enc"}]
    refused(browser, provider, Unauthenticated, "none of the provider's keys")


def test_a_key_of_another_kind_than_the_algorithm_is_refused(
    browser: Browser, provider: OpenIdProvider
) -> None:
    provider.keys = {}
    curve = {"crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}
    provider.more_keys = [
        {"kty": "EC", "kid": "one", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", **curve}
    ]
    refused(browser, provider, Unauthenticated, "not valid")


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é", None, 5])
def test_something_else_than_an_id_token_is_refused(
    browser: Browser, provider: OpenIdProvider, token: Any
) -> None:
    provider.answers["/token"] = (200, json.dumps({"access_token": "access", "id_token": token}).encode())
    refused(browser, provider, Unauthenticated, "ID token")


def test_new_keys_of_the_provider_are_fetched_but_not_for_every_wrong_token(
    browser: Browser, provider: OpenIdProvider
) -> None:
    now = [time.time()]
    assert browser.gate._provider is not None
    browser.gate._provider._clock = lambda: now[0]
    go_through(browser, provider)
    provider.keys, provider.key, provider.kid = {"two": OTHER_KEY}, OTHER_KEY, "two"
    now[0] += 61
    go_through(browser, provider)
    assert provider.count("/keys") == 2
    provider.kid = "three"
    for _ in range(3):
        query = provider.log_in(browser.begin())
        with pytest.raises(Unauthenticated, match="none of the provider's keys"):
            browser.finish(query)
    assert provider.count("/keys") == 2


def test_a_token_without_the_name_of_a_key_has_the_only_one(
    browser: Browser, provider: OpenIdProvider
) -> None:
    provider.kid = None
    go_through(browser, provider)
    provider.keys = {"one": KEY, "two": OTHER_KEY}
    assert browser.gate._provider is not None
    browser.gate._provider._keys = None
    query = provider.log_in(browser.begin())
    with pytest.raises(Unauthenticated, match="none of the provider's keys"):
        browser.finish(query)


# state, PKCE and replays


def test_another_state_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    query = provider.log_in(browser.begin())
    for state in ("another", "", "\ud800", query["state"] + "x"):
        with pytest.raises(Unauthenticated, match="begun in another browser"):
            browser.finish(query | {"state": state})
    with pytest.raises(Unauthenticated, match="begun in another browser"):
        browser.finish({"code": query["code"]})
    assert provider.count("/token") == 0


def test_a_login_cannot_be_finished_in_another_browser(
    browser: Browser, provider: OpenIdProvider, store: Store
) -> None:
    query = provider.log_in(browser.begin())
    other = Browser(browser.gate, store)
    with pytest.raises(Unauthenticated, match="No login has begun in this browser"):
        other.finish(query)
    other.begin()
    with pytest.raises(Unauthenticated, match="begun in another browser"):
        other.finish(query)
    assert provider.count("/token") == 0


def test_a_code_is_accepted_once(browser: Browser, provider: OpenIdProvider, store: Store) -> None:
    query = provider.log_in(browser.begin())
    before = dict(browser.cookies)
    browser.finish(query)
    other = Browser(browser.gate, store)
    other.cookies = before
    with pytest.raises(ProviderFailed, match=r"answered 400 at .*/token\. It says: invalid_grant\."):
        other.finish(query)
    assert other.visit().principal is None
    with pytest.raises(Unauthenticated, match="No login has begun"):
        browser.finish(query)


def test_a_stolen_code_is_useless_without_the_verifier(
    browser: Browser, provider: OpenIdProvider, store: Store
) -> None:
    stolen = provider.log_in(browser.begin())
    thief = Browser(browser.gate, store)
    state = provider.log_in(thief.begin())["state"]
    with pytest.raises(ProviderFailed, match="invalid_grant"):
        thief.finish({"code": stolen["code"], "state": state})
    assert thief.visit().principal is None


def test_a_login_that_took_too_long_is_refused(browser: Browser, provider: OpenIdProvider) -> None:
    query = provider.log_in(browser.begin())
    assert browser.gate._provider is not None
    later = time.time() + 601
    browser.gate._provider._clock = lambda: later
    with pytest.raises(Unauthenticated, match="took too long"):
        browser.finish(query)


def test_a_login_that_the_provider_refuses_says_so_without_its_words(
    browser: Browser, provider: OpenIdProvider
) -> None:
    state = provider.log_in(browser.begin())["state"]
    with pytest.raises(Unauthenticated, match=r"^The identity provider refused the login\.") as caught:
        browser.finish({"error": "access_denied", "error_description": "<script>", "state": state})
    assert "script" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "x", "bnVsbA", "W10", "é", "WzEsMiwzLDQsNV0", "\x00"])
def test_a_cookie_that_holds_no_login_is_refused(text: str) -> None:
    with pytest.raises(Unauthenticated, match="No login has begun"):
        read_pending(text)


def test_a_cookie_that_somebody_wrote_leads_to_no_other_server(browser: Browser) -> None:
    browser.begin()
    kept = read_pending(find_cookie(browser.headers["cookie"], "dataflow_login_8150"))
    forged = replace(kept, next="//evil.example")
    assert read_pending(forged.text) == replace(kept, next="/")


def test_a_login_is_begun_only_for_a_path_of_this_server(browser: Browser, provider: OpenIdProvider) -> None:
    for path in ("//evil.example", "", "/" + "a" * 9000):
        assert browser.finish(provider.log_in(browser.begin(path))) == "/"


# a provider that misbehaves


Spoil = Callable[[OpenIdProvider], Any]
DISCOVERY = "/.well-known/openid-configuration"
SPOILED: dict[str, tuple[Spoil, str]] = {
    "another issuer": (lambda p: p.discovery.update(issuer="https://evil.example"), "that of another issuer"),
    "no keys": (lambda p: p.discovery.update(jwks_uri=None), "has no jwks_uri"),
    "a page of http": (
        lambda p: p.discovery.update(authorization_endpoint="http://evil.example/"),
        "must begin with https",
    ),
    "not JSON": (lambda p: p.answers.update({DISCOVERY: (200, b"<html>")}), "not a JSON object"),
    "a list": (lambda p: p.answers.update({DISCOVERY: (200, b"[]")}), "not a JSON object"),
    "deep nesting": (lambda p: p.answers.update({DISCOVERY: (200, b"[" * 100_000)}), "not a JSON object"),
    "a redirect": (lambda p: p.answers.update({DISCOVERY: (302, b"")}), "answered 302"),
    "an error": (
        lambda p: p.answers.update({DISCOVERY: (500, b'{"error": "<script>"}')}),
        r"answered 500 at \S+\.$",
    ),
    "too much": (lambda p: p.answers.update({DISCOVERY: (200, b" " * 600_000)}), "longer than 524288 bytes"),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_discovery_document_that_is_wrong_is_refused(
    browser: Browser, provider: OpenIdProvider, spoiled: str
) -> None:
    spoil, reason = SPOILED[spoiled]
    spoil(provider)
    with pytest.raises(ProviderFailed, match=reason):
        browser.begin()
    assert provider.count("/elsewhere") == 0


@pytest.mark.parametrize("name", ["token_endpoint", "jwks_uri", "userinfo_endpoint"])
def test_secrets_are_not_sent_over_http(browser: Browser, provider: OpenIdProvider, name: str) -> None:
    provider.discovery = {name: "http://evil.example/"}
    provider.email_in_token = False
    query = provider.log_in(browser.begin())
    with pytest.raises(ProviderFailed, match="must begin with https"):
        browser.finish(query)


def test_a_provider_that_does_not_answer_in_time_is_given_up(
    browser: Browser, provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_http, "TIMEOUT_SECONDS", 0.3)

    class Slow(dict[str, Any]):
        def __contains__(self, path: object) -> bool:
            time.sleep(1)
            return False

    provider.answers = Slow()
    with pytest.raises(ProviderFailed, match=r"did not answer within 0\.3 s"):
        browser.begin()


def test_a_provider_that_answers_byte_by_byte_is_given_up(
    browser: Browser, provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_http, "TIMEOUT_SECONDS", 0.5)
    provider.drips = True
    with pytest.raises(ProviderFailed, match=r"did not answer within 0\.5 s"):
        browser.begin()


def test_a_provider_that_is_not_there_is_named(store: Store, provider: OpenIdProvider) -> None:
    settings = settings_for(provider, issuer="http://127.0.0.1:1")
    with pytest.raises(ProviderFailed, match=r"at http://127\.0\.0\.1:1/\S+ cannot be reached"):
        open_browser(settings, store).begin()


def test_the_discovery_document_is_read_once_an_hour(browser: Browser, provider: OpenIdProvider) -> None:
    for _ in range(3):
        go_through(browser, provider)
    assert (provider.count(DISCOVERY), provider.count("/keys")) == (1, 1)


# plain OAuth 2


@pytest.fixture
def broker(provider: OpenIdProvider, store: Store) -> Browser:
    """The first DataFlow's provider, from its variables."""
    environ = {
        "AUTHBROKER_URL": f"{provider.origin}/",
        "AUTHBROKER_CLIENT_ID": CLIENT_ID,
        "AUTHBROKER_CLIENT_SECRET": CLIENT_SECRET,
        "AUTHBROKER_ALLOWED_DOMAINS": "digital.example.com, example.com",
    }
    problems = Problems()
    settings = ServerSettings(login=read_broker(environ, None, problems))
    problems.raise_if_any()
    return Browser(open_gate(settings, "op@desk", environ, lambda: ""), store)


def test_the_variables_of_the_first_dataflow_log_people_in(broker: Browser, provider: OpenIdProvider) -> None:
    del provider.profile["email_verified"]
    url = broker.begin()
    assert url.startswith(f"{provider.origin}/o/authorize/?") and "nonce" not in url and "scope" not in url
    assert "code_challenge" in url
    broker.finish(provider.log_in(url))
    assert broker.visit().require(Permission.READ).name == "eve@example.com"


def test_a_profile_endpoint_that_says_unverified_or_another_domain_is_believed(
    broker: Browser, provider: OpenIdProvider
) -> None:
    provider.profile |= {"email_verified": False}
    refused(broker, provider, Forbidden, "has not verified")
    provider.profile = {"email": "eve@example.org"}
    refused(broker, provider, Forbidden, "domain is not among")
    provider.profile = {"email": ["eve@example.com"]}
    refused(broker, provider, Unauthenticated, "does not give an e-mail address")


def test_without_an_access_token_there_is_no_profile(broker: Browser, provider: OpenIdProvider) -> None:
    provider.answers["/o/token/"] = (200, b'{"access_token": ["access"]}')
    refused(broker, provider, ProviderFailed, "answered 401 at .*/api/v1/user/me/")


def test_a_pending_login_shows_no_secret() -> None:
    assert "hunter2" not in repr(PendingLogin("hunter2", "hunter2", "hunter2", "/", 0.0))
