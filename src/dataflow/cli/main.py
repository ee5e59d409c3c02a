"""The `dataflow` command: imports the one module that a command needs and turns errors into exit codes.

No command is implemented here.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from dataflow.cli.context import Context
from dataflow.cli.options import Commands
from dataflow.cli.parser import Parser, list_subcommands, option_name, parse_options
from dataflow.config.project import get_working_dir
from dataflow.errors import DataFlowError, UsageError

FIRST = ("dataset", "job", "ready", "run", "why", "resubmit", "status")
"""The commands to learn first."""

COMMANDS: dict[str, tuple[str, str]] = {
    "dataset": ("dataset", "add, list, show or remove datasets"),
    "job": ("job", "add, list, show or remove jobs, which read and produce datasets"),
    "ready": ("chunks", "mark chunks of a dataset as ready"),
    "run": ("runjob", "do the next work of a job or pipeline (same as RunJob)"),
    "why": ("why", "explain why work is or is not running, with the next command"),
    "resubmit": ("operate", "request work again"),
    "status": ("status", "show counts, gaps, late work and failures"),
    "up": ("worker", "keep the project running on this machine, with a live view"),
    "worker": ("worker", "run every job that this machine has a command for"),
    "workers": ("worker", "list the workers that are alive and what they are doing"),
    "incidents": ("incidents", "list open incidents and who was notified"),
    "ack": ("incidents", "silence an incident"),
    "notify": ("incidents", "send notifications of incidents to the channels in dataflow.toml"),
    "top": ("top", "show the progress of all jobs, live"),
    "init": ("init", "create a project (--example: one that runs)"),
    "apply": ("apply", "register the datasets and jobs of a TOML file"),
    "export": ("apply", "print all datasets and jobs as a TOML file"),
    "chunks": ("chunks", "list the chunks of a dataset with their status"),
    "runs": ("runs", "list runs, newest first"),
    "logs": ("runs", "show what a run wrote (-f to follow)"),
    "journal": ("runs", "list every state change: when, who, from, to, why"),
    "hold": ("operate", "block a job or some of its work"),
    "release": ("operate", "release a hold"),
    "mark": ("operate", "set the state of work"),
    "cancel": ("operate", "cancel a run"),
    "force": ("runjob", "run a command for a dataid in any state"),
    "pipeline": ("pipeline", "list, plan, preview and run pipelines on Spark"),
    "locate": ("versions", "print the current files of a dataset in the lake"),
    "query": ("sql", "run one SELECT of Spark SQL on published datasets"),
    "versions": ("versions", "list the versions of a chunk"),
    "rollback": ("versions", "publish an older version of a chunk again"),
    "compact": ("versions", "merge the small files of a chunk in the lake"),
    "withdraw": ("chunks", "withdraw published chunks"),
    "sql": ("sql", "run one read-only SQL statement on the status store"),
    "secret": ("secret", "encrypt, decrypt or rotate passwords"),
    "user": ("access", "add, list or remove users of the server, or change a password"),
    "token": ("access", "create, list or revoke API tokens of the server"),
    "purge": ("maintenance", "delete old runs, journal entries, logs and replaced versions"),
    "doctor": ("maintenance", "check the store, clocks, leases and permissions"),
    "db": ("maintenance", "upgrade the store's schema or show its version"),
    "pause": ("control", "pause one job, or all jobs"),
    "resume": ("control", "end a pause"),
    "scale": ("control", "set how many runs of a job may run at a time"),
    "pool": ("control", "set, list or remove limits that several jobs share"),
    "accept": ("correct", "keep a stale result as it is"),
    "invalidate": ("correct", "withdraw wrong chunks and redo what was made from them"),
    "lineage": ("lineage", "show what was made from what: datasets, chunks, columns"),
    "serve": ("serve", "serve the REST API of the project on this machine"),
    "completion": ("completion", "print a completion script for bash, zsh or fish"),
}
"""Every command with its module and one line of help."""

GENERAL_OPTIONS = ("--store", "--help", "-h", "--version")
SIGPIPE_EXIT = 141
INTERRUPTED_EXIT = 130
INPUT_OUTPUT_EXIT = 74


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one `dataflow` command and returns its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    _prepare_output()
    code = _run_guarded(argv)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return code or SIGPIPE_EXIT
    except OSError as error:
        drop_output()
        if code:
            return code  # its error has been reported
        tell(f"dataflow: cannot write to standard output: {error.strerror}")
        return INPUT_OUTPUT_EXIT
    return code


def _run_guarded(argv: list[str]) -> int:
    """Runs one command and turns every error into a message and an exit code."""
    try:
        return run_word(argv)
    except SystemExit as leaving:  # --help, and SIGTERM during a pipeline's run
        return leaving.code if isinstance(leaving.code, int) else 0
    except DataFlowError as error:
        return complain(error)
    except BrokenPipeError:
        drop_output()  # the reader has seen enough
        return SIGPIPE_EXIT
    except KeyboardInterrupt:
        tell("dataflow: interrupted")
        return INTERRUPTED_EXIT
    except OSError as error:
        if os.environ.get("DATAFLOW_DEBUG"):
            raise
        tell(f"dataflow: {error}")
        return INPUT_OUTPUT_EXIT
    except Exception:
        # Printed in full, with an exit code that monitoring does not take for failed work.
        import traceback

        tell(traceback.format_exc().rstrip())
        tell("dataflow: this is a bug in DataFlow; please report the lines above")
        return DataFlowError.exit_code


def drop_output() -> None:
    """Discards what is still buffered for stdout: Python would try again at exit and end with code 120."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Writes a message to stderr; where that fails, the exit code has to do."""
    from dataflow.cli.terminal import write_line  # start-up: only errors need it

    with suppress(OSError):
        write_line(text, sys.stderr)


PIPELINE_WORDS = ("plan", "preview")
"""Words of `dataflow pipeline` that people try alone."""


def run_word(argv: list[str]) -> int:
    """Runs the command that the first word names and returns its exit code."""
    before, word, rest = split_word(argv)
    if word == "help" and rest[:1] and rest[0] in COMMANDS:
        return run_word([*rest, "--help"])
    if word in ("", "help"):
        return _without_word(before)
    if word not in COMMANDS:
        options = [option_name(item) for item in before if item.startswith("-")]
        if unknown := [name for name in options if name not in GENERAL_OPTIONS]:
            # The word may be its value, and a secret.
            raise UsageError(f"Unknown option: {unknown[0]}. See: dataflow --help")
        from dataflow.model.wording import did_you_mean, quoted  # start-up: only this error needs it

        hint = did_you_mean(word, COMMANDS)
        if word in PIPELINE_WORDS:
            hint = f' Did you mean "pipeline {word}"?'
        raise UsageError(f"Unknown command {quoted(word)}.{hint} See: dataflow --help")
    if word in ("run", "force"):
        from dataflow.cli import runjob

        run = runjob.run_command if word == "run" else runjob.force_command
        return run([*before, *rest])
    parser, command = build_parser(word)
    args = parse_options(parser, [*before, word, *rest], command)
    context = Context(args.store, os.environ, get_working_dir(), getattr(args, "makes_store", False))
    try:
        code: int | None = args.call(args, context)
        return code or 0
    finally:
        context.close()


def complain(error: DataFlowError, program: str = "dataflow") -> int:
    """Prints an error to stderr and returns its exit code; DATAFLOW_DEBUG=1 adds the traceback."""
    if os.environ.get("DATAFLOW_DEBUG"):
        import traceback

        traceback.print_exception(error)
    tell(f"{program}: {error}")
    return error.exit_code


def split_word(argv: list[str]) -> tuple[list[str], str, list[str]]:
    """The options before the command, the command ("" if there is none), and the rest."""
    position = 0
    while position < len(argv) and argv[position].startswith("-"):
        position += 2 if argv[position] == "--store" else 1
    return argv[:position], "".join(argv[position : position + 1]), argv[position + 1 :]


def build_parser(word: str) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """The parser of `dataflow` with one command in it, and that command's own; imports no other module."""
    from importlib import import_module

    parser = Parser(prog="dataflow", usage="dataflow COMMAND …")
    parser.add_argument("--store", metavar="URL", default=None)
    subparsers = parser.add_subparsers(prog="dataflow", dest="command", required=True, parser_class=Parser)
    import_module(f"dataflow.cli.{COMMANDS[word][0]}").add_parser(Commands(subparsers))
    for command in subparsers.choices.values():
        _add_store_option(command)
    return parser, subparsers.choices[word]


def overview() -> str:
    """The list of commands, those to learn first on top."""
    lines = ["usage: dataflow COMMAND [options]        dataflow COMMAND --help", "", "Start with:"]
    lines += [f"  {word:<11} {COMMANDS[word][1]}" for word in FIRST]
    lines += ["", "More commands:"]
    lines += [f"  {word:<11} {help_line}" for word, (_, help_line) in COMMANDS.items() if word not in FIRST]
    lines += ["", "Every command takes --store URL. Commands that print data take --json."]
    lines += ["dataflow --version prints the version."]
    return "\n".join(lines)


def version() -> str:
    """The installed version; `0 (not installed)` for a source tree."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("dataflow-runjob")
    except PackageNotFoundError:
        return "0 (not installed)"


def _without_word(options: list[str]) -> int:
    unknown = [option for option in options if option not in ("--help", "-h", "--version")]
    if "--version" in options:
        print(f"dataflow {version()}")
    elif unknown and "--help" not in options and "-h" not in options:
        name = option_name(unknown[0])
        problem = "No command given" if name == "--store" else f"Unknown option: {name}"
        if unknown == ["--store"]:
            problem = "--store needs a value"
        raise UsageError(f"{problem}. See: dataflow --help")
    else:
        print(overview())
    return 0


def _add_store_option(parser: argparse.ArgumentParser) -> None:
    """Adds --store to a command and its subcommands."""
    if "--store" not in parser._option_string_actions:
        # No default: it would override a --store given before the command.
        parser.add_argument(
            "--store",
            metavar="URL",
            default=argparse.SUPPRESS,
            help="status store: sqlite:///path or postgresql://user@host/database",
        )
    for command in list_subcommands(parser).values():
        _add_store_option(command)


def _prepare_output() -> None:
    """Escapes what the terminal's encoding cannot show, so that it does not stop the command."""
    if sys.stdout is None:  # started with it closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
