"""Where Spark keeps its scratch files, rows among them: a folder that only this user may look into."""

from __future__ import annotations

import os
import stat
import tempfile

from dataflow.private_files import make_private_folder


def list_scratch_options() -> dict[str, str]:
    """What tells a local Spark to keep its scratch files there, unless spark.local.dir names another place.

    By itself it makes them in /tmp as the umask has it: others could read the rows that are shuffled.
    """
    place = f'-Djava.io.tmpdir="{find_scratch_folder()}"'
    return {"spark.driver.defaultJavaOptions": place, "spark.executor.defaultJavaOptions": place}


def find_scratch_folder() -> str:
    """The folder of this user; a new one if somebody else has made that, or others may use it."""
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
