"""`dataflow journal`: every move with when, who, from, to and why, newest first."""

from __future__ import annotations

from dataflow.cli.chunks import count
from dataflow.cli.output import add_json_option, show_rows
from dataflow.store.reading import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from dataflow.cli.context import Context

FIELDS = (
    *("journal_id", "at", "actor", "action", "job", "dataset", "dataid", "run_id"),
    *("from_state", "to_state", "items", "why"),
)
DEFAULT_LIMIT = 100


def add_parser(subparsers: Any) -> None:
    """Adds `journal`."""
    parser = subparsers.add_parser("journal", help="every move, newest first", description=__doc__)
    parser.add_argument("--job", metavar="JOB")
    parser.add_argument("--dataset", metavar="DATASET")
    parser.add_argument("--dataid", metavar="DATAID")
    parser.add_argument("--run", type=count, metavar="RUN")
    parser.add_argument(
        "--limit", type=count, default=DEFAULT_LIMIT, metavar="N", help="at most N lines (100)"
    )
    add_json_option(parser)
    parser.set_defaults(call=journal)


def journal(args: argparse.Namespace, context: Context) -> int:
    """Lists the journal. Names are not checked: the journal outlives the things it is about."""
    where = {"job": args.job or "", "dataset": args.dataset or "", "dataid": args.dataid or ""}
    found = context.store.rows("reading.journal", most=args.limit, run_id=args.run or 0, **where)
    rows = [dict(zip(FIELDS, row, strict=True)) for row in found]
    for row in rows:
        row["at"] = time_text(row["at"])
    columns = FIELDS if args.json else FIELDS[1:]
    show_rows(rows, columns, args.json, "The journal has no such line. All of it: dataflow journal")
    return 0
