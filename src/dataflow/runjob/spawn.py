"""Finds and starts a command; explain.py says why one cannot be started.

No shell sees the values: the environment and the arguments reach the child byte for byte."""

from __future__ import annotations

import errno
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import io

_SHELL = "/bin/sh"
# Python, nohup, a background shell or a daemon may ignore these: the child starts with the defaults.
_DEFAULT_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGCHLD,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
)

_SHORT_SCRIPT_BYTES = 1 << 18
_hashes: dict[tuple[str, int, int, int], str] = {}


def restore_process_defaults() -> None:
    """Restore what a parent process may have changed; RunJob calls this first.

    With SIGCHLD ignored no child could be waited for, and with descriptor 0, 1 or 2 closed the next file
    opened would become the child's output.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        if fd > 2:
            os.close(fd)
            return
        os.set_inheritable(fd, True)


def find_command(argv0: str, search_path: str, cwd: str) -> str:
    """Return the path of a command: unchanged if it has a slash, else on the search path, else in cwd.

    Raises CannotExecute (127) if it is not found.
    """
    if "/" in argv0 and os.path.lexists(argv0):
        return argv0
    directories = [os.path.join(cwd, part) for part in search_path.split(os.pathsep)] if search_path else []
    if argv0 and "/" not in argv0:
        for directory in directories:
            path = os.path.join(directory, argv0)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
        path = os.path.join(cwd, argv0)
        if os.path.isfile(path):
            return path
    # Imported here because only an error needs it.
    from dataflow.runjob.explain import missing_command

    raise missing_command(argv0, cwd, directories)


def spawn(argv: list[str], environment: dict[str, str], stdout_fd: int, stderr_fd: int) -> int:
    """Start argv, its first item a path from find_command; the pid returned is also its group and session.

    It gets its own session, because a child that asks the terminal for a password must fail at once; in a
    background group it would be stopped forever. Standard input is empty. /bin/sh runs a script without a
    `#!` line, as shells do. Raises CannotExecute, or BadInput for a value that cannot be passed to a process.
    """
    try:
        try:
            return _spawn(argv, environment, stdout_fd, stderr_fd)
        except OSError as error:
            if error.errno != errno.ENOEXEC or _is_binary(argv[0]):
                raise
        script = f"./{argv[0]}" if argv[0].startswith("-") else argv[0]
        return _spawn([_SHELL, script, *argv[1:]], environment, stdout_fd, stderr_fd)
    except (OSError, ValueError) as error:
        # Imported here because only an error needs it.
        from dataflow.runjob.explain import cannot_spawn

        raise cannot_spawn(error, argv, environment) from error


def exit_code_of(status: int) -> int:
    """Return the exit code a shell would show for this wait status: 128 + n for a signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def script_hash(path: str) -> str | None:
    """Return the SHA-256 of a file in hex, or None if it cannot be read; cached until the file changes."""
    try:
        with open(path, "rb") as file:
            facts = os.fstat(file.fileno())
            key = (path, facts.st_ino, facts.st_mtime_ns, facts.st_size)
            if key not in _hashes:
                _hashes[key] = _digest(file, facts.st_size)
    except OSError:
        return None
    return _hashes[key]


def _digest(file: io.BufferedReader, size: int) -> str:
    if size > _SHORT_SCRIPT_BYTES:
        import hashlib

        return hashlib.file_digest(file, "sha256").hexdigest()
    # start-up: hashlib loads OpenSSL. Its own sha256 is in another module since Python 3.12, or left out.
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            return str(__import__(name).sha256(file.read()).hexdigest())
        except ImportError:
            continue
    raise AssertionError("hashlib is part of Python")


def _spawn(argv: list[str], environment: dict[str, str], stdout_fd: int, stderr_fd: int) -> int:
    return os.posix_spawn(
        argv[0],
        argv,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, stdout_fd, 1),
            (os.POSIX_SPAWN_DUP2, stderr_fd, 2),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=_DEFAULT_SIGNALS,
    )


def _is_binary(path: str) -> bool:
    with open(path, "rb") as file:
        return b"\0" in file.read(256).partition(b"\n")[0]
