"""`dataflow purge`: history, logs and context files older than a span are deleted."""

from __future__ import annotations

from dataflow.actions.purge import purge
from dataflow.cli.asking import add_yes_option, may_go_on
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
        "Deletes ended runs, journal lines, run logs and left-over context files older than a span. The last "
        "run of each work stays, and what is published is not touched."
    )
    parser = subparsers.add_parser("purge", help="delete old history", description=text)
    parser.add_argument("--older-than", required=True, metavar="SPAN", help="such as 90d")
    add_yes_option(parser)
    parser.set_defaults(call=purge_history)


def purge_history(args: argparse.Namespace, context: Context) -> int:
    """Deletes what is old."""
    try:
        seconds = parse_seconds(args.older_than)
    except BadInput as error:
        raise BadInput(f"--older-than: {error}") from error
    if not may_go_on(f"Delete all history and logs older than {args.older_than}?", args.yes):
        return 1
    result = purge(context.store, seconds, context.config.log_dir, context.config.context_dir)
    context.say(
        f"{result.rows:,} runs and journal lines, {result.logs:,} logs and {result.contexts:,} context files "
        "deleted."
    )
    return 0
