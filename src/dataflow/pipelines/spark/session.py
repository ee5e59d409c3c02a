"""One Spark session for a worker, started when first needed, with all its talk in a log of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dataflow.errors import ConfigError, DataFlowError
from dataflow.model.record import record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUPPORTED = "4.2"
"""The line of Spark this version is tested with."""
OLDEST_JAVA = 17

PINNED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""What the meaning of our SQL rests on; a project cannot change it."""

DEFAULTS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
}


class SparkFailed(DataFlowError):
    """Spark failed; the message is its cause in one sentence, the log has the rest."""

    code = "spark"


@record
class SparkSettings:
    """How to reach Spark, from dataflow.toml."""

    master: str = "local[*]"
    remote: str = ""
    options: Mapping[str, str] = {}

    @property
    def is_local(self) -> bool:
        """True when all tasks run on this machine."""
        return not self.remote and self.master.startswith("local")


def start_session(settings: SparkSettings, log_path: str) -> SparkSession:
    """The worker's session; whatever Spark and its Java say goes to the log."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ConfigError(
            f"Spark is not installed ({error}). Install it: pip install 'dataflow-runjob[spark]'"
        ) from error
    builder: Any = SparkSession.builder.appName("dataflow")
    if settings.remote:
        builder = builder.remote(settings.remote)
    else:
        check_java(os.environ)
        # Without it the tasks would run under whatever `python3` is first on the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(settings.master)
    for name, value in (DEFAULTS | dict(settings.options) | PINNED).items():
        builder = builder.config(name, value)
    try:
        with _talking_to(log_path):
            session: SparkSession = builder.getOrCreate()
            session.range(1).count()
        _quieten(log_path)
    except Exception as error:
        raise SparkFailed(f"Spark does not start: {cause_of(error)} The rest: {log_path}") from error
    return session


def check_java(environ: Mapping[str, str]) -> None:
    """Raises ConfigError with what to install when Java is missing or too old."""
    home = environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environ.get("PATH"))
    how = (
        f"Spark needs Java {OLDEST_JAVA} or newer. Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
        "then set JAVA_HOME if it is not the first on the PATH."
    )
    if not java or not os.access(java, os.X_OK):
        raise ConfigError(f"There is no Java{f' at JAVA_HOME={home}' if home else ' on the PATH'}. {how}")
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if found is None:
        raise ConfigError(f"{java} does not tell its version. {how}")
    if int(found[1]) < OLDEST_JAVA:
        raise ConfigError(f"{java} is Java {found[1]}. {how}")


@contextmanager
def explained(log_path: str) -> Iterator[None]:
    """Errors of Spark become SparkFailed, with the cause in one sentence and where the rest is."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"Spark failed: {cause_of(error)} The rest: {log_path}") from error


def cause_of(error: BaseException) -> str:
    """The cause of a Spark failure in one sentence."""
    text = str(error)
    inner = re.findall(
        r"^(?:\w+\.)*(\w+(?:Error|Exception|Failed|Refused|Rejected)): (.+)$", text, re.MULTILINE
    )
    if inner:
        kind, words = inner[-1]
        return f"{kind}: {words.strip()[:500]}"
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return first[:500]


def _quieten(log_path: str) -> None:
    """What PySpark's own Python code would print about failed queries goes to the log, too."""
    import logging
    import warnings

    warnings.filterwarnings("ignore", module="pyspark")
    handler = logging.FileHandler(log_path, encoding="utf-8")
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j", "pyspark"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False


@contextmanager
def _talking_to(path: str) -> Iterator[None]:
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
        for fd, saved in zip((1, 2), kept, strict=True):
            os.dup2(saved, fd)
            os.close(saved)
        os.close(log)
