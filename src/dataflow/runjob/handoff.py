"""The life of a run, from its claim to its recorded outcome: one line of steps for RunJob and for Python.

    take      look for dead claimants; finish what has ended and claim the next in one transaction
    begin     end predecessors; open passwords; answer the five questions; refuse; make folders
    (run)     RunJob starts commands under a guard (launch.py), Python runs the body of a `with` (client.py)
    finish    record the ending that endings.py has decided

The steps of `begin` pass an Attempt along. The first one that sets an ending is the last one.
"""

from __future__ import annotations

import os

from dataflow import errors
from dataflow.actions.claim import finish_and_claim, list_credentials, with_dead
from dataflow.actions.prepare import Prepared, make_folders, prepare
from dataflow.model.record import record, replace
from dataflow.model.records import Claimant, ClaimRequest, Ending, Plan, Run
from dataflow.private_files import remove_files
from dataflow.runjob.endings import as_accepted, handed_back, not_started, refused
from dataflow.runjob.environment import Given, make_given
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.lock import is_copy, is_dead, remove_dead
from dataflow.runjob.processes import boottime, kill_orphans, kill_runs, list_run_ids
from dataflow.store.leases import Taken, boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dataflow.config.settings import Config
    from dataflow.model.status import WorkState
    from dataflow.runjob.request import Face, JobRequest
    from dataflow.store.store import Store

    Outage = Callable[[errors.StoreError, bool], bool]
    """Wait while the store is away; False gives up. True as second argument from the second try on."""

RETRY_WAIT_SECONDS = 60.0
"""A drain waits for a retry of its own failed work that is due within this time, without its jitter."""


def find_retry_wait(store: Store, plan: Plan, work_id: int, dataid: str) -> float | None:
    """Return the seconds until failed work is tried again, if a drain waits for that; else None."""
    from dataflow.model.retries import nominal_delay  # start-up: only failures need it

    work = store.read.find_work(plan.job_id, dataid)
    if work is None or work.work_id != work_id or work.wait_seconds is None:
        return None
    # Not by the wait itself, whose jitter would decide.
    is_soon = nominal_delay(plan.job, work.attempts) <= RETRY_WAIT_SECONDS
    return max(0.0, work.wait_seconds) if is_soon else None


@record
class Attempt:
    """A claimed run on its way to its command; `error` stands in the way of every later run, too."""

    run: Run
    plan: Plan
    given: Given
    began_at: float
    timeout_seconds: float
    prepared: Prepared | None = None
    ending: Ending | None = None
    error: errors.DataFlowError | None = None


@record
class Settled:
    """An ending as the store took it, and the work's new state; LeaseLost if it was not accepted."""

    ending: Ending
    state: WorkState | errors.LeaseLost | None


@record
class Exchange:
    """Result of one transaction; `exhausted` when there is nothing to claim even from the dead."""

    settled: tuple[Settled, ...]
    runs: tuple[Run, ...]
    began_at: float
    exhausted: bool


def make_claimant(config: Config, token: str) -> Claimant:
    """Describe this process to the store."""
    return Claimant(
        token=token,
        host=config.host,
        boot_id=boot_id(),
        pid=os.getpid(),
        user=config.user,
        environment=config.environment,
    )


class Handoff:
    """Takes work of one job for one process, and hands it back."""

    def __init__(
        self,
        request: JobRequest,
        face: Face,
        plan: Plan,
        claimant: Claimant,
        warn: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """SecretError if a password of the job does not open."""
        self.plan = plan
        self.given = make_given(request, plan, face)
        self.claimant = claimant
        self._given_plan = plan
        self._request = request
        self._face = face
        self._store = face.store
        self._warn = warn
        self._looks_for_dead = True
        self._ended: set[int] = set()
        self.rival: tuple[int, int, str] | None = None  # the rank of the next job's first work

    def take(
        self, wanted: int = 1, endings: Sequence[Ending] = (), outage: Outage = lambda _error, _again: False
    ) -> Exchange:
        """Record endings and claim up to `wanted` runs, in one transaction."""
        request = self._claim_request(wanted) if wanted else None
        looks = request is not None and (self._looks_for_dead or bool(self._request.kill_command))
        if request is not None and looks:
            request = self._with_kills(self._with_dead(request))
        began_at = boottime()
        states, runs, has_asked = self._commit(endings, request, outage)
        self._forget_dead(request)
        if request is not None:
            # Before giving up, ask the kernel about the others on this machine once more.
            self._looks_for_dead = not runs
        settled = [Settled(as_accepted(*pair), pair[1]) for pair in zip(endings, states, strict=True)]
        return Exchange(tuple(settled), runs, began_at, exhausted=looks and has_asked and not runs)

    def expect_dead(self) -> None:
        """Ask the kernel about the other claimants on this machine at the next claim."""
        self._looks_for_dead = True

    def begin(self, run: Run, began_at: float) -> Attempt:
        """Bring a claimed run to the point where it may start, or to its ending."""
        timeout_seconds = self._request.timeout_seconds or self.plan.job.timeout_seconds
        attempt = Attempt(run, self.plan, self.given, began_at, timeout_seconds)
        for step in (
            self._end_predecessors,
            self._open_passwords,
            self._answer_questions,
            self._refuse,
            self._make_folders,
        ):
            if attempt.ending is None:
                attempt = step(attempt)
        return attempt

    def finish(self, ending: Ending) -> Ending:
        """Record one ending and return it as the store took it; LeaseLost if it was not accepted."""
        (settled,) = self.take(0, (ending,)).settled
        if isinstance(settled.state, errors.LeaseLost):
            raise settled.state
        return settled.ending

    # the steps of take

    def _claim_request(self, wanted: int) -> ClaimRequest:
        asked = self._request
        return ClaimRequest(
            self.claimant,
            tuple(os.urandom(16).hex() for _ in range(wanted)),
            *asked.lease_and_grace(self.plan.job),
            asked.dataid,
            asked.force,
            bool(asked.kill_command),
            credentials=list_credentials(self.plan),
            rival=self.rival,
        )

    def _with_dead(self, request: ClaimRequest) -> ClaimRequest:
        """Add the claimants that this machine's kernel knows to be dead, and end what outlived them."""
        lock_dir = self._request.config.lock_dir
        request = with_dead(self._store, self.plan, request, lambda name: is_dead(lock_dir, name))
        # What cannot be killed now, in uninterruptible I/O perhaps, keeps its work until its lease is over.
        return replace(request, dead=tuple(name for name in request.dead if kill_orphans(name)))

    def _with_kills(self, request: ClaimRequest) -> ClaimRequest:
        """Add the dead runs whose kill command has succeeded."""
        if not self._request.kill_command:
            return request
        lapsed = self._store.list_lapsed(self.plan.job_id, request.dead)
        killed = [
            run.run_id
            for run in lapsed
            if run.has_kill_command and self._kill_remains(run.run_id, run.dataid)
        ]
        return replace(request, killed=tuple(killed))

    def _kill_remains(self, run_id: int, dataid: str) -> bool:
        """Run the kill command for a dead run whose work may have outlived its process."""
        facts = {"dataid": dataid, "jobid": self.plan.job.name, "DATAFLOW_RUN_ID": str(run_id)}
        code = KillCommand(list(self._request.kill_command), self.given.inherited | facts).run()
        if code != 0:
            self._warn(f"the kill command for dead run {run_id} failed ({code}); its work waits")
        return code == 0

    def _commit(
        self, endings: Sequence[Ending], request: ClaimRequest | None, outage: Outage
    ) -> tuple[Sequence[WorkState | errors.LeaseLost | None], tuple[Run, ...], bool]:
        """Run the transaction again while the store is away and `outage` waits for it.

        If it fails otherwise, record the endings alone; False as third value then.
        """
        repeat = waited = False
        while True:
            try:
                states, result, self.plan = finish_and_claim(self._store, self.plan, endings, request, repeat)
                return states, result.runs, request is not None
            except errors.SchemaMismatch:
                raise
            except Exception as error:
                repeat = True
                if endings and request is not None and not isinstance(error, errors.StoreUnreachable):
                    request = None  # a claim that can never succeed must not take them with it
                    continue
                if not isinstance(error, errors.StoreError) or not outage(error, waited):
                    raise
                waited = True

    def _forget_dead(self, request: ClaimRequest | None) -> None:
        """Remove the locks and context files of dead claimants that hold no runs of any job."""
        try:
            for name in request.dead if request is not None else ():
                if not self._store.holds_runs(name):
                    remove_dead(self._request.config.lock_dir, name)
                    remove_files(self._request.config.context_dir, f"{name}-")
        except errors.StoreError:
            pass  # A dead lock does no harm, and the transaction has been made.

    # the steps of begin

    def _end_predecessors(self, attempt: Attempt) -> Attempt:
        """End what earlier runs of the work still do here; of the whole job if it runs one at a time.

        Runs that lost their work or were revoked should be gone. One whose guard was stopped, as in a frozen
        container, is not. The runs of a store that ours is a copy of are not ours to end.
        """
        run, plan = attempt.run, attempt.plan
        if run.is_first and not plan.one_at_a_time:
            return attempt
        claimant = self.claimant
        taken = Taken(
            run.run_id, run.job_id, run.work_id, claimant.host, claimant.boot_id, plan.one_at_a_time
        )
        lock_dir = self._request.config.lock_dir
        found = [
            (run_id, name)
            for run_id, name in self._store.list_taken(taken, list_run_ids)
            if run_id not in self._ended and not is_copy(lock_dir, name)
        ]
        if found and not kill_runs(found):
            reason = f"run {found[-1][0]} lost this work, but its processes cannot be ended yet"
            return replace(attempt, ending=handed_back(run, reason))
        self._ended.update(run_id for run_id, _ in found)
        return attempt

    def _open_passwords(self, attempt: Attempt) -> Attempt:
        """Give the run what a changed plan says; hand it back if a new password does not open."""
        if attempt.plan is not self._given_plan:
            try:
                self.given = make_given(self._request, attempt.plan, self._face)
            except errors.SecretError as error:
                return replace(attempt, ending=handed_back(attempt.run, str(error)), error=error)
            self._given_plan = attempt.plan
        return replace(attempt, given=self.given)

    def _answer_questions(self, attempt: Attempt) -> Attempt:
        config = self._request.config
        prepared = prepare(self._store, attempt.plan, attempt.run, config.project_dir, config.environment)
        places = [item.location for item in prepared.inputs] + [place for _, place in prepared.outputs]
        given = attempt.given.hiding(places)
        return replace(attempt, run=prepared.run, prepared=prepared, given=given)

    def _refuse(self, attempt: Attempt) -> Attempt:
        assert attempt.prepared is not None
        return attempt if self._request.force else replace(attempt, ending=refused(attempt.prepared))

    def _make_folders(self, attempt: Attempt) -> Attempt:
        assert attempt.prepared is not None
        reason = make_folders(attempt.prepared)
        return replace(attempt, ending=not_started(attempt.prepared, reason)) if reason else attempt
