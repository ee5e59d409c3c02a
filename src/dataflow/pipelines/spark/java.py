"""The Java that Spark runs on: whether it is there, and new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from dataflow.errors import ConfigError

OLDEST_JAVA = 17
HOW = (
    f"Spark needs Java {OLDEST_JAVA} or newer. Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "then set JAVA_HOME if it is not the first on the PATH."
)


def check_java(environ: Mapping[str, str]) -> str:
    """The version of the Java that Spark would take; ConfigError with what to install if it is not for it."""
    home = environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environ.get("PATH"))
    if not java or not os.access(java, os.X_OK):
        raise ConfigError(f"There is no Java{f' at JAVA_HOME={home}' if home else ' on the PATH'}. {HOW}")
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(f"{java} cannot be started: {error.strerror}. {HOW}") from error
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', done.stderr + done.stdout)
    if found is None:
        raise ConfigError(f"{java} does not tell its version. {HOW}")
    if int(found[2]) < OLDEST_JAVA:
        raise ConfigError(f"{java} is Java {found[2]}. {HOW}")
    return found[1]
