"""Counts of all runs there have ever been: they only grow, also when runs are purged.

Runs are counted once, into a table, up to a run id; what has come since is counted when somebody asks.
"""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.wording import utc_text
from dataflow.store.reads import Reads, first_of, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Transaction

SETTLED_SECONDS = 120.0
"""A claim is committed by then: a session that waits longer inside a transaction is ended."""
BATCH = 50_000


@record
class RunTotal:
    """How many runs of a job have had an outcome, and when the last of them ended, in seconds since 1970."""

    job: str
    outcome: str
    count: int
    last_seconds: float | None


class RunTally(Reads):
    """Totals of runs by job and outcome."""

    def tally(self) -> int:
        """Count what has come since the last time into the table; return up to which run."""
        now = float(self._get("reading.now"))
        before = utc_text(now - SETTLED_SECONDS)
        while True:
            last = self._database.write(lambda tx: _tally_batch(tx, before))
            if last is None:
                return self._database.write(_tally_late)

    def list_totals(self) -> list[RunTotal]:
        """Return how many runs of each job have had each outcome; of one moment."""

        def verb(tx: Transaction) -> list[RunTotal]:
            tx.lock("grid.one_snapshot")
            after = _tallied(tx)
            found: dict[tuple[str, str], tuple[int, float | None]] = {}
            for job, outcome, count, last_at in tx.rows("metrics.runs", after=after):
                known, newest = found.get((job, outcome), (0, None))
                ended = newest if last_at is None else max(newest or 0.0, seconds_of(last_at))
                found[job, outcome] = (known + int(count), ended)
            return [RunTotal(*key, *values) for key, values in sorted(found.items())]

        return self._read(verb)


def tally_before_purge(tx: Transaction, last: int, before: str) -> None:
    """Count the runs up to one that started before a time, in the transaction that purges some of them."""
    while (found := _tally_batch(tx, before)) is not None and found < last:
        pass
    _tally_late(tx)


def _tallied(tx: Transaction) -> int:
    return int(first_of(tx.find("metrics.tallied")) or 0)


def _tally_batch(tx: Transaction, before: str) -> int | None:
    tx.lock("metrics.lock_tally")
    after = _tallied(tx)
    last = first_of(tx.find("metrics.next_settled", after=after, most=BATCH, before=before))
    if last is not None:
        _tally_between(tx, after, int(last))
    return None if last is None else int(last)


def _tally_between(tx: Transaction, after: int, last: int) -> None:
    tx.run("metrics.tally_ended", after=after, last=last)
    tx.run("metrics.remember_running", after=after, last=last)
    tx.run("metrics.set_tallied", run_id=last)


def _tally_late(tx: Transaction) -> int:
    tx.lock("metrics.lock_tally")
    tx.run("metrics.tally_late")
    tx.run("metrics.forget_late")
    return _tallied(tx)
