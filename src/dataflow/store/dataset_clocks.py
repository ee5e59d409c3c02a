"""Datasets that the clock may make late: judged by reads, and again in the transaction that opens or closes
their incidents.
"""

from __future__ import annotations

from dataflow.model.freshness import WITHOUT_TIME, Lateness, find_due_times, find_end, find_last_ended
from dataflow.model.grain import Grain
from dataflow.model.incident import IncidentKind
from dataflow.model.record import record
from dataflow.model.wording import format_seconds
from dataflow.store import incidents
from dataflow.store.reads import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Transaction

KINDS = (IncidentKind.STALE, IncidentKind.OVERDUE)
RECHECK_SECONDS = 60.0
"""How soon a late dataset is looked at again."""
MOST_SECONDS = 900.0
"""How soon any other is, although nothing is due: its newest chunk may have been withdrawn."""


@record
class Watched:
    """A dataset with a limit; `days` are those of the job that produces it."""

    dataset_id: int
    name: str
    grain: str
    timezone: str
    days: str
    fresh_within_seconds: float
    due_by: str
    since_at: float

    @property
    def kind(self) -> Grain:
        """Its grain."""
        return Grain(self.grain)


def find_watched(tx: Transaction, dataset_id: int) -> Watched | None:
    """Return a dataset with its limits; None if it has none."""
    row = tx.find("watch.list_watched", dataset_id=dataset_id)
    return None if row is None else Watched(*row)


@record
class Judgement:
    """Whether an incident of a dataset opens or closes, and when to look at it again."""

    is_change: bool
    check_at: float


def examine(tx: Transaction, dataset_id: int) -> Judgement | None:
    """Judge a dataset by reads alone, which may take long; None if it has no limit any more."""
    watched = find_watched(tx, dataset_id)
    if watched is None:
        return None
    now = now_of(tx)
    found = {late.kind for late in judge(tx, watched, now)}
    is_change = any((kind in found) != _is_open(tx, kind, watched.name) for kind in KINDS)
    return Judgement(is_change, now + RECHECK_SECONDS if found else _next_check(tx, watched, now))


def _is_open(tx: Transaction, kind: str, dataset: str) -> bool:
    return tx.find("watch.find_open", kind=kind, dataset=dataset, host="") is not None


def postpone(tx: Transaction, dataset_id: int, check_at: float) -> None:
    """Note when to look at a dataset again, if no other process looks at it."""
    if tx.find("watch.take_watch", dataset_id=dataset_id) is not None:
        tx.run("watch.set_check", dataset_id=dataset_id, check_at=check_at)


def look(tx: Transaction, dataset_id: int) -> None:
    """Open or close the incidents of one dataset, if it is due and no other process looks at it."""
    if tx.find("watch.take_watch", dataset_id=dataset_id) is None:
        return
    watched = find_watched(tx, dataset_id)
    assert watched is not None
    now = now_of(tx)
    found = {late.kind: late for late in judge(tx, watched, now)}
    for kind in KINDS:
        if late := found.get(kind):
            incidents.open_for(tx, kind, watched.name, late.dataid, late.reason)
        else:
            incidents.close_for(tx, kind, watched.name)
    check_at = now + RECHECK_SECONDS if found else _next_check(tx, watched, now)
    tx.run("watch.set_check", dataset_id=dataset_id, check_at=check_at)


def now_of(tx: Transaction) -> float:
    """Return the store's own time."""
    row = tx.find("reading.now")
    assert row is not None
    return float(row[0])


def judge(tx: Transaction, watched: Watched, now: float) -> list[Lateness]:
    """Return why a dataset is late now; empty if it is not."""
    checks = (_find_stale(tx, watched, now), _find_overdue(tx, watched, now))
    return [late for late in checks if late is not None]


def _find_stale(tx: Transaction, watched: Watched, now: float) -> Lateness | None:
    if not watched.fresh_within_seconds:
        return None
    dataid, at = _newest(tx, watched)
    stale_at = at + watched.fresh_within_seconds
    if now <= stale_at:
        return None
    limit = format_seconds(watched.fresh_within_seconds)
    if dataid is None:
        reason = f"no chunk was published within {limit}"
    elif watched.kind in WITHOUT_TIME:
        reason = f"the last chunk was published more than {limit} ago"
    else:
        reason = f"the interval of the newest chunk, {dataid}, ended more than {limit} ago"
    return Lateness(watched.name, IncidentKind.STALE, dataid or "", stale_at, reason)


def _newest(tx: Transaction, watched: Watched) -> tuple[str | None, float]:
    """Return the newest chunk and the time its age counts from; of no chunk, since when it is watched."""
    row = tx.find("watch.newest_published", dataset_id=watched.dataset_id)
    if row is None:
        return None, watched.since_at
    dataid: str = row[0]
    if (end := find_end(dataid, watched.kind, watched.timezone)) is not None:
        return dataid, end
    published = tx.find("watch.last_published_at", dataset_id=watched.dataset_id)
    if published is None or published[0] is None:
        return None, watched.since_at
    return dataid, seconds_of(published[0])


def _find_overdue(tx: Transaction, watched: Watched, now: float) -> Lateness | None:
    if not watched.due_by:
        return None
    due_at, _ = find_due_times(now, watched.due_by, watched.timezone)
    dataid = find_last_ended(due_at, watched.kind, watched.timezone, watched.days)
    if dataid is None:
        return None
    where = {"dataset_id": watched.dataset_id}
    if tx.find("watch.is_published", dataid=dataid, **where) is not None:
        return None
    # A dataset that is still empty has until the first time after somebody began to watch it.
    if due_at < watched.since_at and tx.find("watch.newest_published", **where) is None:
        return None
    reason = f"{dataid} was due by {watched.due_by} ({watched.timezone}) and is not published"
    return Lateness(watched.name, IncidentKind.OVERDUE, dataid, due_at, reason)


def _next_check(tx: Transaction, watched: Watched, now: float) -> float:
    """Return when a dataset that is not late must be looked at again."""
    times = [now + MOST_SECONDS]
    if watched.fresh_within_seconds:
        times.append(_newest(tx, watched)[1] + watched.fresh_within_seconds)
    if watched.due_by:
        times.append(find_due_times(now, watched.due_by, watched.timezone)[1])
    return max(now + 1.0, min(times))
