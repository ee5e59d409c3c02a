"""The project's folder, and which of its files may be read."""

from __future__ import annotations

import os
import stat

from dataflow.errors import ConfigError, StoreMissing
from dataflow.private_files import STATE_FOLDER

PROJECT_FILE = "dataflow.toml"
PROPERTIES_FILE = "dataflow.properties"
STORE_FILE = "dataflow.db"


def get_working_dir() -> str:
    """Return the working directory; ConfigError if it was removed, or its name is not UTF-8."""
    try:
        found = os.getcwd()
    except FileNotFoundError as error:
        raise ConfigError(
            "The working directory no longer exists. Go to the project's folder: cd FOLDER"
        ) from error
    try:
        found.encode()
    except UnicodeEncodeError as error:
        shown = found.encode("utf-8", "backslashreplace").decode()
        raise ConfigError(
            f"The name of the working directory is not UTF-8: {shown}. Rename it: mv OLD NEW"
        ) from error
    return found


def find_project_dir(cwd: str) -> str | None:
    """Return the nearest folder, from the working directory upward, with one of our files or a store."""
    folder = os.path.abspath(cwd)
    while True:
        if any(find_file(folder, name) for name in (PROJECT_FILE, PROPERTIES_FILE)) or _has_store(folder):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def no_project(folder: str) -> StoreMissing:
    """Return the error of a command that was started outside any project and names no store."""
    return StoreMissing(
        f"No project in {folder} or a folder above it: neither {PROJECT_FILE} nor a store in {STATE_FOLDER}. "
        "Go to the project's folder: cd FOLDER. Or create a project: dataflow init. Or name a store: "
        "--store URL or DATAFLOW_STORE"
    )


def find_file(folder: str, name: str) -> str | None:
    """Return the path of a file (or state folder) if it exists and can be trusted."""
    path = os.path.join(folder, name)
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    is_right_kind = os.path.isdir(path) if name == STATE_FOLDER else os.path.exists(path)
    return path if is_right_kind and not _is_planted(folder, found) else None


def _has_store(folder: str) -> bool:
    """A state folder alone, which logs may have left there, must not capture all that is below it."""
    state = find_file(folder, STATE_FOLDER)
    return state is not None and find_file(state, STORE_FILE) is not None


def _is_planted(folder: str, found: os.stat_result) -> bool:
    """Return whether another user put it into a shared folder such as /tmp.

    A project file names commands to run: anyone could run commands as a user who works below /tmp.
    """
    if found.st_uid in (0, os.geteuid()):
        return False
    mode = os.stat(folder).st_mode
    return bool(mode & stat.S_ISVTX and mode & stat.S_IWOTH)
