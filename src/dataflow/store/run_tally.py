"""Counts of all runs there have ever been: they only grow, also when runs are purged.

Runs are counted once, into a table, up to a run id; what has come since is counted when somebody asks. Who
asks counts whole batches into the table and seldom has to: most reads of the totals write nothing.
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
BATCH = 20_000
"""Runs that are counted into the table in one transaction, which keeps nobody waiting for long."""
MOST_BATCHES = 10
"""How many of them one read of the totals counts; after an upgrade the next reads count the rest."""


@record
class RunTotal:
    """How many runs of a job have had an outcome, and when the last of them ended, in seconds since 1970."""

    job: str
    outcome: str
    count: int
    last_seconds: float | None


class RunTally(Reads):
    """Totals of runs by job and outcome."""

    def tally(self) -> None:
        """Count what has come since the last time into the table: whole batches, and not too many."""
        before = utc_text(float(self._get("reading.now")) - SETTLED_SECONDS)
        for _ in range(MOST_BATCHES):
            if self._read(lambda tx: _find_batch(tx, before)) is None:
                return
            self._database.write(lambda tx: _tally_whole_batch(tx, before))

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


def _find_batch(tx: Transaction, before: str) -> int | None:
    """Return the last run of a whole batch that was claimed a while ago; None if there is none yet."""
    row = tx.find("metrics.last_of_batch", after=_tallied(tx), most=BATCH, before=before)
    return None if row is None else int(row[0])


def _tally_whole_batch(tx: Transaction, before: str) -> None:
    tx.lock("metrics.lock_tally")
    last = _find_batch(tx, before)  # again: another process may have counted it
    if last is not None:
        _tally_between(tx, _tallied(tx), last)
        _tally_late(tx)


def _tally_between(tx: Transaction, after: int, last: int) -> None:
    tx.run("metrics.tally_ended", after=after, last=last)
    tx.run("metrics.remember_running", after=after, last=last)
    tx.run("metrics.set_tallied", run_id=last)


def _tally_late(tx: Transaction) -> None:
    tx.lock("metrics.lock_tally")
    tx.run("metrics.tally_late")
    tx.run("metrics.forget_late")
