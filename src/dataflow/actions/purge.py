"""Purge: history and logs older than a span go; what is published and what is being done stays."""

from __future__ import annotations

import os

from dataflow.actions.selection import MANY
from dataflow.model.moments import utc_text
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.store import Store

LOG_SUFFIX = ".log"


@record
class PurgeResult:
    """How many rows of history and how many log files went."""

    rows: int
    logs: int


def purge(store: Store, older_than_seconds: float, log_dir: str) -> PurgeResult:
    """Deletes ended runs, journal lines and logs older than a span; each work's last run stays."""
    # The store's clock, not this machine's: it wrote the times that are compared.
    now = store.find("reading.now")
    assert now is not None
    before = float(now[0]) - older_than_seconds
    live = {run.run_id for run in store.list_runs(MANY, outcome="RUNNING")}
    rows = store.purge(utc_text(before))
    return PurgeResult(rows, _purge_logs(log_dir, before, live))


def _purge_logs(log_dir: str, before: float, live: set[int]) -> int:
    """Deletes the logs of runs, and nothing else that may lie in the folder."""
    count = 0
    try:
        entries = list(os.scandir(log_dir))
    except FileNotFoundError:
        return 0
    for entry in entries:
        name = entry.name.removesuffix(LOG_SUFFIX)
        is_log = (
            name != entry.name and name.isascii() and name.isdigit() and entry.is_file(follow_symlinks=False)
        )
        if is_log and int(name) not in live and entry.stat(follow_symlinks=False).st_mtime < before:
            os.unlink(entry.path)
            count += 1
    return count
