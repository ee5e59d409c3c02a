"""Every command with its parser, as the command line itself has them."""

from __future__ import annotations

import argparse

from dataflow.cli import runjob
from dataflow.cli.main import COMMANDS, build_parser
from dataflow.cli.parser import list_subcommands

EVERYWHERE = {"-h", "--help", "--store"}
"""Options of every command; the page names them once."""


def list_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parsers by the command as it is typed; `dataset`, which only has words under it, is left out."""
    found = {"RunJob": runjob.parser("RunJob")}
    for word, (module, _) in COMMANDS.items():
        if module == "runjob":
            # `force` takes a job, a dataid and a command, and no options of its own.
            found[f"dataflow {word}"] = found["RunJob"] if word == "run" else argparse.ArgumentParser()
        else:
            found |= _under(f"dataflow {word}", build_parser(word)[1])
    return found


def list_options(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a parser, but for those that are everywhere."""
    return set(parser._option_string_actions) - EVERYWHERE


def _under(name: str, parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    words = list_subcommands(parser)
    if not words:
        return {name: parser}
    return {f"{name} {word}": command for word, command in words.items()}
