"""Spark's event logs of the last few sessions on this machine, for its history server."""

from __future__ import annotations

import os

from dataflow.private_files import make_private_folder

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
