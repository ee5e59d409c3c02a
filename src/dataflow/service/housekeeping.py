"""What a worker does about once a second beside its work: files, heartbeat, dead processes."""

from __future__ import annotations

from dataflow.actions.workers import describe_lost
from dataflow.config.project import PROJECT_FILE
from dataflow.errors import StoreError
from dataflow.service.dead_claimants import DeadClaimants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.service.definitions import Definitions
    from dataflow.service.membership import Membership
    from dataflow.service.pipeline_child import PipelineChild
    from dataflow.service.ranking import Ranking
    from dataflow.service.report import WorkerReport
    from dataflow.store.store import Store


class Housekeeping:
    """The definitions of a worker and its place among the others, kept up to date."""

    def __init__(
        self,
        definitions: Definitions,
        pipelines: PipelineChild,
        membership: Membership,
        ranking: Ranking,
        report: WorkerReport,
    ) -> None:
        self._definitions = definitions
        self._pipelines = pipelines
        self._membership = membership
        self._ranking = ranking
        self._report = report
        self._dead = DeadClaimants(definitions.config.lock_dir)

    def reload_changed(self) -> None:
        """Load again what has changed on disk."""
        settings, pipelines = self._definitions.files.take_changes()
        if settings or pipelines:
            self.reload(settings)

    def reload(self, settings: bool = True) -> None:
        """Load the definitions again; runs under way keep theirs."""
        if settings and self._definitions.load_settings():
            self._ranking.forget()
        if self._definitions.files.has_pipelines:
            self._pipelines.reload()  # its settings are in dataflow.toml, too
        if problem := self._definitions.roster.find_problem(PROJECT_FILE):
            self._report.once(str(problem))

    def keep(self, store: Store) -> None:
        """Renew the worker's row, and take over the work of dead processes."""
        try:
            dead = self._dead.take_new()
            jobs = len(self._definitions.roster)
            for row in self._membership.beat(store, jobs, even_if_not_due=bool(dead)):
                self._report.warn(describe_lost(row))
            for name in dead:
                self._take_over(store, name)
        except StoreError:
            self._dead.forget()
            raise

    def _take_over(self, store: Store, name: str) -> None:
        """Take over the work of a process of this machine that has died."""
        held = store.read.list_held_jobs(name)
        jobs = [job for job in map(self._definitions.roster.find, held) if job is not None]
        if jobs:
            names = ", ".join(sorted(job.name for job in jobs))
            self._report.say(f"A process of this machine has died. Taking over its work of {names}.")
        for job in jobs:
            job.has_dead = True
            job.unblock()
            if job.line is not None:
                job.line.handoff.expect_dead()
            self._ranking.forget()
        if not held:
            self._definitions.remove_lock(name)
