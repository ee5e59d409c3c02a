"""Purge: delete old history, logs, versions and what ended runs left behind.

What is published, and what a live run writes or reads, stays.
"""

from __future__ import annotations

import os
import re
import shutil

from dataflow.actions.locations import absolute_place, resolve_location
from dataflow.actions.selection import MANY
from dataflow.model.location import MANIFEST, run_folder
from dataflow.model.record import record
from dataflow.model.url_text import percent_decode
from dataflow.model.wording import utc_text
from dataflow.private_files import STATE_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.model.records import Dataset
    from dataflow.store.store import Store

LAYOUT = "/dataid={encoded_dataid}/{run_id}/" + MANIFEST
"""The end of every location in the lake."""
COMPACTION_SECONDS = 86400.0
"""A compaction holds no lease: its files are left alone for a day."""
_RUN_FOLDER = re.compile(r"([0-9]+)-[0-9a-f]{8}-[0-9a-f]{16}")
# Files of a run, of a process and of a Spark session: the group is the run, the claimant or the process.
_LOG = re.compile(r"([0-9]+)\.log")
_CONTEXT = re.compile(r"(.+)-[0-9]+\.json")
_SPARK_LOG = re.compile(r"spark-([0-9]+)\.log")


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
    logs = _purge_files(log_dir, before, _LOG, runs)
    return PurgeResult(rows, logs, _purge_files(context_dir, before, _CONTEXT, claimants))


def cutoff(store: Store, older_than_seconds: float) -> float:
    """Return the time before which everything is old, by the store's clock, which wrote the times."""
    return store.read.get_now() - older_than_seconds


def _purge_files(folder: str, before: float, names: re.Pattern[str], live: set[str]) -> int:
    """Delete the old files of these names, except those of the live, and no other file in the folder."""
    count = 0
    for entry in _scan(folder):
        named = names.fullmatch(entry.name)
        if named is None or named[1] in live or not entry.is_file(follow_symlinks=False):
            continue
        try:
            if entry.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(entry.path)
                count += 1
        except FileNotFoundError:
            pass  # another purge has deleted it
    return count


@record
class Retained:
    """How many versions, abandoned folders and Spark logs were deleted."""

    versions: int
    folders: int
    logs: int


def retain(store: Store, older_than_seconds: float, project_dir: str, log_dir: str) -> Retained:
    """Delete versions replaced longer ago than a duration, and what ended runs left in the lake and staging.

    Call it before history is purged, which says what a run left. Outside the lake only the record of a
    version is deleted; its owner deletes the files.
    """
    before = cutoff(store, older_than_seconds)
    versions = folders = 0
    for dataset in store.read.list_datasets():
        root = find_lake_folder(dataset, project_dir)
        found = store.find_dataset(dataset.name) if dataset.staged else None
        if found is None or (root is not None and not os.path.isdir(root)):
            continue  # versions of a lake that is not on this machine are kept
        for location in store.forget_versions(found[0], utc_text(before)):
            versions += _delete_version(absolute_place(location, project_dir))
        if root is not None:
            folders += _delete_abandoned(store, found[0], root, before)
    folders += _delete_staging(store, os.path.join(project_dir, STATE_FOLDER, "staging"), before)
    live = {str(run.pid) for run in store.read.list_runs(MANY, outcome="RUNNING")}
    return Retained(versions, folders, _purge_files(log_dir, before, _SPARK_LOG, live))


def find_lake_folder(dataset: Dataset, project_dir: str) -> str | None:
    """Return the folder of a dataset in the lake, or None."""
    if not dataset.location.endswith(LAYOUT):
        return None
    return resolve_location(dataset.location.removesuffix(LAYOUT), project_dir, dataset=dataset.name)


def _delete_version(place: str) -> int:
    """Delete a version's folder if it is in the lake; return 1 if it was deleted."""
    folder = os.path.dirname(place)
    is_ours = os.path.basename(os.path.dirname(folder)).startswith("dataid=")
    if os.path.basename(place) != MANIFEST or not is_ours or not os.path.isdir(folder):
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    return 1


def _delete_abandoned(store: Store, dataset_id: int, root: str, before: float) -> int:
    """Delete folders that this store's runs made in the lake, no version names and no run writes."""
    store_id = store.read.get_store_id()
    compacted = re.compile(rf"\d+-{store_id[:8]}-[0-9a-f]{{8}}")
    count = 0
    for name, folder in _list_folders(root):
        if not name.startswith("dataid="):
            continue
        dataid = percent_decode(name.removeprefix("dataid="))
        old = []
        for leaf, path in _list_folders(folder):
            changed_at = _changed_at(path)
            if (run := _RUN_FOLDER.fullmatch(leaf)) and changed_at < before:
                # Only if the name is this very run's: others are of another store, or of a copy of this one.
                claimant = store.read.find_ended_claimant(int(run[1]), dataset_id, dataid)
                if claimant is not None and leaf == run_folder(int(run[1]), claimant, store_id):
                    old.append(path)
            elif compacted.fullmatch(leaf) and changed_at < min(before, cutoff(store, COMPACTION_SECONDS)):
                old.append(path)
        if not old or store.read.is_chunk_read(dataset_id, dataid):
            continue
        # Only now: a run publishes as it ends, so an ended run's folder is named by now or never.
        places = store.read.list_locations(dataset_id, dataid)
        named = {os.path.basename(os.path.dirname(place)) for place in places}
        for path in old:
            if os.path.basename(path) not in named:
                shutil.rmtree(path, ignore_errors=True)
                count += 1
    return count


def _delete_staging(store: Store, root: str, before: float) -> int:
    """Delete what ended runs fetched, unless their work is running: a run continues where another ended."""
    own = re.compile(rf"[0-9]+(-{store.read.get_store_id()[:8]}-[0-9a-f]{{16}})?")  # or a query's process
    old = [
        (job, percent_decode(encoded), path)
        for job, job_folder in _list_folders(root)
        for encoded, work_folder in _list_folders(job_folder)
        for name, path in _list_folders(work_folder)
        if own.fullmatch(name) and _changed_at(path) < before
    ]
    if not old:
        return 0
    live = {(run.job, run.dataid) for run in store.read.list_runs(MANY, outcome="RUNNING")}
    gone = [path for job, dataid, path in old if (job, dataid) not in live]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return len(gone)


def _list_folders(folder: str) -> list[tuple[str, str]]:
    """Return the names and paths of the folders in a folder, by name."""
    return [(entry.name, entry.path) for entry in _scan(folder) if entry.is_dir(follow_symlinks=False)]


def _scan(folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder, by name; nothing if it does not exist."""
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _changed_at(folder: str) -> float:
    """Return when anything in a folder was last written."""
    try:
        times = [entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(folder)]
        return max([*times, os.stat(folder).st_mtime])
    except FileNotFoundError:  # another process deletes too
        return float("inf")
