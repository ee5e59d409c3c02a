"""Runs random queries on PostgreSQL and Spark, and compares the results.

To run it for as long as you like: `make fuzz SECONDS=600 SEED=1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psycopg
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dataflow.errors import BadInput
from dataflow.model.record import record
from tests.pipelines.sql.both import Answer, Both
from tests.pipelines.sql.fuzz.queries import Queries
from tests.pipelines.sql.fuzz.tables import make_tables

LIMITS = (
    "digits after the point",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "translated SQL is longer",
    "cannot hold a numeric",
)
"""Errors that Spark raises at run time because of the limits in docs/sql.md."""

# Compiling a query to Java takes longer than reading tables this small.
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@record
class Verdict:
    """The result for one query: same, refused, limit, error (in both) or different, and what differs."""

    query: str
    word: str
    details: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.query}\n  {self.details}"


def make_both(url: str, spark: SparkSession, folder: Path) -> Both:
    """Create the fuzzer's tables in an empty PostgreSQL database and in a separate Spark session."""
    both = Both(url, spark, folder, make_tables())
    for name, value in _INTERPRETED.items():
        both.spark.conf.set(name, value)
    return both


def generate_queries(seed: int) -> Iterator[str]:
    """Generate queries forever; the same for the same seed."""
    queries = Queries(seed)
    while True:
        yield queries.make()


def list_queries(seed: int, count: int) -> list[str]:
    """The first queries of a seed."""
    return list(islice(generate_queries(seed), count))


def judge(both: Both, query: str) -> Verdict:
    """Run the query on both, and compare the names, types and values of all columns."""
    theirs = _ask_postgres(both, query)
    try:
        ours: Answer | str = both.ask_spark(query)
    except BadInput as error:
        return Verdict(query, "refused", str(error))
    except (PySparkException, Py4JError) as error:
        ours = _cause(str(error))
    if isinstance(theirs, str):
        # PostgreSQL may skip values that nothing needs, so an error in a value (classes 21 and 22) may occur
        # on one side only. SQL that PostgreSQL cannot parse must be refused here too.
        word = "error" if isinstance(ours, str) or theirs.startswith(("22", "21")) else "different"
        return Verdict(query, word, f"PostgreSQL: {theirs}; Spark: {_short(ours)}")
    if isinstance(ours, str):
        word = "limit" if any(each in ours for each in LIMITS) else "different"
        return Verdict(query, word, f"Spark: {ours}")
    details = _find_difference(query, theirs, ours)
    return Verdict(query, "different" if details else "same", details)


def _find_difference(query: str, theirs: Answer, ours: Answer) -> str:
    if theirs.columns != ours.columns:
        pairs = zip(theirs.columns, ours.columns, strict=False)
        return f"columns: {'; '.join(f'{one} / {other}' for one, other in pairs if one != other)}"
    one, other = theirs.rows, ours.rows
    if not re.search(r"order by [^()]*$", query):
        one, other = sorted(one, key=repr), sorted(other, key=repr)
    if one == other:
        return ""
    rows = [f"{left} / {right}" for left, right in zip(one, other, strict=False) if left != right][:2]
    return f"PostgreSQL / Spark: {len(one)} / {len(other)} rows; {'; '.join(rows)}"


def _ask_postgres(both: Both, query: str) -> Answer | str:
    try:
        return both.ask_postgres(query)
    except psycopg.Error as error:
        return f"{error.sqlstate} {str(error).splitlines()[0]}"


def _short(answer: Answer | str) -> str:
    return answer if isinstance(answer, str) else f"{len(answer.rows)} rows"


def _cause(text: str) -> str:
    """The line of an error that says what went wrong."""
    found = re.findall(r"(?:[A-Za-z]*Error|[A-Za-z]*Exception): .*$", text, re.MULTILINE)
    return (found[-1] if found else text.splitlines()[0])[:300]
