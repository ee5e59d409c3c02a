"""Spark's scratch files, which contain rows: kept in a folder that only this user can read."""

from __future__ import annotations

import os
import stat
import tempfile

from dataflow.private_files import make_private_folder


def list_scratch_options() -> dict[str, str]:
    """Settings that make a local Spark keep its scratch files there, unless spark.local.dir is set.

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
