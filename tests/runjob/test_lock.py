"""The claimant's lock: it proves death on this host, and nothing else."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
from pathlib import Path

import pytest

from dataflow.errors import BadInput, ConfigError
from dataflow.runjob.lock import ClaimantLock, is_copy, is_dead, remove_dead
from tests.runjob.claimant import Claimant, wait_until


def test_a_held_lock_is_not_dead_and_a_released_one_is_unknown(tmp_path: Path) -> None:
    directory = str(tmp_path / "locks")
    lock = ClaimantLock.take(directory, "beef")
    assert not is_dead(directory, "beef")
    lock.release()
    lock.release()
    assert os.listdir(directory) == []
    assert not is_dead(directory, "beef")


def test_folder_and_file_are_private_and_the_descriptor_is_not_inherited(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "locks"
    lock = ClaimantLock.take(str(directory), "beef")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "beef.lock").stat().st_mode) == 0o600
    assert not os.get_inheritable(lock.fileno())
    lock.release()


def test_a_killed_claimant_is_dead_to_every_process_that_asks(tmp_path: Path) -> None:
    claimant = Claimant(tmp_path, "say(); wait()")
    assert not is_dead(claimant.directory, claimant.name)
    claimant.kill()
    claimant.wait_until_lock_is_free()
    other_asker = os.open(os.path.join(claimant.directory, f"{claimant.name}.lock"), os.O_RDONLY)
    fcntl.flock(other_asker, fcntl.LOCK_SH)
    assert is_dead(claimant.directory, claimant.name)
    os.close(other_asker)
    claimant.end()
    assert remove_dead(claimant.directory, claimant.name)
    assert not remove_dead(claimant.directory, claimant.name)
    assert os.listdir(claimant.directory) == []


def test_the_copy_of_a_lock_proves_nothing_about_its_claimant(tmp_path: Path) -> None:
    claimant = Claimant(tmp_path, "say(); wait()")
    copy = str(tmp_path / "copy")
    shutil.copytree(claimant.directory, copy)
    assert is_copy(copy, claimant.name)
    assert not is_copy(claimant.directory, claimant.name)
    assert not is_dead(copy, claimant.name)
    claimant.kill()
    claimant.end()


def test_an_empty_lock_is_of_an_older_version_and_a_folder_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "beef.lock").touch()
    assert is_dead(str(tmp_path), "beef")
    assert not is_copy(str(tmp_path), "beef")
    (tmp_path / "cafe.lock").mkdir()
    assert not is_dead(str(tmp_path), "cafe")
    assert not is_copy(str(tmp_path), "cafe")


def test_the_lock_is_held_as_long_as_either_runjob_or_its_guard_lives(tmp_path: Path) -> None:
    claimant = Claimant(tmp_path, "say(); wait()")
    os.kill(claimant.facts["guard"], signal.SIGKILL)
    assert not is_dead(claimant.directory, claimant.name)
    claimant.kill()
    wait_until(lambda: is_dead(claimant.directory, claimant.name))
    claimant.end()

    claimant = Claimant(tmp_path, "say(); wait()")
    os.kill(claimant.facts["guard"], signal.SIGSTOP)
    claimant.kill()
    claimant.end()
    assert not is_dead(claimant.directory, claimant.name)
    os.kill(claimant.facts["guard"], signal.SIGCONT)
    claimant.wait_until_lock_is_free()
    assert is_dead(claimant.directory, claimant.name)


def test_a_stopped_claimant_is_not_dead(tmp_path: Path) -> None:
    claimant = Claimant(tmp_path, "say(); wait()")
    claimant.kill(signal.SIGSTOP)
    assert not is_dead(claimant.directory, claimant.name)
    claimant.kill()
    claimant.end()


def test_removing_leaves_a_living_claimant_alone(tmp_path: Path) -> None:
    lock = ClaimantLock.take(str(tmp_path), "beef")
    assert not remove_dead(str(tmp_path), "beef")
    assert (tmp_path / "beef.lock").exists()
    lock.release()


@pytest.mark.parametrize("name", ["", "../beef", "BEEF", "be ef", "xyz", "a" * 65])
def test_a_name_that_is_not_a_hex_token_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="hex digits"):
        ClaimantLock.take(str(tmp_path), name)
    with pytest.raises(BadInput, match="hex digits"):
        is_dead(str(tmp_path), name)


def test_a_name_can_be_taken_only_once(tmp_path: Path) -> None:
    lock = ClaimantLock.take(str(tmp_path), "beef")
    with pytest.raises(ConfigError, match=r"beef\.lock.*File exists"):
        ClaimantLock.take(str(tmp_path), "beef")
    lock.release()


def test_the_error_for_a_folder_that_cannot_be_created_names_it_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/locks/beef\.lock.*Not a directory"):
        ClaimantLock.take(str(tmp_path / "file" / "locks"), "beef")


def test_a_link_in_place_of_a_lock_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    (tmp_path / "beef.lock").symlink_to(tmp_path / "other")
    assert not is_dead(str(tmp_path), "beef")


def test_a_folder_in_a_public_place_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o1777)
    directory = public / "dataflow-1" / "locks"
    directory.mkdir(parents=True)
    directory.parent.chmod(0o777)
    with pytest.raises(ConfigError, match="not safe"):
        ClaimantLock.take(str(directory), "beef")
    directory.parent.chmod(0o755)
    ClaimantLock.take(str(directory), "cafe").release()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_in_a_public_place_that_another_user_made_is_refused(tmp_path: Path) -> None:
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o1777)
    directory = public / "locks"
    directory.mkdir()
    os.chown(directory, 65534, 65534)
    with pytest.raises(ConfigError, match="not safe"):
        ClaimantLock.take(str(directory), "beef")
