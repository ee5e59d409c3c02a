"""Options that many commands share, and the values that their options take."""

from __future__ import annotations

import argparse

from dataflow.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def finish(parser: argparse.ArgumentParser, call: Callable[..., int], *shared: str, **defaults: Any) -> None:
    """Adds the shared options of these names to a command, and sets the function that does its work."""
    for name in shared:
        parser.add_argument(f"--{name}", *_SHORT.get(name, ()), **_SHARED[name])
    parser.set_defaults(call=call, **defaults)


def add_named(words: Any, word: str, line: str, text: str, call: Callable[..., int], *shared: str) -> None:
    """Adds a subcommand that takes a NAME and shared options, with one line of help and a description."""
    parser = words.add_parser(word, help=line, description=text)
    parser.add_argument("name", metavar="NAME")
    finish(parser, call, *shared)


def count(text: str) -> int:
    """A positive number, as --limit takes it."""
    if not text.isascii() or not text.isdigit() or int(text) == 0 or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _plain_text(text: str) -> str:
    from dataflow.actions.dataset_rules import check_text

    try:
        check_text("it", text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


_SWITCHES = {
    "all": "on a terminal, list the automatic calendar datasets too",
    "json": "print JSON",
    "wide": "on a terminal, show all columns and full times",
    "yes": "do not ask for confirmation",
}
_SHARED: dict[str, dict[str, Any]] = {
    **{name: {"action": "store_true", "help": text} for name, text in _SWITCHES.items()},
    "from": {"dest": "first", "metavar": "A", "help": "first dataid of a range"},
    "to": {"dest": "last", "metavar": "B", "help": "last dataid of the range, inclusive"},
    "why": {"type": _plain_text, "default": "", "metavar": "TEXT", "help": "reason, kept in the journal"},
}
_SHORT = {"yes": ("-y",)}
