"""The passphrase comes from a value, a private file or a prompt, in this order; a refusal says what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dataflow.errors import SecretError
from dataflow.secrets.passphrase import get_passphrase


def private_file(folder: Path, content: bytes, mode: int = 0o600) -> str:
    file = folder / "pass phrase"
    file.write_bytes(content)
    file.chmod(mode)
    return str(file)


def never() -> str:
    raise AssertionError("nobody should have been asked")


def no_terminal() -> str:
    raise EOFError


def test_the_value_precedes_the_file_and_the_file_precedes_the_prompt(tmp_path: Path) -> None:
    file = private_file(tmp_path, b"from file\n")
    assert get_passphrase("from value", file, never) == "from value"
    assert get_passphrase(None, file, never) == "from file"
    assert get_passphrase(None, None, lambda: "typed") == "typed"


def test_an_empty_value_counts_as_not_given(tmp_path: Path) -> None:
    assert get_passphrase("", private_file(tmp_path, b"from file"), never) == "from file"
    assert get_passphrase("", "", lambda: "typed") == "typed"


def test_without_any_of_them_the_three_ways_are_listed() -> None:
    with pytest.raises(SecretError) as refusal:
        get_passphrase(None, None, None)
    for way in ("PASSKEY", "file", "terminal"):
        assert way in str(refusal.value)


@pytest.mark.parametrize("prompt", [str, no_terminal])
def test_an_empty_answer_is_refused(prompt: type[str]) -> None:
    with pytest.raises(SecretError, match="No passphrase was typed"):
        get_passphrase(None, None, prompt)


@pytest.mark.parametrize(
    ("content", "passphrase"),
    [
        (b"word", "word"),
        (b"word\n", "word"),
        (b"word\r\n", "word"),
        (b"word\n\n", "word\n"),
        (b" word \n", " word "),
        ("pässwörd\n".encode(), "pässwörd"),
        (b"\xff\xfe\n", "\udcff\udcfe"),
    ],
)
def test_one_trailing_newline_of_the_file_is_dropped_and_nothing_else(
    tmp_path: Path, content: bytes, passphrase: str
) -> None:
    assert get_passphrase(None, private_file(tmp_path, content), None) == passphrase


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o610])
def test_a_file_that_others_can_read_is_refused_with_the_command_that_fixes_it(
    tmp_path: Path, mode: int
) -> None:
    file = private_file(tmp_path, b"hunter2hunter2\n", mode)
    with pytest.raises(SecretError) as refusal:
        get_passphrase(None, file, never)
    assert f"chmod 600 '{file}'" in str(refusal.value)
    assert f"{mode:04o}" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_private_file_is_accepted(tmp_path: Path, mode: int) -> None:
    assert get_passphrase(None, private_file(tmp_path, b"word\n", mode), None) == "word"


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n", b"x" * 65537])
def test_a_file_that_holds_no_passphrase_is_refused_and_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SecretError, match="pass phrase"):
        get_passphrase(None, private_file(tmp_path, content), never)


@pytest.mark.parametrize("name", ["missing", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, name: str) -> None:
    with pytest.raises(SecretError, match=r"cannot be read: .+"):
        get_passphrase(None, f"{tmp_path}/{name}", never)


def test_a_pipe_of_the_shell_is_accepted_as_a_file() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"word\n")
    os.close(writer)
    assert get_passphrase(None, f"/dev/fd/{reader}", None) == "word"
    os.close(reader)
