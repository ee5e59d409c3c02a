"""`RunJob [options] script [args…]`, also `dataflow run` and `dataflow force`."""

from __future__ import annotations

import argparse
import gc
import os
import sys

from dataflow import failpoints
from dataflow.cli.context import Context
from dataflow.cli.options import whole
from dataflow.cli.parser import Parser, parse_options
from dataflow.config.project import get_working_dir
from dataflow.errors import BadInput, DataFlowError, UsageError
from dataflow.runjob.request import JobRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

OPTIONS = {
    "--job": ("NAME", "the job (default: the script's name without extension)"),
    "--drain": ("", "continue until nothing is claimable"),
    "-j": ("N", "run N streams in parallel, with --drain"),
    "--dataid": ("D", "run only this chunk"),
    "--dry-run": ("", "show what would be claimed and passed on; run nothing"),
    "--lease": ("DURATION", "how long a claim is valid without renewal (default: the job's)"),
    "--grace": ("DURATION", "time between SIGTERM and SIGKILL (default: the job's)"),
    "--timeout": ("DURATION", "stop the run after this time, with exit code 124 (default: the job's)"),
    "--kill-command": ("CMD", "command that stops work outside this process before it is retried"),
    "--clean-env": ("", "do not pass on the current environment"),
    "--waiting-exit-code": ("N", "exit code when there is nothing to do yet (default: 0)"),
    "--quiet": ("", "print only warnings and errors"),
    "--store": ("URL", "status store: sqlite:///path or postgresql://user@host/database"),
    "--version": ("", "show the version"),
}
"""The placeholder of each option's value, if it takes one, and what it means."""
OTHER_NAMES = {"-j": ("--jobs",), "--quiet": ("-q",)}
NUMBERS: dict[str, dict[str, Any]] = {
    "-j": {"dest": "streams", "type": whole, "default": 1},
    "--waiting-exit-code": {"type": whole, "default": 0},
}
COLLECTED_OBJECTS = 100_000
"""Python looks for garbage after that many new objects: not during the start-up."""


def command() -> int:
    """The RunJob process: `main`, then the end of the process without the interpreter's clean-up.

    That takes a tenth of a short RunJob, and nothing is left to do unless somebody has registered for it.
    """
    gc.set_threshold(COLLECTED_OBJECTS)
    code = main()
    if "atexit" in sys.modules:
        return code
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # it is, where the caller has closed the descriptor
                stream.flush()
    except (OSError, ValueError):  # the reader is gone: the interpreter deals with that
        return code
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """The RunJob command; return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        return run_command(argv, "RunJob")
    except (DataFlowError, OSError) as error:
        if os.environ.get("DATAFLOW_DEBUG"):
            raise
        print(f"RunJob: {error}", file=sys.stderr)
        # An OSError (no descriptors or processes left) is not 1, which could be the script's own.
        return error.exit_code if isinstance(error, DataFlowError) else DataFlowError.exit_code
    except KeyboardInterrupt:
        return 130


def run_command(argv: list[str], prog: str = "dataflow run") -> int:
    """Do the next work of a job with a script."""
    made = parser(prog)
    args = parse_options(made, argv)
    if args.version:
        from dataflow.cli.main import version  # start-up: importlib.metadata is slow

        print(f"RunJob {version()}")
        return 0
    if args.command[:1] == ["--"]:
        del args.command[0]
    if not args.command:
        made.error("No script given.")
    context = Context(args.store, os.environ, get_working_dir())
    if args.job is None and _is_pipeline(context, args.command[0]):
        from dataflow.cli.pipeline import run_command as run_pipeline  # start-up: scripts need none of it

        failpoints.arm(os.environ.get("DATAFLOW_FAILPOINT", ""))
        return run_pipeline(args, prog)
    request = make_request(args, context, args.job or job_of(args.command[0]))
    if args.dry_run:
        from dataflow.cli.dry_run import show_claim  # start-up: a rare option

        return show_claim(request, context)
    return _run(request, context)


def force_command(argv: list[str]) -> int:
    """Run a command for a dataid in any state."""
    before, command = argv, list[str]()
    if "--" in argv:
        at = argv.index("--")
        before, command = argv[:at], argv[at + 1 :]
    made = Parser(prog="dataflow force", usage="dataflow force JOB DATAID -- command [args…]")
    made.description = "Runs a command once for a dataid in any state: not ready, held, done or failed."
    add_option(made, "--store")
    made.add_argument("job", metavar="JOB", help="the job whose work it does")
    made.add_argument("dataid", metavar="DATAID", help="the dataid; its work is created if there is none")
    args = parse_options(made, before)
    if not command:
        raise UsageError(f"No command given. Usage: dataflow force {args.job} {args.dataid} -- COMMAND")
    context = Context(args.store, os.environ, get_working_dir())
    request = JobRequest(context.config, os.environ, args.job, tuple(command), dataid=args.dataid, force=True)
    return _run(request, context)


def job_of(script: str) -> str:
    """Return the job of a script: its base name without extension."""
    name = os.path.basename(script)
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _is_pipeline(context: Context, command: str) -> bool:
    """Return True when a command is not a file but may be a class of the project's pipelines."""
    if os.sep in command or not command.isidentifier() or os.path.exists(command):
        return False
    return os.path.isdir(os.path.join(context.config.project_dir, "pipelines"))


def _run(request: JobRequest, context: Context) -> int:
    from dataflow.runjob.session import run_job  # start-up: --help and --dry-run need no process machinery

    failpoints.arm(os.environ.get("DATAFLOW_FAILPOINT", ""))
    context.refuse_missing_store()  # before the lock, which is created beside the store
    try:
        return run_job(request, context)
    finally:
        context.close()


def check_choice(streams: int, drain: bool, dataid: str | None) -> None:
    """Raise UsageError for options that do not fit together."""
    if streams < 1:
        raise UsageError(f"-j {streams}: must be at least 1.")
    if streams > 1 and not drain:
        raise UsageError("-j needs --drain. Add --drain, or leave out -j.")
    if drain and dataid is not None:
        raise UsageError("--dataid and --drain exclude each other: one names a dataid, the other takes all.")


def make_request(args: argparse.Namespace, context: Context, job: str) -> JobRequest:
    """Return what the command line asks for; UsageError if its options do not fit together."""
    check_choice(args.streams, args.drain, args.dataid)
    if not 0 <= args.waiting_exit_code <= 255:
        raise UsageError(f"--waiting-exit-code {args.waiting_exit_code}: must be from 0 to 255.")
    return JobRequest(
        config=context.config,
        environ=os.environ,
        job=job,
        argv=tuple(args.command),
        drain=args.drain,
        streams=args.streams,
        dataid=args.dataid,
        clean_env=args.clean_env,
        lease_seconds=_seconds("--lease", args.lease),
        grace_seconds=_seconds("--grace", args.grace),
        timeout_seconds=_seconds("--timeout", args.timeout, least=0.001),
        kill_command=_kill_argv(args.kill_command),
        waiting_exit_code=args.waiting_exit_code,
        quiet=args.quiet,
    )


def add_option(made: argparse.ArgumentParser, option: str) -> None:
    """Add one of RunJob's options."""
    metavar, text = OPTIONS[option]
    kind: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_true"}
    made.add_argument(option, *OTHER_NAMES.get(option, ()), help=text, **kind, **NUMBERS.get(option, {}))


def _seconds(option: str, text: str | None, least: float = 0.0) -> float | None:
    if text is None:
        return None
    from dataflow.config.durations import parse_option

    seconds = parse_option(option, text)
    if seconds < least:
        raise BadInput(f"{option} {text}: must be at least {least:g} s.")
    return seconds


def _kill_argv(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    import shlex

    from dataflow.runjob.spawn import find_command

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--kill-command {text!r} cannot be parsed: {error}. Close its quotes.") from error
    if not words:
        raise UsageError("--kill-command is empty. Give a command: --kill-command 'yarn application -kill …'")
    return (find_command(words[0], os.environ.get("PATH", os.defpath), os.getcwd()), *words[1:])


def parser(prog: str) -> argparse.ArgumentParser:
    made = Parser(
        prog=prog,
        # start-up: with a width it need not ask the terminal
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=100),
        usage=f"{prog} [options] script [args…]",
        description="Claims the next chunk whose inputs are ready, runs the script or pipeline, and records "
        "the outcome.",
    )
    for option in OPTIONS:
        add_option(made, option)
    made.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return made


if __name__ == "__main__":
    sys.exit(command())
