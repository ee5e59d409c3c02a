"""Files and folders that only their owner may use, whatever the umask: logs, staging, locks, the store.

Files for other tools, such as the lake, are not created here: they keep the umask.
"""

from __future__ import annotations

import os
import stat

STATE_FOLDER = ".dataflow"
"""Where a project keeps its private state."""


def make_private_folder(path: str) -> None:
    """Create a folder with mode 0700, and every missing parent likewise.

    Folders that exist keep their mode, except for `.dataflow`, which earlier versions left open to others.
    """
    missing: list[str] = []
    folder = os.path.abspath(path)
    while not (os.path.exists(folder) if missing else os.path.isdir(folder)):
        missing.append(folder)
        folder = os.path.dirname(folder)
    _close_state(folder)
    for each in reversed(missing):
        try:
            os.mkdir(each, 0o700)
        except FileExistsError:
            if not os.path.isdir(each):  # otherwise another process created it first
                raise


def open_private(path: str, flags: int) -> int:
    """Open a file, never through a symbolic link; a new one has mode 0600. An `opener` for `open`."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def open_unlinked(path: str, flags: int) -> int:
    """Open a file that others may read, never through a symbolic link. An `opener` for `open`."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)


def open_with_folder(path: str, flags: int) -> int:
    """Open a private file for writing; create its folder if it is missing."""
    try:
        return open_private(path, flags)
    except FileNotFoundError:
        make_private_folder(os.path.dirname(path))
        return open_private(path, flags)


def reuse_file(path: str, new_path: str, data: bytes) -> bool:
    """Give a private file another name and other contents, which is faster than to remove and create one.

    False, with no file of the new name, if it is not an ordinary file with one name.
    """
    try:
        # Somebody may have put a pipe there, which would not open.
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        facts = os.fstat(file)
        if facts.st_mode != stat.S_IFREG | 0o600 or facts.st_nlink != 1 or facts.st_uid != os.geteuid():
            return False
        if os.write(file, data) != len(data):
            return False
        # Not cut to 0 first: some file systems would write it to disk.
        if facts.st_size > len(data):
            os.ftruncate(file, len(data))
        os.rename(path, new_path)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def remove_file(path: str) -> None:
    """Remove a file that does no harm if it stays: somebody else removed it, or its folder is read-only."""
    try:
        os.unlink(path)
    except OSError:
        pass


def remove_files(folder: str, prefix: str) -> None:
    """Remove the files of a folder whose names begin so."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(prefix):
            remove_file(os.path.join(folder, name))


def _close_state(folder: str) -> None:
    """Make `.dataflow` private if this folder is it or lies inside it."""
    above, found, _ = os.path.join(folder, "").rpartition(f"{os.sep}{STATE_FOLDER}{os.sep}")
    if not found:
        return
    state = os.path.join(above, STATE_FOLDER)
    mode = os.stat(state)
    if mode.st_mode & 0o077 and mode.st_uid == os.geteuid():
        os.chmod(state, 0o700)
