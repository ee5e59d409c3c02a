"""What a Spark session is started with: where its words go, who can reach its ports, its event logs."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dataflow.private_files import make_private_folder, open_with_folder

FOLDER = "spark-events"
KEPT = 20


def list_event_options(log_dir: str) -> dict[str, str]:
    """The settings that have Spark write an event log beside the other logs; old ones are removed."""
    folder = os.path.join(os.path.abspath(log_dir), FOLDER)
    make_private_folder(folder)
    _remove_old(folder)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.compress": "true",
        "spark.eventLog.rolling.enabled": "false",
    }


def _remove_old(folder: str) -> None:
    entries = sorted(os.scandir(folder), key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in entries[KEPT - 1 :]:
        try:
            os.unlink(entry.path)
        except OSError:
            pass  # another worker has removed it, or it is not ours


LOOPBACK = "127.0.0.1"
UI_ADDRESS = "SPARK_LOCAL_IP"
"""The variable of Spark that says where its UI listens; no option does."""


def list_network_options(master: str, given: Mapping[str, str]) -> dict[str, str]:
    """What a local master is told beside the options given: to listen on loopback, and to no stranger.

    For `local[…]` Spark itself makes a new secret, which does not leave its process. Elsewhere it is the
    cluster's secret that counts, and addresses that its executors reach.
    """
    options = {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": given.get("spark.driver.host", LOOPBACK),
        "spark.authenticate": "true",
    }
    if master.startswith("local-cluster"):
        options["spark.authenticate.secret"] = secrets.token_hex(32)
    return options


@contextmanager
def listening_on_loopback() -> Iterator[None]:
    """Has the UI of a Spark that is started meanwhile listen on loopback, unless the variable is set."""
    if os.environ.get(UI_ADDRESS):
        yield
        return
    os.environ[UI_ADDRESS] = LOOPBACK
    try:
        yield
    finally:
        del os.environ[UI_ADDRESS]


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
