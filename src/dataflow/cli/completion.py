"""`dataflow completion`: completion scripts for bash, zsh and fish.

The scripts pass the words typed so far to a hidden form of this command, so they never become outdated.
"""

from __future__ import annotations

import argparse
import os
import signal

from dataflow.cli.context import Context
from dataflow.cli.main import COMMANDS, build_parser
from dataflow.cli.options import Commands
from dataflow.cli.parser import list_subcommands
from dataflow.errors import DataFlowError

FOLDER = os.path.join(os.path.dirname(__file__), "completions")
SHELLS = ("bash", "zsh", "fish")
WORDS = "words"
PATIENCE_SECONDS = 2
"""How long a key press may wait for the store."""

_NAMES = {"DATASET": "dataset", "JOB": "job"}


class _Shells(tuple[str, ...]):
    """The shells, and hidden among them the word by which their scripts call back."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return word == WORDS or super().__contains__(word)


def add_parser(commands: Commands) -> None:
    """Adds `completion`."""
    epilog = "To load it: source <(dataflow completion bash), or: dataflow completion fish | source"
    parser = commands.add("completion", completion, epilog=epilog)
    help_text = ", ".join(SHELLS)
    parser.add_argument("shell", choices=_Shells(SHELLS), metavar="SHELL", help=help_text)
    words = parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    words.required = False


def completion(args: argparse.Namespace, context: Context) -> None:
    """Prints a script that completes commands, options, datasets and jobs in bash, zsh or fish."""
    if args.shell in SHELLS:
        with open(os.path.join(FOLDER, f"dataflow.{args.shell}"), encoding="utf-8") as script:
            print(script.read(), end="")
        return
    # A script calls back: it gets the candidates for the last word.
    program, *words = args.words or ["dataflow"]
    current = words[-1] if words else ""
    for word in candidates(os.path.basename(program), words[:-1], current, context):
        if word.startswith(current):
            print(word)


def candidates(program: str, typed: list[str], current: str, context: Context) -> list[str]:
    """The candidates after the typed words; none where a file or free text is expected."""
    if program == "RunJob":
        return _after_runjob(typed, current, context)
    word = next((word for word in typed if not word.startswith("-")), "")
    if not word:
        return ["--store", "--version", "--help"] if current.startswith("-") else list(COMMANDS)
    if word not in COMMANDS:
        return []
    rest = typed[typed.index(word) + 1 :]
    if word == "force" and not rest:
        return _list_names(context, "job")
    if COMMANDS[word][0] == "runjob":
        return _after_runjob(rest, current, context)
    parser = build_parser(word)[1]
    while rest and (under := list_subcommands(parser)) and rest[0] in under:
        parser, rest = under[rest[0]], rest[1:]
    return _after(parser, rest, current, context, _NAMES.get(word.upper(), ""))


def _after_runjob(typed: list[str], current: str, context: Context) -> list[str]:
    from dataflow.cli.runjob import parser

    return _after(parser("RunJob"), typed, current, context, "")


def _after(
    parser: argparse.ArgumentParser, typed: list[str], current: str, context: Context, subject: str
) -> list[str]:
    """The values of an option, the options of a command, or the values of its next argument."""
    previous = parser._option_string_actions.get(typed[-1]) if typed else None
    if previous is not None and previous.nargs != 0:
        return _values(previous, context)
    if current.startswith("-"):
        return sorted(parser._option_string_actions)
    if under := list_subcommands(parser):
        return list(under)
    positionals = [action for action in parser._actions if not action.option_strings]
    if not positionals:
        return []
    found = _values(positionals[min(_count_positionals(parser, typed), len(positionals) - 1)], context)
    return found or (_list_names(context, subject) if subject else [])


def _count_positionals(parser: argparse.ArgumentParser, typed: list[str]) -> int:
    count, skip = 0, False
    for word in typed:
        action = parser._option_string_actions.get(word)
        if action is not None:
            skip = action.nargs != 0
        elif not skip:
            count += 1
        else:
            skip = False
    return count


def _values(action: argparse.Action, context: Context) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    # A metavar such as DATASET[:previous|:latest], or else the argument's own name, says what is expected.
    meant = (str(action.metavar).partition("[")[0], action.dest.upper())
    kind = next((_NAMES[name] for name in meant if name in _NAMES), None)
    return _list_names(context, kind) if kind else []


def _list_names(context: Context, kind: str) -> list[str]:
    """Names from the store, if it exists and answers soon; creates nothing and asks nothing."""
    try:
        config = context.config
        if config.store_password_record and not (config.passkey or config.passkey_file):
            return []
        signal.signal(signal.SIGALRM, _give_up)
        signal.alarm(PATIENCE_SECONDS)
        return context.store.read.list_names(kind)
    except (DataFlowError, TimeoutError):
        return []
    finally:
        signal.alarm(0)


def _give_up(*_: object) -> None:
    raise TimeoutError
