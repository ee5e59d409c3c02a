"""Local users: added and removed by an administrator, and logged in by password."""

from __future__ import annotations

from dataflow.actions.dataset_rules import check_name
from dataflow.actions.names import unknown
from dataflow.errors import Conflict, Unauthenticated
from dataflow.secrets.password_hash import hash_password, verify_password
from dataflow.store.accounts import Accounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.principal import Role, UserRow
    from dataflow.store.store import Store


def add_user(store: Store, name: str, role: Role, password: str) -> None:
    """Add a local user; Conflict if there is one of that name."""
    check_name("user", name)
    if not accounts_of(store).add_user(name, role, hash_password(password)):
        raise Conflict(
            f"User {name} exists; nothing was changed. New password: dataflow user password {name}. "
            f"For another role, first: dataflow user remove {name}"
        )


def change_password(store: Store, name: str, password: str) -> None:
    """Change the password of a local user; it ends all of their sessions."""
    if not accounts_of(store).set_password(name, hash_password(password)):
        raise _unknown_user(store, name)


def remove_user(store: Store, name: str) -> None:
    """Remove a local user and end all of their sessions; of an e-mail address, end the sessions."""
    if not accounts_of(store).remove_user(name):
        raise _unknown_user(store, name)


def list_users(store: Store) -> list[UserRow]:
    """Return all local users, by name."""
    return accounts_of(store).list_users()


def get_password_record(store: Store, name: str, password: str) -> str:
    """Return the record of a user whose password this is; Unauthenticated if it is not.

    An unknown name takes as long as a wrong password and gets the same answer.
    """
    known = accounts_of(store).find_password(name) if name.isprintable() else None
    if not verify_password(password, known) or known is None:
        raise Unauthenticated("The user name or the password is wrong.")
    return known


def accounts_of(store: Store) -> Accounts:
    """The store's users, sessions and tokens, changed in the name of the store's actor."""
    return Accounts(store.database, store.actor)


def _unknown_user(store: Store, name: str) -> Exception:
    names = [user.name for user in list_users(store)]
    return unknown("user", name, names, store.database.url)
