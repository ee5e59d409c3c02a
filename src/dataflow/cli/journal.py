"""`dataflow journal`: lists every state change with time, person and reason, newest first."""

from __future__ import annotations

from dataflow.cli.chunks import count
from dataflow.cli.layout import PROSE, TIME, Column
from dataflow.cli.output import add_json_option
from dataflow.cli.tables import add_wide_option, show_rows
from dataflow.store.reads import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context

FIELDS = (
    *("journal_id", "at", "actor", "action", "job", "dataset", "dataid", "run_id"),
    *("from_state", "to_state", "items", "why"),
)
COLUMNS = (
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
DEFAULT_LIMIT = 100
TEXT = "Lists every state change with its time, person and reason, newest first."


def add_parser(subparsers: Any) -> None:
    """Adds `journal`."""
    parser = subparsers.add_parser("journal", help="list state changes, newest first", description=TEXT)
    parser.add_argument("--job", metavar="JOB", help="only entries about this job")
    parser.add_argument("--dataset", metavar="DATASET", help="only entries about this dataset")
    parser.add_argument("--dataid", metavar="DATAID", help="only entries about this dataid")
    parser.add_argument("--run", type=count, metavar="RUN", help="only entries about this run")
    parser.add_argument(
        "--limit", type=count, default=DEFAULT_LIMIT, metavar="N", help="at most N entries (default: 100)"
    )
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=journal)


def journal(args: argparse.Namespace, context: Context) -> int:
    """Lists the journal; a removed job or dataset still has its entries."""
    where = {"job": args.job or "", "dataset": args.dataset or "", "dataid": args.dataid or ""}
    found = context.store.read.list_journal(args.limit, run_id=args.run or 0, **where)
    if not found:
        _refuse_unknown(args, context)
    rows = [{name: getattr(line, name) for name in FIELDS} for line in found]
    for row in rows:
        row["at"] = time_text(row["at"])
        row["about"] = row["job"] or row["dataset"]
    empty = "No such journal entries. All of them: dataflow journal"
    show_rows(rows, FIELDS if args.json else COLUMNS, args.json, empty, args.wide)
    return 0


def _refuse_unknown(args: argparse.Namespace, context: Context) -> None:
    if args.job:
        context.get_plan(args.job)
    if args.dataset:
        context.get_dataset(args.dataset)
    if args.run:
        context.get_run(args.run)
