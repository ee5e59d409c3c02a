"""The parser of the command line: argparse, with usage lines and errors in our own words (exit code 64)."""

from __future__ import annotations

import argparse
import itertools
import sys

from dataflow.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_ITEMS = {None: "{}", "?": "[{}]", "*": "[{}…]", "+": "{}…", argparse.PARSER: "{} …"}
_ITEMS[argparse.REMAINDER] = "[{}…]"
_REQUIRED = "arguments are required"
_UNWANTED = "ignored explicit "


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError and takes no abbreviations."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        self._is_mixing = False
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._positionals.title = "arguments"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Accepts options between arguments, as in `ready bobin --again 1.0`."""
        positionals = self._get_positional_actions()
        takes_all = any(action.nargs in (argparse.PARSER, argparse.REMAINDER) for action in positionals)
        if self._is_mixing:
            return super().parse_known_args(args, namespace)
        if takes_all:
            return self._parse_words(args, namespace)
        self._is_mixing = True  # the next call comes back to this method
        try:
            found, rest = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False
        for action in self._actions:
            value = getattr(found, action.dest, None)
            # argparse turns a value of `--` into an empty list.
            if action.nargs is None and (value == [] or (isinstance(value, list) and [] in value)):
                self.error(f"{_name_of(action)} needs a value.")
        return found, rest

    def _parse_words(self, args: Any, namespace: Any) -> Any:
        """Parses a command with subcommands; an unknown option before the word explains an error after it."""
        try:
            return super().parse_known_args(args, namespace)
        except UsageError:
            before = itertools.takewhile(lambda item: item.startswith("-") and item != "--", args)
            names = [option_name(item) for item in before]
            unknown = [name for name in names if name not in self._option_string_actions]
            if unknown:
                self.error(f"Unknown option: {unknown[0]}.")
            raise

    def format_usage(self) -> str:
        """The usage in one line: `usage: dataflow purge --older-than DURATION [options]`."""
        return f"usage: {(self.usage or self._describe_usage()).strip()}\n"

    def format_help(self) -> str:
        self.usage = self.usage or self._describe_usage()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raises UsageError with the message, the usage and where to read more."""
        head, _, names = message.partition(": ")
        if head.endswith(_REQUIRED):
            message = f"No {names.replace(', ', ' and no ')} given."
        if names.startswith(_UNWANTED):  # argparse shows the value, which may be a secret
            message = f"{head.removeprefix('argument ').split('/')[0]} takes no value."
        raise UsageError(f"{message}\n{self.format_usage()}See: {self.prog} --help")

    def _describe_usage(self) -> str:
        options = [action for action in self._actions if action.option_strings and action.required]
        required = [f"{action.option_strings[0]} {action.metavar}" for action in options]
        items = [
            _ITEMS[action.nargs].format("|".join(action.choices or [_name_of(action)]))  # type: ignore[index]
            for action in self._get_positional_actions()
            if action.help != argparse.SUPPRESS
        ]
        return " ".join([self.prog, *required, "[options]", *items])

    def _print_message(self, message: str, file: Any = None) -> None:
        """Writes the help text; argparse itself would ignore a full disk."""
        (file or sys.stderr).write(message)

    # The three errors below are argparse's own, with the argument named as the user knows it.

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        raise unknown_word(str(action.metavar or action.dest).lower(), value, known)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if error.argument_name is None:  # an error of our own, which names what it is about
                raise
            raise argparse.ArgumentError(None, f"{_name_of(action)} {error.message}") from error

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return int(super()._match_argument(action, arg_strings_pattern))
        except argparse.ArgumentError as error:
            raise argparse.ArgumentError(None, f"{_name_of(action)} needs a value.") from error


def parse_options(
    parser: argparse.ArgumentParser,
    argv: list[str],
    command: argparse.ArgumentParser | None = None,
    given: argparse.Namespace | None = None,
) -> argparse.Namespace:
    """The parsed arguments, on top of those given before; UsageError with the nearest option if unknown."""
    args, unknown = parser.parse_known_args(argv, given)
    if unknown:
        from dataflow.model.wording import did_you_mean, plural  # start-up: only errors need it

        command = command or parser
        command = list_subcommands(command).get(getattr(args, "word", ""), command)
        options = [option_name(item) for item in unknown if item.startswith("-")]
        if not options:
            command.error("Too many arguments.")
        if options[0] in command._option_string_actions:
            command.error(f"{options[0]} belongs after the command.")
        # Without their dashes, which would make any two look alike.
        known = [name[2:] for name in command._option_string_actions if name.startswith("--")]
        hint = did_you_mean(options[0].lstrip("-"), known).replace('"', '"--', 1)
        command.error(f"Unknown {plural(len(options), 'option')}: {' '.join(options)}.{hint}")
    return args


def unknown_word(thing: str, word: str, known: Sequence[str]) -> argparse.ArgumentError:
    """The error for a word that is not one of those known, with the nearest of them."""
    from dataflow.model.wording import did_you_mean, quoted  # start-up: only errors need it

    hint = f"{did_you_mean(word, known)} Known: {', '.join(known)}."
    return argparse.ArgumentError(None, f"Unknown {thing} {quoted(word)}.{hint}")


def option_name(item: str) -> str:
    """The name of an unknown option without its value, which may be a secret: -p of -phunter2."""
    return item.partition("=")[0] if item.startswith("--") else item[:2]


def list_subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The subcommands of a command, such as `add` of `dataset`."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(action.choices)
    return found


def _name_of(action: argparse.Action) -> str:
    return action.option_strings[0] if action.option_strings else str(action.metavar or action.dest)
