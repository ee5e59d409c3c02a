"""`dataflow bench`: measures what is promised, each number beside a peer or a floor taken in the same run.

Nothing here is a test: no time makes it fail.
"""

from __future__ import annotations

import argparse

from dataflow.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.cli.bench.place import Address
    from dataflow.cli.context import Context

WORDS = {
    "startup": "startup",
    "drain": "drain",
    "postgres": "pairs",
    "claim": "claim",
    "ready": "ready",
    "ingest": "ingest",
}
"""What can be measured, with the module that does it; in this order."""

FULL_SIZE = 1_000_000
"""Chunks of the large stores; with fewer it is a quick look, not a measurement."""

INGEST_ROWS = 2_000_000
"""Rows that a pipeline ingests, unless --size says otherwise."""


def add_parser(subparsers: Any) -> None:
    """Adds `bench`."""
    text = (
        "Measures what DataFlow promises, each number beside a peer or a floor taken in the same run, one "
        "JSON object on a line. Works in stores of its own; the full run takes some minutes."
    )
    parser = subparsers.add_parser("bench", help="measure claims, drains, ready and ingest", description=text)
    parser.add_argument("words", nargs="*", metavar="WHAT", help=f"{', '.join(WORDS)} (all of them)")
    parser.add_argument(
        "--size",
        type=int,
        metavar="N",
        help="chunks of the large stores (1000000), rows to ingest (2000000)",
    )
    parser.add_argument(
        "--store",
        metavar="URL",
        default=argparse.SUPPRESS,
        help="a PostgreSQL to measure in schemas of its own, instead of a private server",
    )
    parser.set_defaults(call=bench)


def bench(args: argparse.Namespace, context: Context) -> int:
    """Prints a line for each measurement; exits 0 whatever the numbers are."""
    from importlib import import_module

    from dataflow.cli.bench.place import Place  # start-up: `--help` needs no store

    words = _chosen(args.words)
    if args.size is not None and args.size < 1:
        raise UsageError(f"--size {args.size}: at least one chunk is needed.")
    with Place(context.environ, args.size, _given(args.store, context), context.say) as place:
        for word in words:
            for measurement in import_module(f"dataflow.cli.bench.{WORDS[word]}").measure(place):
                print(measurement.to_json(), flush=True)
    return 0


def _chosen(words: list[str]) -> list[str]:
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        raise UsageError(f"{unknown[0]!r} cannot be measured. Known: {', '.join(WORDS)}")
    return [word for word in WORDS if word in words or not words]


def _given(url: str | None, context: Context) -> Address | None:
    from dataflow.cli.bench.place import Address

    if url is None:
        return None
    config = context.config
    if not config.store_url.startswith("postgresql:"):
        raise UsageError("--store names the PostgreSQL to measure; an SQLite store is always made.")
    return Address(config.store_url, password=config.store_password)
