"""Users, sessions and API tokens in the store; each verb is one transaction, and changes are journalled.

No run needs this module. Secrets arrive here only as hashes.
"""

from __future__ import annotations

import os

from dataflow.model.principal import Principal, PrincipalKind, Role, TokenRow, UserRow
from dataflow.model.record import record
from dataflow.model.wording import utc_text
from dataflow.store import operator_moves
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.reads import Reads, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.store.database import Database, Row, Transaction


@record
class SessionTimes:
    """How long a session lasts without being used, and at most."""

    idle_seconds: float
    longest_seconds: float


class Accounts(Reads):
    """The verbs and reads about who may act."""

    def __init__(self, database: Database, actor: str) -> None:
        super().__init__(database)
        self._actor = actor

    # users

    def list_users(self) -> list[UserRow]:
        """Return all local users, by name."""
        return [_user_from(row) for row in self._rows("access.list_users")]

    def find_password(self, name: str) -> str | None:
        """Return the record of a user's password, or None if there is no such user."""
        row = self._find("access.find_password", name=name)
        return None if row is None else str(row[0])

    def add_user(self, name: str, role: Role, password_record: str) -> bool:
        """Add a local user; False if the name is taken."""

        def verb(tx: Transaction) -> bool:
            fields = {"name": name, "role": role.value, "password_record": password_record}
            return bool(tx.run("access.add_user", actor=self._actor, **fields))

        return self._change("user add", f"user {name}, role {role}", verb)

    def set_password(self, name: str, password_record: str) -> bool:
        """Change the password of a user and end their sessions; False if there is no such user."""

        def verb(tx: Transaction) -> bool:
            changed = tx.run("access.set_password", name=name, password_record=password_record)
            tx.run("access.end_sessions_of", name=name)
            return bool(changed)

        return self._change("user password", f"user {name}", verb)

    def remove_user(self, name: str) -> bool:
        """Remove a user and end the sessions of that name; False if there was neither."""

        def verb(tx: Transaction) -> bool:
            removed = tx.run("access.remove_user", name=name)
            return bool(removed + tx.run("access.end_sessions_of", name=name))

        return self._change("user remove", f"user {name}", verb)

    # sessions

    def start_user_session(
        self, session_hash: str, name: str, password_record: str, times: SessionTimes
    ) -> bool:
        """Log a local user in; False if the user or this password is gone meanwhile."""

        def verb(tx: Transaction) -> bool:
            if not tx.run("access.record_login", name=name, password_record=password_record):
                return False
            _start(tx, session_hash, PrincipalKind.USER, name, times)
            return True

        return self._database.write(verb)

    def start_session(self, session_hash: str, email: str, times: SessionTimes) -> None:
        """Log in a person whom the identity provider knows."""
        self._database.write(lambda tx: _start(tx, session_hash, PrincipalKind.LOGIN, email, times))

    def find_session(self, session_hash: str, times: SessionTimes) -> tuple[str, Role | None] | None:
        """Return the name of who is logged in and the role of a local user; None if the session has ended.

        Using a session renews it.
        """
        where = {"session_hash": session_hash, "idle_seconds": times.idle_seconds}
        row = self._find("access.find_session", **where)
        if row is None:
            return None
        name, role, is_old = row
        if is_old:
            self._database.write(lambda tx: tx.run("access.renew_session", **where))
        return str(name), None if role is None else Role(role)

    def end_session(self, session_hash: str) -> None:
        """Log out."""
        self._database.write(lambda tx: tx.run("access.end_session", session_hash=session_hash))

    # API tokens

    def list_tokens(self) -> list[TokenRow]:
        """Return all API tokens, by name."""
        return [_token_from(row) for row in self._rows("access.list_tokens")]

    def add_token(self, name: str, role: Role, token_hash: str, seconds: float) -> bool:
        """Add an API token that expires after some seconds; False if the name is taken."""

        def verb(tx: Transaction) -> bool:
            fields = {"name": name, "role": role.value, "token_hash": token_hash, "seconds": seconds}
            return bool(tx.run("access.add_token", actor=self._actor, **fields))

        return self._change("token create", f"token {name}, role {role}", verb)

    def revoke_token(self, name: str) -> bool:
        """Remove an API token; False if there is none."""
        return self._change(
            "token revoke", f"token {name}", lambda tx: bool(tx.run("access.revoke_token", name=name))
        )

    def find_token(self, token_hash: str) -> Principal | None:
        """Return the program that an API token belongs to; None if the token is unknown or has expired."""
        row = self._find("access.find_token", token_hash=token_hash)
        if row is None:
            return None
        if not row[2]:
            self._database.write(lambda tx: tx.run("access.record_use", token_hash=token_hash))
        return Principal(str(row[0]), Role(row[1]), PrincipalKind.TOKEN)

    def _change(self, action: str, what: str, verb: Callable[[Transaction], bool]) -> bool:
        """Run a verb once and journal what it changed, if anything."""
        token = os.urandom(16).hex()

        def journalled(tx: Transaction) -> bool:
            changed = verb(tx)
            if changed:
                write_journal(tx, JournalEntry(action, self._actor, why=what))
            return changed

        return bool(
            self._database.write(lambda tx: operator_moves.once(tx, token, action, lambda: journalled(tx)))
        )


def _start(tx: Transaction, session_hash: str, kind: PrincipalKind, name: str, times: SessionTimes) -> None:
    tx.run("access.forget_sessions")
    lasting = {"idle_seconds": times.idle_seconds, "longest_seconds": times.longest_seconds}
    tx.run("access.start_session", session_hash=session_hash, kind=kind.value, name=name, **lasting)


def _user_from(row: Row) -> UserRow:
    name, role, created_at, created_by, password_at, login_at = row
    return UserRow(
        name,
        Role(role),
        time_text(created_at),
        created_by,
        time_text(password_at),
        time_text(login_at) or None,
    )


def _token_from(row: Row) -> TokenRow:
    name, role, created_at, created_by, expires_at, expired, used_at = row
    used = None if used_at is None else utc_text(used_at)
    return TokenRow(
        name, Role(role), time_text(created_at), created_by, utc_text(expires_at), bool(expired), used
    )
