"""Starts Spark's Java. Every user of a machine may read its arguments, so the options do not stand there."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


def start_java(options: Mapping[str, str]) -> None:
    """Starts the Java of this process with these options, unless there is one already.

    Among them must be the master, for which spark-submit may prepare it. PySpark by itself would give all
    options of the first session as arguments.
    """
    from pyspark import SparkContext

    with tempfile.NamedTemporaryFile("w", encoding="ascii", prefix="dataflow-spark-") as file:  # of mode 0600
        file.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in options.items())
        file.flush()
        # Without the first of them the file would stand for the spark-defaults.conf of the machine.
        with _leading_arguments("--load-spark-defaults", "--properties-file", file.name):
            SparkContext._ensure_initialized()


@contextmanager
def _leading_arguments(*arguments: str) -> Iterator[None]:
    """Has spark-submit, started meanwhile, take these arguments before those of the environment."""
    given = os.environ.get(ARGUMENTS)
    os.environ[ARGUMENTS] = f"{shlex.join(arguments)} {given or 'pyspark-shell'}"
    try:
        yield
    finally:
        if given is None:
            del os.environ[ARGUMENTS]
        else:
            os.environ[ARGUMENTS] = given


def _escaped(text: str) -> str:
    """The text as Java's properties files have it: whatever could mean something there as its code."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(chr(unit) if chr(unit).isalnum() and unit < 128 else f"\\u{unit:04x}" for unit in units)
