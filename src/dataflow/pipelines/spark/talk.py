"""Where Spark's own words go: to a log, never to the user's terminal."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from dataflow.private_files import open_with_folder

STRUCTURED = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""These are told more than a plain logger takes, so PySpark must make them."""
PLAIN = ("py4j", "pyspark")


@contextmanager
def talking_to(path: str) -> Iterator[None]:
    """The Java process started meanwhile inherits the log as its output, for as long as it lives."""
    log = open_with_folder(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(fd) for fd in (1, 2)]
    try:
        for fd in (1, 2):
            os.dup2(log, fd)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, saved in zip((1, 2), kept, strict=True):
            os.dup2(saved, fd)
            os.close(saved)
        os.close(log)


def quieten(path: str) -> None:
    """What PySpark's own Python code would print goes to the log, too."""
    from pyspark.logger import PySparkLogger

    warnings.filterwarnings("ignore", module="pyspark")
    log = open(path, "a", encoding="utf-8", opener=open_with_folder)  # noqa: SIM115, until this process ends
    handler = logging.StreamHandler(log)
    loggers: list[logging.Logger] = [PySparkLogger.getLogger(name) for name in STRUCTURED]
    for logger in loggers + [logging.getLogger(name) for name in PLAIN]:
        logger.handlers = [handler]
        logger.propagate = False
