"""Questions at the terminal: confirmations, and secrets, which are never echoed."""

from __future__ import annotations

import sys

from dataflow.errors import SecretError, UsageError
from dataflow.secrets.passphrase import without_line_end

LONGEST_SECRET = 64 * 1024


def is_terminal() -> bool:
    """True when somebody can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def may_go_on(question: str, yes: bool) -> bool:
    """Asks for confirmation on a terminal; returns True without asking elsewhere."""
    if yes or not is_terminal():
        return True
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    print("Nothing changed.", file=sys.stderr)
    return False


def read_secret(what: str) -> str:
    """A secret: typed twice on a terminal, without echo; elsewhere all of stdin without its line end."""
    if sys.stdin is not None and sys.stdin.isatty():
        return _ask_twice(what)
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(LONGEST_SECRET + 1)
    line = without_line_end(data)
    if not line:
        raise SecretError(f"No {what} on stdin. Pipe it in, or run the command on a terminal.")
    if len(line) > LONGEST_SECRET:
        raise SecretError(f"The {what} on stdin is longer than {LONGEST_SECRET} bytes.")
    return line.decode("utf-8", "surrogateescape")


def refuse_secret_argument(instead: str) -> UsageError:
    """The error for a secret on the command line; it does not repeat the secret."""
    return UsageError(
        "A secret on the command line is visible to everyone on this machine (ps) and stays in the shell's "
        f"history; it was not used. If it is real, change it, then {instead}"
    )


def _ask_twice(what: str) -> str:
    from getpass import getpass

    first = getpass(f"{what.capitalize()}: ")
    if not first:
        raise SecretError(f"No {what} typed; nothing changed.")
    if getpass(f"{what.capitalize()} again: ") != first:
        raise SecretError(f"The two {what}s differ; nothing changed. Run the command again.")
    return first
