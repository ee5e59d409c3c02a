"""Questions to the person at the terminal: whether to go on, and secrets, which are never echoed."""

from __future__ import annotations

import sys

from dataflow.errors import SecretError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

LONGEST_SECRET = 64 * 1024


def is_terminal() -> bool:
    """True when somebody is there to answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def add_yes_option(parser: argparse.ArgumentParser) -> None:
    """Gives a command that asks its --yes."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def may_go_on(question: str, yes: bool) -> bool:
    """Asks on a terminal; a script, which said what it wants, is not asked."""
    if yes or not is_terminal():
        return True
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    print("Nothing was changed.", file=sys.stderr)
    return False


def read_secret(what: str) -> str:
    """A secret: asked for twice on a terminal, without echo, else all of stdin but the end of its line."""
    if sys.stdin is not None and sys.stdin.isatty():
        return _ask_twice(what)
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(LONGEST_SECRET + 1)
    line = data.removesuffix(b"\n")
    if line != data:
        line = line.removesuffix(b"\r")
    if not line:
        raise SecretError(f"There is no {what} on stdin. Pipe it in, or run the command on a terminal.")
    if len(line) > LONGEST_SECRET:
        raise SecretError(f"The {what} on stdin is longer than {LONGEST_SECRET} bytes.")
    return line.decode("utf-8", "surrogateescape")


def refuse_secret_argument(instead: str) -> UsageError:
    """The error for a secret among the arguments; it does not repeat it."""
    return UsageError(
        "a secret on the command line can be read by everyone on this machine with ps, and stays in the "
        f"shell's history; it was not used. Change that secret if it is a real one, and {instead}"
    )


def _ask_twice(what: str) -> str:
    from getpass import getpass

    first = getpass(f"{what.capitalize()}: ")
    if not first:
        raise SecretError(f"No {what} was typed; nothing was changed.")
    if getpass(f"{what.capitalize()} again: ") != first:
        raise SecretError(f"The two {what}s differ; nothing was changed. Run the same command again.")
    return first
