"""Passwords in the store: encrypted for one dataset, journalled when decrypted, re-encrypted on rotation."""

from __future__ import annotations

import base64
import hashlib
import os

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dataflow.actions import passwords
from dataflow.actions.passwords import bound_to, decrypt_password, encrypt_password, rotate
from dataflow.actions.register import add_dataset
from dataflow.errors import SecretError, UnknownName
from dataflow.model.records import Dataset
from dataflow.secrets.cipher import decrypt, encrypt, salt_of
from tests.store.world import World

OLD, NEW = "old passphrase", "new passphrase"


def seed_record(password: str, passphrase: str) -> str:
    """A record in the format of the first implementation."""
    nonce = os.urandom(12)
    key = hashlib.sha512(passphrase.encode()).digest()[:32]
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, password.encode(), None)).decode()


def keep(world: World, name: str, record: str) -> None:
    add_dataset(world.store, Dataset(name, encryptedpass=record))


def test_a_password_decrypts_for_its_own_dataset_only_and_is_journalled(world: World) -> None:
    keep(world, "bobin", encrypt_password(world.store, "bobin", "correct horse", OLD))
    assert decrypt_password(world.store, "bobin", lambda: OLD) == "correct horse"
    assert [line["dataset"] for line in world.journal("secret decrypt")] == ["bobin"]
    keep(world, "thief", world.dataset_record("bobin")[1].encryptedpass)
    with pytest.raises(SecretError, match="was modified, or copied from another dataset"):
        decrypt_password(world.store, "thief", lambda: OLD)
    with pytest.raises(SecretError, match=r"passphrase does not decrypt.*dataflow dataset add bobin"):
        decrypt_password(world.store, "bobin", lambda: "guess")
    assert len(world.journal("secret decrypt")) == 1


def test_records_share_a_salt_so_that_a_run_derives_one_key(world: World) -> None:
    keep(world, "a", encrypt_password(world.store, "a", "password a", OLD))
    keep(world, "b", encrypt_password(world.store, "b", "password b", OLD))
    one, other = (world.dataset_record(name)[1].encryptedpass for name in "ab")
    assert salt_of(one) == salt_of(other) is not None


def test_a_dataset_without_a_password_says_how_to_add_one(world: World) -> None:
    add_dataset(world.store, Dataset("bobin"))
    with pytest.raises(UnknownName, match="dataflow dataset add bobin --password-stdin"):
        decrypt_password(world.store, "bobin", lambda: OLD)


def test_rotating_re_encrypts_all_records_and_skips_those_that_do_not_decrypt(world: World) -> None:
    keep(world, "ours", encrypt("password ours", OLD, bound_to("ours")))
    keep(world, "seeds", seed_record("password seeds", OLD))
    foreign = seed_record("password foreign", "somebody else's")
    keep(world, "foreign", foreign)
    add_dataset(world.store, Dataset("plain"))
    result = rotate(world.store, OLD, NEW)
    assert result.rotated == ("ours", "seeds")
    assert [name for name, _ in result.left] == ["foreign"]
    for name in ("ours", "seeds"):
        record = world.dataset_record(name)[1].encryptedpass
        assert decrypt(record, NEW, bound_to(name)) == f"password {name}"
    assert world.dataset_record("foreign")[1].encryptedpass == foreign
    assert world.journal("secret rotate")[0]["items"] == 2


def test_a_wrong_passphrase_rotates_nothing(world: World) -> None:
    record = encrypt("password ours", OLD, bound_to("ours"))
    keep(world, "ours", record)
    with pytest.raises(SecretError, match="opens none of the passwords; nothing was changed"):
        rotate(world.store, "guess", NEW)
    assert world.dataset_record("ours")[1].encryptedpass == record


def test_rotating_without_records_is_not_an_error(world: World) -> None:
    assert rotate(world.store, OLD, NEW).rotated == ()


def test_the_store_and_datasets_are_bound_to_different_names() -> None:
    assert bound_to("store") != passwords.STORE
