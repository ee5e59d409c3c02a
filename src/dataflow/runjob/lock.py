"""The claimant's kernel lock: shows others on the same host at once that a process is dead.

It only proves death. Otherwise a process counts as alive, and the lease decides."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable

from dataflow.errors import BadInput, ConfigError
from dataflow.private_files import make_private_folder, remove_file

_HEX_DIGITS = frozenset("0123456789abcdef")


class ClaimantLock:
    """An exclusive flock, free only when RunJob and its guards are gone.

    The guards inherit the open file description through fork and so hold the same lock. LOCK_UN is never
    called: it would release the lock for all of them.
    """

    __slots__ = ("_fd", "_path", "_stays", "name")

    def __init__(self, name: str, path: str, fd: int) -> None:
        self.name = name
        self._path = path
        self._fd = fd
        self._stays = False

    @classmethod
    def take(cls, directory: str, name: str) -> ClaimantLock:
        """Create `<directory>/<name>.lock` and hold it; the directory must be on a local disk.

        Publish the name only afterwards: between creation and flock the file looks dead.
        """
        path = _path_of(directory, name)
        try:
            make_private_folder(directory)
            _refuse_foreign(directory)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise ConfigError(
                f'Cannot create the lock file "{path}": {error.strerror}. '
                f"Make the folder writable for this user: ls -ld {directory}"
            ) from error
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            os.write(fd, _identity(fd))
        except OSError:
            pass  # The disk is full: a copy of this lock looks the same.
        return cls(name, path, fd)

    def fileno(self) -> int:
        """The descriptor the guard has to keep open."""
        return self._fd

    def leave_file(self) -> None:
        """Make `release` leave the file, which proves the death of a process with unrecorded endings."""
        self._stays = True

    def release(self) -> None:
        """Remove the file and release the lock, after the guard has stopped. A second call does nothing."""
        if self._fd < 0:
            return
        if not self._stays:
            remove_file(self._path)
        os.close(self._fd)
        self._fd = -1


def is_claimant_name(name: str) -> bool:
    """Return True for a valid claimant name; a lock folder may hold other files."""
    return 1 <= len(name) <= 64 and _HEX_DIGITS.issuperset(name)


def is_dead(directory: str, name: str) -> bool:
    """Return True only if the claimant of that name took its lock on this host and has lost it.

    A missing, unreadable, copied or held lock returns False.
    """
    return _look_at(directory, name, _is_free)


def is_copy(directory: str, name: str) -> bool:
    """Return True if this folder holds only a copy of the claimant's lock: it works for another store."""
    return is_claimant_name(name) and _look_at(directory, name, _has_other_identity)


def remove_dead(directory: str, name: str) -> bool:
    """Remove the lock file of a dead claimant; return whether it was dead. Names are never reused."""
    if not is_dead(directory, name):
        return False
    remove_file(_path_of(directory, name))
    return True


def _look_at(directory: str, name: str, test: Callable[[int], bool]) -> bool:
    """Return the test of a lock file; False if it is missing or unreadable."""
    try:
        fd = os.open(_path_of(directory, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return test(fd)
    except OSError:
        return False
    finally:
        os.close(fd)


def _is_free(fd: int) -> bool:
    # Shared, so that two processes asking at once do not take each other for the claimant.
    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return not _has_other_identity(fd)


def _has_other_identity(fd: int) -> bool:
    """Return True for the copy of a lock; an empty one is of an older version."""
    return os.pread(fd, 64, 0) not in (b"", _identity(fd))


def _identity(fd: int) -> bytes:
    return str(os.fstat(fd).st_ino).encode()


def _refuse_foreign(directory: str) -> None:
    """Require that all folders below a world-writable one, such as /tmp, are ours and closed to others.

    Otherwise another user could create one first, and replace our lock with one that looks dead.
    """
    path = os.path.realpath(directory)
    ours = []
    while True:
        facts = os.lstat(path)
        if facts.st_mode & stat.S_ISVTX and facts.st_mode & stat.S_IWOTH:
            break
        ours.append((path, facts))
        if path == "/":
            return
        path = os.path.dirname(path)
    for path, facts in ours:
        if facts.st_uid not in (os.geteuid(), 0) or facts.st_mode & stat.S_IWOTH:
            raise ConfigError(
                f"The lock folder {directory} is not safe: {path} belongs to another user, or others may "
                "write to it. Name another one as lock_dir in dataflow.toml or in DATAFLOW_LOCK_DIR."
            )


def _path_of(directory: str, name: str) -> str:
    if not is_claimant_name(name):
        raise BadInput(f"A claimant's name must be 1 to 64 lower-case hex digits, not {name!r}.")
    return os.path.join(directory, f"{name}.lock")
