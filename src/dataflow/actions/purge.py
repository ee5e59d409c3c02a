"""Purge: delete history, logs and context files older than a duration; published and running work stays."""

from __future__ import annotations

import os

from dataflow.actions.selection import MANY
from dataflow.model.record import record
from dataflow.model.wording import utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.store.store import Store

LOG_SUFFIX = ".log"
CONTEXT_SUFFIX = ".json"


@record
class PurgeResult:
    """How many rows of history, log files and context files were deleted."""

    rows: int
    logs: int
    contexts: int


def purge(
    store: Store,
    older_than_seconds: float,
    log_dir: str,
    context_dir: str,
    progress: Callable[[int], None] = lambda done: None,
) -> PurgeResult:
    """Delete ended runs, journal lines, logs and context files older than a duration.

    Each work's last run stays, and so does every file of a live run. `progress` receives the number of
    deleted rows.
    """
    before = cutoff(store, older_than_seconds)
    live = store.read.list_runs(MANY, outcome="RUNNING")
    runs, claimants = {str(run.run_id) for run in live}, {run.claimant for run in live}
    rows = store.purge(utc_text(before), progress)
    logs = _purge_files(log_dir, before, lambda name: _is_log(name, runs))
    contexts = _purge_files(context_dir, before, lambda name: _is_context(name, claimants))
    return PurgeResult(rows, logs, contexts)


def cutoff(store: Store, older_than_seconds: float) -> float:
    """Return the time before which everything is old, by the store's clock, which wrote the times."""
    return store.read.get_now() - older_than_seconds


def _is_log(name: str, live: set[str]) -> bool:
    run_id = name.removesuffix(LOG_SUFFIX)
    return run_id != name and run_id.isascii() and run_id.isdigit() and run_id not in live


def _is_context(name: str, live: set[str]) -> bool:
    """Return whether a killed process left this file, `<claimant>-<number>.json`."""
    claimant, _, number = name.removesuffix(CONTEXT_SUFFIX).rpartition("-")
    is_ours = name.endswith(CONTEXT_SUFFIX) and number.isascii() and number.isdigit() and bool(claimant)
    return is_ours and claimant not in live


def _purge_files(folder: str, before: float, may_go: Callable[[str], bool]) -> int:
    """Delete the old files that match, and no other file in the folder."""
    count = 0
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return 0
    for entry in entries:
        if not may_go(entry.name) or not entry.is_file(follow_symlinks=False):
            continue
        if entry.stat(follow_symlinks=False).st_mtime < before:
            os.unlink(entry.path)
            count += 1
    return count
