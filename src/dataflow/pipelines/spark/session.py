"""One Spark session per worker, started when first needed, with its output in a separate log."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dataflow.errors import ConfigError, SparkFailed, SparkGone
from dataflow.model.record import record
from dataflow.model.wording import shortened
from dataflow.pipelines.spark.addresses import find_free_port, refuse_unreachable, shown_address
from dataflow.pipelines.spark.session_setup import (
    check_java,
    list_event_options,
    list_network_options,
    list_scratch_options,
    listening_on_loopback,
    quieten,
    start_java,
    talking_to,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUPPORTED = "4.2"
"""The Spark release line this version is tested with."""
CONNECT_PACKAGES = ("grpc", "grpc_status", "zstandard")

PINNED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.variable.substitute": "false",  # "${env:PASSWORD}" in SQL is text
    # Otherwise Spark computes 10 / x before it tests x in: x <> 0 AND 10 / x > 1 AND 10 / x < 5
    "spark.sql.subexpressionElimination.skipForShortcutExpr": "true",
}
"""Settings on which the meaning of our SQL depends; a project cannot change them."""

CAUSE = re.compile(
    r"^(?:Caused by: |: )?(?:dataflow\.errors\.|(?:[\w$]+\.)*"
    r"(?=[\w$]*(?:Error|Exception|Failed|Refused|Rejected): ))([\w$]+): (?!Traceback)(.+)$",
    re.MULTILINE,
)
"""A line of a Python or Java stack trace that says what was raised; the last one is the root cause."""

RAISED = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(?:\w+\.)*(\w+(?:: .+)?)$", re.MULTILINE
)
"""The end of a Python stack trace, whatever the exception is called."""

STARTED_BY = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
"""Set if spark-submit, or the operator of Spark Connect, has chosen the Spark to use."""

DEFAULTS = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.cteRecursionLevelLimit": "10000",
    # The parser's cache grows with every new query, by default until the heap is full.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "10",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
}


@record
class SparkSettings:
    """How to reach Spark, and what its tasks can reach, from dataflow.toml."""

    master: str = "local[*]"
    remote: str = ""
    options: Mapping[str, str] = {}
    shared_files: bool = False  # all machines see the project's folder, under the same path
    copy_on_driver: bool = False  # the tasks cannot reach the databases; this process can

    _hidden = ("remote", "options")

    @property
    def is_local(self) -> bool:
        """True when all tasks run on this machine."""
        return not self.remote and self.master.startswith("local")

    @property
    def place(self) -> str:
        """The address of Spark for messages, without its token."""
        return shown_address(self.remote or self.master)

    def refuse_unshared(self) -> None:
        """Raise ConfigError where tasks on other machines would look for files that are on this one."""
        if not self.is_local and not self.shared_files:
            raise ConfigError(
                f"The tasks of Spark at {self.place} run on other machines, but staging and lake are files "
                "on this one. If all machines see the project's folder under the same path, set "
                "[spark] shared_files = true in dataflow.toml. Otherwise remove the master: local[*] is used."
            )


def start_session(
    settings: SparkSettings, log_path: str, paused: Callable[[], AbstractContextManager[object]] = nullcontext
) -> SparkSession:
    """The worker's session; all output of Spark and its Java goes to the log.

    `paused` keeps other threads from printing while the output of this process goes there, too.
    """
    settings.refuse_unshared()
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ConfigError(
            f"Spark is not installed ({error}). Install it: pip install '.[spark]' in the DataFlow checkout"
        ) from error
    refuse_unreachable(settings.place)
    builder: Any = SparkSession.builder.appName("dataflow")
    if settings.remote:
        _check_connect()
        builder = builder.remote(settings.remote)
    else:
        # This process's own environment: PySpark starts Java with it and nothing else.
        check_java(os.environ)
        # Otherwise the tasks would run under whatever `python3` is first on the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(settings.master)
    try:
        with paused(), talking_to(log_path):
            quieten(log_path)
            options = list_options(settings, log_path)
            if not settings.remote:
                with listening_on_loopback() if settings.is_local else nullcontext():
                    start_java({"spark.master": settings.master} | options)
            session: SparkSession = builder.config(map=options).getOrCreate()
            session.range(1).count()
    except Exception as error:
        raise SparkFailed(f"Spark does not start: {cause_of(error)} Details: {log_path}") from error
    return session


def new_session(session: SparkSession) -> SparkSession:
    """A session beside this one, with its own views, functions and running jobs."""
    if not is_connect(session):
        return session.newSession()
    connect: Any = session
    child = connect.cloneSession()
    child.release_session_on_close = True  # a clone comes without it and could not be closed
    return child  # type: ignore[no-any-return]


def end_session(session: SparkSession) -> None:
    """Release what `new_session` made; the session it was made from continues."""
    if is_connect(session):
        stop_session(session)  # a classic session would end all others with it


def stop_session(session: SparkSession) -> None:
    """End a worker's session; one whose Java is gone has already ended."""
    try:
        session.stop()
    except Exception as error:
        if not is_spark_error(error):
            raise


def is_connect(session: SparkSession) -> bool:
    """True for a Spark Connect session, which has no Java of its own."""
    return not hasattr(session, "newSession")


def find_ui(session: SparkSession) -> str:
    """The address of the Spark UI; empty if there is none."""
    if is_connect(session) or session.conf.get("spark.ui.enabled", "false") != "true":
        return ""
    return f"http://{session.conf.get('spark.driver.host')}:{session.conf.get('spark.ui.port')}"


def find_versions(session: SparkSession) -> tuple[str, str]:
    """The versions of Spark and of the Java it runs on."""
    java = session.sql("select java_method('java.lang.System', 'getProperty', 'java.version')").collect()
    return session.version, str(java[0][0])


def is_authenticated(session: SparkSession) -> bool:
    """True if Spark's processes accept only peers with their secret; unknown for a Connect server."""
    return is_connect(session) or session.conf.get("spark.authenticate", "false") == "true"


def count_slots(session: SparkSession) -> int:
    """Number of tasks that Spark runs in parallel, and of partitions for unpartitioned data."""
    numbers = session.range(0, 10_000).selectExpr("spark_partition_id() as number")
    [row] = numbers.selectExpr("max(number) as last").collect()
    return int(row.last) + 1


def list_options(settings: SparkSettings, log_path: str) -> dict[str, str]:
    """All Spark options: our defaults, overridden by the project's, then the fixed ones."""
    options = DEFAULTS | dict(settings.options) | PINNED
    if settings.remote:
        # The rest is up to whoever starts the server; each would be refused with a warning.
        return {name: value for name, value in options.items() if name.startswith("spark.sql.")}
    if settings.is_local:
        options = list_network_options(settings.master, settings.options) | options
        options = list_scratch_options() | list_event_options(os.path.dirname(log_path)) | options
    if options["spark.ui.enabled"] == "true":
        options.setdefault("spark.ui.port", str(find_free_port()))
    return options


def _check_connect() -> None:
    missing = [name for name in CONNECT_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"Spark Connect needs packages that are not installed: {', '.join(missing)}. Install them: "
            "pip install '.[spark,connect]' in the DataFlow checkout"
        )


def find_session(environ: Mapping[str, str]) -> SparkSession | None:
    """The session of a script, or of the spark-submit that started it; None without either."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    found: SparkSession | None = SparkSession.getActiveSession()
    if found is None and any(environ.get(name) for name in STARTED_BY):
        builder: Any = SparkSession.builder.appName("dataflow")
        found = builder.config(map=PINNED).getOrCreate()
    return found


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn Spark's errors into SparkFailed, with the cause in one sentence; `where` has the details."""
    try:
        yield
    except Exception as error:
        if not is_spark_error(error):
            raise
        kind = SparkGone if _is_java_gone(error) else SparkFailed
        notes = "".join(getattr(error, "__notes__", ()))
        raise kind(f"{notes}Spark failed: {cause_of(error)} Details: {where}") from error


def is_spark_error(error: BaseException) -> bool:
    """True for errors raised by Spark or its Java, and for the end of that Java."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return isinstance(error, (PySparkException, Py4JError)) or _is_java_gone(error)


def _is_java_gone(error: BaseException) -> bool:
    """True for an error of the socket to Java."""
    from py4j.protocol import Py4JNetworkError

    if isinstance(error, OSError):
        return any("py4j" in frame.filename for frame in traceback.extract_tb(error.__traceback__))
    return isinstance(error, Py4JNetworkError)


def cause_of(error: BaseException) -> str:
    """The cause of a Spark failure in one sentence."""
    if _is_java_gone(error):
        return "its Java process is gone, perhaps killed for lack of memory (spark.driver.memory)."
    text = str(error)
    inner = CAUSE.findall(text)
    if inner:
        kind, words = inner[-1]
        return f"{kind}: {shortened(words.strip(), 500)}"
    if raised := RAISED.findall(text):
        return shortened(str(raised[-1]).strip(), 500)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    words = shortened(re.sub(r"\s*SQLSTATE: \w{5};?", "", first), 500).rstrip()
    return words if words.endswith(".") else f"{words}."
