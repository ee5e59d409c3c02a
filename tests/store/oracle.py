"""The rules of the handoff again, in memory and without counters; the store must agree with them.

Whether work can be claimed is worked out from scratch each time it is asked, from what is published.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LEASE_SECONDS = 2000
RETRY_DELAY_SECONDS = 1000
RETURN_DELAY_SECONDS = 30
MAX_LOSSES = 5


class Refused(Exception):
    """The store must refuse this too."""


@dataclass
class JobRule:
    """A job: its inputs as (dataset, lag), its one output, and what else decides about its claims.

    An input without a lag is the latest chunk, if its number is the work's or a later one.
    """

    inputs: list[tuple[str, int | None]]
    output: str
    retries: int = 0
    ordered: bool = False
    first: str = ""
    hold: bool = False


@dataclass
class Chunk:
    version: int = 0
    withdrawn: bool = False
    stale: bool = False
    dirty: int | None = None
    made_by: RunRule | None = None

    @property
    def ready(self) -> bool:
        return self.version > 0 and not (self.withdrawn or self.stale) and self.dirty is None


@dataclass
class RunRule:
    run_id: int
    job: str
    dataid: str
    claimant: str
    lease_until: float
    pins: dict[tuple[str, str], int]
    needs: list[tuple[str, str] | None]
    outcome: str = "RUNNING"


@dataclass
class Work:
    ended: str = ""
    hold: bool = False
    resubmitted: bool = False
    attempts: int = 0
    losses: int = 0
    returns: int = 0
    wait_until: float | None = None
    runs: list[RunRule] = field(default_factory=list)

    @property
    def running(self) -> bool:
        return bool(self.runs) and self.runs[-1].outcome == "RUNNING"

    def reset(self) -> None:
        self.attempts = self.losses = self.returns = 0


class Oracle:
    """Chunks, jobs and work, and what each verb does to them. Dataids are numbers written as text."""

    def __init__(self, jobs: dict[str, JobRule], in_place: set[str]) -> None:
        self.now = 0.0
        self.jobs = jobs
        self.in_place = in_place
        self.chunks: dict[tuple[str, str], Chunk] = {}
        self.works: dict[tuple[str, str], Work] = {}
        self.runs: dict[int, RunRule] = {}

    # what follows from what is published

    def is_ready(self, dataset: str, dataid: str) -> bool:
        return self.chunks.get((dataset, dataid), Chunk()).ready

    def needs(self, job: str, dataid: str) -> list[tuple[str, str] | None]:
        """The chunk that each input calls for; None where the first work needs none."""
        rule = self.jobs[job]
        return [
            None if lag and dataid == rule.first else self._input(dataset, dataid, lag)
            for dataset, lag in rule.inputs
        ]

    def present(self, job: str, dataid: str) -> list[bool]:
        """Whether each input's chunk is ready, needed or not."""
        return [self.is_ready(*self._input(dataset, dataid, lag)) for dataset, lag in self.jobs[job].inputs]

    def _input(self, dataset: str, dataid: str, lag: int | None) -> tuple[str, str]:
        if lag is not None:
            return dataset, str(int(dataid) - lag)
        ready = [int(found) for name, found in self.chunks if name == dataset and self.is_ready(name, found)]
        return dataset, str(max(ready)) if ready and max(ready) >= int(dataid) else "none"

    def missing(self, job: str, dataid: str) -> int:
        return sum(need is not None and not self.is_ready(*need) for need in self.needs(job, dataid))

    def state(self, job: str, dataid: str) -> str:
        work = self.works[job, dataid]
        if work.running:
            return "RUNNING"
        if work.ended:
            return work.ended
        waits = work.wait_until is not None or self.missing(job, dataid) > 0
        return "WAITING" if waits else "CLAIMABLE"

    def served(self, dataset: str, dataid: str) -> list[tuple[str, str]]:
        """The work that a chunk calls for."""
        return [
            (job, str(int(dataid) + lag))
            for job, rule in self.jobs.items()
            for name, lag in rule.inputs
            if name == dataset and lag is not None
        ]

    def readers(self, dataset: str, dataid: str) -> list[tuple[str, str, bool]]:
        """The work with a run that read a chunk: of what is published now, or else of the last attempt."""
        found = []
        for (job, work), facts in self.works.items():
            output = self.chunks.get((self.jobs[job].output, work), Chunk())
            if output.made_by and (dataset, dataid) in output.made_by.pins:
                found.append((job, work, True))
            elif facts.runs and (dataset, dataid) in facts.runs[-1].pins:
                reads = dataset in [name for name, _ in self.jobs[job].inputs]
                if facts.ended == "DONE" and not output.made_by:
                    found.append((job, work, True))
                elif facts.ended in ("FAILED", "INVALID") and reads:
                    found.append((job, work, False))
        return found

    def dataids_of(self, job: str) -> list[str]:
        return sorted((dataid for name, dataid in self.works if name == job), key=int)

    # what verbs do

    def publish(self, dataset: str, dataid: str, stale: bool = False, run: RunRule | None = None) -> None:
        chunk = self.chunks.setdefault((dataset, dataid), Chunk())
        chunk.version += 1
        chunk.withdrawn, chunk.stale, chunk.dirty, chunk.made_by = False, stale, None, run
        if chunk.version > 1:
            for job, work, is_made in self.readers(dataset, dataid):
                self._outdate(job, work, is_made)
        for key in self.served(dataset, dataid):
            if chunk.ready:
                self.works.setdefault(key, Work())
            if chunk.version > 1 or (chunk.ready and self.works[key].runs):
                self._outdate(*key)

    def ready(self, dataset: str, dataid: str, again: bool) -> bool:
        changes = again or not self.is_ready(dataset, dataid)
        if changes:
            self.publish(dataset, dataid)
        return changes

    def withdraw(self, dataset: str, dataid: str) -> bool:
        chunk = self.chunks.get((dataset, dataid), Chunk())
        changes = chunk.version > 0 and not chunk.withdrawn
        chunk.withdrawn = True
        return changes

    def register(self, job: str, inputs: list[tuple[str, int | None]]) -> None:
        if self.jobs[job].inputs == inputs:
            return
        self.jobs[job].inputs = inputs
        for dataid in self.dataids_of(job):
            work = self.works[job, dataid]
            called = any(
                self.is_ready(*self._input(name, dataid, lag)) for name, lag in inputs if lag is not None
            )
            if not work.runs and not work.ended and not work.hold and not called:
                del self.works[job, dataid]
        for (dataset, dataid), chunk in self.chunks.items():
            for key in self.served(dataset, dataid):
                if chunk.ready and key[0] == job:
                    self.works.setdefault(key, Work())

    def next_dataid(self, job: str) -> str | None:
        """The dataid that a claim must return now."""
        rule = self.jobs[job]
        if rule.hold or (rule.ordered and self._busy(job)):
            return None
        dataids = self.dataids_of(job)
        if rule.ordered:
            unfinished = [dataid for dataid in dataids if self.works[job, dataid].ended != "DONE"]
            if not unfinished:
                return None
            first = unfinished[0]
            before = self.works.get((job, str(int(first) - 1)))
            in_turn = first == dataids[0] or (
                before is not None and before.ended == "DONE" and not before.running
            )
            dataids = [first] if in_turn else []
        claimable = (
            dataid
            for dataid in dataids
            if self.state(job, dataid) == "CLAIMABLE" and not self.works[job, dataid].hold
        )
        return next(claimable, None)

    def tidy(self, job: str, dead: tuple[str, ...]) -> None:
        """What every claim does first: free dead runs, promote due work."""
        for dataid in self.dataids_of(job):
            work = self.works[job, dataid]
            if work.running and (work.runs[-1].lease_until <= self.now or work.runs[-1].claimant in dead):
                work.runs[-1].outcome = "LOST"
                work.losses += 1
                if work.losses >= MAX_LOSSES:
                    work.ended = "FAILED"
                elif work.losses > 1:
                    work.wait_until = self.now + min(5 * 2 ** (work.losses - 1), 600)
            if work.wait_until is not None and work.wait_until <= self.now:
                work.wait_until = None

    def may_force(self, job: str, dataid: str) -> bool:
        """No run holds the work, and no revoked run may still be working on it or on other ordered work."""
        if self.jobs[job].ordered and self._busy(job):
            return False
        work = self.works.get((job, dataid))
        return work is None or not (work.running or self._revoked_until(work))

    def _busy(self, job: str) -> bool:
        """A run of the job may be alive."""
        return any(
            run.job == job and run.outcome in ("RUNNING", "CANCELLED") and run.lease_until > self.now
            for run in self.runs.values()
        )

    def give(self, run_id: int, job: str, dataid: str, claimant: str) -> None:
        """A claim has given this work to a run."""
        pins = {}
        for need in self.needs(job, dataid):
            chunk = self.chunks.get(need, Chunk()) if need else Chunk()
            if need and chunk.version > 0 and not chunk.withdrawn:
                pins[need] = chunk.version
        needs = self.needs(job, dataid)
        run = RunRule(run_id, job, dataid, claimant, self.now + LEASE_SECONDS, pins, needs)
        self.runs[run_id] = run
        work = self.works.setdefault((job, dataid), Work())
        work.runs.append(run)
        work.resubmitted = work.resubmitted or bool(work.ended)
        work.ended, work.wait_until = "", None
        output = self.chunks.get((self.jobs[job].output, dataid))
        if output is not None and self.jobs[job].output in self.in_place and output.dirty is None:
            output.dirty = run_id

    def renew(self, run_id: int, claimant: str) -> bool:
        run = self.runs[run_id]
        holds = self._holds(run) and run.claimant == claimant
        if holds:
            run.lease_until = self.now + LEASE_SECONDS
        return holds

    def finish(self, run_id: int, outcome: str, delay: float, untouched: bool) -> str:
        run = self.runs[run_id]
        if not self._holds(run):
            self.acknowledge(run_id, run.claimant)
            raise Refused
        work = self.works[run.job, run.dataid]
        run.outcome = outcome
        tried = outcome in ("DONE", "FAILED", "INVALID")
        if outcome == "DONE":
            self._finish_well(run, work)
        elif tried and any(self.chunks[key].version != version for key, version in run.pins.items()):
            work.resubmitted = False
            work.reset()
        elif outcome == "FAILED":
            work.attempts += 1
            if work.attempts <= self.jobs[run.job].retries:
                work.wait_until = self.now + RETRY_DELAY_SECONDS
            else:
                work.ended = "FAILED"
        elif outcome == "INVALID":
            work.ended = "INVALID"
        elif delay:
            work.wait_until = self.now + min(delay * 2 ** min(work.returns, 10), 600)
            work.returns += 1
        if untouched and outcome != "DONE":
            for chunk in self.chunks.values():
                if chunk.dirty == run_id:
                    chunk.dirty = None
        return self.state(run.job, run.dataid)

    def resubmit(self, job: str, dataids: list[str]) -> None:
        works = [self.works.get((job, dataid)) for dataid in dataids]
        if any(work is None or work.running for work in works):
            raise Refused
        for work in works:
            assert work is not None
            work.ended, work.resubmitted = "", True
            work.reset()
            work.wait_until = self._revoked_until(work)

    def mark(self, job: str, dataid: str, state: str) -> str:
        work = self.works.get((job, dataid))
        if work is None:
            raise Refused
        found = self.state(job, dataid)
        output = self.jobs[job].output
        made_by = self.chunks.get((output, dataid), Chunk()).made_by
        if state == "DONE":
            last = work.runs[-1].run_id if work.runs else 0
            unknown = found == "INVALID" and (made_by.run_id if made_by else None) != last
            busy = work.running or self._revoked_until(work)
            if busy or (unknown and output not in self.in_place):
                raise Refused
        if work.running:
            work.runs[-1].outcome = "CANCELLED"
        else:
            work.reset()
        work.ended, work.resubmitted, work.wait_until = state, False, None
        if state == "DONE":
            self.publish(output, dataid, run=made_by)
        elif state == "INVALID":
            self.withdraw(output, dataid)
        return found

    def cancel(self, run_id: int) -> None:
        run = self.runs[run_id]
        if run.outcome != "RUNNING":
            raise Refused
        run.outcome = "CANCELLED"
        work = self.works[run.job, run.dataid]
        work.ended, work.resubmitted, work.wait_until = "FAILED", False, None

    def acknowledge(self, run_id: int, claimant: str) -> None:
        run = self.runs[run_id]
        if run.outcome != "CANCELLED" or run.claimant != claimant or run.lease_until <= self.now:
            return
        run.lease_until = self.now
        work = self.works[run.job, run.dataid]
        if work.runs[-1] is run and not work.ended:
            work.wait_until = None

    def _finish_well(self, run: RunRule, work: Work) -> None:
        stale = any(
            (chunk := self.chunks[key]).version != version or not chunk.ready
            for key, version in run.pins.items()
        ) or any(
            need is not None
            and self.is_ready(*need)
            and (need not in run.pins or need not in run.needs[at : at + 1])
            for at, need in enumerate(self.needs(run.job, run.dataid))
        )
        work.ended, work.resubmitted = ("" if stale else "DONE"), False
        work.reset()
        self.publish(self.jobs[run.job].output, run.dataid, stale, run)

    def _outdate(self, job: str, dataid: str, is_made: bool = True) -> None:
        """An input of this work has a newer version; `is_made`: its result was made from the old one."""
        work = self.works.get((job, dataid))
        if work is not None and work.ended and not work.running:
            self._reopen(work)
        output = self.chunks.get((self.jobs[job].output, dataid))
        if output is not None and output.version and is_made:
            self._make_stale(self.jobs[job].output, dataid)

    def _make_stale(self, dataset: str, dataid: str) -> None:
        """Everything made from a chunk that becomes stale becomes stale too, and its work is done again."""
        chunk = self.chunks[dataset, dataid]
        if chunk.stale:
            return
        chunk.stale = True
        for (job, work), facts in self.works.items():
            output = self.chunks.get((self.jobs[job].output, work), Chunk())
            if output.made_by and (dataset, dataid) in output.made_by.pins and not output.stale:
                if facts.ended == "DONE":
                    self._reopen(facts)
                self._make_stale(self.jobs[job].output, work)

    def _reopen(self, work: Work) -> None:
        work.ended, work.resubmitted = "", False
        work.reset()
        work.wait_until = self._revoked_until(work)

    def _revoked_until(self, work: Work) -> float | None:
        if work.runs and work.runs[-1].outcome == "CANCELLED" and work.runs[-1].lease_until > self.now:
            return work.runs[-1].lease_until
        return None

    def _holds(self, run: RunRule) -> bool:
        return run.outcome == "RUNNING" and run.lease_until > self.now
