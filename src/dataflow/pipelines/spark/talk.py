"""Where Spark's own words go: to a log, never to the user's terminal."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

STRUCTURED = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""These are told more than a plain logger takes, so PySpark must make them."""
PLAIN = ("py4j", "pyspark")


@contextmanager
def talking_to(path: str) -> Iterator[None]:
    """The Java process started meanwhile inherits the log as its output, for as long as it lives."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
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
    handler = logging.FileHandler(path, encoding="utf-8")
    loggers: list[logging.Logger] = [PySparkLogger.getLogger(name) for name in STRUCTURED]
    for logger in loggers + [logging.getLogger(name) for name in PLAIN]:
        logger.handlers = [handler]
        logger.propagate = False
