"""`dataflow resubmit`, `hold`, `release`, `mark` and `cancel`: operators' commands for work and runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from dataflow.actions.interventions import MARKS, cancel, hold, mark, parse_run_id, release, resubmit
from dataflow.actions.next_commands import run_command, shell
from dataflow.actions.selection import Selection, count_selected, refuse_running
from dataflow.cli.asking import may_go_on
from dataflow.cli.context import Context
from dataflow.cli.options import Commands, add_switches
from dataflow.cli.progress import Progress
from dataflow.errors import UsageError
from dataflow.model.records import Plan
from dataflow.model.status import WorkState
from dataflow.model.wording import counted

ASK_ABOVE = 100
"""Above this many dataids, `resubmit` asks for confirmation."""


def add_parser(commands: Commands) -> None:
    """Adds the five commands."""
    work = ("JOB", "DATAID…", "from", "to", "why")
    parser = commands.add("resubmit", resubmit_work, *work, "yes")
    add_switches(parser, failed="all FAILED work", invalid="all INVALID work (a check failed)")
    commands.add("hold", hold_work, *work)
    commands.add("release", release_work, *work)
    parser = commands.add("mark", mark_work, "JOB", "DATAID", "why")
    parser.add_argument("status", metavar="STATUS", help=", ".join(MARKS))
    commands.add("cancel", cancel_run, "RUN", "why")


def resubmit_work(args: argparse.Namespace, context: Context) -> int:
    """Resubmits work: the next ordinary run does it again."""
    selection = _selection(args)
    if selection is None:
        raise UsageError("No work selected. Give DATAID…, --failed, --invalid, or --from A --to B.")
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
    taker = "a worker takes it, or: " if args.job in context.config.commands else ""
    context.say(f"{args.job}: resubmitted {counted(done, 'dataid')}. Next: {taker}{run_command(plan)}")
    return 0


def _nothing_selected(args: argparse.Namespace, context: Context, plan: Plan) -> str:
    """Why nothing was selected, with a hint at the other kind of ended work: INVALID or FAILED."""
    if not (args.failed or args.invalid):
        return "no such work; nothing changed. See: dataflow status"
    state, other = WorkState.FAILED, WorkState.INVALID
    if args.invalid:
        state, other = other, state
    nothing = f"nothing is {state}; nothing changed."
    if count := count_selected(context.store, plan, Selection(state=other)):
        are = "is" if count == 1 else "are"
        command = shell("dataflow", "resubmit", args.job, f"--{other.lower()}")
        return f"{nothing} {count:,} {are} {other}: {command}"
    return nothing


def hold_work(args: argparse.Namespace, context: Context) -> int:
    """Puts a job, or some of its work, on hold: it is not started. Running work continues."""
    return _move_hold(hold, ("Held", "already on hold"), args, context)


def release_work(args: argparse.Namespace, context: Context) -> int:
    """Releases a job, or some of its work, from a hold."""
    return _move_hold(release, ("Released", "not on hold"), args, context)


def _move_hold(
    move: Callable[..., int], words: tuple[str, str], args: argparse.Namespace, context: Context
) -> int:
    selection = _selection(args)
    count = move(context.store, context.get_plan(args.job), selection, args.why)
    done, before = words
    what = f"job {args.job}"
    if selection is not None and count:
        what = f"{counted(count, 'dataid')} of {args.job}"
    elif selection is not None:
        what = f"this work of {args.job}"
    context.say(f"{done} {what}." if count else f"{what[0].upper()}{what[1:]} was {before}; nothing changed.")
    return 0


def mark_work(args: argparse.Namespace, context: Context) -> None:
    """Sets the state of work."""
    plan = context.get_plan(args.job)
    before = mark(context.store, plan, args.dataid, args.status, args.why)
    revoked = " Its run was revoked." if before == WorkState.RUNNING and args.status.upper() != "HOLD" else ""
    context.say(f"Marked {args.job}/{args.dataid} {args.status.upper()} (was {before}).{revoked}")


def cancel_run(args: argparse.Namespace, context: Context) -> None:
    """Cancels a run: revokes its work and stops its process."""
    run = cancel(context.store, parse_run_id(args.run), args.why)
    if run.host == context.config.host:
        notice = "Its process on this host stops within seconds."
    else:
        notice = f"Its process on {run.host} stops when it next renews its lease."
    context.say(f"Cancelled run {run.run_id} of {run.job}/{run.dataid}. {notice}")
    context.say(f"To do it again: dataflow resubmit {run.job} {run.dataid}")


def _selection(args: argparse.Namespace) -> Selection | None:
    """The work that the command line selects; None if it selects none."""
    has_range = args.first is not None or args.last is not None
    states = [state for state in (WorkState.FAILED, WorkState.INVALID) if getattr(args, state.lower(), False)]
    if sum([bool(args.dataids), has_range, len(states)]) > 1:
        others = ", --failed, --invalid" if args.command == "resubmit" else ""
        raise UsageError(f"Select work in one way: DATAID…{others}, or --from A --to B.")
    if has_range and None in (args.first, args.last):
        missing = "--from" if args.first is None else "--to"
        raise UsageError(f"No {missing} given. A range needs both: --from A --to B.")
    if args.dataids:
        return Selection(dataids=tuple(args.dataids))
    if states:
        return Selection(state=states[0])
    return Selection(first=args.first, last=args.last) if has_range else None
