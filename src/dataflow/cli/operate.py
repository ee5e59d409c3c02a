"""`dataflow resubmit`, `hold`, `release`, `mark` and `cancel`: an operator's moves on work and runs."""

from __future__ import annotations

import argparse

from dataflow.actions.cancel import cancel, parse_run_id
from dataflow.actions.dataset_rules import check_text
from dataflow.actions.hold import hold, release
from dataflow.actions.mark import MARKS, mark
from dataflow.actions.next_commands import runner, shell
from dataflow.actions.resubmit import resubmit
from dataflow.actions.selection import Selection, count_selected, refuse_running
from dataflow.cli.asking import add_yes_option, may_go_on
from dataflow.cli.progress import Progress
from dataflow.errors import BadInput, UsageError
from dataflow.model.status import WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.model.records import Plan

ASK_ABOVE = 100
"""How much work may be resubmitted without a question."""


def add_parser(subparsers: Any) -> None:
    """Adds the five words."""
    parser = subparsers.add_parser("resubmit", description="Has work done again by the ordinary command.")
    _add_work(parser)
    parser.add_argument("--failed", action="store_true", help="all that failed")
    parser.add_argument("--invalid", action="store_true", help="all whose checks said no")
    add_yes_option(parser)
    parser.set_defaults(call=resubmit_work)
    for word, text in (
        ("hold", "Blocks claims of a job, or of some of its work; what runs goes on."),
        ("release", "Takes a hold away from a job itself, or from some of its work."),
    ):
        parser = subparsers.add_parser(word, description=text)
        _add_work(parser)
        parser.set_defaults(call=hold_work)
    parser = subparsers.add_parser("mark", description="Says by hand how a piece of work stands.")
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("dataid", metavar="DATAID")
    parser.add_argument("status", metavar="STATUS", help=", ".join(MARKS))
    add_why_option(parser)
    parser.set_defaults(call=mark_work)
    parser = subparsers.add_parser("cancel", description="Takes a run's work away; its process is ended.")
    parser.add_argument("run", metavar="RUN", help="its number, as `dataflow runs` shows it")
    add_why_option(parser)
    parser.set_defaults(call=cancel_run)


def add_why_option(parser: argparse.ArgumentParser) -> None:
    """Gives a command its --why."""
    parser.add_argument("--why", type=_plain_text, default="", metavar="TEXT", help="kept in the journal")


def _plain_text(text: str) -> str:
    try:
        check_text("it", text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _add_work(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("dataids", nargs="*", metavar="DATAID")
    parser.add_argument("--from", dest="first", metavar="A", help="all work from this dataid")
    parser.add_argument("--to", dest="last", metavar="B", help="to this one, included")
    add_why_option(parser)


def resubmit_work(args: argparse.Namespace, context: Context) -> int:
    """Resubmits the work that is meant."""
    selection = _selection(args, args.failed, args.invalid)
    if selection is None:
        raise UsageError("say which work: DATAID…, --failed, --invalid, or --from A --to B")
    plan = context.get_plan(args.job)
    refuse_running(context.store, plan, selection)
    count = count_selected(context.store, plan, selection)
    if not count:
        context.say(f"{args.job}: there is no such work. {_other_end(args, context, plan)}")
        return 0
    if count > ASK_ABOVE and not may_go_on(f"Have {count:,} chunks of {args.job} done again?", args.yes):
        return 1
    with Progress("resubmitted") as progress:
        done = resubmit(context.store, plan, selection, args.why, progress)
    they = "It is" if done == 1 else "They are"
    context.say(f"{args.job}: {done:,} resubmitted. {they} done again by {_ordinary(plan)}.")
    return 0


def _other_end(args: argparse.Namespace, context: Context, plan: Plan) -> str:
    """Where work that ended badly is found: what failed its checks is INVALID, the rest FAILED."""
    other = Selection(state=WorkState.INVALID if args.failed else WorkState.FAILED)
    if (args.failed or args.invalid) and (count := count_selected(context.store, plan, other)):
        word, state = ("--invalid", "INVALID") if args.failed else ("--failed", "FAILED")
        are = "is" if count == 1 else "are"
        return f"But {count:,} {are} {state}: {shell('dataflow', 'resubmit', args.job, word)}"
    return "See: dataflow status"


def _ordinary(plan: Plan) -> str:
    return runner(plan) if plan.is_pipeline else "the ordinary RunJob"


def hold_work(args: argparse.Namespace, context: Context) -> int:
    """Holds or releases a job or the work that is meant."""
    on = args.command == "hold"
    selection = _selection(args)
    plan = context.get_plan(args.job)
    count = (hold if on else release)(context.store, plan, selection, args.why)
    what, state = ("held", "already held") if on else ("released", "not held")
    if selection is None:
        context.say(f"Job {args.job} is {what}." if count else f"Job {args.job} was {state}.")
    else:
        context.say(f"{args.job}: {count:,} {what}." if count else f"{args.job}: all of it was {state}.")
    return 0


def mark_work(args: argparse.Namespace, context: Context) -> int:
    """Marks one work."""
    plan = context.get_plan(args.job)
    before = mark(context.store, plan, args.dataid, args.status, args.why)
    revoked = " Its run has lost it." if before == WorkState.RUNNING and args.status.upper() != "HOLD" else ""
    context.say(f"{args.job}/{args.dataid} was {before} and is marked {args.status.upper()}.{revoked}")
    return 0


def cancel_run(args: argparse.Namespace, context: Context) -> int:
    """Cancels one run."""
    run = cancel(context.store, parse_run_id(args.run), args.why)
    if run.host == context.config.host:
        notice = "Its process, on this host, notices within seconds and ends its children."
    else:
        notice = f"Its process, on {run.host}, notices when it next renews its lease and ends its children."
    context.say(f"Run {run.run_id} of {run.job}/{run.dataid} is cancelled. {notice}")
    context.say(f"To have it done again: dataflow resubmit {run.job} {run.dataid}")
    return 0


def _selection(args: argparse.Namespace, failed: bool = False, invalid: bool = False) -> Selection | None:
    """What the command line names; None for no part of the work at all."""
    has_range = args.first is not None or args.last is not None
    ways = sum([bool(args.dataids), has_range, failed, invalid])
    if ways > 1 or (args.first is None) != (args.last is None):
        raise UsageError("name the work in one way: DATAID…, or a state, or --from A --to B")
    if args.dataids:
        return Selection(dataids=tuple(args.dataids))
    if failed or invalid:
        return Selection(state=WorkState.FAILED if failed else WorkState.INVALID)
    return Selection(first=args.first, last=args.last) if has_range else None
