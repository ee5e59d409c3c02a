"""Passwords of datasets in the store: encrypted for one dataset, decrypted on request, re-encrypted."""

from __future__ import annotations

import os

from dataflow.actions.names import get_dataset
from dataflow.errors import SecretError, UnknownName
from dataflow.model.record import record
from dataflow.secrets.cipher import decrypt, encrypt, salt_of
from dataflow.store.entries import change_passwords
from dataflow.store.journal import JournalEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.config.settings import Config
    from dataflow.model.records import Dataset
    from dataflow.store.store import Store

STORE = "store"
BOUND_TO_LOGIN = "server:login"
"""What the record of the identity provider's client secret is bound to."""
SALT_BYTES = 16


def bound_to(dataset: str) -> str:
    """Return what a dataset's record is bound to, so it opens for no other dataset."""
    return f"dataset:{dataset}"


def bound_to_connection(name: str) -> str:
    """Return what the record of a pipeline connection is bound to."""
    return f"connection:{name}"


def bound_to_channel(name: str) -> str:
    """Return what the record of a channel's secret is bound to."""
    return f"notify:{name}"


def open_store_password(config: Config, get_passphrase: Callable[[], str]) -> str | None:
    """Return the store's own password, decrypted if needed; None if it needs none or libpq finds it."""
    if config.store_password is not None or config.store_password_record is None:
        return config.store_password
    return decrypt(config.store_password_record, get_passphrase(), STORE)


def encrypt_password(store: Store, dataset: str, password: str, passphrase: str) -> str:
    """Return the encrypted record of a dataset's password; the dataset need not be registered."""
    # One salt for all records, so a run derives its key once for any number of passwords.
    records = [known.encryptedpass for known in store.read.list_datasets() if known.encryptedpass]
    salt = next((salt for record in records if (salt := salt_of(record)) is not None), None)
    return encrypt(password, passphrase, bound_to(dataset), salt)


def decrypt_password(store: Store, dataset: str, get_passphrase: Callable[[], str]) -> str:
    """Return a dataset's password; the journal records who decrypted it."""
    _, found = get_dataset(store, dataset)
    if not found.encryptedpass:
        raise UnknownName(
            f"Dataset {dataset} has no password. Set one: dataflow dataset add {dataset} --password-stdin"
        )
    password = decrypt(found.encryptedpass, get_passphrase(), bound_to(dataset))
    store.journal(JournalEntry("secret decrypt", store.actor, dataset=dataset))
    return password


@record
class Rotation:
    """Datasets with re-encrypted passwords, and those left unchanged with the reason."""

    rotated: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


def rotate(store: Store, old: str, new: str) -> Rotation:
    """Re-encrypt every password in one transaction; those that `old` does not open are left and named.

    Raises SecretError, and changes nothing, if it opens none of them.
    """
    datasets = [dataset for dataset in store.read.list_datasets() if dataset.encryptedpass]
    records, left = _encrypt_again(datasets, old, new)
    if datasets and not records:
        raise SecretError(
            f"The current passphrase opens none of the passwords; nothing was changed. {left[0][1]}"
        )

    rotated: set[str] = store.register(lambda tx: change_passwords(tx, records, store.actor))
    again = "It has changed since. Run the same command again."
    names = [dataset.name for dataset, _ in records]
    left += [(name, again) for name in names if name not in rotated]
    return Rotation(tuple(name for name in names if name in rotated), tuple(left))


def _encrypt_again(
    datasets: list[Dataset], old: str, new: str
) -> tuple[list[tuple[Dataset, str]], list[tuple[str, str]]]:
    salt = os.urandom(SALT_BYTES)
    records, left = [], []
    for dataset in datasets:
        bound = bound_to(dataset.name)
        try:
            records.append((dataset, encrypt(decrypt(dataset.encryptedpass, old, bound), new, bound, salt)))
        except SecretError as error:
            left.append((dataset.name, str(error)))
    return records, left
