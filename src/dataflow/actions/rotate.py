"""Rotate: re-encrypt all datasets' passwords under another passphrase."""

from __future__ import annotations

import os

from dataflow.actions.passwords import bound_to
from dataflow.errors import SecretError
from dataflow.model.record import record
from dataflow.secrets.cipher import decrypt, encrypt
from dataflow.store.entries import change_passwords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Dataset
    from dataflow.store.store import Store

SALT_BYTES = 16


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
    records, left = _encrypt_anew(datasets, old, new)
    if datasets and not records:
        raise SecretError(
            f"The current passphrase opens none of the passwords; nothing was changed. {left[0][1]}"
        )

    rotated: set[str] = store.register(lambda tx: change_passwords(tx, records, store.actor))
    again = "It has changed since. Run the same command again."
    names = [dataset.name for dataset, _ in records]
    left += [(name, again) for name in names if name not in rotated]
    return Rotation(tuple(name for name in names if name in rotated), tuple(left))


def _encrypt_anew(
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
