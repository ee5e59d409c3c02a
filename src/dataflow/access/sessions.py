"""Sessions in the store: a random id in a cookie, of which the store knows the hash."""

from __future__ import annotations

import secrets

from dataflow.access.tokens import hash_of
from dataflow.access.users import accounts_of, get_password_record
from dataflow.errors import Unauthenticated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.principal import Role
    from dataflow.store.accounts import SessionTimes
    from dataflow.store.store import Store


def start_user_session(store: Store, name: str, password: str, times: SessionTimes) -> str:
    """Log a local user in and return the id of the session; Unauthenticated if the password is wrong."""
    known = get_password_record(store, name, password)
    session_id = secrets.token_urlsafe(32)
    if not accounts_of(store).start_user_session(hash_of(session_id), name, known, times):
        raise Unauthenticated("The password has just been changed. Log in with the new one.")
    return session_id


def start_login_session(store: Store, email: str, times: SessionTimes) -> str:
    """Log in a person whom the identity provider knows, and return the id of the session."""
    session_id = secrets.token_urlsafe(32)
    accounts_of(store).start_session(hash_of(session_id), email, times)
    return session_id


def find_session(store: Store, session_id: str, times: SessionTimes) -> tuple[str, Role | None] | None:
    """Return the name of who is logged in and, of a local user, the role; None if nobody is."""
    return accounts_of(store).find_session(hash_of(session_id), times) if session_id else None


def end_session(store: Store, session_id: str) -> None:
    """Log out."""
    accounts_of(store).end_session(hash_of(session_id))
