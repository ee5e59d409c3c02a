"""The Java that Spark runs on: checks its version, and starts it.

Every user of a machine can read the arguments of a process, so options are not passed there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping

from dataflow.errors import ConfigError
from dataflow.pipelines.spark.session_setup import environment

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


ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


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
