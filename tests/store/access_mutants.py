"""The guards in the statements about users, sessions and API tokens."""

from __future__ import annotations

from tests.store import test_accounts as accounts
from tests.store.mutants import EVERYTHING, Mutant

ACCESS = [
    Mutant(
        "access.add_user",
        "ON CONFLICT (name) DO NOTHING",
        accounts.test_a_user_is_added_once_under_a_name,
        "ON CONFLICT (name) DO UPDATE SET role = excluded.role",
    ),
    Mutant(
        "access.record_login",
        "AND password_record = :password_record",
        accounts.test_a_password_that_has_changed_since_it_was_verified_starts_no_session,
        "AND :password_record <> ''",
    ),
    Mutant(
        "access.find_session",
        "AND s.idle_until > $now_seconds",
        accounts.test_a_session_that_is_not_used_ends,
    ),
    Mutant(
        "access.find_session", "AND s.ends_at > $now_seconds", accounts.test_a_session_that_is_used_ends_too
    ),
    Mutant(
        "access.find_session",
        "AND (s.kind <> 'user' OR u.name IS NOT NULL)",
        accounts.test_a_session_whose_user_is_gone_is_not_valid,
    ),
    Mutant(
        "access.find_session",
        "s.idle_until < $now_seconds + :idle_seconds - 60",
        accounts.test_a_session_is_renewed_at_most_once_a_minute,
        "s.idle_until < $now_seconds + :idle_seconds",
    ),
    Mutant(
        "access.end_session",
        "WHERE session_hash = :session_hash",
        accounts.test_logging_out_ends_one_session,
        "WHERE :session_hash <> ''",
    ),
    Mutant(
        "access.end_sessions_of",
        EVERYTHING,
        accounts.test_changing_the_password_ends_the_sessions_of_the_user_and_no_others,
    ),
    Mutant(
        "access.end_sessions_of",
        EVERYTHING,
        accounts.test_removing_a_user_ends_their_sessions_and_no_others,
    ),
    Mutant(
        "access.end_sessions_of",
        "WHERE name = :name",
        accounts.test_changing_the_password_ends_the_sessions_of_the_user_and_no_others,
        "WHERE :name <> ''",
    ),
    Mutant(
        "access.set_password",
        "WHERE name = :name",
        accounts.test_changing_the_password_ends_the_sessions_of_the_user_and_no_others,
        "WHERE :name <> ''",
    ),
    Mutant(
        "access.forget_sessions",
        "WHERE ends_at <= $now_seconds OR idle_until <= $now_seconds",
        accounts.test_sessions_that_have_ended_are_deleted_with_the_next_login,
    ),
    Mutant(
        "access.forget_sessions",
        "OR idle_until <= $now_seconds",
        accounts.test_sessions_that_have_ended_are_deleted_with_the_next_login,
    ),
    Mutant(
        "access.add_token",
        "ON CONFLICT (name) DO NOTHING",
        accounts.test_a_token_is_added_once_under_a_name,
        "ON CONFLICT (name) DO UPDATE SET token_hash = excluded.token_hash",
    ),
    Mutant("access.find_token", "AND expires_at > $now_seconds", accounts.test_a_token_expires),
    Mutant(
        "access.find_token",
        "used_at IS NOT NULL AND used_at > $now_seconds - 60",
        accounts.test_the_use_of_a_token_is_recorded_at_most_once_a_minute,
        "FALSE",
    ),
    Mutant(
        "access.record_use",
        "WHERE token_hash = :token_hash",
        accounts.test_the_use_of_a_token_is_recorded_at_most_once_a_minute,
        "WHERE :token_hash <> ''",
    ),
    Mutant(
        "access.revoke_token",
        "WHERE name = :name",
        accounts.test_a_revoked_token_is_not_valid_and_others_are,
        "WHERE :name <> ''",
    ),
]
