"""`dataflow chunks`, `ready` and `withdraw`: list chunks, mark them as ready, or withdraw them."""

from __future__ import annotations

import sys

from dataflow.actions.chunk_ranges import find_bounds
from dataflow.actions.descriptions import describe_chunk
from dataflow.actions.make_ready import Publication, make_ready, withdraw
from dataflow.actions.names import get_dataset
from dataflow.cli.layout import PROSE, TIME, make_columns
from dataflow.cli.options import Commands, add_choice, add_switches, count
from dataflow.cli.progress import Progress
from dataflow.cli.tables import show_rows
from dataflow.errors import BadInput, FilesFailed, UsageError
from dataflow.model.dataid import dataid_range
from dataflow.model.grain import Grain
from dataflow.model.status import Status
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from typing import Any, TextIO

    from dataflow.cli.context import Context
    from dataflow.model.records import ChunkRow

COLUMNS = (
    *make_columns(dataset=6, dataid=0, status=0, version=4, modified_at=(1, TIME), readers=(2, PROSE)),
    *make_columns(partial=3),
)


def add_parser(commands: Commands) -> None:
    """Adds `chunks`, `ready` and `withdraw`."""
    parser = commands.add("chunks", chunks, "DATASET", "from", "to", "wide", "json")
    add_choice(parser, "status", Status, "only chunks with this status")
    parser.add_argument("--limit", type=count, default=None, metavar="N", help="at most N chunks")
    making = commands.add("ready", ready, "DATASET", "DATAID…", "from", "to", "why")
    add_switches(making, again="publish a new version of chunks that are already ready")
    taking = commands.add("withdraw", take_back, "DATASET", "DATAID…", "from", "to", "why")
    for parser in (making, taking):
        parser.add_argument("--file", metavar="F", help="file with one dataid per line; - reads stdin")


def chunks(args: argparse.Namespace, context: Context) -> None:
    """Lists the chunks of a dataset with their status."""
    dataset_id, dataset = get_dataset(context.store, args.dataset)
    first, last = find_bounds(dataset, args.first, args.last)
    found = context.store.read.list_chunks(dataset_id, first, last, args.status or "", args.limit or 1 << 60)
    rows = _records(found, args.json)
    empty = f"No chunks yet. Make one ready: dataflow ready {dataset.name} DATAID"
    if args.first or args.last or args.status:
        empty = f"No such chunks. List all of them: dataflow chunks {dataset.name}"
    elif dataset.staged:  # `ready` refuses it
        empty = "No chunks yet. The job that produces the dataset publishes them."
    show_rows(rows, COLUMNS, args.json, empty, args.wide)


def _records(found: Iterable[ChunkRow], as_json: bool) -> Iterator[dict[str, Any]]:
    for chunk in found:
        row = describe_chunk(chunk)
        if as_json:
            yield row
            continue
        row["partial"] = f"{chunk.lacked:,} missing" if chunk.lacked else ""
        if chunk.readers:
            row["readers"] = f"being consumed by run {', '.join(map(str, chunk.readers))}"
        yield row


def ready(args: argparse.Namespace, context: Context) -> None:
    """Marks chunks as ready, so that work that waits for them can be claimed. Safe to repeat."""
    with Source(args, context) as source, Progress("made ready") as progress:
        result = make_ready(context.store, args.dataset, source, Publication(args.again, args.why), progress)
    already = f", {result.already:,} already ready" if result.already else ""
    hint = "" if result.changed or not result.already else " To publish a new version: --again"
    context.say(f"{args.dataset}: {result.changed:,} made ready{already}.{hint}")


def take_back(args: argparse.Namespace, context: Context) -> None:
    """Withdraws published chunks. Work that has not started waits until they are ready again."""
    with Source(args, context) as source, Progress("withdrawn") as progress:
        changed, others = withdraw(context.store, args.dataset, source, args.why, progress)
    rest = f", {others:,} not published" if others else ""
    context.say(f"{args.dataset}: {changed:,} withdrawn{rest}.")


class Source:
    """The dataids of a command: arguments, a range, or the lines of a file, which errors name."""

    def __init__(self, args: argparse.Namespace, context: Context) -> None:
        self._args = args
        self._line = 0
        ways = [bool(args.dataids), args.first is not None or args.last is not None, args.file is not None]
        if sum(ways) != 1 or (args.first is None) != (args.last is None):
            raise UsageError("Give dataids in one way: DATAID…, --from A --to B, or --file F.")
        _, self._dataset = get_dataset(context.store, args.dataset)

    def __iter__(self) -> Iterator[str]:
        args = self._args
        if args.file is not None:
            return self._lines(args.file)
        if args.first is not None:
            grain, timezone = Grain(self._dataset.grain), self._dataset.timezone
            return dataid_range(args.first, args.last, grain, timezone)
        return iter(args.dataids)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, BadInput) and self._line:
            name = "stdin" if self._args.file == "-" else self._args.file
            raise BadInput(f"{name}, line {self._line}: {error}") from error

    def _lines(self, path: str) -> Iterator[str]:
        with open_lines(path, "--file") as file:
            for line in file:
                self._line += 1
                text = line.rstrip("\r\n")
                if text:
                    yield text
        self._line = 0


def open_lines(path: str, option: str) -> TextIO:
    """Open a text file, or stdin for `-`; the error names the option if it cannot be read."""
    is_stdin = path == "-"
    try:
        # surrogateescape: a line that is not UTF-8 is refused as a dataid, with its line number.
        return open(
            sys.stdin.fileno() if is_stdin else path,
            encoding="utf-8-sig",
            errors="surrogateescape",
            closefd=not is_stdin,
        )
    except OSError as error:
        raise FilesFailed(f"Cannot read {option} {quoted(path)}: {error.strerror}.") from error
    except ValueError as error:
        raise BadInput(f"Cannot read {option} {quoted(path)}: {error}.") from error
