"""Users, sessions and API tokens in both stores."""

from __future__ import annotations

import pytest

from dataflow.model.principal import Principal, PrincipalKind, Role
from dataflow.model.record import as_dict
from dataflow.store.accounts import Accounts, SessionTimes
from tests.store.races import race
from tests.store.world import World

TIMES = SessionTimes(idle_seconds=3600.0, longest_seconds=86400.0)
ARGON = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"


def accounts(world: World) -> Accounts:
    return Accounts(world.store.database, world.store.actor)


def add_eve(world: World, role: Role = Role.OPERATOR) -> Accounts:
    made = accounts(world)
    assert made.add_user("eve", role, ARGON)
    return made


def pass_seconds(world: World, seconds: float) -> None:
    """Let time pass for sessions and tokens."""
    world.poke(f"UPDATE web_session SET idle_until = idle_until - {seconds}, ends_at = ends_at - {seconds}")
    world.poke(f"UPDATE api_token SET expires_at = expires_at - {seconds}, used_at = used_at - {seconds}")


def lines(world: World) -> list[tuple[str, str, str]]:
    return [(row.action, row.actor, row.why) for row in reversed(world.store.read.list_journal(20))]


# users


def test_a_user_is_added_once_under_a_name(world: World) -> None:
    made = add_eve(world)
    assert not made.add_user("eve", Role.ADMIN, "another")
    (row,) = made.list_users()
    assert (row.name, row.role, row.created_by, row.login_at) == ("eve", Role.OPERATOR, "op@desk", None)
    assert row.created_at.endswith("Z") and row.password_at.endswith("Z")
    assert made.find_password("eve") == ARGON
    assert made.find_password("bob") is None


def test_every_change_of_users_and_tokens_is_journalled_without_a_secret(world: World) -> None:
    made = add_eve(world)
    made.add_user("eve", Role.ADMIN, "another")
    made.set_password("eve", "second")
    made.set_password("bob", "second")
    made.add_token("ci", Role.VIEWER, "hash", 60.0)
    made.revoke_token("ci")
    made.revoke_token("ci")
    made.remove_user("eve")
    made.remove_user("eve")
    assert lines(world) == [
        ("user add", "op@desk", "user eve, role operator"),
        ("user password", "op@desk", "user eve"),
        ("token create", "op@desk", "token ci, role viewer"),
        ("token revoke", "op@desk", "token ci"),
        ("user remove", "op@desk", "user eve"),
    ]
    kept = repr(world.select("SELECT * FROM verb_token")) + repr(world.select("SELECT * FROM journal"))
    assert not [secret for secret in (ARGON, "second", "another", "hash") if secret in kept]


# sessions


def test_a_session_has_the_role_that_its_user_has_now(world: World) -> None:
    made = add_eve(world)
    assert made.start_user_session("s1", "eve", ARGON, TIMES)
    assert made.find_session("s1", TIMES) == ("eve", Role.OPERATOR)
    world.poke("UPDATE user_account SET role = 'viewer'")
    assert made.find_session("s1", TIMES) == ("eve", Role.VIEWER)
    assert made.find_session("s2", TIMES) is None
    assert made.list_users()[0].login_at is not None


def test_a_person_of_the_provider_has_a_session_without_a_role(world: World) -> None:
    made = accounts(world)
    made.start_session("s1", "eve@example.com", TIMES)
    assert made.find_session("s1", TIMES) == ("eve@example.com", None)


def test_a_session_that_is_not_used_ends(world: World) -> None:
    made = accounts(world)
    made.start_session("s1", "eve@example.com", TIMES)
    pass_seconds(world, 3599)
    assert made.find_session("s1", TIMES) is not None
    pass_seconds(world, 3601)
    assert made.find_session("s1", TIMES) is None


def test_a_session_that_is_used_ends_too(world: World) -> None:
    made = accounts(world)
    made.start_session("s1", "eve@example.com", TIMES)
    for _ in range(24):
        pass_seconds(world, 3590)
        assert made.find_session("s1", TIMES) is not None
    pass_seconds(world, 86401 - 24 * 3590)
    assert made.find_session("s1", TIMES) is None


def test_a_session_is_renewed_at_most_once_a_minute(world: World) -> None:
    made = accounts(world)
    made.start_session("s1", "eve@example.com", TIMES)
    pass_seconds(world, 30)
    before = world.select("SELECT idle_until FROM web_session")
    made.find_session("s1", TIMES)
    assert world.select("SELECT idle_until FROM web_session") == before
    pass_seconds(world, 40)
    made.find_session("s1", TIMES)
    assert world.select("SELECT idle_until FROM web_session") > before


def test_logging_out_ends_one_session(world: World) -> None:
    made = add_eve(world)
    made.start_user_session("s1", "eve", ARGON, TIMES)
    made.start_user_session("s2", "eve", ARGON, TIMES)
    made.end_session("s1")
    assert made.find_session("s1", TIMES) is None
    assert made.find_session("s2", TIMES) is not None


def test_removing_a_user_ends_their_sessions_and_no_others(world: World) -> None:
    made = add_eve(world)
    made.add_user("bob", Role.VIEWER, ARGON)
    made.start_user_session("s1", "eve", ARGON, TIMES)
    made.start_user_session("s2", "bob", ARGON, TIMES)
    assert made.remove_user("eve")
    assert made.add_user("eve", Role.ADMIN, ARGON)
    assert made.find_session("s1", TIMES) is None
    assert made.find_session("s2", TIMES) is not None


def test_a_session_whose_user_is_gone_is_not_valid(world: World) -> None:
    made = add_eve(world)
    made.start_user_session("s1", "eve", ARGON, TIMES)
    world.poke("DELETE FROM user_account")  # by hand
    assert made.find_session("s1", TIMES) is None


def test_removing_somebody_of_the_provider_ends_their_sessions(world: World) -> None:
    made = accounts(world)
    made.start_session("s1", "eve@example.com", TIMES)
    assert made.remove_user("eve@example.com")
    assert made.find_session("s1", TIMES) is None
    assert not made.remove_user("eve@example.com")


def test_changing_the_password_ends_the_sessions_of_the_user_and_no_others(world: World) -> None:
    made = add_eve(world)
    made.add_user("bob", Role.VIEWER, ARGON)
    made.start_user_session("s1", "eve", ARGON, TIMES)
    made.start_user_session("s2", "bob", ARGON, TIMES)
    assert made.set_password("eve", "second")
    assert made.find_session("s1", TIMES) is None
    assert made.find_session("s2", TIMES) is not None
    assert made.find_password("bob") == ARGON


def test_a_password_that_has_changed_since_it_was_verified_starts_no_session(world: World) -> None:
    made = add_eve(world)
    made.set_password("eve", "second")
    assert not made.start_user_session("s1", "eve", ARGON, TIMES)
    assert not made.start_user_session("s1", "bob", ARGON, TIMES)
    assert made.find_session("s1", TIMES) is None


def test_no_session_of_the_old_password_survives_a_change_beside_the_login(postgres_world: World) -> None:
    made = add_eve(postgres_world)
    raced = race(
        postgres_world,
        lambda w: accounts(w).set_password("eve", "second"),
        lambda w: accounts(w).start_user_session("s1", "eve", ARGON, TIMES),
    )
    assert raced == (True, False, True)
    assert made.find_session("s1", TIMES) is None


def test_a_change_of_the_password_waits_for_a_login_and_ends_its_session(postgres_world: World) -> None:
    made = add_eve(postgres_world)
    raced = race(
        postgres_world,
        lambda w: accounts(w).start_user_session("s1", "eve", ARGON, TIMES),
        lambda w: accounts(w).set_password("eve", "second"),
    )
    assert raced == (True, True, True)
    assert made.find_session("s1", TIMES) is None


def test_sessions_that_have_ended_are_deleted_with_the_next_login(world: World) -> None:
    made = accounts(world)
    made.start_session("s1", "eve@example.com", TIMES)
    pass_seconds(world, 3601)
    made.start_session("s2", "bob@example.com", TIMES)
    made.start_session("s3", "bob@example.com", TIMES)
    assert world.select("SELECT session_hash FROM web_session ORDER BY 1") == [("s2",), ("s3",)]


# API tokens


def test_a_token_gives_its_name_and_role(world: World) -> None:
    made = accounts(world)
    assert made.add_token("ci", Role.OPERATOR, "hash", 60.0)
    assert made.find_token("hash") == Principal("ci", Role.OPERATOR, PrincipalKind.TOKEN)
    assert made.find_token("other") is None


def test_a_token_is_added_once_under_a_name(world: World) -> None:
    made = accounts(world)
    assert made.add_token("ci", Role.OPERATOR, "hash", 60.0)
    assert not made.add_token("ci", Role.ADMIN, "second", 60.0)
    assert made.find_token("second") is None


def test_a_token_expires(world: World) -> None:
    made = accounts(world)
    made.add_token("ci", Role.OPERATOR, "hash", 60.0)
    assert not made.list_tokens()[0].expired
    pass_seconds(world, 61)
    assert made.find_token("hash") is None
    assert made.list_tokens()[0].expired


def test_a_revoked_token_is_not_valid_and_others_are(world: World) -> None:
    made = accounts(world)
    made.add_token("ci", Role.OPERATOR, "hash", 60.0)
    made.add_token("cd", Role.OPERATOR, "second", 60.0)
    assert made.revoke_token("ci")
    assert made.find_token("hash") is None
    assert made.find_token("second") is not None


def test_the_use_of_a_token_is_recorded_at_most_once_a_minute(world: World) -> None:
    made = accounts(world)
    made.add_token("ci", Role.OPERATOR, "hash", 600.0)
    made.add_token("cd", Role.OPERATOR, "second", 600.0)
    assert made.list_tokens()[1].used_at is None
    made.find_token("hash")
    pass_seconds(world, 30)
    first = made.list_tokens()[1].used_at
    made.find_token("hash")
    assert made.list_tokens()[1].used_at == first is not None
    pass_seconds(world, 40)
    made.find_token("hash")
    second = made.list_tokens()[1].used_at
    assert second is not None and second > first
    assert made.list_tokens()[0].used_at is None


def test_no_role_but_the_three_is_stored(world: World) -> None:
    add_eve(world)
    with pytest.raises(Exception, match=r"(?i)check"):
        world.poke("UPDATE user_account SET role = 'owner'")


def test_a_list_shows_no_hash(world: World) -> None:
    made = add_eve(world)
    made.add_token("ci", Role.VIEWER, "hash", 60.0)
    shown = repr([as_dict(row) for row in (*made.list_users(), *made.list_tokens())])
    assert "argon" not in shown and "hash" not in shown
