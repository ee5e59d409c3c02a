"""What the doctor finds on this machine: file modes and stale locks."""

from __future__ import annotations

import os
import stat

from dataflow.actions.next_commands import shell
from dataflow.config.project import PROJECT_FILE, PROPERTIES_FILE
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dataflow.config.settings import Config

OK, WARNING, PROBLEM = "ok", "warning", "problem"
OTHERS_READ = stat.S_IROTH
OTHERS_WRITE = stat.S_IWOTH


@record
class Finding:
    """One check of the doctor: its result and the command that fixes it."""

    check: str
    level: str
    text: str
    next: str = ""


def list_permission_findings(config: Config) -> Iterator[Finding]:
    """Check who else may read or change the store, logs, locks and files with secrets."""
    found = [*_store_modes(config), *_folder_modes(config), *_secret_modes(config)]
    yield from found
    if not found:
        text = "only this user can read or change the store, logs, locks and secrets"
        yield Finding("permissions", OK, text)


def list_lock_findings(
    config: Config, is_dead: Callable[[str], bool], remove: Callable[[str], bool] | None = None
) -> Iterator[Finding]:
    """Check for lock files that killed processes left behind.

    `remove` deletes the lock file of a claimant unless the claimant still holds runs: the next claim needs
    it then, as proof that the process is dead. Without `remove` nothing is deleted.
    """
    try:
        names = [name for name in os.listdir(config.lock_dir) if name.endswith(".lock")]
    except FileNotFoundError:
        names = []
    except OSError as error:
        yield Finding(
            "locks", PROBLEM, f"{config.lock_dir}: {error.strerror}", shell("ls", "-ld", config.lock_dir)
        )
        return
    dead = [name for name in sorted(names) if is_dead(name.removesuffix(".lock"))]
    removed = sum(remove(name.removesuffix(".lock")) for name in dead) if remove else 0
    if removed:
        what = "1 lock file" if removed == 1 else f"{removed} lock files"
        yield Finding("locks", OK, f"removed {what} of dead processes from {config.lock_dir}")
    if left := len(dead) - removed:
        what = "1 lock file" if left == 1 else f"{left} lock files"
        text = f"{config.lock_dir} has {what} of dead processes whose runs are not taken over yet"
        yield Finding(
            "locks", WARNING, text, "dataflow runs --outcome RUNNING" if remove else "dataflow doctor"
        )
    if not dead:
        held = "1 process holds its lock" if len(names) == 1 else f"{len(names)} processes hold their locks"
        yield Finding("locks", OK, f"{held} in {config.lock_dir}")


def _store_modes(config: Config) -> Iterator[Finding]:
    path = config.store_url.removeprefix("sqlite:///")
    if path == config.store_url or not os.path.exists(path):
        return
    for file in (path, f"{path}-wal", f"{path}-shm"):
        changed = list(_judge(file, OTHERS_WRITE, PROBLEM, "changed", "o-rw"))
        yield from changed or _judge(file, OTHERS_READ, WARNING, "read", "o-r")
    yield from _judge(os.path.dirname(path), OTHERS_WRITE, PROBLEM, "changed by others", "o-w")


def _folder_modes(config: Config) -> Iterator[Finding]:
    yield from _judge(config.log_dir, OTHERS_READ, WARNING, "read", "o-rx")
    for folder in (config.log_dir, config.lock_dir):
        yield from _judge(folder, OTHERS_WRITE, PROBLEM, "changed by others", "o-w")


def _secret_modes(config: Config) -> Iterator[Finding]:
    for name in (PROJECT_FILE, PROPERTIES_FILE):
        path = os.path.join(config.project_dir, name)
        # It names commands to run: whoever can write it can run anything as this user.
        yield from _judge(path, OTHERS_WRITE, PROBLEM, "changed by others", "o-w")
        if _holds_secret(path):
            verb = "read by others, and it holds an encrypted password"
            yield from _judge(path, OTHERS_READ, WARNING, verb, "o-r")
    if config.passkey_file:
        yield from _judge(config.passkey_file, stat.S_IRWXG | stat.S_IRWXO, PROBLEM, "read by others", "go=")


def _judge(path: str, bits: int, level: str, verb: str, change: str) -> Iterator[Finding]:
    try:
        mode, folder = os.stat(path).st_mode, os.stat(os.path.dirname(path) or ".").st_mode
    except OSError:
        return
    if not folder & (stat.S_IXGRP | stat.S_IXOTH):
        return  # no other user can enter the folder
    # In a sticky folder such as /tmp, others may add files but not replace them.
    if mode & bits and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        text = f"{path} (mode {stat.S_IMODE(mode):04o}) can be {verb}"
        yield Finding("permissions", level, text, shell("chmod", change, path))


def _holds_secret(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return False
    return any("encrypted" in line for line in lines if not line.lstrip().startswith("#"))
