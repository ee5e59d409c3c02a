"""Start-up of a Spark session: its Java, its output, event logs and scratch files; who reaches its ports.

Every user of a machine can read the arguments of a process, so options are not passed there.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from dataflow.errors import ConfigError
from dataflow.private_files import make_private_folder, open_with_folder, remove_file

FOLDER = "spark-events"
KEPT = 20
ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
OLDEST_JAVA = 17
HOW = (
    f"Spark needs Java {OLDEST_JAVA} or newer. Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "then set JAVA_HOME if it is not the first on the PATH."
)


def check_java(environ: Mapping[str, str]) -> str:
    """The version of the Java that Spark would use; ConfigError with installation advice if unsuitable."""
    home = environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environ.get("PATH"))
    if not java or not os.access(java, os.X_OK):
        raise ConfigError(f"No Java found{f' at JAVA_HOME={home}' if home else ' on the PATH'}. {HOW}")
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(f"{java} cannot be started: {error.strerror}. {HOW}") from error
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', done.stderr + done.stdout)
    if found is None:
        raise ConfigError(f"{java} does not report its version. {HOW}")
    if int(found[2]) < OLDEST_JAVA:
        raise ConfigError(f"{java} is Java {found[2]}. {HOW}")
    return found[1]


def list_event_options(log_dir: str) -> dict[str, str]:
    """Settings that make Spark write an event log beside the other logs; deletes old ones."""
    folder = os.path.join(os.path.abspath(log_dir), FOLDER)
    make_private_folder(folder)
    entries = sorted(os.scandir(folder), key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in entries[KEPT - 1 :]:
        remove_file(entry.path)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.compress": "true",
        "spark.eventLog.rolling.enabled": "false",
    }


LOOPBACK = "127.0.0.1"
UI_ADDRESS = "SPARK_LOCAL_IP"
"""The Spark variable that sets where its UI listens; no option does."""


def list_network_options(master: str, given: Mapping[str, str]) -> dict[str, str]:
    """Extra settings for a local master: listen on loopback only, and authenticate peers.

    For `local[…]` Spark generates a new secret that does not leave its process. Elsewhere the
    cluster's secret counts, and addresses that its executors can reach.
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
def environment(name: str, value: str) -> Iterator[None]:
    """Set a variable for the processes started meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def start_java(options: Mapping[str, str]) -> None:
    """Start the Java of this process with these options, unless one is running.

    They must include the master, for which spark-submit may prepare it. PySpark by itself would pass all
    options of the first session as arguments.
    """
    from pyspark import SparkContext

    # In memory, and gone with this process: a file would stay, with the secrets in it, when it is killed.
    with os.fdopen(os.memfd_create("spark-options"), "w", encoding="ascii") as file:
        file.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in options.items())
        file.flush()
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}"  # only this user's processes can open it
        # Before those of the environment; without the first, the file would replace spark-defaults.conf.
        ours = shlex.join(["--load-spark-defaults", "--properties-file", path])
        with environment(ARGUMENTS, f"{ours} {os.environ.get(ARGUMENTS) or 'pyspark-shell'}"):
            SparkContext._ensure_initialized()


def _escaped(text: str) -> str:
    """The text escaped for Java's properties files."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join(chr(unit) if chr(unit).isalnum() and unit < 128 else f"\\u{unit:04x}" for unit in units)


def listening_on_loopback() -> AbstractContextManager[None]:
    """Make the UI of a Spark started meanwhile listen on loopback, unless the variable is set."""
    return environment(UI_ADDRESS, os.environ.get(UI_ADDRESS) or LOOPBACK)


def list_scratch_options() -> dict[str, str]:
    """Settings that make a local Spark keep its scratch files private, unless spark.local.dir is set.

    By default it creates them in /tmp according to the umask: others could read shuffled rows.
    """
    place = f'-Djava.io.tmpdir="{find_scratch_folder()}"'
    return {"spark.driver.defaultJavaOptions": place, "spark.executor.defaultJavaOptions": place}


def find_scratch_folder() -> str:
    """This user's folder; a new one if somebody else created it, or others can access it."""
    own = os.path.join(tempfile.gettempdir(), f"dataflow-{os.geteuid()}")
    folder = os.path.join(own, "spark")
    try:
        make_private_folder(folder)
        if _is_private(own) and _is_private(folder):
            return folder
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="dataflow-spark-")


def _is_private(folder: str) -> bool:
    facts = os.lstat(folder)
    is_closed = stat.S_ISDIR(facts.st_mode) and not facts.st_mode & 0o077
    return is_closed and facts.st_uid == os.geteuid()


STRUCTURED = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""These are called with more than a plain logger accepts, so PySpark must create them."""
PLAIN = ("py4j", "pyspark")


@contextmanager
def talking_to(path: str) -> Iterator[None]:
    """Make the Java process started meanwhile inherit the log as its output, for as long as it lives."""
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
    """Redirect what PySpark's own Python code would print to the log, too."""
    from pyspark.logger import PySparkLogger

    warnings.filterwarnings("ignore", module="pyspark")
    log = open(path, "a", encoding="utf-8", opener=open_with_folder)  # noqa: SIM115, until this process ends
    handler = logging.StreamHandler(log)
    loggers: list[logging.Logger] = [PySparkLogger.getLogger(name) for name in STRUCTURED]
    for logger in loggers + [logging.getLogger(name) for name in PLAIN]:
        logger.handlers = [handler]
        logger.propagate = False
