"""`dataflow chunks`: lists the chunks of a dataset with their status."""

from __future__ import annotations

import argparse

from dataflow.cli.layout import PROSE, TIME, Column
from dataflow.cli.output import add_json_option
from dataflow.cli.tables import add_wide_option, show_rows
from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.model.status import Status
from dataflow.store.chunk_reads import LAST_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.model.records import ChunkRow, Dataset

COLUMNS = (
    Column("dataset", 5),
    Column("dataid"),
    Column("status"),
    Column("version", 3),
    Column("modified_at", 1, TIME),
    Column("readers", 2, PROSE),
)


def add_parser(subparsers: Any) -> None:
    """Adds `chunks`."""
    parser = subparsers.add_parser(
        "chunks",
        help="list the chunks of a dataset",
        description="Lists the chunks of a dataset with their status.",
    )
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument(
        "--status",
        type=str.upper,
        choices=[status.value for status in Status],
        metavar="STATUS",
        help=f"only chunks with this status: {', '.join(Status)}",
    )
    parser.add_argument("--from", dest="first", metavar="DATAID", help="first dataid to list")
    parser.add_argument("--to", dest="last", metavar="DATAID", help="last dataid to list")
    parser.add_argument("--limit", type=count, default=None, metavar="N", help="at most N chunks")
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=chunks)


def count(text: str) -> int:
    """A positive number, as --limit takes it."""
    if not text.isascii() or not text.isdigit() or int(text) == 0 or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def chunks(args: argparse.Namespace, context: Context) -> int:
    """Lists chunks in order."""
    dataset_id, dataset = context.get_dataset(args.dataset)
    first, last = _bounds(dataset, args.first, args.last)
    found = context.store.read.list_chunks(dataset_id, first, last, args.status or "", args.limit or 1 << 60)
    rows = _records(found, args.json)
    empty = f"No such chunks. Make one ready: dataflow ready {dataset.name} DATAID"
    show_rows(rows, COLUMNS, args.json, empty, args.wide)
    return 0


def _bounds(dataset: Dataset, first: str | None, last: str | None) -> tuple[str, str]:
    low, high = _key(dataset, first), _key(dataset, last)
    if low is not None and high is not None and high < low:
        raise BadInput(f"--to {last} is before --from {first}. Swap them.")
    return low or "", high or LAST_KEY


def _key(dataset: Dataset, dataid: str | None) -> str | None:
    if dataid is None:
        return None
    grain = Grain(dataset.grain)
    return sort_key(canonical_dataid(dataid, grain, dataset.timezone), grain)


def _records(found: Iterable[ChunkRow], as_json: bool) -> Iterator[dict[str, Any]]:
    for chunk in found:
        readers: object = list(chunk.readers)
        if readers and not as_json:
            readers = f"being consumed by run {', '.join(map(str, chunk.readers))}"
        yield {
            "dataset": chunk.dataset,
            "dataid": chunk.dataid,
            "status": chunk.status,
            "version": chunk.version,
            "modified_at": chunk.modified_at,
            "readers": readers,
        }
