"""DataFlow from Python: `with dataflow.open() as flow:` and the same words as on the command line."""

from __future__ import annotations

import os
from contextlib import contextmanager

from dataflow import errors
from dataflow.actions.names import get_plan
from dataflow.actions.passwords import open_store_password
from dataflow.config.project import get_working_dir, no_project
from dataflow.config.settings import load_config
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome
from dataflow.runjob.check_commands import run_check
from dataflow.runjob.child import Step
from dataflow.runjob.endings import (
    CommandEnd,
    ending_of,
    missing_outputs,
    not_begun,
    not_started,
    publications_for,
    raised,
)
from dataflow.runjob.environment import child_environment, describe
from dataflow.runjob.handoff import Handoff, make_claimant
from dataflow.runjob.output import RunLog
from dataflow.runjob.presence import Presence
from dataflow.runjob.processes import boottime
from dataflow.runjob.request import JobRequest, with_canonical_dataid
from dataflow.secrets.known import KnownSecrets
from dataflow.secrets.passphrase import get_passphrase
from dataflow.store.opener import open_store, refuse_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dataflow.actions.prepare import Prepared
    from dataflow.config.settings import Config
    from dataflow.model.answers import Answer, Why
    from dataflow.model.records import Ending, Run
    from dataflow.runjob.handoff import Attempt
    from dataflow.runjob.heartbeat import Heartbeat
    from dataflow.store.store import Store


class ClaimedRun:
    """A run this process holds: what to read, where to write."""

    def __init__(self, attempt: Attempt, log: RunLog, known: KnownSecrets, presence: Presence) -> None:
        """`known` may grow while the run works: what it learns is hidden in how the run ends, too."""
        assert attempt.prepared is not None
        self._known = known
        self._presence = presence
        self.renewed_at = attempt.began_at
        self._timeout_at = attempt.began_at + (attempt.timeout_seconds or float("inf"))
        self.prepared: Prepared = attempt.prepared
        self._given = attempt.given
        self._log = log
        self._heartbeat: Heartbeat | None = None
        self._lost = False
        self.rows: dict[str, int] = {}  # by output
        self._checked: dict[str, str] = {}

    @property
    def run(self) -> Run:
        """The run as claimed."""
        return self.prepared.run

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
        return self.prepared.answers

    def location(self, dataset: str) -> str:
        """Where an input is, or where an output goes."""
        for name, place in self.prepared.outputs:
            if name == dataset:
                return place
        for item in self.prepared.inputs:
            if item.source.dataset.name == dataset:
                return item.location
        raise errors.UnknownName(
            f"Job {self.run.job} has no input or output {dataset}. See: dataflow job show {self.run.job}"
        )

    def locations(self, dataset: str) -> list[str]:
        """Where all chunks of an input are, in order of their dataids."""
        return [item.location for item in self.prepared.inputs if item.source.dataset.name == dataset]

    def password(self, dataset: str) -> str:
        """The password of one of the run's own datasets."""
        if dataset not in self._given.passwords:
            raise errors.UnknownName(
                f"No password is kept for {dataset} among the datasets of {self.run.job}. "
                f"Set one: dataflow dataset add {dataset} --password-stdin"
            )
        return self._given.passwords[dataset]

    def record_rows(self, dataset: str, rows: int) -> None:
        """Record the row count of an output, to publish with it."""
        self.rows[dataset] = rows

    def record_checked(self, dataset: str, evidence: str) -> None:
        """Record the evidence that an output is valid, to publish with it."""
        self._checked[dataset] = evidence

    @property
    def lost(self) -> bool:
        """True once the lease is lost: stop, because no result will be accepted.

        The store says so, or has not answered for the length of the lease.
        """
        if self._heartbeat is not None and self._heartbeat.is_lost(self.run_id):
            self._lost = True
        if boottime() - self.renewed_at >= self.run.lease_seconds - self.run.grace_seconds:
            self._lost = True  # stays so: interrupted work must not be published after a late renewal
        return self._lost

    def refuse_lost(self) -> None:
        """Raise LeaseLost once the lease is lost: the last check before a result is published."""
        if self.lost:
            raise errors.LeaseLost(
                f"Run {self.run_id} has lost its lease: it was cancelled, another run has its work, or the "
                f"store did not answer. Nothing was published. See: dataflow why {self.run.job} {self.dataid}"
            )

    @property
    def timed_out(self) -> bool:
        """True once the run has taken longer than the job's `timeout`."""
        return boottime() >= self._timeout_at

    @property
    def is_over(self) -> bool:
        """True once the run has lost its lease, has timed out or is interrupted: it should stop."""
        return self.lost or self.timed_out or self._presence.interruption is not None

    def refuse_interrupted(self, cause: BaseException | None = None) -> None:
        """Raise what the run was interrupted with."""
        self._presence.refuse_interrupted(cause)

    def refuse_timed_out(self, cause: BaseException | None = None) -> None:
        """Raise TimedOut once the run has taken longer than the job's `timeout`."""
        if self.timed_out:
            raise errors.TimedOut(
                f"Run {self.run_id} of {self.run.job} {self.dataid} took longer than the job's timeout. "
                f"Nothing was published. Allow more: dataflow job add {self.run.job} --timeout SPAN"
            ) from cause

    def renewed(self, at: float) -> None:
        """Count its lease from this moment."""
        self.renewed_at = at

    def kept_by(self, heartbeat: Heartbeat | None) -> None:
        """Set the heartbeat that renews its lease; None when nothing renews it any more."""
        self._lost = self.lost
        self._heartbeat = heartbeat

    def ending(self, checks: Mapping[str, tuple[str, ...]]) -> Ending:
        """Decide how the run ends after its body succeeded: DONE with its outputs, or INVALID."""
        wrong = missing_outputs(self.prepared)
        passed = []
        for name, _ in self.prepared.outputs:
            if not wrong and name in checks:
                wrong = self.check(name, checks[name])
                passed.append(name)
        published = tuple(
            replace(publication, checked=publication.checked or self._checked.get(publication.dataset, ""))
            for publication in (() if wrong else publications_for(self.prepared, passed, self.rows))
        )
        body = CommandEnd(self.prepared, Step(()), 0, 0, missing=wrong, publications=published)
        ending = ending_of(body)
        assert ending is not None  # nothing follows the body
        return ending

    def ending_after(self, error: BaseException) -> Ending:
        """Decide how the run ends after its body raised."""
        words = str(error) if isinstance(error, errors.DataFlowError) else f"{type(error).__name__}: {error}"
        hidden = self._given.redactor.redact_text(self._known.redact_text(words))
        return raised(self.prepared, error, hidden, self.lost)

    def check(self, dataset: str, command: tuple[str, ...]) -> str:
        """Run a dataset's check in the environment of a script; return what is wrong, or an empty string."""
        environment = child_environment(self._given, self.prepared, describe(self.prepared))
        try:
            code = run_check(command, environment, self._log, self._given.redactor, lambda: self.is_over)
        except (errors.CannotExecute, errors.BadInput) as error:
            return f"the check of {dataset} cannot run: {error}"
        return f"the check of {dataset} exited with {code}" if code else ""

    def refused_input(self, checks: Mapping[str, tuple[str, ...]]) -> Ending | None:
        """Return the ending of a run with an input that does not pass its check; None when all pass."""
        asked: set[str] = set()
        for item in self.prepared.inputs:
            name = item.source.dataset.name
            if name in checks and name not in asked and not (item.pin and item.pin.checked):
                asked.add(name)  # once, however many chunks it has
                wrong = self.check(name, checks[name])
                if wrong:
                    return not_started(self.prepared, f"valid? no: {wrong}")
        return None


class _Caller:
    """What a handoff needs of this program: its store, its passphrase and the secrets it knows."""

    def __init__(self, config: Config, store: Store, known: KnownSecrets) -> None:
        self.store = store
        self.known = known
        self._config = config

    def passphrase(self) -> str:
        """The passphrase, which is a secret from now on."""
        passphrase = get_passphrase(self._config.passkey, self._config.passkey_file, None)
        self.known.add(passphrase)
        return passphrase

    def list_secrets(self) -> list[str]:
        """The secrets known so far."""
        return list(self.known)


class Flow:
    """An open store: make data ready, claim work, ask why."""

    def __init__(
        self,
        config: Config,
        store: Store,
        known: KnownSecrets | None = None,
        presence: Presence | None = None,
    ) -> None:
        """`known` holds secrets that must appear nowhere; those opened here are added."""
        self._config = config
        self._store = store
        self._is_beside = presence is not None
        self.presence = presence or Presence(config.lock_dir, store)
        self._caller = _Caller(config, store, KnownSecrets() if known is None else known)

    def __enter__(self) -> Flow:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if not self._is_beside:
            self.presence.release()
        self._store.close()

    def beside(self, store: Store) -> Flow:
        """The same claimant on another connection to the store, for another thread."""
        return Flow(self._config, store, self._caller.known, self.presence)

    def make_ready(self, dataset: str, dataids: Iterable[str], again: bool = False) -> int:
        """Mark chunks as ready; return how many were not ready before."""
        from dataflow.actions.make_ready import Publication, make_ready

        return make_ready(self._store, dataset, dataids, Publication(again)).changed

    def why(self, job: str, dataid: str | None = None) -> Why:
        """Explain the state of work: the verdict, the five answers and the next command."""
        from dataflow.actions.why import why

        return why(self._store, self._config, get_plan(self._store, job), dataid)

    @contextmanager
    def claim(
        self, job: str, dataid: str | None = None, timeout_seconds: float | None = None
    ) -> Iterator[ClaimedRun | None]:
        """Claim the next work of a job for the body of a `with`; None when there is nothing to do.

        Outputs are published when the body succeeds. When it raises, the work has FAILED, or is INVALID for
        an InvalidData; for an InputMoved it waits, and no attempt is used. The lease is renewed meanwhile; if
        it is lost, LeaseLost is raised at the end and nothing is published.
        """
        handoff = self._handoff(
            JobRequest(self._config, os.environ, job, (), dataid=dataid, timeout_seconds=timeout_seconds)
        )
        claimed = self._take(handoff)
        if claimed is None:
            yield None
            return
        try:
            with self._kept(claimed):
                yield claimed
                ending = claimed.ending(self._config.checks)
                claimed.refuse_lost()
                if ending.outcome is not RunOutcome.DONE:
                    claimed.refuse_interrupted()  # which ended its check, too
        except BaseException as error:
            self._finish(handoff, claimed.ending_after(error))
            if isinstance(error, Exception):
                claimed.refuse_lost()
            raise
        ending = self._finish(handoff, ending)
        if ending.outcome is not RunOutcome.DONE:
            reason = f"{job} {claimed.dataid} is {ending.outcome}: {ending.reason}. Nothing was published."
            raise errors.Conflict(f"{reason} See: dataflow why {job} {claimed.dataid}")

    @contextmanager
    def _kept(self, claimed: ClaimedRun) -> Iterator[None]:
        """Renew the run's lease meanwhile."""
        with self.presence.keep(claimed) as heartbeat:
            claimed.kept_by(heartbeat)
            try:
                yield
            finally:
                claimed.kept_by(None)

    def _handoff(self, request: JobRequest) -> Handoff:
        plan = get_plan(self._store, request.job)
        claimant = make_claimant(self._config, self.presence.get_token())
        return Handoff(with_canonical_dataid(request, plan), self._caller, plan, claimant)

    def _take(self, handoff: Handoff) -> ClaimedRun | None:
        """Return the first run that may start; those that must wait are handed back."""
        while True:
            exchange = handoff.take()
            for run in exchange.runs:
                try:
                    attempt = handoff.begin(run, exchange.began_at)
                    found = self._start(handoff, attempt)
                    self.presence.refuse_interrupted()  # it came meanwhile, and ended a check, too
                except BaseException as error:
                    self._finish(handoff, not_begun(run, type(error).__name__))
                    raise
                if isinstance(found, ClaimedRun):
                    return found
                self._finish(handoff, found)
                if attempt.error is not None:
                    raise attempt.error
            if exchange.exhausted:
                return None

    def _start(self, handoff: Handoff, attempt: Attempt) -> ClaimedRun | Ending:
        """Return the run once its inputs have passed their checks, which keep its lease; else its ending."""
        self._caller.known.add(*handoff.given.passwords.values())
        if attempt.ending is not None:
            return attempt.ending
        log = RunLog(self._config.log_dir, attempt.run.run_id)
        claimed = ClaimedRun(attempt, log, self._caller.known, self.presence)
        if not self._config.checks:
            return claimed
        with self._kept(claimed):
            return claimed.refused_input(self._config.checks) or claimed

    def _finish(self, handoff: Handoff, ending: Ending) -> Ending:
        try:
            return handoff.finish(ending)
        except errors.StoreError:
            # The store still counts the run as ours; others are to see at once that we are gone.
            self.presence.leave_file()
            raise


def open(store: str | None = None) -> Flow:
    """Open the store of the project in the working directory, or the one a URL names."""
    folder = get_working_dir()
    config = load_config(folder, os.environ, store)
    if config.is_outside:
        raise no_project(folder)
    refuse_missing(config.store_url)
    password = open_store_password(config, lambda: get_passphrase(config.passkey, config.passkey_file, None))
    opened = open_store(config.store_url, config.actor, config.store_schema, password)
    return Flow(config, opened, KnownSecrets(password))
