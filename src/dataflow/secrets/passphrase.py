"""Where the passphrase comes from: PASSKEY, a private file, or a prompt; never a command's argument.

The caller reads the variable and owns the terminal; both are passed in. Nothing here is stored or logged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from dataflow.errors import SecretError

THREE_WAYS = (
    "Set PASSKEY, or name a file of mode 600 as passkey_file in dataflow.toml, "
    "or run the command in a terminal to be prompted."
)
_LONGEST_FILE = 64 * 1024


def get_passphrase(value: str | None, file: str | None, prompt: Callable[[], str] | None) -> str:
    """Return the passphrase: the value (of PASSKEY), else the file's content, else the prompt's answer.

    An empty value counts as not given; a named file that cannot be used is an error: there is no
    prompt then.
    """
    if value:
        return value
    if file:
        return _read_file(file)
    if prompt is None:
        raise SecretError(f"No passphrase is set, and passwords need one. {THREE_WAYS}")
    return _ask(prompt)


def _ask(prompt: Callable[[], str]) -> str:
    try:
        answer = prompt()
    except EOFError:
        answer = ""
    if not answer:
        raise SecretError(f"No passphrase was typed. {THREE_WAYS}")
    return answer


def _read_file(file: str) -> str:
    try:
        with open(file, "rb") as stream:
            # Check the open file, not its name, so it cannot be replaced in between.
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            content = b"" if _open_to_others(mode) else stream.read(_LONGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SecretError(f"Passphrase file {file!r} cannot be read: {reason}. {THREE_WAYS}") from error
    if _open_to_others(mode):
        from shlex import quote  # start-up: only this message needs it

        raise SecretError(
            f"Passphrase file {file!r} can be read or changed by others (mode {mode:04o}). "
            f"Make it private: chmod 600 {quote(file)}"
        )
    return _passphrase_in(content, file)


def _passphrase_in(content: bytes, file: str) -> str:
    if len(content) > _LONGEST_FILE:
        raise SecretError(f"Passphrase file {file!r} is longer than {_LONGEST_FILE} bytes: not a passphrase.")
    line = without_line_end(content)
    if not line:
        raise SecretError(f"Passphrase file {file!r} is empty. {THREE_WAYS}")
    return line.decode("utf-8", "surrogateescape")


def without_line_end(content: bytes) -> bytes:
    """Return a typed or piped secret without the line end after it."""
    return content[:-2] if content.endswith(b"\r\n") else content.removesuffix(b"\n")


def _open_to_others(mode: int) -> bool:
    return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
