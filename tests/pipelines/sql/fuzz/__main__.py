"""Runs random queries on PostgreSQL and Spark until the time is up: `make fuzz`."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.pipelines.conftest import start_spark
from tests.pipelines.sql.both import Both
from tests.pipelines.sql.fuzz.fuzzing import generate_queries, judge, make_both
from tests.postgres import PostgresServer


def main() -> int:
    """Print every difference as it is found, then the counts; return 1 if anything differed."""
    given = _read_arguments()
    counts: Counter[str] = Counter()
    with _both_databases() as both:
        started = time.monotonic()
        for query in generate_queries(given.seed):
            if time.monotonic() - started > given.seconds:
                break
            verdict = judge(both, query)
            counts[verdict.word] += 1
            if verdict.word == "different":
                print(verdict, flush=True)
            if counts.total() % 500 == 0:
                print(_summary(counts, given.seed, time.monotonic() - started), file=sys.stderr, flush=True)
    print(_summary(counts, given.seed, time.monotonic() - started))
    return 1 if counts["different"] else 0


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.pipelines.sql.fuzz", description=main.__doc__)
    parser.add_argument("seconds", type=float, help="how long to go on")
    parser.add_argument("seed", type=int, help="which queries: the same seed gives the same ones")
    return parser.parse_args()


@contextmanager
def _both_databases() -> Iterator[Both]:
    with PostgresServer.create() as server, tempfile.TemporaryDirectory() as folder:
        spark = start_spark(threads=1)
        # Errors are expected and compared, so Spark and PySpark need not log them.
        spark.sparkContext.setLogLevel("OFF")
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        try:
            with closing(make_both(server.url(), spark, Path(folder))) as both:
                yield both
        finally:
            spark.stop()


def _summary(counts: Counter[str], seed: int, seconds: float) -> str:
    listed = ", ".join(
        f"{counts[word]} {word}" for word in ("same", "refused", "limit", "error", "different")
    )
    return f"seed {seed}, {seconds:.0f} s, queries: {counts.total()} ({listed})"


if __name__ == "__main__":
    sys.exit(main())
