"""Private files and folders: for their owner alone, whatever the umask, and never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.private_files import make_private_folder, open_private, open_with_folder


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A umask that removes no permission."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_new_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / ".dataflow" / "staging" / "orders" / "7"
    make_private_folder(str(folder))
    make_private_folder(str(folder))
    assert [mode_of(each) for each in (folder, *list(folder.parents)[:3])] == [0o700] * 4


def test_existing_folders_keep_their_mode_except_the_state_folder(tmp_path: Path) -> None:
    state, logs = tmp_path / ".dataflow", tmp_path / "logs"
    for each in (state, state / "staging", logs):
        each.mkdir(mode=0o755)
    make_private_folder(str(state / "staging" / "orders"))
    make_private_folder(str(logs / "spark-events"))
    assert [mode_of(each) for each in (state, state / "staging", logs)] == [0o700, 0o755, 0o755]
    assert mode_of(tmp_path) == 0o700  # pytest made it so


def test_the_state_folder_of_another_user_keeps_its_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / ".dataflow"
    state.mkdir(mode=0o775)
    monkeypatch.setattr(os, "geteuid", lambda: state.stat().st_uid + 1)
    make_private_folder(str(state / "staging"))
    assert (mode_of(state), mode_of(state / "staging")) == (0o775, 0o700)


def test_a_file_where_a_folder_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(OSError, match="logs"):
        make_private_folder(str(tmp_path / "logs"))


def test_a_private_file_is_readable_by_its_user_only_and_no_link_is_followed(tmp_path: Path) -> None:
    made, link = tmp_path / "logs" / "1.log", tmp_path / "2.log"
    os.close(open_with_folder(str(made), os.O_WRONLY | os.O_CREAT))
    assert (mode_of(made), mode_of(made.parent)) == (0o600, 0o700)
    link.symlink_to(tmp_path / "victim")
    for opener in (open_private, open_with_folder):
        with pytest.raises(OSError, match="symbolic links"):
            opener(str(link), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    assert not (tmp_path / "victim").exists()
