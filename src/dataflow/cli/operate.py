"""`dataflow resubmit`, `hold`, `release`, `mark` and `cancel`: operators' commands for work and runs."""

from __future__ import annotations

from dataflow.actions.interventions import MARKS, cancel, hold, mark, parse_run_id, release, resubmit
from dataflow.actions.next_commands import run_command, shell
from dataflow.actions.selection import Selection, count_selected, refuse_running
from dataflow.cli.asking import may_go_on
from dataflow.cli.options import finish
from dataflow.cli.progress import Progress
from dataflow.errors import UsageError
from dataflow.model.status import WorkState
from dataflow.model.wording import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.model.records import Plan

ASK_ABOVE = 100
"""Above this many dataids, `resubmit` asks for confirmation."""


def add_parser(subparsers: Any) -> None:
    """Adds the five commands."""
    text = "Resubmits work: the next ordinary run does it again."
    parser = subparsers.add_parser("resubmit", description=text)
    _add_work(parser)
    parser.add_argument("--failed", action="store_true", help="all FAILED work")
    parser.add_argument("--invalid", action="store_true", help="all INVALID work (a check failed)")
    finish(parser, resubmit_work, "from", "to", "why", "yes")
    for word, text in (
        ("hold", "Puts a job, or some of its work, on hold: it is not started. Running work goes on."),
        ("release", "Releases a job, or some of its work, from a hold."),
    ):
        parser = subparsers.add_parser(word, description=text)
        _add_work(parser)
        finish(parser, hold_work, "from", "to", "why")
    parser = subparsers.add_parser("mark", description="Sets the state of work.")
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("dataid", metavar="DATAID")
    parser.add_argument("status", metavar="STATUS", help=", ".join(MARKS))
    finish(parser, mark_work, "why")
    text = "Cancels a run: revokes its work and stops its process."
    parser = subparsers.add_parser("cancel", description=text)
    parser.add_argument("run", metavar="RUN", help="run id, as listed by `dataflow runs`")
    finish(parser, cancel_run, "why")


def _add_work(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("dataids", nargs="*", metavar="DATAID")


def resubmit_work(args: argparse.Namespace, context: Context) -> int:
    """Resubmits the selected work."""
    selection = _selection(args, args.failed, args.invalid)
    if selection is None:
        raise UsageError("no work selected. Give DATAID…, --failed, --invalid, or --from A --to B")
    plan = context.get_plan(args.job)
    refuse_running(context.store, plan, selection)
    count = count_selected(context.store, plan, selection)
    if not count:
        context.say(f"{args.job}: {_nothing_selected(args, context, plan)}")
        return 0
    if count > ASK_ABOVE and not may_go_on(f"Resubmit {count:,} dataids of {args.job}?", args.yes):
        return 1
    with Progress("resubmitted") as progress:
        done = resubmit(context.store, plan, selection, args.why, progress)
    context.say(f"{args.job}: resubmitted {done:,} {plural(done, 'dataid')}. Next: {run_command(plan)}")
    return 0


def _nothing_selected(args: argparse.Namespace, context: Context, plan: Plan) -> str:
    """Why nothing was selected, with a hint at the other kind of ended work: INVALID or FAILED."""
    if not (args.failed or args.invalid):
        return "no such work; nothing changed. See: dataflow status"
    other = Selection(state=WorkState.INVALID if args.failed else WorkState.FAILED)
    nothing = f"nothing is {'FAILED' if args.failed else 'INVALID'}; nothing changed."
    if count := count_selected(context.store, plan, other):
        word, state = ("--invalid", "INVALID") if args.failed else ("--failed", "FAILED")
        are = "is" if count == 1 else "are"
        return f"{nothing} {count:,} {are} {state}: {shell('dataflow', 'resubmit', args.job, word)}"
    return nothing


def hold_work(args: argparse.Namespace, context: Context) -> int:
    """Holds or releases a job or the selected work."""
    on = args.command == "hold"
    selection = _selection(args)
    plan = context.get_plan(args.job)
    count = (hold if on else release)(context.store, plan, selection, args.why)
    done, before = ("Held", "already on hold") if on else ("Released", "not on hold")
    what = f"job {args.job}"
    if selection is not None and count:
        what = f"{count:,} {plural(count, 'dataid')} of {args.job}"
    elif selection is not None:
        what = f"this work of {args.job}"
    context.say(f"{done} {what}." if count else f"{what[0].upper()}{what[1:]} was {before}; nothing changed.")
    return 0


def mark_work(args: argparse.Namespace, context: Context) -> int:
    """Sets the state of one work."""
    plan = context.get_plan(args.job)
    before = mark(context.store, plan, args.dataid, args.status, args.why)
    revoked = " Its run was revoked." if before == WorkState.RUNNING and args.status.upper() != "HOLD" else ""
    context.say(f"Marked {args.job}/{args.dataid} {args.status.upper()} (was {before}).{revoked}")
    return 0


def cancel_run(args: argparse.Namespace, context: Context) -> int:
    """Cancels one run."""
    run = cancel(context.store, parse_run_id(args.run), args.why)
    if run.host == context.config.host:
        notice = "Its process on this host stops within seconds."
    else:
        notice = f"Its process on {run.host} stops when it next renews its lease."
    context.say(f"Cancelled run {run.run_id} of {run.job}/{run.dataid}. {notice}")
    context.say(f"To do it again: dataflow resubmit {run.job} {run.dataid}")
    return 0


def _selection(args: argparse.Namespace, failed: bool = False, invalid: bool = False) -> Selection | None:
    """The work that the command line selects; None if it selects none."""
    has_range = args.first is not None or args.last is not None
    ways = sum([bool(args.dataids), has_range, failed, invalid])
    if ways > 1 or (args.first is None) != (args.last is None):
        raise UsageError("select work in one way: DATAID…, a state, or --from A --to B")
    if args.dataids:
        return Selection(dataids=tuple(args.dataids))
    if failed or invalid:
        return Selection(state=WorkState.FAILED if failed else WorkState.INVALID)
    return Selection(first=args.first, last=args.last) if has_range else None
