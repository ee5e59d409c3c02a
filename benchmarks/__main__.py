"""`make bench`: prints one JSON object per measurement. Not a test: no number makes it fail."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from benchmarks.place import FULL_SIZE, INGEST_ROWS, Address, Place
from dataflow.errors import DataFlowError, UsageError

MODULES = {
    "startup": "startup",
    "drain": "drain",
    "postgres": "pairs",
    "claim": "claim",
    "ready": "ready",
    "publish": "publish",
    "registry": "registry",
    "history": "history",
    "grid": "grid",
    "page": "page",
    "migration": "migration",
    "ingest": "ingest",
    "worker": "worker",
}
"""What can be measured, in this order, and the module that measures it."""


def main() -> int:
    """Prints a line for each measurement; exits 0 whatever the numbers are."""
    given = _parse_arguments()
    try:
        words = _choose(given.words)
        if given.size is not None and given.size < 1:
            raise UsageError(f"--size {given.size}: must be at least 1.")
        with Place(os.environ, given.size, _read_store(given.store), _say) as place:
            for word in words:
                for measurement in import_module(f"benchmarks.{MODULES[word]}").measure(place):
                    print(measurement.to_json(), flush=True)
    except DataFlowError as error:
        _say(f"benchmarks: {error}")
        return error.exit_code
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures DataFlow against a peer or a floor in the same run. Prints one JSON object per "
        "line. Uses stores of its own. A full run takes some minutes.",
    )
    parser.add_argument("words", nargs="*", metavar="WHAT", help=f"{', '.join(MODULES)} (default: all)")
    parser.add_argument(
        "--size",
        type=int,
        metavar="N",
        help=f"chunks in large stores (default: {FULL_SIZE}) and rows to ingest (default: {INGEST_ROWS})",
    )
    parser.add_argument(
        "--store",
        metavar="URL",
        help="PostgreSQL server to measure, in schemas of its own (default: start a private server)",
    )
    return parser.parse_args()


def _choose(words: list[str]) -> list[str]:
    unknown = [word for word in words if word not in MODULES]
    if unknown:
        raise UsageError(f"unknown measurement {unknown[0]!r}. Known: {', '.join(MODULES)}")
    return [word for word in MODULES if word in words or not words]


def _read_store(url: str | None) -> Address | None:
    if url is not None and not url.startswith("postgresql:"):
        raise UsageError("--store must be a postgresql:// URL. An SQLite store is always created.")
    return Address(url) if url else None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
