"""`dataflow accept` and `invalidate`: decide about results whose inputs changed, and about wrong data."""

from __future__ import annotations

from dataflow.actions.descriptions import describe_wrong_data
from dataflow.actions.interventions import accept
from dataflow.actions.invalidate import WrongData, find_wrong, find_wrong_between, invalidate
from dataflow.actions.next_commands import ready_command, run_command
from dataflow.actions.selection import Selection
from dataflow.cli.asking import may_go_on
from dataflow.cli.chunks import Source
from dataflow.cli.layout import make_columns
from dataflow.cli.options import Commands, add_switches
from dataflow.cli.output import show_object
from dataflow.cli.progress import Progress
from dataflow.cli.tables import show_rows
from dataflow.errors import UsageError
from dataflow.model.record import pick
from dataflow.model.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from dataflow.cli.context import Context

COLUMNS = make_columns(dataset=0, dataid=0, version=1, run_id=2)


def add_parser(commands: Commands) -> None:
    """Adds both commands."""
    commands.add("accept", accept_results, "JOB", "DATAID…", "from", "to", "why")
    parser = commands.add("invalidate", invalidate_chunks, "DATASET", "DATAID…", "from", "to", "why", "yes")
    parser.add_argument("--file", metavar="F", help="file with one dataid per line; - reads stdin")
    add_switches(parser, dry_run="show what is affected; change nothing", json="with --dry-run, print JSON")


def accept_results(args: argparse.Namespace, context: Context) -> None:
    """Keeps STALE results as they are: they are READY again, until the next change of an input."""
    is_range = args.first is not None or args.last is not None
    if bool(args.dataids) == is_range or (args.first is None) != (args.last is None):
        raise UsageError("Give dataids in one way: DATAID…, or --from A --to B.")
    plan = context.get_plan(args.job)
    selection = Selection(tuple(args.dataids), None, args.first or "", args.last or "")
    done = accept(context.store, plan, selection, args.why)
    kept = (
        f"kept the results of {counted(done, 'dataid')}"
        if done
        else "no such result is STALE; nothing changed"
    )
    context.say(f"{args.job}: {kept}.")


def invalidate_chunks(args: argparse.Namespace, context: Context) -> int:
    """Withdraws chunks that were found to be wrong, and has all that was made from them made again."""
    if args.json and not args.dry_run:
        raise UsageError("--json needs --dry-run.")
    with Source(args, context) as source:
        if args.first is not None:
            found = find_wrong_between(context.store, args.dataset, args.first, args.last)
        else:
            found = find_wrong(context.store, args.dataset, source)
    if args.json:
        show_object(describe_wrong_data(found), True)
        return 0
    _show(found, context)
    if args.dry_run:
        return 0
    count = len(found.named)
    them = "it" if count == 1 else "them"
    question = f"Invalidate {counted(count, 'chunk')} of {args.dataset} and redo what was made from {them}?"
    if not may_go_on(question, args.yes):
        return 1
    with Progress("invalidated") as progress:
        changed = invalidate(context.store, found, args.why, progress)
    already = f", {count - changed:,} already" if changed < count else ""
    context.say(f"{args.dataset}: {changed:,} invalidated{already}. {_next(found)}")
    return 0


def _show(found: WrongData, context: Context) -> None:
    show_rows([pick(chunk, *COLUMNS) for chunk in found.chunks], COLUMNS, False)
    made = len(found.chunks) - len(found.named)
    them = "it" if len(found.named) == 1 else "them"
    context.say(
        f"{counted(len(found.named), 'chunk')} of {found.dataset}; {counted(made, 'result')} made from {them}"
        f"{', by ' if found.jobs else ''}{', '.join(found.jobs)}."
    )
    described = describe_wrong_data(found)
    for run in described["running"]:
        context.say(f"Run {run['run_id']} is reading them. Its result will be STALE and made again.")
    if done := len(described["done_without_output"]):
        context.say(f"{counted(done, 'run')} without an output read them. Their work will be done again.")


def _next(found: WrongData) -> str:
    if found.producer is not None:
        return f"Next: {run_command(found.producer)}"
    dataid = found.named[0].dataid
    return f"Once the data is right: {ready_command(found.dataset, dataid)}"
