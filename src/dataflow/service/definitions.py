"""What this machine can run: the commands of dataflow.toml, loaded again when the file changes."""

from __future__ import annotations

from dataflow.actions.names import get_plan
from dataflow.config.project import PROJECT_FILE
from dataflow.config.settings import load_config
from dataflow.errors import ConfigError, DataFlowError
from dataflow.runjob.handoff import Handoff
from dataflow.runjob.launch import Launcher
from dataflow.runjob.lock import remove_dead
from dataflow.runjob.loop import JobLine
from dataflow.runjob.request import JobRequest
from dataflow.runjob.session import claimant_of, warn_other_script
from dataflow.service.project_files import ProjectFiles
from dataflow.service.roster import Roster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.runjob.guard import Guard
    from dataflow.runjob.output import Terminal
    from dataflow.runjob.request import Face
    from dataflow.service.report import WorkerReport
    from dataflow.service.request import WorkerRequest
    from dataflow.service.roster import ServedJob


class Definitions:
    """The project as last loaded without an error."""

    def __init__(
        self,
        request: WorkerRequest,
        face: Face,
        guard: Guard,
        report: WorkerReport,
        terminals: tuple[Terminal, Terminal],
    ) -> None:
        self.config: Config = request.config
        self.files = ProjectFiles(request.config.project_dir)
        self.roster = Roster(request.globs)
        self.roster.set_commands(request.config.commands)
        self._request = request
        self._face = face
        self._guard = guard
        self._report = report
        self._terminals = terminals

    def load_settings(self) -> bool:
        """Load dataflow.toml again; False, with the old settings kept, if it is broken."""
        request = self._request
        try:
            found = load_config(request.cwd, request.environ, request.store_url)
            self._refuse_other_store(found)
            if self.config.commands and not found.commands:
                raise ConfigError(
                    f"{PROJECT_FILE} declares no command any more. If it is meant to, restart the worker."
                )
        except DataFlowError as error:
            self._report.once(str(error), "The worker keeps the settings it has.")
            return False
        is_changed = found != self.config
        self.config = found
        self.roster.set_commands(found.commands)
        if is_changed:
            for job in self.roster:
                job.line = None  # made again with the new settings; runs under way keep theirs
                job.resume()
            self._report.say("Loaded dataflow.toml again.")
        return True

    def make_line(self, job: ServedJob) -> JobLine:
        """Return how runs of a job are claimed and started; an error says why that is not possible."""
        request = JobRequest(self.config, self._request.environ, job.name, job.argv, drain=True)
        plan = get_plan(self._face.store, job.name)
        claimant = claimant_of(request, self._guard.name)
        warn_other_script(request, plan, claimant, self._report)
        handoff = Handoff(request, self._face, plan, claimant, self._report.warn)
        return JobLine(request, handoff, Launcher(request, self._guard, self._terminals))

    def remove_lock(self, name: str) -> None:
        """Remove the lock of a dead claimant that holds no runs."""
        remove_dead(self.config.lock_dir, name)

    def _refuse_other_store(self, found: Config) -> None:
        old = self.config
        if (found.store_url, found.store_schema, found.lock_dir) != (
            old.store_url,
            old.store_schema,
            old.lock_dir,
        ):
            raise ConfigError("The store or its locks are elsewhere now. Restart the worker to use them.")
