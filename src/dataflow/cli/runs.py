"""`dataflow runs`, `logs` and `journal`: what has happened, newest first."""

from __future__ import annotations

import os
import sys
import time

from dataflow.actions.descriptions import describe_line, describe_run, find_loss
from dataflow.actions.interventions import parse_run_id
from dataflow.actions.names import find_plan, get_dataset, get_run
from dataflow.actions.run_log import explain_silence, get_log_path, is_writing
from dataflow.cli.layout import PROSE, SPAN, TIME, WORDS, Column
from dataflow.cli.options import Commands, add_choice, count
from dataflow.cli.tables import show_rows
from dataflow.model.job_dataid import job_dataid
from dataflow.model.status import RunOutcome
from dataflow.model.wording import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.model.records import RunRow

COLUMNS = (
    Column("run_id"),
    Column("job"),
    Column("dataid"),
    Column("attempt", 6),
    Column("outcome", 0, WORDS),
    Column("exit_code", 4),
    Column("host", 5),
    Column("started_at", 1, TIME),
    Column("ended_at", full=True),
    Column("took", 3, SPAN, extra=True),
    Column("reason", 2, PROSE),
)
JOURNAL_COLUMNS = (
    Column("at", 1, TIME),
    Column("actor", 4),
    Column("action"),
    Column("job", full=True),
    Column("dataset", full=True),
    Column("about", extra=True),
    Column("dataid"),
    Column("run_id", 5),
    Column("from_state", 6),
    Column("to_state", 3),
    Column("items", 7),
    Column("why", 2, PROSE),
)
POLL_SECONDS = 0.2
BLOCK_BYTES = 1 << 16


def add_parser(commands: Commands) -> None:
    """Adds `runs`, `logs` and `journal`."""
    parser = commands.add("runs", runs, "job", "dataid", "wide", "json")
    add_choice(parser, "outcome", RunOutcome, "only runs with this outcome")
    parser.add_argument("--limit", type=count, default=50, metavar="N", help="at most N runs (default: 50)")
    parser = commands.add("logs", logs, "RUN")
    parser.add_argument("-f", "--follow", action="store_true", help="follow the log until the run ends")
    parser = commands.add("journal", journal, "job", "dataset", "dataid", "wide", "json")
    parser.add_argument("--run", type=count, metavar="RUN", help="only of this run")
    help_text = "at most N entries (default: 100)"
    parser.add_argument("--limit", type=count, default=100, metavar="N", help=help_text)


def runs(args: argparse.Namespace, context: Context) -> None:
    """Lists runs, newest first, with their outcome."""
    dataid = args.dataid or ""
    plan = find_plan(context.store, args.job) if args.job else None
    if plan and dataid:
        dataid = job_dataid(dataid, plan)
    found = context.store.read.list_runs(args.limit, args.job or "", dataid, args.outcome or "")
    if args.job and not plan and not found:
        context.get_plan(args.job)  # a removed job would still have its runs: the name is unknown
    rows = [describe(run, context, args.json) for run in found]
    show_rows(rows, COLUMNS, args.json, "No such runs. Start one: RunJob SCRIPT", args.wide)
    if not args.json and len(rows) == args.limit:
        context.say(
            f"Showing the newest {plural(args.limit, 'run', f'{args.limit} runs')}. "
            f"To see more: dataflow runs --limit {args.limit * 10}"
        )


def describe(run: RunRow, context: Context, as_json: bool) -> dict[str, Any]:
    """A run for display; JSON keeps the stored outcome and adds `process_gone`."""
    lost = find_loss(run, context.config.host, context.is_gone)
    record = describe_run(run, lost)
    if lost and not as_json:
        record["outcome"] = f"{run.outcome} ({lost})"
    return record | {"took": _seconds_taken(run)}


def _seconds_taken(run: RunRow) -> float | None:
    from datetime import datetime  # start-up: only this command computes with times

    if not run.ended_at:
        return None
    return (datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)).total_seconds()


def logs(args: argparse.Namespace, context: Context) -> None:
    """Shows the log of a run, byte for byte. The log is on the machine where the run was."""
    run = get_run(context.store, parse_run_id(args.run))
    path = get_log_path(context.config, run.run_id)
    pieces = follow(path, lambda: args.follow and is_writing(get_run(context.store, run.run_id)))
    size = 0
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        size += len(piece)
    if not size:
        context.say(explain_silence(get_run(context.store, run.run_id), path, context.config.host))


def follow(path: str, is_running: Callable[[], bool]) -> Iterator[bytes]:
    """The log as it grows, while the run goes on and until all of it is read; nothing if there is none."""
    while not os.path.exists(path) and is_running():
        time.sleep(POLL_SECONDS)
    if not os.path.exists(path):
        return
    with open(path, "rb") as log:
        running = True
        while running:
            # Asked before reading, so that the last lines are read in this turn.
            running = is_running()
            while piece := log.read(BLOCK_BYTES):
                yield piece
            if running:
                time.sleep(POLL_SECONDS)


def journal(args: argparse.Namespace, context: Context) -> None:
    """Lists every state change with its time, person and reason, newest first."""
    where = {"job": args.job or "", "dataset": args.dataset or "", "dataid": args.dataid or ""}
    found = context.store.read.list_journal(args.limit, run_id=args.run or 0, **where)
    if not found:  # a removed job or dataset still has its entries
        _refuse_unknown(args, context)
    rows = [describe_line(line) | {"about": line.job or line.dataset} for line in found]
    empty = "No such journal entries. All of them: dataflow journal"
    show_rows(rows, JOURNAL_COLUMNS, args.json, empty, args.wide)


def _refuse_unknown(args: argparse.Namespace, context: Context) -> None:
    if args.job:
        context.get_plan(args.job)
    if args.dataset:
        get_dataset(context.store, args.dataset)
    if args.run:
        get_run(context.store, args.run)
