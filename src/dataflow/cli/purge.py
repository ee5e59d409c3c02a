"""`dataflow purge`: deletes old history, logs, context files and replaced versions."""

from __future__ import annotations

from dataflow.actions.purge import purge, retain
from dataflow.cli.asking import add_yes_option, may_go_on
from dataflow.cli.progress import Progress
from dataflow.config.durations import parse_seconds
from dataflow.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context


def add_parser(subparsers: Any) -> None:
    """Adds `purge`."""
    text = (
        "Deletes ended runs, journal entries, logs and context files older than SPAN; in the lake, versions "
        "replaced longer ago and files that ended runs left. Keeps the last run of each work, and everything "
        "that is published or that a run reads or writes."
    )
    parser = subparsers.add_parser("purge", help="delete old history", description=text)
    parser.add_argument("--older-than", required=True, metavar="SPAN", help="age, such as 90d")
    add_yes_option(parser)
    parser.set_defaults(call=purge_history)


def purge_history(args: argparse.Namespace, context: Context) -> int:
    """Deletes what is old."""
    try:
        seconds = parse_seconds(args.older_than)
    except BadInput as error:
        raise BadInput(f"--older-than: {error}") from error
    question = f"Delete all history, logs and replaced versions in the lake older than {args.older_than}?"
    if not may_go_on(question, args.yes):
        return 1
    config = context.config
    retained = retain(context.store, seconds, config.project_dir, config.log_dir)
    with Progress("runs and journal entries deleted") as progress:
        result = purge(context.store, seconds, config.log_dir, config.context_dir, progress)
    context.say(
        f"Deleted {result.rows:,} runs and journal entries, {result.logs + retained.logs:,} logs and "
        f"{result.contexts:,} context files."
    )
    if retained.versions or retained.folders:
        context.say(
            f"Deleted {retained.versions:,} replaced versions and {retained.folders:,} folders of ended runs."
        )
    return 0
