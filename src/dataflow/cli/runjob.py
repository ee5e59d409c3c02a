"""`RunJob [options] script [args…]`, also `dataflow run` and `dataflow force`."""

from __future__ import annotations

import os
import sys

from dataflow import failpoints
from dataflow.cli.context import Context
from dataflow.errors import DataFlowError, UsageError
from dataflow.runjob.request import JobRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dataflow.store.store import Store


def main(argv: Sequence[str] | None = None) -> int:
    """The RunJob command."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        return run_command(argv, "RunJob")
    except DataFlowError as error:
        if os.environ.get("DATAFLOW_DEBUG"):
            raise
        print(f"RunJob: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        # No descriptors, processes or working directory left. Not 1, which would look like the script's own.
        if os.environ.get("DATAFLOW_DEBUG"):
            raise
        print(f"RunJob: {error}", file=sys.stderr)
        return DataFlowError.exit_code
    except KeyboardInterrupt:
        return 130


def run_command(argv: list[str], prog: str = "dataflow run") -> int:
    """Does the next work of a job with a script."""
    args = _parser(prog).parse_args(argv)
    if args.version:
        from dataflow.cli.main import version  # start-up: importlib.metadata is slow

        print(f"RunJob {version()}")
        return 0
    if not args.command:
        raise UsageError(f"Which script? Usage: {prog} [options] script [args…]. More: {prog} --help")
    context = Context(args.store, os.environ, os.getcwd())
    request = _request(args, context, args.job or job_of(args.command[0]))
    if args.dry_run:
        from dataflow.cli.dry_run import show_claim  # start-up: a rare option

        return show_claim(request, context)
    return _run(request, context)


def force_command(argv: list[str]) -> int:
    """Runs a command for a dataid whatever its state."""
    from dataflow.cli.force import parse_force  # start-up: a rare command

    store, job, dataid, command = parse_force(argv)
    context = Context(store, os.environ, os.getcwd())
    return _run(JobRequest(context.config, os.environ, job, command, dataid=dataid, force=True), context)


def job_of(script: str) -> str:
    """The job a script does: its base name without extension."""
    name = os.path.basename(script)
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _run(request: JobRequest, context: Context) -> int:
    from dataflow.runjob.session import run_job  # start-up: --help and --dry-run need no process machinery

    failpoints.arm(os.environ.get("DATAFLOW_FAILPOINT", ""))

    def open_store() -> Store:
        return context.store

    return run_job(request, open_store, context.passphrase)


def _request(args: argparse.Namespace, context: Context, job: str) -> JobRequest:
    if args.streams < 1:
        raise UsageError(f"-j {args.streams}: at least one stream is needed.")
    if args.streams > 1 and not args.drain:
        raise UsageError("-j makes sense only with --drain, which takes one chunk after the other.")
    if args.dataid is not None and args.drain:
        raise UsageError("--dataid names one chunk; --drain takes them all. Give one of the two.")
    kill_command = _kill_argv(args.kill_command)
    return JobRequest(
        config=context.config,
        environ=os.environ,
        job=job,
        argv=tuple(args.command),
        drain=args.drain,
        streams=args.streams,
        dataid=args.dataid,
        clean_env=args.clean_env,
        lease_seconds=_seconds(args.lease),
        grace_seconds=_seconds(args.grace),
        timeout_seconds=_seconds(args.timeout),
        kill_command=kill_command,
        waiting_exit_code=args.waiting_exit_code,
        quiet=args.quiet,
    )


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    from dataflow.config.durations import parse_seconds

    return parse_seconds(text)


def _kill_argv(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    import shlex

    from dataflow.runjob.spawn import find_command

    words = shlex.split(text)
    if not words:
        raise UsageError("--kill-command is empty.")
    return (find_command(words[0], os.environ.get("PATH", os.defpath), os.getcwd()), *words[1:])


def _parser(prog: str) -> argparse.ArgumentParser:
    import argparse

    from dataflow.cli.main import Parser

    parser = Parser(
        prog=prog,
        formatter_class=lambda prog: argparse.HelpFormatter(
            prog, width=100
        ),  # start-up: it need not ask the terminal
        usage=f"{prog} [options] script [args…]",
        description="Claims the next chunk whose inputs are ready, runs the script, and records the outcome.",
    )
    parser.add_argument(
        "--job", metavar="NAME", help="the job (default: the script's name without extension)"
    )
    parser.add_argument("--drain", action="store_true", help="go on until nothing is claimable")
    parser.add_argument(
        "-j", dest="streams", type=int, default=1, metavar="N", help="streams side by side, with --drain"
    )
    parser.add_argument("--dataid", metavar="D", help="this chunk and no other")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be claimed and given; run nothing"
    )
    parser.add_argument(
        "--lease", metavar="TIME", help="how long a claim is good without renewal (default: the job's)"
    )
    parser.add_argument("--grace", metavar="TIME", help="between SIGTERM and SIGKILL (default: the job's)")
    parser.add_argument("--timeout", metavar="TIME", help="end the script after this long (exit 124)")
    parser.add_argument(
        "--kill-command", metavar="CMD", help="ends work that outlives its process, before a retake"
    )
    parser.add_argument("--clean-env", action="store_true", help="do not pass on this environment")
    parser.add_argument(
        "--waiting-exit-code",
        type=int,
        default=0,
        metavar="N",
        help="exit code when there is nothing to do yet",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="say only what needs a look")
    parser.add_argument("--store", metavar="URL", help="sqlite:///path or postgresql://user@host/database")
    parser.add_argument("--version", action="store_true", help="show the version")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
