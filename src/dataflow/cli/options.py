"""How commands declare themselves, the arguments and options that many share, and the values they take."""

from __future__ import annotations

import argparse

from dataflow.errors import BadInput
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Command = Callable[..., int | None]
    """Does the work of a command and returns its exit code, or None for 0."""

MOST_DIGITS = 18


class Commands:
    """Where commands are added: those of `dataflow`, or the subcommands of one of them."""

    def __init__(self, subparsers: Any) -> None:
        self._subparsers = subparsers

    def add(self, word: str, call: Command, *shared: str, **more: Any) -> argparse.ArgumentParser:
        """Adds a command with shared arguments and options. The docstring of its function is its help text.

        `more` may have `line`, the help of a subcommand in one line, and `epilog`; the rest are its defaults.
        """
        known = {"help": more.pop("line", None), "epilog": more.pop("epilog", None)}
        parser: argparse.ArgumentParser = self._subparsers.add_parser(word, description=call.__doc__, **known)
        for name in shared:
            if name in _ARGUMENTS:
                _add_argument(parser, name)
            else:
                parser.add_argument(f"--{name}", *_SHORT.get(name, ()), **_OPTIONS[name])
        parser.set_defaults(call=call, **more)
        return parser

    def add_group(self, word: str, text: str) -> Commands:
        """Adds a command that only has subcommands; returns where to add them."""
        parser = self._subparsers.add_parser(word, description=text)
        options = {"dest": "word", "required": True, "metavar": "COMMAND", "parser_class": type(parser)}
        return Commands(parser.add_subparsers(title="commands", **options))


def _add_argument(parser: argparse.ArgumentParser, name: str) -> None:
    metavar = name.strip("[]…")
    dest, nargs = metavar.lower(), "?" if name.startswith("[") else None
    if name.endswith("…"):
        parser.add_argument(f"{dest}s", nargs="*", default=[], metavar=metavar, help=_ARGUMENTS[name])
    else:
        meaning = _ARGUMENTS[name].format(parser.prog.split()[1])
        parser.add_argument(dest, nargs=nargs, metavar=metavar, help=meaning)


def add_switches(parser: argparse.ArgumentParser, **switches: str) -> None:
    """Adds options without a value, each with its meaning."""
    for name, meaning in switches.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=meaning)


def add_choice(parser: argparse.ArgumentParser, name: str, values: Iterable[str], text: str) -> None:
    """Adds an option that takes one of some words in capitals, in any case."""
    choices = [str(value) for value in values]
    help_text = f"{text}: {', '.join(choices)}"

    def known_word(text: str) -> str:
        return text.upper() if text.upper() in choices else text  # an error shows it as it was typed

    parser.add_argument(f"--{name}", type=known_word, choices=choices, metavar=name.upper(), help=help_text)


def count(text: str) -> int:
    """A positive number, as --limit takes it."""
    if not text.isascii() or not text.isdigit() or int(text) == 0 or len(text) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"must be a number of at least 1, got {quoted(text)}.")
    return int(text)


def whole(text: str) -> int:
    """A whole number, negative too."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {quoted(text)}.")
    return int(text)


def number(text: str) -> float:
    """A number, with a decimal point or without."""
    try:
        found = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {quoted(text)}.") from None
    if not abs(found) < float("inf"):  # also nan
        raise argparse.ArgumentTypeError(f"must be a number, got {quoted(text)}.")
    return found


def exit_codes(text: str) -> tuple[int, ...]:
    """Exit codes with commas between them; none for an empty text."""
    return tuple([whole(part.strip()) for part in text.split(",")]) if text.strip() else ()


def _plain_text(text: str) -> str:
    from dataflow.actions.dataset_rules import check_text  # start-up: few commands take a reason

    try:
        check_text("it", text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


_ARGUMENTS = {
    "NAME": "name of the {}",
    "DATASET": "name of the dataset",
    "JOB": "name of the job",
    "DATAID": "dataid of the chunk",
    "[DATAID]": "only this dataid",
    "DATAID…": "dataids, such as 2026-08-20",
    "RUN": "run id, as listed by `dataflow runs`",
}
"""Arguments by their place in the usage; `{}` is what the command is about."""
_SWITCHES = {
    "all": "on a terminal, list the automatic calendar datasets too",
    "json": "print JSON",
    "wide": "on a terminal, show all columns and full times",
    "yes": "do not ask for confirmation",
}
_FILTERS = {"job": "JOB", "dataset": "DATASET", "dataid": "DATAID"}
_OPTIONS: dict[str, dict[str, Any]] = {
    **{name: {"action": "store_true", "help": text} for name, text in _SWITCHES.items()},
    **{name: {"metavar": one, "help": f"only of this {name}"} for name, one in _FILTERS.items()},
    "from": {"dest": "first", "metavar": "A", "help": "first dataid of a range"},
    "to": {"dest": "last", "metavar": "B", "help": "last dataid of the range, inclusive"},
    "why": {"type": _plain_text, "default": "", "metavar": "TEXT", "help": "reason, kept in the journal"},
}
_SHORT = {"yes": ("-y",)}
