"""`dataflow ready` and `dataflow withdraw`: mark chunks as ready, or withdraw them."""

from __future__ import annotations

import sys

from dataflow.actions.make_ready import make_ready, withdraw
from dataflow.cli.operate import add_why_option
from dataflow.cli.progress import Progress
from dataflow.errors import BadInput, UsageError
from dataflow.model.dataid import dataid_range
from dataflow.model.grain import Grain
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any, TextIO

    from dataflow.cli.context import Context


def add_parser(subparsers: Any) -> None:
    """Adds `ready` and `withdraw`."""
    text = "Marks chunks of a dataset as ready, which starts the work that waits for them. Safe to repeat."
    parser = subparsers.add_parser("ready", help="mark chunks as ready", description=text)
    _add_dataids(parser)
    parser.add_argument(
        "--again", action="store_true", help="publish a new version of chunks that are already ready"
    )
    parser.set_defaults(call=ready)
    text = "Withdraws published chunks. Work that has not started waits until they are ready again."
    parser = subparsers.add_parser("withdraw", help="withdraw published chunks", description=text)
    _add_dataids(parser)
    add_why_option(parser)
    parser.set_defaults(call=take_back)


def _add_dataids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("dataids", nargs="*", metavar="DATAID")
    parser.add_argument("--from", dest="first", metavar="A", help="first dataid of a range")
    parser.add_argument("--to", dest="last", metavar="B", help="last dataid of the range, inclusive")
    parser.add_argument("--file", metavar="F", help="file with one dataid per line; - reads stdin")


def ready(args: argparse.Namespace, context: Context) -> int:
    """Marks chunks as ready."""
    source = Source(args, context)
    try:
        with Progress("made ready") as progress:
            result = make_ready(context.store, args.dataset, source, args.again, progress)
    except BadInput as error:
        raise source.locate(error) from error
    already = f", {result.already:,} already ready" if result.already else ""
    context.say(f"{args.dataset}: {result.changed:,} made ready{already}.")
    return 0


def take_back(args: argparse.Namespace, context: Context) -> int:
    """Withdraws chunks."""
    source = Source(args, context)
    try:
        with Progress("withdrawn") as progress:
            changed, others = withdraw(context.store, args.dataset, source, args.why, progress)
    except BadInput as error:
        raise source.locate(error) from error
    rest = f", {others:,} not published" if others else ""
    context.say(f"{args.dataset}: {changed:,} withdrawn{rest}.")
    return 0


class Source:
    """The dataids of a command: arguments, a range, or the lines of a file."""

    def __init__(self, args: argparse.Namespace, context: Context) -> None:
        self._args = args
        self._line = 0
        ways = [bool(args.dataids), args.first is not None or args.last is not None, args.file is not None]
        if sum(ways) != 1 or (args.first is None) != (args.last is None):
            raise UsageError("give dataids in one way: DATAID…, --from A --to B, or --file F")
        _, self._dataset = context.get_dataset(args.dataset)

    def __iter__(self) -> Iterator[str]:
        args = self._args
        if args.file is not None:
            return self._lines(args.file)
        if args.first is not None:
            grain, timezone = Grain(self._dataset.grain), self._dataset.timezone
            return dataid_range(args.first, args.last, grain, timezone)
        return iter(args.dataids)

    def locate(self, error: BadInput) -> BadInput:
        """The error with the file and line that it is about."""
        if not self._line:
            return error
        name = "stdin" if self._args.file == "-" else self._args.file
        return BadInput(f"{name}, line {self._line}: {error}")

    def _lines(self, path: str) -> Iterator[str]:
        with _open(path) as file:
            for line in file:
                self._line += 1
                text = line.rstrip("\r\n")
                if text:
                    yield text
        self._line = 0


def _open(path: str) -> TextIO:
    is_stdin = path == "-"
    try:
        # surrogateescape: a line that is not UTF-8 is refused as a dataid, with its line number.
        return open(
            sys.stdin.fileno() if is_stdin else path,
            encoding="utf-8-sig",
            errors="surrogateescape",
            closefd=not is_stdin,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"Cannot read --file {quoted(path)}: {reason}.") from error
