"""The kept versions of a chunk, and rolling back to one of them."""

from __future__ import annotations

import os

from dataflow.actions.locations import absolute_place, is_local, list_files
from dataflow.actions.names import get_dataset
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.location import MANIFEST, Location
from dataflow.model.record import record, replace
from dataflow.model.records import PlanOutput
from dataflow.store.version_moves import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Dataset
    from dataflow.store.chunk_reads import KeptVersion
    from dataflow.store.store import Store


@record
class RolledBack:
    """The version that was published again, its new number, and the state of the chunk's work."""

    version: int
    as_version: int
    job: str
    work_state: str


def list_versions(store: Store, dataset_name: str, dataid: str, project_dir: str) -> list[KeptVersion]:
    """Return the kept versions of a chunk, oldest first; UnknownName if it was never published."""
    dataset_id, dataset = get_dataset(store, dataset_name)
    _refuse_in_place(dataset)
    dataid = canonical_dataid(dataid, Grain(dataset.grain), dataset.timezone)
    kept = store.read.list_versions(dataset_id, dataid)
    if not kept:
        raise UnknownName(
            f"{dataset_name}/{dataid} has never been published. See: dataflow chunks {dataset_name}"
        )
    return [replace(one, missing=find_missing(absolute_place(one.location, project_dir))) for one in kept]


def roll_back(
    store: Store, chunk: tuple[str, str], version: int | None, project_dir: str, why: str = ""
) -> RolledBack:
    """Publish an older version (default: the previous one) as a new one, so consumers read it.

    `chunk` is dataset and dataid. Refused: RUNNING work, a STALE chunk, a version
    with missing files.
    """
    dataset_name, dataid = chunk
    dataset_id, dataset = get_dataset(store, dataset_name)
    _refuse_database(store, dataset_id, dataset)
    dataid = canonical_dataid(dataid, Grain(dataset.grain), dataset.timezone)
    chosen = _choose(
        list_versions(store, dataset_name, dataid, project_dir), version, f"{dataset_name} {dataid}"
    )
    producer = store.read.find_producer(dataset_id)
    plan = store.find_plan(producer) if producer else None
    place = Place(dataset_id, dataset_name, dataid, chosen.version, chosen.location)
    number = store.go_back(plan, PlanOutput(dataset_id, dataset), place, why)
    work = store.read.find_work(plan.job_id, dataid) if plan else None
    return RolledBack(chosen.version, number, plan.job.name if plan else "", str(work.state) if work else "")


def move_version(store: Store, place: Place, location: str, size: int, why: str = "") -> None:
    """Have the current version of a chunk read from another location; Conflict if it changed since."""
    store.move_version(place, location, size, why)


def find_missing(place: str) -> str:
    """Return a missing file of a published location, or an empty string."""
    if not is_local(place):
        return place
    if os.path.basename(place) != MANIFEST:
        return "" if os.path.exists(place) else place
    try:
        return next((path for path in list_files(place) if not os.path.exists(path)), "")
    except (OSError, ValueError, KeyError, TypeError):
        return place


def _choose(found: list[KeptVersion], version: int | None, chunk: str) -> KeptVersion:
    """Return the named version, or the newest complete one before the current data."""
    now = next((each for each in found if each.current), found[-1])  # none is, if it was withdrawn
    if version is None:
        # After a rollback the current data is an older version's: another rollback goes further back.
        first = min(each.version for each in found if each.location == now.location)
        there = [each for each in found if each.version < first and not each.missing]
        if not there:
            raise Conflict(f"{chunk} has no older version left. See: dataflow versions {chunk}")
        return there[-1]
    named = [each for each in found if each.version == version]
    if not named:
        raise UnknownName(
            f"{chunk} has no version {version}, or it was purged. See: dataflow versions {chunk}"
        )
    if now.current and any(each.location == now.location for each in named):
        raise Conflict(f"Version {version} of {chunk} is already current; nothing was changed.")
    there = [each for each in named if not each.missing]
    if not there:
        raise Conflict(
            f"Version {version} of {chunk} is incomplete: {named[-1].missing} is missing; nothing was "
            f"changed. See: dataflow versions {chunk}"
        )
    return there[-1]


def _refuse_in_place(dataset: Dataset) -> None:
    if not dataset.staged:
        raise BadInput(
            f"Dataset {dataset.name} is written in place, so only its current version exists: its "
            f"location does not contain {{run_id}}. See: dataflow chunks {dataset.name}"
        )


def _refuse_database(store: Store, dataset_id: int, dataset: Dataset) -> None:
    """Refuse a table: it holds one version, and an older one must be produced again."""
    if not Location(dataset.location).is_in_database:
        return
    producer = store.read.find_producer(dataset_id)
    again = f"dataflow resubmit {producer} DATAID" if producer else "from its source"
    raise Conflict(
        f"Dataset {dataset.name} is a table in PostgreSQL, which holds the current version only; nothing was "
        f"changed. Restore the table from a backup, or produce it again: {again}"
    )
