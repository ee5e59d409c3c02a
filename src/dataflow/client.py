"""DataFlow from Python: `with dataflow.open() as flow:` and the same words as on the command line."""

from __future__ import annotations

import os
from contextlib import contextmanager

from dataflow import errors
from dataflow.actions.claim import finish_and_claim, finish_run, with_dead
from dataflow.actions.names import get_plan
from dataflow.actions.passwords import open_store_password
from dataflow.actions.prepare import make_folders, prepare
from dataflow.config.project import get_working_dir
from dataflow.config.settings import load_config
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.record import replace
from dataflow.model.records import Claimant, ClaimRequest, Ending
from dataflow.model.status import RunOutcome
from dataflow.runjob.check_commands import run_check
from dataflow.runjob.endings import (
    answers_text,
    as_accepted,
    handed_back,
    missing_outputs,
    not_begun,
    not_started,
    publications_for,
    refused,
)
from dataflow.runjob.environment import (
    Given,
    child_environment,
    describe,
    inherited_environment,
    own_secrets,
)
from dataflow.runjob.heartbeat import Heartbeat
from dataflow.runjob.lock import ClaimantLock, is_dead
from dataflow.runjob.output import RunLog
from dataflow.runjob.predecessors import Predecessors
from dataflow.runjob.processes import boottime, kill_orphans
from dataflow.runjob.session import open_passwords
from dataflow.secrets.known import KnownSecrets
from dataflow.secrets.passphrase import get_passphrase
from dataflow.secrets.redaction import Redactor
from dataflow.store.leases import boot_id
from dataflow.store.opener import open_store, refuse_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dataflow.actions.prepare import Prepared
    from dataflow.config.settings import Config
    from dataflow.model.answers import Answer, Why
    from dataflow.model.records import Plan, Run
    from dataflow.model.status import WorkState
    from dataflow.store.store import Store


class ClaimedRun:
    """A run this process holds: what to read, where to write."""

    def __init__(self, prepared: Prepared, given: Given, began_at: float, log: RunLog) -> None:
        self.renewed_at = began_at
        self._prepared = prepared
        self._given = given
        self._log = log
        self._passwords = given.passwords
        self._heartbeat: Heartbeat | None = None
        self._lost = False
        self._rows: dict[str, int] = {}
        self._checked: dict[str, str] = {}

    @property
    def run(self) -> Run:
        """The run as the claim gave it."""
        return self._prepared.run

    @property
    def run_id(self) -> int:
        """The run's id: its fencing token."""
        return self.run.run_id

    @property
    def dataid(self) -> str:
        """The chunk to work on."""
        return self.run.dataid

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The five answers."""
        return self._prepared.answers

    def location(self, dataset: str) -> str:
        """Where an input is, or where an output goes."""
        for name, place in self._prepared.outputs:
            if name == dataset:
                return place
        for item in self._prepared.inputs:
            if item.source.dataset.name == dataset:
                return item.location
        raise errors.UnknownName(
            f"Job {self.run.job} has no input or output {dataset}. See: dataflow job show {self.run.job}"
        )

    def password(self, dataset: str) -> str:
        """The password of one of the run's own datasets."""
        if dataset not in self._passwords:
            raise errors.UnknownName(
                f"No password is kept for {dataset} among the datasets of {self.run.job}. "
                f"Set one: dataflow dataset add {dataset} --password-stdin"
            )
        return self._passwords[dataset]

    def record_rows(self, dataset: str, rows: int) -> None:
        """How many rows an output has, to be published with it."""
        self._rows[dataset] = rows

    @property
    def rows(self) -> Mapping[str, int]:
        """How many rows each output has, as far as that was recorded."""
        return self._rows

    def record_checked(self, dataset: str, evidence: str) -> None:
        """What was found right about an output, to be published with it."""
        self._checked[dataset] = evidence

    @property
    def prepared(self) -> Prepared:
        """The run with its inputs and outputs in place."""
        return self._prepared

    @property
    def lost(self) -> bool:
        """True once the lease is known to be lost: stop then, for nothing will be accepted any more.

        The store says so, or has not answered for as long as the lease was good.
        """
        if self._heartbeat is not None and self.run_id in self._heartbeat.take_lost():
            self._lost = True
        if boottime() - self.renewed_at >= self.run.lease_seconds - self.run.grace_seconds:
            self._lost = True  # for good: what was broken off must not be given out after a late renewal
        return self._lost

    def refuse_lost(self) -> None:
        """Raises LeaseLost once the lease is known to be lost: the last look before a result is given out."""
        if self.lost:
            raise errors.LeaseLost(
                f"Run {self.run_id} has lost its lease: it was cancelled, another run has its work, or the "
                f"store gave no answer. Nothing was published. See: dataflow why {self.run.job} {self.dataid}"
            )

    def renewed(self, at: float) -> None:
        """Its lease counts from this moment on."""
        self.renewed_at = at

    def kept_by(self, heartbeat: Heartbeat | None) -> None:
        """Who renews its lease; None when nobody does any more."""
        self._lost = self.lost
        self._heartbeat = heartbeat

    def ending(self, checks: Mapping[str, tuple[str, ...]]) -> Ending:
        """How the run ends when its body has ended well: with its outputs, or INVALID if one is not right."""
        answers = answers_text(self.answers)
        wrong = missing_outputs(self._prepared)
        passed = []
        for name, _ in self._prepared.outputs:
            if not wrong and name in checks:
                wrong = self.check(name, checks[name])
                passed.append(name)
        if wrong:
            return Ending(self.run, RunOutcome.INVALID, 0, wrong, answers)
        given = tuple(
            replace(publication, checked=publication.checked or self._checked.get(publication.dataset, ""))
            for publication in publications_for(self._prepared, passed, self._rows)
        )
        return Ending(self.run, RunOutcome.DONE, 0, "", answers, given)

    def check(self, dataset: str, command: tuple[str, ...]) -> str:
        """Runs a dataset's check in the environment a script would have; says what is wrong, or nothing."""
        environment = child_environment(self._given, self._prepared, describe(self._prepared))
        try:
            code = run_check(command, environment, (self._log, self._given.redactor), lambda: self.lost)
        except (errors.CannotExecute, errors.BadInput) as error:
            return f"the check of {dataset} cannot run: {error}"
        return f"the check of {dataset} exited with {code}" if code else ""

    def refused_input(self, checks: Mapping[str, tuple[str, ...]]) -> Ending | None:
        """The ending of a run one of whose inputs does not pass its check; None when all do."""
        for item in self._prepared.inputs:
            name = item.source.dataset.name
            if name in checks and not (item.pin and item.pin.checked):
                wrong = self.check(name, checks[name])
                if wrong:
                    return not_started(self._prepared, f"valid? no: {wrong}")
        return None


class Flow:
    """An open store: make data ready, claim work, ask why."""

    def __init__(self, config: Config, store: Store, known: KnownSecrets | None = None) -> None:
        """`known` are secrets that no run of it may leave anywhere; those it opens itself are added."""
        self._config = config
        self._store = store
        self._token = os.urandom(8).hex()
        self._lock: ClaimantLock | None = None
        self._known = KnownSecrets() if known is None else known

    def __enter__(self) -> Flow:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._store.close()

    def make_ready(self, dataset: str, dataids: Iterable[str], again: bool = False) -> int:
        """Says that chunks are there; gives how many were not ready before."""
        from dataflow.actions.make_ready import make_ready

        return make_ready(self._store, dataset, dataids, again=again).changed

    def why(self, job: str, dataid: str | None = None) -> Why:
        """Why work is where it is: the verdict, the five answers and the next command."""
        from dataflow.actions.why import why

        return why(self._store, self._config, get_plan(self._store, job), dataid)

    @contextmanager
    def claim(self, job: str, dataid: str | None = None) -> Iterator[ClaimedRun | None]:
        """Claims the next work of a job for the body of a `with`; None when there is nothing to do.

        Outputs are published when the body ends well. When it raises, the work has FAILED, or is INVALID for
        an InvalidData; for an InputMoved it waits, and no attempt is used. The lease is renewed meanwhile; if
        it is lost, LeaseLost is raised at the end and nothing is published.
        """
        plan = get_plan(self._store, job)
        if dataid is not None:
            dataid = canonical_dataid(dataid, Grain(plan.grain), plan.timezone)
        passwords = open_passwords(plan, self._passphrase)
        claimed, plan = self._take(plan, dataid, passwords)
        self._known.add(*passwords.values())
        if claimed is None:
            yield None
            return
        try:
            with self._kept(claimed):
                yield claimed
                ending = claimed.ending(self._config.checks)
                claimed.refuse_lost()
        except BaseException as error:
            self._finish(plan, _ending_of(error, claimed, self._given(plan, passwords).redactor))
            if isinstance(error, Exception):
                claimed.refuse_lost()
            raise
        ending = as_accepted(ending, self._finish(plan, ending))
        if ending.outcome is not RunOutcome.DONE:
            reason = f"{job} {claimed.dataid} is {ending.outcome}: {ending.reason}. Nothing was published."
            raise errors.Conflict(f"{reason} See: dataflow why {job} {claimed.dataid}")

    @contextmanager
    def _kept(self, claimed: ClaimedRun) -> Iterator[None]:
        """Renews the run's lease meanwhile; no renewal is under way afterwards."""
        heartbeat = Heartbeat(self._store, self._token, [claimed])
        claimed.kept_by(heartbeat)
        try:
            yield
        finally:
            claimed.kept_by(None)
            heartbeat.stop()

    def _take(
        self, plan: Plan, dataid: str | None, passwords: dict[str, str]
    ) -> tuple[ClaimedRun | None, Plan]:
        """The first work whose five answers let it start; work that must wait is handed back on the way."""
        while True:
            request = with_dead(self._store, plan, self._request(plan, dataid, passwords), self._is_dead)
            request = replace(request, dead=tuple(name for name in request.dead if kill_orphans(name)))
            began_at = boottime()
            before = plan
            _, result, plan = finish_and_claim(self._store, plan, (), request)
            if not result.runs:
                return None, plan
            if plan is not before:
                self._open_again(plan, result.runs[0], passwords)
            refusal = Predecessors(self._store, request.claimant).end(plan, result.runs[0])
            if refusal is not None:
                self._finish(plan, refusal)
                continue
            prepared = prepare(
                self._store, plan, result.runs[0], self._config.project_dir, self._config.environment
            )
            log = RunLog(self._config.log_dir, prepared.run.run_id)
            claimed = ClaimedRun(prepared, self._given(plan, passwords), began_at, log)
            refusal = refused(prepared) or self._refused_input(plan, claimed)
            if refusal is None and (reason := make_folders(prepared)):
                refusal = not_started(prepared, reason)
            if refusal is None:
                return claimed, plan
            self._finish(plan, refusal)

    def _open_again(self, plan: Plan, run: Run, passwords: dict[str, str]) -> None:
        """The passwords of a plan that was changed; the run is handed back if one does not open."""
        try:
            found = open_passwords(plan, self._passphrase)
        except errors.SecretError as error:
            self._finish(plan, handed_back(run, str(error)))
            raise
        passwords.clear()
        passwords.update(found)

    def _refused_input(self, plan: Plan, claimed: ClaimedRun) -> Ending | None:
        """What the checks of its inputs say, the lease being kept; handed back if they are broken off."""
        if not self._config.checks:
            return None
        try:
            with self._kept(claimed):
                return claimed.refused_input(self._config.checks)
        except BaseException as error:
            self._finish(plan, not_begun(claimed.run, type(error).__name__))
            raise

    def _given(self, plan: Plan, passwords: dict[str, str]) -> Given:
        """What the run's checks are given, and what hides our own secrets and the run's in all it leaves."""
        own = own_secrets(os.environ, self._config.store_url)
        redactor = Redactor([*passwords.values(), *own.values(), *self._known])
        local = self._config.environments.get(plan.job.name, {})
        return Given(inherited_environment(os.environ, own, local), passwords, redactor)

    def _finish(self, plan: Plan, ending: Ending) -> WorkState | None:
        try:
            return finish_run(self._store, plan, ending)
        except errors.StoreError:
            # The store still takes the run for ours; others are to see at once that we are gone.
            if self._lock is not None:
                self._lock.leave_file()
            raise

    def _request(self, plan: Plan, dataid: str | None, passwords: dict[str, str]) -> ClaimRequest:
        config = self._config
        if self._lock is None:
            self._lock = ClaimantLock.take(config.lock_dir, self._token)
        claimant = Claimant(self._token, config.host, boot_id(), os.getpid(), config.user, config.environment)
        lease, grace = plan.job.lease_seconds, plan.job.grace_seconds
        given = tuple(sorted(passwords))
        return ClaimRequest(claimant, (os.urandom(16).hex(),), lease, grace, dataid, credentials=given)

    def _is_dead(self, name: str) -> bool:
        return is_dead(self._config.lock_dir, name)

    def _passphrase(self) -> str:
        passphrase = get_passphrase(self._config.passkey, self._config.passkey_file, None)
        self._known.add(passphrase)
        return passphrase


def _ending_of(error: BaseException, claimed: ClaimedRun, redactor: Redactor) -> Ending:
    """How a run ends whose body raised."""
    words = str(error) if isinstance(error, errors.DataFlowError) else f"{type(error).__name__}: {error}"
    if isinstance(error, errors.InputMoved) and not claimed.lost:
        return not_started(claimed.prepared, redactor.redact_text(words))
    is_ours = isinstance(error, Exception) and not claimed.lost
    outcome = RunOutcome.FAILED if is_ours else RunOutcome.INTERRUPTED  # which uses no attempt
    if is_ours and isinstance(error, errors.InvalidData):
        outcome = RunOutcome.INVALID
    is_final = isinstance(error, errors.Superseded)
    answers = answers_text(claimed.answers)
    return Ending(claimed.run, outcome, 1, redactor.redact_text(words), answers, final=is_final)


def open(store: str | None = None) -> Flow:
    """Opens the store of the project in the working directory, or the one a URL names."""
    config = load_config(get_working_dir(), os.environ, store)
    refuse_missing(config.store_url)
    password = open_store_password(config, lambda: get_passphrase(config.passkey, config.passkey_file, None))
    opened = open_store(config.store_url, config.actor, config.store_schema, password)
    return Flow(config, opened, KnownSecrets(password))
