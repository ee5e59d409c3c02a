"""The store's verbs: each is one transaction, and what must happen together is one verb."""

from __future__ import annotations

import os
import time
from functools import partial

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.records import ClaimResult
from dataflow.store import chunks, claims, leases, operator_moves, outcomes, pins, registry
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.operator_moves import Mover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dataflow.model.records import (
        ClaimRequest,
        Dataset,
        Ending,
        LapsedRun,
        Pin,
        Plan,
        PlanInput,
        PlanOutput,
        Run,
    )
    from dataflow.model.status import WorkState
    from dataflow.model.worker_rows import JobOutlook
    from dataflow.store.calendars import Addition, DueCalendar
    from dataflow.store.controls import Controls
    from dataflow.store.database import Database, Result, Transaction
    from dataflow.store.leases import Taken
    from dataflow.store.reader import Reader
    from dataflow.store.version_moves import Place
    from dataflow.store.watching import Watching
    from dataflow.store.workers import WorkerVerbs

    Pair = tuple[str, str]

BULK_BATCH = 4000
"""Chunks per transaction of a bulk verb: few enough that nothing else waits long."""

EMBEDDED_PURGE_BATCH = 1000
PURGE_PAUSE_SECONDS = 0.005
"""A purge of an embedded store holds its only lock briefly and lets others have it in between."""

VERSION_BATCH = 200
"""Chunks per transaction whose old versions are deleted, under their locks."""


class _Undo(Exception):
    """Rolls back a transaction."""


class Store:
    """The status store, over either database."""

    def __init__(self, database: Database, actor: str) -> None:
        self.database = database
        self.actor = actor

    def separate(self, patience_seconds: float | None = None) -> Store:
        """Open the same store on a separate connection, for a thread that cannot wait longer than this."""
        return Store(self.database.separate(patience_seconds), self.actor)

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    @property
    def read(self) -> Reader:
        """All reads that are not part of the handoff, as records."""
        from dataflow.store.reader import Reader  # start-up: most runs read nothing for people

        return Reader(self.database)

    @property
    def control(self) -> Controls:
        """The verbs that pause, limit and pool jobs while they run."""
        from dataflow.store.controls import Controls  # start-up: no run needs it

        return Controls(self.actor, self._once, self.register, self._await_claims)

    @property
    def watching(self) -> Watching:
        """Incidents, what opens and closes them, and the notifications about them."""
        from dataflow.store.watching import Watching  # start-up: no run needs it

        return Watching(self.database, self.actor)

    # registration

    def find_dataset(self, name: str) -> tuple[int, Dataset] | None:
        """Return a dataset and its id, or None."""
        return self.database.read(lambda tx: registry.find_dataset(tx, name))

    def find_plan(self, job: str) -> Plan | None:
        """Return a job with all that a run of it needs, or None."""
        return self.database.read(lambda tx: registry.find_plan(tx, job))

    def register(self, verb: Callable[[Transaction], Any]) -> Any:
        """Run a registration under the registry's lock, so its checks hold when it writes."""
        answer: Any = None

        def locked(tx: Transaction) -> None:
            # The answer may be any record, so it is kept here; the token records only that it exists.
            nonlocal answer
            tx.lock("registration.lock_registry")
            answer = verb(tx)

        self._once("register", locked)
        return answer

    # publishing

    def make_ready(
        self, dataset_id: int, name: str, pairs: Sequence[Pair], again: bool, why: str = ""
    ) -> int:
        """Publish one batch of chunks that come from outside; return how many were not ready before."""
        entry = JournalEntry("ready", self.actor, "", name, to_state="READY", why=why)
        return self._change(entry, pairs, lambda tx: chunks.make_ready(tx, dataset_id, pairs, again))

    def list_due_calendars(self, job_id: int) -> list[DueCalendar]:
        """Return the calendars among a job's inputs that have intervals to add."""
        from dataflow.store import calendars  # start-up: only jobs with a schedule need it

        return self.database.read(lambda tx: calendars.list_due(tx, job_id))

    def add_intervals(self, calendar: DueCalendar, name: str, addition: Addition) -> int:
        """Make intervals of a calendar ready; return how many, 0 if another process was first."""
        from dataflow.store import calendars  # start-up: only jobs with a schedule need it

        return self.database.write(
            lambda tx: calendars.add_intervals(tx, calendar, name, addition, self.actor)
        )

    def upgrade(self) -> list[str]:
        """Apply the missing migrations and return their names."""
        return self.database.upgrade()

    def count_rows(self) -> None:
        """Update the planner statistics of a shared store."""
        self.database.write(lambda tx: tx.run("publish.count_rows"))

    def withdraw(self, dataset_id: int, name: str, pairs: Sequence[Pair], why: str) -> int:
        """Withdraw one batch of chunks; return how many were published."""
        entry = JournalEntry("withdraw", self.actor, "", name, to_state="PENDING", why=why)
        return self._change(entry, pairs, lambda tx: chunks.withdraw(tx, dataset_id, pairs))

    def _change(
        self, entry: JournalEntry, pairs: Sequence[Pair], change: Callable[[Transaction], int]
    ) -> int:
        """Change one batch of chunks and journal how many changed; return how many."""

        def verb(tx: Transaction) -> int:
            count = change(tx)
            if count:
                dataid = pairs[0][0] if len(pairs) == 1 else ""
                write_journal(tx, replace(entry, dataid=dataid, items=count))
            return count

        return int(self._once(entry.action, verb))

    # the handoff

    def claim(self, plan: Plan, request: ClaimRequest) -> ClaimResult:
        """Give work to runs, once per token."""
        return self.finish_and_claim(plan, (), request)[1]

    def finish(self, plan: Plan, ending: Ending) -> WorkState | None:
        """Accept a run's outcome; None if an earlier call with the same outcome was accepted."""
        state = self.finish_and_claim(plan, (ending,), None)[0][0]
        if isinstance(state, errors.LeaseLost):
            raise state
        return state

    def finish_and_claim(
        self, plan: Plan, endings: Sequence[Ending], request: ClaimRequest | None, repeat: bool = False
    ) -> tuple[list[WorkState | errors.LeaseLost | None], ClaimResult]:
        """Finish runs and claim the next ones in one transaction.

        A run that lost its lease does not affect the others: its entry in the result is the error.
        `repeat`: an earlier call with the same arguments may have succeeded.
        """
        tried = repeat

        def verb(tx: Transaction) -> tuple[list[WorkState | errors.LeaseLost | None], ClaimResult]:
            nonlocal tried
            repeat, tried = tried, True
            if request is not None and plan.job.pool:
                claims.lock_pool(tx, plan)  # the first of all locks
            states = [self._finish_one(tx, plan, ending, repeat) for ending in endings]
            if request is None:
                return states, ClaimResult()
            if repeat:
                found = claims.find_claimed(tx, plan, request)
                if found is not None:
                    return states, found
            return states, claims.claim(tx, plan, request)

        return self.database.write(verb)

    def _finish_one(
        self, tx: Transaction, plan: Plan, ending: Ending, repeat: bool
    ) -> WorkState | errors.LeaseLost | None:
        if repeat and outcomes.find_finished(tx, ending):
            return None
        try:
            return outcomes.finish(tx, plan, ending, self.actor)
        except errors.LeaseLost as lost:
            if repeat and outcomes.find_finished(tx, ending):
                return None  # the earlier call was still committing when we looked
            # A finished run has no processes left: if it was revoked, its work need not wait for it.
            operator_moves.acknowledge(tx, ending.run.run_id, ending.run.claimant)
            return lost

    def rehearse(self, act: Callable[[Store], Result]) -> Result:
        """Return the result of `act` on a store whose verbs run in one transaction, then rolled back."""
        from dataflow.store.rehearsal import Rehearsal  # start-up: no run needs it

        kept: list[Result] = []

        def undone(tx: Transaction) -> None:
            rehearsal: Any = Rehearsal(tx, self.database.dialect, self.database.url)
            kept.append(act(Store(rehearsal, self.actor)))
            raise _Undo

        try:
            self.database.write(undone)
        except _Undo:
            pass
        return kept[-1]

    def refresh(self, plan: Plan, run: Run) -> Run:
        """Return a claimed run with its current inputs and outputs."""
        return self.database.read(lambda tx: pins.refresh(tx, plan, run))

    def pin_ready(self, plan: Plan, run: Run, source: PlanInput) -> tuple[Pin, ...]:
        """Pin all chunks of an input that are ready now; return them in order."""
        return self.database.write(lambda tx: pins.pin_ready(tx, plan, run, source))

    def renew(self, claimant: str, run_ids: Sequence[int]) -> set[int]:
        """Renew leases; return the runs that the claimant still holds."""
        return self.database.write(lambda tx: _run_ids(tx, "claim.renew", claimant, run_ids))

    def list_held(self, claimant: str, run_ids: Sequence[int]) -> set[int]:
        """Return the runs that the claimant still holds, without renewing them."""
        return self.database.read(lambda tx: _run_ids(tx, "claim.still_held", claimant, run_ids))

    def list_lapsed(self, job_id: int, dead: Sequence[str]) -> list[LapsedRun]:
        """Return runs that the next claim would free, and revoked runs for a kill command to stop."""
        return self.database.write(lambda tx: leases.list_lapsed(tx, job_id, dead))

    def list_claimants(self, job_id: int, host: str, boot_id: str, claimant: str) -> list[str]:
        """Return other claimants on this machine that hold runs of a job."""
        where = {"job_id": job_id, "host": host, "boot_id": boot_id, "claimant": claimant}
        return [row[0] for row in self.database.read(lambda tx: tx.rows("claim.list_claimants", **where))]

    def holds_runs(self, claimant: str) -> bool:
        """Return whether a claimant still holds runs of any job."""
        return self.database.read(lambda tx: tx.find("claim.held_by", claimant=claimant) is not None)

    def list_taken(self, taken: Taken, working: Callable[[], set[int]]) -> list[tuple[int, str]]:
        """Return earlier runs that lost their work, with claimants; of many, only those `working`."""
        return self.database.read(lambda tx: leases.list_taken(tx, taken, working))

    # operators

    def resubmit(self, plan: Plan, pairs: Sequence[Pair], why: str) -> int:
        """Have work done again; return how much."""
        mover = Mover(self.actor, why)
        return int(self._once("resubmit", lambda tx: operator_moves.resubmit(tx, plan, pairs, mover)))

    def hold(self, plan: Plan, pairs: Sequence[Pair] | None, on: bool, why: str) -> int:
        """Block or unblock claims of a job (None) or of some of its work."""
        mover = Mover(self.actor, why)
        count = int(self._once("hold", lambda tx: operator_moves.hold(tx, plan, pairs, on, mover)))
        if on and pairs is None:
            self._await_claims()
        return count

    def _await_claims(self) -> None:
        """Wait for claims that started before a change, in a separate transaction; later ones see it."""

        def verb(tx: Transaction) -> None:
            tx.lock("operate.wait_briefly")
            tx.lock("operate.await_claims")

        self.database.write(verb)

    def accept(self, plan: Plan, pairs: Sequence[Pair], why: str) -> int:
        """Keep stale results as they are; return how many dataids became current again."""
        from dataflow.store import corrections  # start-up: no run needs it

        mover = Mover(self.actor, why)
        return int(self._once("accept", lambda tx: corrections.accept(tx, plan, pairs, mover)))

    def invalidate(self, dataset: tuple[int, str], plan: Plan | None, pairs: Sequence[Pair], why: str) -> int:
        """Withdraw one batch of wrong chunks and redo what was made from them; return how many changed."""
        from dataflow.store import corrections  # start-up: no run needs it

        mover = Mover(self.actor, why)
        return int(
            self._once("invalidate", lambda tx: corrections.invalidate(tx, dataset, plan, pairs, mover))
        )

    def cancel(self, run_id: int, why: str) -> dict[str, Any]:
        """Revoke a run."""
        mover = Mover(self.actor, why)
        answer: dict[str, Any] = self._once("cancel", lambda tx: operator_moves.cancel(tx, run_id, mover))
        return answer

    def acknowledge(self, run_id: int, claimant: str) -> None:
        """Record that the processes of a revoked run have ended."""
        self.database.write(lambda tx: operator_moves.acknowledge(tx, run_id, claimant))

    def mark(self, plan: Plan, pair: Pair, state: WorkState, why: str) -> str:
        """Set the state of work manually; return the previous state."""
        mover = Mover(self.actor, why)
        return str(self._once("mark", lambda tx: operator_moves.mark(tx, plan, pair, state, mover)))

    def go_back(self, plan: Plan | None, output: PlanOutput, place: Place, why: str) -> int:
        """Publish an older version of a chunk as its next version; return its number."""
        from dataflow.store import version_moves  # start-up: no run needs it

        mover = Mover(self.actor, why)
        return int(self._once("rollback", lambda tx: version_moves.go_back(tx, plan, output, place, mover)))

    def move_version(self, place: Place, location: str, size: int, why: str) -> None:
        """Have a chunk's current version read from another location; Conflict if it changed since."""
        from dataflow.store import version_moves  # start-up: no run needs it

        mover = Mover(self.actor, why)
        self._once("compact", lambda tx: version_moves.move(tx, place, location, size, mover))

    def forget_versions(self, dataset_id: int, before: str) -> Iterator[str]:
        """Delete the records of versions replaced before a time that no run reads; yield their locations."""
        from dataflow.store import version_moves  # start-up: no run needs it

        limits: dict[str, Any] = {"dataset_id": dataset_id, "before": before, "most": VERSION_BATCH}
        for places in self._in_steps(partial(version_moves.forget_replaced, **limits)):
            yield from places

    def purge(self, before: str, progress: Callable[[int], None] = lambda done: None) -> int:
        """Delete history older than a time in small transactions; return how many rows were deleted.

        `progress` receives the number deleted so far.
        """
        total = 0
        embedded = self.database.dialect == "sqlite"
        most = EMBEDDED_PURGE_BATCH if embedded else BULK_BATCH
        for purge in (operator_moves.purge_runs, operator_moves.purge_journal):
            for count in self._in_steps(partial(purge, before=before, most=most)):
                total += count
                progress(total)
                if embedded:
                    time.sleep(PURGE_PAUSE_SECONDS)
        self.database.write(lambda tx: operator_moves.purge_rest(tx, before))
        return total

    def _in_steps(self, verb: Callable[..., tuple[Result, int | None]]) -> Iterator[Result]:
        """Yield the results of a verb that says where to continue; each step is one transaction."""
        after: int | None = 0
        while after is not None:
            result, after = self.database.write(partial(verb, after=after))
            yield result

    def journal(self, entry: JournalEntry) -> None:
        """Add a line that belongs to no other move."""
        self._once("journal", lambda tx: write_journal(tx, entry))

    # workers

    def list_outlooks(self, job_ids: Sequence[int]) -> list[JobOutlook]:
        """Return what there is to do for some jobs, except those on hold."""
        from dataflow.store import workers  # start-up: only workers need it

        return self.database.read(lambda tx: workers.list_outlooks(tx, job_ids))

    @property
    def workers(self) -> WorkerVerbs:
        """The verbs by which workers join and leave."""
        from dataflow.store.workers import WorkerVerbs  # start-up: only workers need it

        return WorkerVerbs(self.database, self.actor)

    def _once(self, action: str, verb: Callable[[Transaction], Any]) -> Any:
        token = os.urandom(16).hex()
        return self.database.write(lambda tx: operator_moves.once(tx, token, action, lambda: verb(tx)))


def _run_ids(tx: Transaction, query: str, claimant: str, run_ids: Sequence[int]) -> set[int]:
    return {row[0] for row in tx.rows(query, claimant=claimant, **tx.ids(run_ids))}
