"""Gives each free stream of a worker to the job whose turn it is; a problem of one job stops no other."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.wording import counted
from dataflow.runjob.loop import JobLine, Loop
from dataflow.runjob.processes import boottime
from dataflow.runjob.spawn import script_hash
from dataflow.service.counts import Counts
from dataflow.service.ranking import Ranking
from dataflow.service.signals import WorkerSignals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.service.report import WorkerReport
    from dataflow.service.request import WorkerRequest
    from dataflow.service.roster import ServedJob
    from dataflow.service.session import Equipment
    from dataflow.store.store import Store

PATIENCE_SECONDS = 3.0
"""How long looking and housekeeping wait for the store."""


class Assignment(Loop):
    """The jobs of a worker and the streams they have."""

    tally: Counts
    signals: WorkerSignals
    report: WorkerReport

    def __init__(self, request: WorkerRequest, equipment: Equipment) -> None:
        name = equipment.lock.name
        super().__init__(equipment.store, name, equipment.guard, equipment.report, equipment.terminals)
        self._quick: Store = equipment.store.separate(PATIENCE_SECONDS)
        self.tally = Counts()
        self.signals = WorkerSignals((equipment.store.database, self._quick.database))
        self._request = request
        self._definitions = equipment.definitions
        self._roster = equipment.definitions.roster
        self._pipelines = equipment.pipelines
        self._ranking = Ranking(self._roster)
        self._open_lines: list[JobLine] = []
        self._unregistered: set[str] = set()  # of which the user knows

    def _has_ended(self) -> bool:
        return any(line.ended for line in self._open_lines)

    def _settle_ended(self) -> None:
        """Finish what has ended, and claim more of the same job in the same transaction if it is its turn."""
        for line in [line for line in self._open_lines if line.ended]:
            job, wanted = self._roster.find_named(line.request.job), 0
            if job is not None and job.line is line and not self.signals.stops_claims:
                if self._ranking.is_old:
                    self._look()
                wanted = self._count_free() if self._find_first() is job else 0
            self._settle(line, wanted, job)
        kept = {*map(id, self._lines.values()), *(id(job.line) for job in self._roster)}
        self._open_lines = [line for line in self._open_lines if line.ended or id(line) in kept]

    def _claim_next(self) -> None:
        """Give each free stream to the job whose turn it is."""
        while self._count_free() and not self.signals.stops_claims:
            job = self._find_first()
            if job is None and (self._ranking.is_stale or boottime() >= self._ranking.due_at):
                self._look()
                job = self._find_first()
            if job is None:
                break
            if job.is_pipeline:
                self._pipelines.run(job.name)
                job.has_dead = False
            elif (line := self._open_line(job)) is not None:
                self._settle(line, self._count_free(), job)

    def _find_first(self) -> ServedJob | None:
        return self._ranking.find_first(self._may_claim)

    def _may_claim(self, job: ServedJob) -> bool:
        return not job.is_pipeline or self._pipelines.may_run(job.name)

    def _look(self) -> None:
        self._ranking.look(self._quick)
        unregistered = set(self._roster.unregistered)
        for name in sorted(unregistered):
            self.report.once(f"Job {name} has a command but is not registered. Register it: dataflow apply")
        for name in sorted(self._unregistered - unregistered):
            if self._roster.find_named(name) is not None:
                self.report.say(f"Job {name} is registered now.")
        self._unregistered = unregistered

    def _settle(self, line: JobLine, wanted: int, job: ServedJob | None) -> None:
        """Finish and claim; a problem of one job leaves the others alone."""
        had_ended = bool(line.ended)
        try:
            if wanted and job is not None:
                self._refresh_script(line)
                line.handoff.rival = self._ranking.find_rival(job, self._may_claim)
            exchange = self.settle(line, wanted)
        except errors.StoreError:
            raise
        except errors.DataFlowError as error:
            self._failed_claim(line, wanted, job, error)
            return
        self._ranking.is_stale = True
        if had_ended and not self._children:
            for other in self._roster:
                other.unblock()  # what was in the way may have been ours
        if job is None:
            return
        if job.has_dead:
            job.has_dead = False
            self._tell_of_quarantine(job)
        if line.broken is not None:
            self.report.once(f"{job.name}: {line.broken}", "The other jobs go on.")
            job.pause(line.broken)
            line.broken = None
        elif exchange.runs:
            if len(exchange.runs) < wanted:
                self._ranking.forget()  # it may be another job's turn
            job.resume()
            job.unblock()
        elif wanted and exchange.exhausted:
            job.block(self._ranking.find_work(job))
        elif had_ended:
            job.unblock()

    def _tell_of_quarantine(self, job: ServedJob) -> None:
        count = self._quick.read.count_quarantined(job.job_id) if job.job_id is not None else 0
        if count:
            them = "it" if count == 1 else "them"
            text = f"{job.name}: {counted(count, 'chunk')} quarantined, because runs of {them} keep dying."
            self.report.once(f"{text} See: dataflow why {job.name}")

    def _failed_claim(
        self, line: JobLine, wanted: int, job: ServedJob | None, error: errors.DataFlowError
    ) -> None:
        """Leave a job alone whose claim was refused, for example because it was removed."""
        self.report.once(f"{line.request.job}: {error}")
        if job is not None and wanted:
            job.pause(error)
            job.line = None
            self._roster.set_ids(self._quick.read.find_job_ids([one.name for one in self._roster]))
        else:  # the store does not take these endings, now or later
            for ended in line.ended:
                if ended.child is not None:
                    line.launcher.release(ended.child)
            line.ended = []

    def _open_line(self, job: ServedJob) -> JobLine | None:
        """Return how the runs of a job are claimed and started; None if that is not possible now."""
        if job.line is None:
            try:
                job.line = self._definitions.make_line(job)
            except errors.StoreError:
                raise
            except errors.DataFlowError as error:
                self.report.once(f"{job.name}: {error}", "The other jobs go on.")
                job.pause(error)
                return None
            self._open_lines.append(job.line)
        return job.line

    def _refresh_script(self, line: JobLine) -> None:
        """Let runs record the script as it is now."""
        claimant = line.handoff.claimant
        now = script_hash(claimant.script_path) or ""
        if now != claimant.script_hash:
            line.handoff.claimant = replace(claimant, script_hash=now)

    def _count_free(self) -> int:
        return max(0, self._request.streams - len(self._children) - self._pipelines.busy)

    def _note_pipelines(self) -> None:
        """Take what the process of the pipelines has told: its jobs, and runs that have ended."""
        if (names := self._pipelines.take_jobs()) is not None:
            self._roster.set_pipelines(names)
        for end in self._pipelines.take_ended():
            job = self._roster.find_named(end.job)
            if end.found:
                self.tally.count_run(end.done)
            if job is not None and end.found:
                job.unblock()
            elif job is not None:
                job.block(self._ranking.find_work(job))
        self._ranking.is_stale = True
