"""The gate of a server: start link, local users, API tokens and sessions, as a web face uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dataflow.access import sessions, tokens, users
from dataflow.access.gate import Gate, Visit, open_gate
from dataflow.access.request_facts import facts_of
from dataflow.actions.passwords import BOUND_TO_LOGIN
from dataflow.config.login import LoginSettings
from dataflow.config.server import ServerSettings
from dataflow.errors import ConfigError, Forbidden, SecretError, Throttled, Unauthenticated
from dataflow.model.principal import Permission, Principal, PrincipalKind, Role
from dataflow.model.record import replace
from dataflow.secrets.cipher import encrypt
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.store import Store

PASSWORD = "correct horse battery"
USERS = ServerSettings(users=True)
PUBLIC = ServerSettings(
    host="0.0.0.0", url="https://flow.example.com", users=True, trusted_proxies=("10.0.0.1",)
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(SqliteDatabase(str(tmp_path / "dataflow.db")), "op@desk")
    yield store
    store.close()


def admit(gate: Gate, store: Store, method: str = "GET", address: str = "127.0.0.1", **headers: str) -> Visit:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    visit = gate.check(facts_of(method, "http", address, {"host": "localhost:8150"} | named))
    return gate.identify(visit, lambda: nullcontext(store))


def log_in(
    gate: Gate, store: Store, password: str = PASSWORD, name: str = "eve", address: str = "127.0.0.1"
) -> str:
    """Log in and return the header Cookie."""
    visit = admit(gate, store, "POST", address, sec_fetch_site="same-origin")
    (cookie,) = gate.log_in(store, visit, name, password).cookies
    return f"{cookie.name}={cookie.value}"


def who(gate: Gate, store: Store, **headers: str) -> Principal | None:
    return admit(gate, store, **headers).principal


# without a login


def test_the_start_link_makes_whoever_has_it_an_administrator(store: Store) -> None:
    gate = Gate(ServerSettings(port=8199), "etl@etl1")
    assert who(gate, store) is None
    link, _, token = gate.start_link.partition("?token=")
    assert link == "http://127.0.0.1:8199/start" and len(token) >= 43
    entry = gate.start(admit(gate, store), token, "/datasets")
    assert entry.location == "/datasets"
    assert entry.cookies[0].header.endswith("; Path=/; HttpOnly; SameSite=Lax")
    cookie = f"{entry.cookies[0].name}={entry.cookies[0].value}"
    assert who(gate, store, cookie=cookie) == Principal("etl@etl1", Role.ADMIN, PrincipalKind.START)
    assert token not in cookie


def test_without_the_start_link_nobody_gets_in(store: Store) -> None:
    gate, other = Gate(ServerSettings(), "etl@etl1"), Gate(ServerSettings(), "etl@etl1")
    with pytest.raises(Unauthenticated, match="link is not valid"):
        gate.start(admit(gate, store), other.start_link.partition("=")[2])
    entry = other.start(admit(other, store), other.start_link.partition("=")[2])
    assert who(gate, store, cookie=f"dataflow_session_8150={entry.cookies[0].value}") is None
    for cookie in ("dataflow_session_8150=", "dataflow_session_8150", "dataflow_session_8150=x", ""):
        assert who(gate, store, cookie=cookie) is None
    with pytest.raises(Unauthenticated, match="Log in first"):
        admit(gate, store).require(Permission.READ)


def test_the_link_of_an_ipv6_address_has_brackets() -> None:
    assert Gate(ServerSettings(host="::1"), "x").start_link.startswith("http://[::1]:8150/start?token=")


def test_a_server_with_logins_has_no_start_link(store: Store) -> None:
    gate = Gate(USERS, "x")
    assert gate.start_link == "http://127.0.0.1:8150/"
    with pytest.raises(Forbidden, match="no start link"):
        gate.start(admit(gate, store), "")


def test_a_session_of_a_user_opens_no_server_without_logins(store: Store) -> None:
    users.add_user(store, "eve", Role.ADMIN, PASSWORD)
    cookie = log_in(Gate(USERS, "x"), store)
    assert who(Gate(ServerSettings(), "x"), store, cookie=cookie) is None


def test_an_address_that_others_reach_needs_a_login() -> None:
    for settings in (ServerSettings(host="0.0.0.0"), replace(PUBLIC, url="")):
        with pytest.raises(ConfigError, match="cannot listen on"):
            Gate(settings, "x")
        with pytest.raises(ConfigError, match="cannot listen on"):
            open_gate(settings, "x", {}, lambda: "")


# local users


def test_a_local_user_logs_in_and_out(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(USERS, "x")
    cookie = log_in(gate, store)
    assert who(gate, store, cookie=cookie) == Principal("eve", Role.OPERATOR, PrincipalKind.USER)
    entry = gate.log_out(store, admit(gate, store, "POST", sec_fetch_site="same-origin", cookie=cookie))
    header = entry.cookies[0].header
    assert header.startswith("dataflow_session_8150=; ") and "Max-Age=0" in header
    assert who(gate, store, cookie=cookie) is None


def test_a_wrong_password_logs_nobody_in(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(USERS, "x")
    for password in ("", "wrong" * 3, PASSWORD.upper()):
        with pytest.raises(Unauthenticated, match="user name or the password is wrong"):
            log_in(gate, store, password)


def test_changing_a_password_and_removing_a_user_end_the_sessions(store: Store) -> None:
    gate = Gate(USERS, "x")
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    cookie = log_in(gate, store)
    users.change_password(store, "eve", PASSWORD + "!")
    assert who(gate, store, cookie=cookie) is None
    cookie = log_in(gate, store, PASSWORD + "!")
    assert who(gate, store, cookie=cookie) is not None
    users.remove_user(store, "eve")
    assert who(gate, store, cookie=cookie) is None


def test_logins_are_throttled_before_the_password_is_verified(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(USERS, "x")
    for _ in range(5):
        with pytest.raises(Unauthenticated):
            log_in(gate, store, "wrong" * 3)
    with pytest.raises(Throttled, match="Try again in 1 second") as caught:
        log_in(gate, store)
    assert caught.value.seconds == 1


def test_a_user_who_logs_in_often_does_not_have_to_wait(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(USERS, "x")
    assert len({log_in(gate, store) for _ in range(7)}) == 7


def test_a_password_that_is_changed_while_it_is_verified_logs_nobody_in(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    verify = users.get_password_record

    def verify_and_change(*given: Any) -> str:
        found = verify(*given)
        users.change_password(store, "eve", PASSWORD + "!")
        return found

    monkeypatch.setattr(sessions, "get_password_record", verify_and_change)
    with pytest.raises(Unauthenticated, match="password has just been changed"):
        log_in(Gate(USERS, "x"), store)


def test_a_login_through_a_proxy_is_throttled_by_the_client(store: Store) -> None:
    gate = Gate(PUBLIC, "x")
    headers = {"host": "flow.example.com", "sec_fetch_site": "same-origin"}
    for number in range(20):
        visit = admit(gate, store, "POST", "10.0.0.1", x_forwarded_for="203.0.113.9", **headers)
        gate._throttle.begin(f"user{number}", visit.facts.address)
    with pytest.raises(Throttled):
        gate.log_in(store, visit, "another", PASSWORD)
    other = admit(gate, store, "POST", "10.0.0.1", x_forwarded_for="203.0.113.10", **headers)
    with pytest.raises(Unauthenticated):
        gate.log_in(store, other, "another", PASSWORD)


def test_where_no_users_are_configured_none_logs_in(store: Store) -> None:
    users.add_user(store, "eve", Role.ADMIN, PASSWORD)
    cookie = log_in(Gate(USERS, "x"), store)
    login = LoginSettings(issuer="https://id.example.com", client_id="x", allowed_domains=("example.com",))
    gate = Gate(ServerSettings(login=login), "x")
    assert who(gate, store, cookie=cookie) is None
    with pytest.raises(Forbidden, match="no local users"):
        log_in(gate, store)
    with pytest.raises(Forbidden, match="no identity provider"):
        Gate(USERS, "x").begin_login(admit(gate, store))
    with pytest.raises(Forbidden, match="no identity provider"):
        Gate(USERS, "x").finish_login(store, admit(gate, store), {})


def test_over_https_the_cookie_is_secure_whatever_the_proxy_says(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(PUBLIC, "x")
    visit = admit(gate, store, "POST", host="flow.example.com", sec_fetch_site="same-origin")
    (cookie,) = gate.log_in(store, visit, "eve", PASSWORD).cookies
    assert cookie.header.startswith("__Host-dataflow_session_8150=") and cookie.header.endswith("; Secure")
    held = {"host": "flow.example.com"}
    assert who(gate, store, cookie=f"{cookie.name}={cookie.value}", **held) is not None
    # A cookie without the prefix may have been set by another host of the domain.
    assert who(gate, store, cookie=f"dataflow_session_8150={cookie.value}", **held) is None


def test_a_login_goes_on_only_to_a_path_of_this_server(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(USERS, "x")
    visit = admit(gate, store, "POST", sec_fetch_site="same-origin")
    assert gate.log_in(store, visit, "eve", PASSWORD, "//evil.example").location == "/"
    start = Gate(ServerSettings(), "x")
    token = start.start_link.partition("=")[2]
    assert start.start(visit, token, "https://evil.example").location == "/"


# API tokens


@pytest.mark.parametrize("settings", [ServerSettings(), USERS])
def test_an_api_token_works_with_and_without_logins(store: Store, settings: ServerSettings) -> None:
    gate = Gate(settings, "x")
    made = tokens.create_token(store, "ci", Role.VIEWER, 60.0)
    visit = admit(gate, store, "POST", authorization=f"bearer {made.token}")
    assert visit.require(Permission.READ) == Principal("ci", Role.VIEWER, PrincipalKind.TOKEN)
    with pytest.raises(Forbidden, match="token:ci has the role viewer, and this needs the role operator"):
        visit.require(Permission.OPERATE)


def test_a_wrong_token_is_refused_even_beside_a_session(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    gate = Gate(USERS, "x")
    cookie = log_in(gate, store)
    for header in (f"Bearer {tokens.make_token()}", "Bearer x"):
        with pytest.raises(Unauthenticated, match="API token is not valid"):
            admit(gate, store, authorization=header, cookie=cookie)


def test_a_request_is_checked_before_its_token(store: Store) -> None:
    made = tokens.create_token(store, "ci", Role.ADMIN, 60.0)
    with pytest.raises(Forbidden, match="not called"):
        admit(Gate(USERS, "x"), store, host="evil.example", authorization=f"Bearer {made.token}")


# the secret of the provider


def provider_settings(**fields: Any) -> ServerSettings:
    login = LoginSettings(issuer="https://id.example.com", client_id="x", allowed_domains=("example.com",))
    return ServerSettings(login=replace(login, **fields))


def test_the_secret_comes_from_a_variable_or_is_decrypted() -> None:
    settings = provider_settings(secret_variable="SSO_SECRET")
    gate = open_gate(settings, "x", {"SSO_SECRET": "hunter2-hunter2"}, lambda: "")
    assert gate._provider is not None and gate._provider._secret == "hunter2-hunter2"
    with pytest.raises(ConfigError, match="reads its secret from SSO_SECRET, which is not set"):
        open_gate(settings, "x", {}, lambda: "")
    record = encrypt("hunter2-hunter2", "passphrase", BOUND_TO_LOGIN)
    gate = open_gate(provider_settings(encryptedsecret=record), "x", {}, lambda: "passphrase")
    assert gate._provider is not None and gate._provider._secret == "hunter2-hunter2"
    moved = encrypt("hunter2-hunter2", "passphrase", "dataset:orders")
    with pytest.raises(SecretError, match="modified, or copied"):
        open_gate(provider_settings(encryptedsecret=moved), "x", {}, lambda: "passphrase")
