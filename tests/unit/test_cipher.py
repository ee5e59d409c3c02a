"""A record decrypts with its passphrase, for its own dataset, unmodified; a refusal says which one failed."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import SecretError
from dataflow.secrets import cipher
from dataflow.secrets.cipher import decrypt, decrypt_seed, encrypt, salt_of

PASSWORD = "hunter2-hunter2"
PASSPHRASE = "correct horse"
CHEAP = 2**4
SALT = bytes(range(16))


def cheap_record(password: str = PASSWORD, bound_to: str = "dataset:bobin") -> str:
    return encrypt(password, PASSPHRASE, bound_to, SALT, scrypt_n=CHEAP)


def refusal(record: str, passphrase: str = PASSPHRASE, bound_to: str = "dataset:bobin") -> str:
    with pytest.raises(SecretError) as error:
        decrypt(record, passphrase, bound_to, scrypt_n=CHEAP)
    message = str(error.value)
    assert bound_to.partition(":")[2] in message
    assert PASSWORD not in message
    assert not record or record not in message
    assert passphrase not in message
    return message


def seed_record(password: str, passphrase: str) -> str:
    nonce = os.urandom(12)
    key = hashlib.sha512(passphrase.encode()).digest()[:32]
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, password.encode(), None)).decode()


def test_at_full_cost_one_derivation_decrypts_the_passwords_of_many_datasets() -> None:
    cipher._derive.cache_clear()
    first = encrypt(PASSWORD, PASSPHRASE, "dataset:d0")
    records = {
        f"dataset:d{n}": encrypt(PASSWORD, PASSPHRASE, f"dataset:d{n}", salt_of(first)) for n in range(1, 10)
    }
    assert decrypt(first, PASSPHRASE, "dataset:d0") == PASSWORD
    assert {decrypt(record, PASSPHRASE, bound_to) for bound_to, record in records.items()} == {PASSWORD}
    assert cipher._derive.cache_info().misses == 1


def test_a_record_can_be_opened_manually_from_its_description() -> None:
    record = encrypt(PASSWORD, PASSPHRASE, "dataset:bobin", SALT)
    version, salt, check, nonce, ciphertext = (
        base64.urlsafe_b64decode(part + "===") if at else part.encode()
        for at, part in enumerate(record.split("."))
    )
    derived = hashlib.scrypt(PASSPHRASE.encode(), salt=salt, n=2**17, r=8, p=1, maxmem=2**28, dklen=36)
    assert (version, salt, check, len(nonce)) == (b"df1", SALT, derived[32:], 12)
    opened = AESGCM(derived[:32]).decrypt(nonce, ciphertext, b"df1" + salt + b"dataset:bobin")
    assert opened == PASSWORD.encode()


def test_a_record_with_a_cheaper_key_is_refused_by_default() -> None:
    with pytest.raises(SecretError, match="does not decrypt"):
        decrypt(cheap_record(), PASSPHRASE, "dataset:bobin")


@given(st.text(min_size=8).filter(lambda text: "\0" not in text), st.text(min_size=1), st.text())
def test_any_password_is_restored_under_any_passphrase(password: str, passphrase: str, name: str) -> None:
    record = encrypt(password, passphrase, f"dataset:{name}", scrypt_n=CHEAP)
    assert decrypt(record, passphrase, f"dataset:{name}", scrypt_n=CHEAP) == password
    assert record.isascii()
    assert record.count(".") == 4
    assert "=" not in record


def test_bytes_that_are_not_utf_8_are_restored() -> None:
    password, passphrase = (
        raw.decode("utf-8", "surrogateescape") for raw in (b"caf\xe9 \xff\xfe long", b"\xe9")
    )
    record = encrypt(password, passphrase, "dataset:bobin", scrypt_n=CHEAP)
    assert decrypt(record, passphrase, "dataset:bobin", scrypt_n=CHEAP) == password


def test_the_same_password_twice_gives_two_different_records() -> None:
    assert cheap_record().split(".")[3:] != cheap_record().split(".")[3:]
    unsalted = [encrypt(PASSWORD, PASSPHRASE, "dataset:bobin", scrypt_n=CHEAP) for _ in range(2)]
    assert salt_of(unsalted[0]) != salt_of(unsalted[1])


def test_a_wrong_passphrase_is_reported_as_such() -> None:
    message = refusal(cheap_record(), passphrase="wrong horse")
    assert message.startswith("The passphrase does not decrypt")
    assert "dataflow dataset add bobin --password-stdin" in message


def test_a_record_copied_from_another_dataset_is_reported_as_such() -> None:
    bobin, bobout = cheap_record(bound_to="dataset:bobin"), cheap_record(bound_to="dataset:bobout")
    for record, bound_to in ((bobout, "dataset:bobin"), (bobin, "dataset:bobout")):
        assert "was modified, or copied from another dataset" in refusal(record, bound_to=bound_to)


def test_no_single_character_of_a_record_can_be_changed() -> None:
    record = cheap_record()
    for at, character in enumerate(record):
        for other in {"A", "B", "_", ".", "=", "+", "é", chr(ord(character) ^ 1)} - {character}:
            refusal(record[:at] + other + record[at + 1 :])


def test_a_changed_nonce_or_ciphertext_is_reported_as_modified() -> None:
    parts = cheap_record().split(".")
    for place in (3, 4):
        changed = [*parts]
        changed[place] = ("B" if parts[place][0] == "A" else "A") + parts[place][1:]
        assert "was modified" in refusal(".".join(changed))


def test_a_record_of_another_key_joined_to_this_salt_and_check_is_reported_as_modified() -> None:
    other = encrypt(PASSWORD, "another", "dataset:bobin", SALT, scrypt_n=CHEAP)
    glued = cheap_record().split(".")[:3] + other.split(".")[3:]
    assert "was modified" in refusal(".".join(glued))


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "df1",
        "df1.",
        "df1....",
        "df1.a.b.c.d",
        "df2.AAAA.AAAA.AAAA.AAAA",
        "...",
        "no record at all",
        "é",
        "AAAA",
        "\0",
    ],
)
def test_a_string_that_is_not_a_record_is_refused_by_the_name_of_its_dataset(damaged: str) -> None:
    assert "is not a record" in refusal(damaged)
    assert salt_of(damaged) is None


@pytest.mark.parametrize("length", range(0, 72, 7))
def test_a_truncated_record_is_refused(length: int) -> None:
    assert "is not a record" in refusal(cheap_record()[:length])


@pytest.mark.parametrize("short", ["", "1234567", "ééé"])
def test_a_password_under_eight_bytes_is_refused_with_the_reason(short: str) -> None:
    with pytest.raises(SecretError, match=r"dataset bobin is shorter than 8 bytes: too short to be redacted"):
        encrypt(short, PASSPHRASE, "dataset:bobin", scrypt_n=CHEAP)


def test_eight_bytes_are_enough_even_if_they_are_fewer_characters() -> None:
    assert decrypt(cheap_record("éééé"), PASSPHRASE, "dataset:bobin", scrypt_n=CHEAP) == "éééé"


@pytest.mark.parametrize("password", ["nul\0nul\0", "half \ud800 of a pair"])
def test_a_password_that_cannot_be_given_to_a_child_is_refused_without_showing_it(password: str) -> None:
    with pytest.raises(SecretError) as error:
        encrypt(password, PASSPHRASE, "dataset:bobin", scrypt_n=CHEAP)
    assert password not in str(error.value)
    assert error.value.__cause__ is None


def test_an_empty_passphrase_is_refused() -> None:
    with pytest.raises(SecretError, match="empty"):
        encrypt(PASSWORD, "", "dataset:bobin", scrypt_n=CHEAP)


def test_a_salt_of_another_length_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        encrypt(PASSWORD, PASSPHRASE, "dataset:bobin", b"short", scrypt_n=CHEAP)


def test_a_record_in_the_oldest_format_decrypts_for_any_name() -> None:
    for password in ("postgres-bob", "bob", "pässwörd"):
        record = seed_record(password, "plugh")
        assert decrypt_seed(record, "plugh") == password
        assert decrypt_seed(f" {record}\n", "plugh") == password
        assert decrypt(record, "plugh", "store") == password
        assert salt_of(record) is None


def test_a_record_in_the_oldest_format_refuses_a_wrong_passphrase_and_a_changed_byte() -> None:
    record = seed_record(PASSWORD, PASSPHRASE)
    assert "The passphrase does not decrypt" in refusal(record, passphrase="wrong horse")
    raw = base64.b64decode(record)
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        assert "or the password was modified" in refusal(base64.b64encode(changed).decode())


def test_a_process_without_the_memory_for_the_key_says_how_much_is_needed() -> None:
    code = (
        "import resource; from dataflow.secrets.cipher import encrypt\n"
        "resource.setrlimit(resource.RLIMIT_AS, (100 * 2**20, 100 * 2**20))\n"
        "encrypt('hunter2-hunter2', 'correct horse', 'dataset:bobin')"
    )
    environment = {"PYTHONPATH": str(Path(cipher.__file__).parents[2])}
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    assert "It needs 128 MiB of memory" in answer.stderr.splitlines()[-1]
    assert "horse" not in answer.stderr.replace(code, "")
