"""Roles and permissions, API tokens, passwords and the start link."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.access import tokens, users
from dataflow.access.start_token import StartToken
from dataflow.errors import BadInput, Conflict, Forbidden, SecretError, Unauthenticated, UnknownName
from dataflow.model.principal import Permission, Principal, PrincipalKind, Role
from dataflow.secrets import password_hash
from dataflow.secrets.password_hash import hash_password, verify_password
from dataflow.store.sqlite import SqliteDatabase
from dataflow.store.store import Store

PASSWORD = "correct horse battery"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(SqliteDatabase(str(tmp_path / "dataflow.db")), "op@desk")


# roles


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.VIEWER, [Permission.PUBLIC, Permission.READ]),
        (Role.OPERATOR, [Permission.PUBLIC, Permission.READ, Permission.OPERATE]),
        (Role.ADMIN, list(Permission)),
    ],
)
def test_each_role_may_do_what_it_may_and_nothing_else(role: Role, may: list[Permission]) -> None:
    eve = Principal("eve", role, PrincipalKind.USER)
    for permission in Permission:
        assert eve.may(permission) == (permission in may)
        if permission in may:
            eve.require(permission)
        else:
            with pytest.raises(Forbidden, match=f"eve has the role {role}, and this needs the role"):
                eve.require(permission)


def test_the_journal_can_tell_a_program_from_a_person() -> None:
    assert Principal("ci", Role.ADMIN, PrincipalKind.TOKEN).actor == "token:ci"
    assert Principal("eve@example.com", Role.ADMIN, PrincipalKind.LOGIN).actor == "eve@example.com"


# passwords


def test_a_password_is_kept_as_argon2id_and_verified() -> None:
    kept = hash_password(PASSWORD)
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
    assert kept != hash_password(PASSWORD)
    assert verify_password(PASSWORD, kept)
    assert not verify_password(PASSWORD + " ", kept)
    assert not verify_password("", kept)
    assert not verify_password(PASSWORD, None)


def test_the_same_letters_typed_on_another_keyboard_are_the_same_password() -> None:
    assert verify_password("cafe\u0301 au lait au", hash_password("caf\u00e9 au lait au"))


@pytest.mark.parametrize("password", ["\ud800" * 12, "\x00" * 12, "x" * 1024])
def test_strange_passwords_work(password: str) -> None:
    assert verify_password(password, hash_password(password))


@pytest.mark.parametrize(
    ("password", "reason"), [("x" * 11, "shorter than 12"), ("x" * 1025, "longer than 1024")]
)
def test_a_password_that_is_too_short_or_too_long_is_refused(password: str, reason: str) -> None:
    with pytest.raises(SecretError, match=reason) as caught:
        hash_password(password)
    assert password not in str(caught.value)


@pytest.mark.parametrize("damaged", ["", "$argon2id$nonsense", PASSWORD])
def test_a_damaged_record_opens_for_nobody(damaged: str) -> None:
    assert not verify_password(PASSWORD, damaged)


def test_a_crowd_at_the_login_verifies_two_passwords_at_a_time() -> None:
    kept = hash_password(PASSWORD)
    with ThreadPoolExecutor() as threads:
        with password_hash._at_once, password_hash._at_once:
            waiting = [threads.submit(verify_password, PASSWORD, kept) for _ in range(4)]
            assert wait(waiting, timeout=1.5).done == set()
        # Several at once must not wait for each other's threads, as they do with more than one lane.
        assert wait(waiting, timeout=60).not_done == set()
        assert all(one.result() for one in waiting)


# users


def test_a_user_is_added_listed_and_removed(store: Store) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    with pytest.raises(Conflict, match="User eve exists"):
        users.add_user(store, "eve", Role.ADMIN, PASSWORD)
    assert [(user.name, user.role) for user in users.list_users(store)] == [("eve", Role.OPERATOR)]
    users.remove_user(store, "eve")
    with pytest.raises(UnknownName, match='No user "eve"'):
        users.remove_user(store, "eve")
    with pytest.raises(UnknownName, match='No user "eve"'):
        users.change_password(store, "eve", PASSWORD)


@pytest.mark.parametrize("name", ["", "eve@example.com", "a b", "../x", "x" * 101, "\x00"])
def test_a_user_cannot_have_the_name_of_somebody_of_the_provider(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="not a valid name for a user"):
        users.add_user(store, name, Role.VIEWER, PASSWORD)


@pytest.mark.parametrize("name", ["eve", "bob", "\x00", "\ud800"])
def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(store: Store, name: str) -> None:
    users.add_user(store, "eve", Role.OPERATOR, PASSWORD)
    with pytest.raises(Unauthenticated, match=r"^The user name or the password is wrong\.$"):
        users.get_password_record(store, name, "wrong" * 3)
    assert users.get_password_record(store, "eve", PASSWORD).startswith("$argon2id$")


# API tokens


def test_a_token_has_a_prefix_and_a_checksum() -> None:
    token = tokens.make_token()
    assert token.startswith("dft_") and len(token) == 40 and token.isascii()
    assert tokens.is_token(token)
    assert len({tokens.make_token() for _ in range(1000)}) == 1000


@given(st.integers(4, 39), st.sampled_from("0aZ_é"))
def test_a_mistyped_token_is_noticed_by_its_checksum(place: int, letter: str) -> None:
    token = tokens.make_token()
    changed = token[:place] + letter + token[place + 1 :]
    assert tokens.is_token(changed) == (changed == token)


@pytest.mark.parametrize("text", ["", "dft_", "dft_" + "0" * 36, "x" * 40, "dft_é", "\ud800" * 40])
def test_another_text_is_not_a_token(text: str) -> None:
    assert not tokens.is_token(text)


def test_a_token_identifies_a_program_until_it_is_revoked(store: Store) -> None:
    made = tokens.create_token(store, "ci", Role.OPERATOR, 60.0)
    assert tokens.identify_token(store, made.token) == Principal("ci", Role.OPERATOR, PrincipalKind.TOKEN)
    for other in (tokens.make_token(), "nonsense", ""):
        with pytest.raises(Unauthenticated, match="not valid"):
            tokens.identify_token(store, other)
    tokens.revoke_token(store, "ci")
    with pytest.raises(Unauthenticated, match="not valid"):
        tokens.identify_token(store, made.token)
    with pytest.raises(UnknownName, match='No token "ci"'):
        tokens.revoke_token(store, "ci")


def test_the_store_does_not_know_a_token(store: Store, tmp_path: Path) -> None:
    made = tokens.create_token(store, "ci", Role.OPERATOR, 60.0)
    assert made.token not in repr(made)
    store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert made.token.encode() not in kept and made.token[4:34].encode() not in kept


def test_a_token_has_a_name_of_its_own_and_expires(store: Store) -> None:
    tokens.create_token(store, "ci", Role.OPERATOR, 60.0)
    with pytest.raises(Conflict, match="Token ci exists"):
        tokens.create_token(store, "ci", Role.OPERATOR, 60.0)
    for seconds in (0.0, -1.0, 731 * 86400.0):
        with pytest.raises(BadInput, match="must expire in at most 730d"):
            tokens.create_token(store, "cd", Role.OPERATOR, seconds)


# the start link


def test_the_token_of_the_start_link_is_exchanged_for_another_secret() -> None:
    start = StartToken()
    cookie = start.exchange(start.token)
    assert cookie != start.token
    assert start.matches(cookie)
    assert not start.matches(start.token) and not start.matches("") and not StartToken().matches(cookie)
    assert start.token not in repr(start) and cookie not in repr(start)


@pytest.mark.parametrize("token", ["", "x", "\ud800", "é"])
def test_another_token_is_refused(token: str) -> None:
    with pytest.raises(Unauthenticated, match="link is not valid"):
        StartToken().exchange(token)
