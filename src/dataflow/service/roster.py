"""The jobs that this machine has commands for, and how the last claim of each went."""

from __future__ import annotations

from fnmatch import fnmatchcase

from dataflow.errors import ConfigError, DataFlowError, UnknownName
from dataflow.model.wording import quoted
from dataflow.runjob.processes import boottime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from dataflow.runjob.loop import JobLine

FIRST_BLOCK_SECONDS, LONGEST_BLOCK_SECONDS = 1.0, 5.0
"""How long a job is not asked again after a claim found nothing, although it has claimable work."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 300.0
"""How long a job is left alone whose command cannot be run, and a process of pipelines that has died."""


class ServedJob:
    """A job of this machine; a pipeline has no command of its own."""

    def __init__(self, name: str, argv: tuple[str, ...], is_pipeline: bool = False) -> None:
        self.name = name
        self.argv = argv
        self.is_pipeline = is_pipeline
        self.job_id: int | None = None  # None while it is not registered
        self.line: JobLine | None = None
        self.problem: DataFlowError | None = None  # why its command cannot be run
        self.has_dead = False  # it has runs of a process that is gone
        self._blocked_work: int | None = None
        self._blocked_until = self._paused_until = 0.0
        self._block_seconds = FIRST_BLOCK_SECONDS
        self._pause_seconds = FIRST_PAUSE_SECONDS

    def may_claim(self, work_id: int | None) -> bool:
        """Return whether to ask for its first claimable work now."""
        now = boottime()
        if now < self._paused_until:
            return False
        return now >= self._blocked_until or work_id != self._blocked_work

    @property
    def next_at(self) -> float:
        """When it may be asked again."""
        return max(self._blocked_until, self._paused_until)

    def block(self, work_id: int | None) -> None:
        """Note that a claim gave nothing: a limit is reached, or others were faster."""
        self._blocked_work = work_id
        self._blocked_until = boottime() + self._block_seconds
        self._block_seconds = min(self._block_seconds * 2, LONGEST_BLOCK_SECONDS)

    def unblock(self) -> None:
        """Ask again: something has changed."""
        self._blocked_until = 0.0
        self._block_seconds = FIRST_BLOCK_SECONDS

    def pause(self, problem: DataFlowError) -> None:
        """Leave it alone for a while, longer each time: its command cannot be run."""
        self.problem = problem
        self._paused_until = boottime() + self._pause_seconds
        self._pause_seconds = min(self._pause_seconds * 2, LONGEST_PAUSE_SECONDS)

    def resume(self) -> None:
        """Note that its command runs."""
        self.problem = None
        self._paused_until, self._pause_seconds = 0.0, FIRST_PAUSE_SECONDS


class Roster:
    """All jobs of this machine that a worker was asked to serve."""

    def __init__(self, globs: tuple[str, ...]) -> None:
        self._globs = globs
        self._jobs: dict[str, ServedJob] = {}
        self._commands: dict[str, tuple[str, ...]] = {}
        self._pipelines: frozenset[str] = frozenset()
        self._by_id: dict[int, ServedJob] = {}

    def __iter__(self) -> Iterator[ServedJob]:
        return iter(self._jobs.values())

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def ids(self) -> list[int]:
        """The ids of those that are registered."""
        return list(self._by_id)

    @property
    def unregistered(self) -> list[str]:
        """The names of those that the store does not know."""
        return [job.name for job in self if job.job_id is None]

    def find(self, job_id: int) -> ServedJob | None:
        """Return a job by its id."""
        return self._by_id.get(job_id)

    def find_named(self, name: str) -> ServedJob | None:
        """Return a job by its name."""
        return self._jobs.get(name)

    def set_commands(self, commands: Mapping[str, tuple[str, ...]]) -> None:
        """Take the commands of dataflow.toml."""
        self._commands = dict(commands)
        self._rebuild()

    def set_pipelines(self, names: Collection[str]) -> None:
        """Take the names of the pipelines and Python jobs of the project."""
        self._pipelines = frozenset(names)
        self._rebuild()

    def set_ids(self, ids: Mapping[str, int]) -> bool:
        """Take the ids of the registered jobs; True if one has changed."""
        changed = [job for job in self if job.job_id != ids.get(job.name)]
        for job in changed:
            job.job_id = ids.get(job.name)
            job.line = None  # it claims work of the job that was registered before
        self._by_id = {job.job_id: job for job in self if job.job_id is not None}
        return bool(changed)

    def find_problem(self, project_file: str) -> DataFlowError | None:
        """Return the error of a worker that has nothing to work on."""
        known = sorted({*self._commands, *self._pipelines})
        if not known:
            return ConfigError(
                f"No job has a command on this machine. Add one to the table [job.NAME] of a job in "
                f'{project_file}, for example: command = ["./load.sh"]\n'
                "To write a pipeline instead: dataflow init --pipelines"
            )
        for glob in self._globs:
            if not any(fnmatchcase(name, glob) for name in known):
                hint = f" To run {glob} streams: -j {glob}" if glob.isdecimal() else ""
                return UnknownName(
                    f"--jobs {quoted(glob)} matches no job with a command on this machine. "
                    f"It has: {', '.join(known)}.{hint}"
                )
        return None

    def find_unserved(self) -> DataFlowError | None:
        """Return why the work of some job could not be started; None if that of all jobs could."""
        for name in self.unregistered:
            return UnknownName(f"Job {name} has a command but is not registered.")
        return next((job.problem for job in self if job.problem is not None), None)

    def _rebuild(self) -> None:
        """Keep what has not changed: its line, and what is known about its last claim."""
        before, self._jobs = self._jobs, {}
        wanted = {name: (argv, False) for name, argv in self._commands.items()}
        wanted |= dict.fromkeys(self._pipelines, ((), True))
        for name, (argv, is_pipeline) in wanted.items():
            if self._globs and not any(fnmatchcase(name, glob) for glob in self._globs):
                continue
            old = before.get(name)
            is_same = old is not None and (old.argv, old.is_pipeline) == (argv, is_pipeline)
            self._jobs[name] = old if old is not None and is_same else ServedJob(name, argv, is_pipeline)
        self.set_ids({name: job.job_id for name, job in before.items() if job.job_id is not None})
