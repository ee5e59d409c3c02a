"""Frozen records of what is registered and stored.

Nothing here reads or writes anything; the store converts them from and to rows.
"""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.status import RunOutcome, WorkState


@record
class Dataset:
    """Named data with a connection, a location, a grain and a mode."""

    name: str
    hostname: str = ""
    database: str = ""
    schemaname: str = ""
    tablename: str = ""
    username: str = ""
    encryptedpass: str = ""
    location: str = ""
    format: str = ""
    grain: str = "text"
    timezone: str = "UTC"
    mode: str = "partition"
    options: tuple[tuple[str, str], ...] = ()
    fresh_within_seconds: float = 0.0  # 0: its newest chunk may have any age
    due_by: str = ""  # HH:MM in its time zone

    @property
    def is_watched(self) -> bool:
        """True if the clock can make it stale or overdue."""
        return bool(self.fresh_within_seconds or self.due_by)

    @property
    def staged(self) -> bool:
        """True if each run writes to its own location, which DataFlow then publishes."""
        return "{run_id}" in self.location

    @property
    def is_overwritten(self) -> bool:
        """True if each snapshot overwrites the previous one: an older dataid must not be written last."""
        return self.mode == "snapshot" and not self.staged and "dataid}" not in self.location


@record
class JobInput:
    """One input of a job and which of its dataids the work needs."""

    dataset: str
    mapping: str = "same"
    rule: str = ""  # how complete it must be, see completeness.py

    def __str__(self) -> str:
        if self.rule:
            return f"{self.dataset}:{self.mapping} {self.rule}"
        return self.dataset if self.mapping == "same" else f"{self.dataset}:{self.mapping}"


OLDEST, NEWEST = "oldest", "newest"
"""Which claimable dataid of a job comes first."""
RERUN, ASK, IGNORE = "rerun", "ask", "ignore"
"""What a job does when an input of a finished result changes: redo it, ask an operator, or keep it."""
CHANGES = (RERUN, ASK, IGNORE)


@record
class Job:
    """A named consumer and producer of datasets."""

    name: str
    inputs: tuple[JobInput, ...] = ()
    outputs: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    schedule: str = ""
    start: str = ""
    end: str = ""
    catchup: bool = False
    timezone: str = "UTC"
    ordered: bool = False
    retries: int = 0
    retry_delay_seconds: float = 60.0
    max_running: int = 0
    lease_seconds: float = 300.0
    grace_seconds: float = 10.0
    priority: int = 0
    timeout_seconds: float = 0.0  # 0: none
    pool: str = ""  # "": none
    order: str = OLDEST
    retry_backoff: float = 2.0
    retry_max_delay_seconds: float = 3600.0
    final_exit_codes: tuple[int, ...] = ()
    max_crashes: int = 5
    on_change: str = RERUN
    late_after_seconds: float = 0.0  # a later change asks; 0: none is late


@record
class Calendar:
    """When the chunks of a dataset become ready: schedule, start and end."""

    expression: str
    start: str = ""
    end: str = ""
    catchup: bool = False


@record
class PlanInput:
    """An input of a job together with the dataset's own record."""

    position: int
    dataset_id: int
    mapping: str
    dataset: Dataset
    days: str = ""  # those it has, see days.py
    rule: str = ""  # how complete it must be, see completeness.py

    @property
    def as_declared(self) -> JobInput:
        """The input as the job declares it."""
        return JobInput(self.dataset.name, self.mapping, self.rule)


@record
class PlanOutput:
    """An output of a job together with the dataset's own record."""

    dataset_id: int
    dataset: Dataset


ON_DEMAND = "none"
"""The schedule of a job that runs only on request."""

PIPELINE = "pipeline"
"""What stands for the script of a job that is a pipeline."""
SCRIPT, DATASET, VIEW, PYTHON = "script", "dataset", "view", "job"
"""The kinds of jobs: a script, a dataset pipeline, a view pipeline, a Python job."""


@record
class Plan:
    """A job with all that a run of it needs; valid while the job's revision stays the same."""

    job_id: int
    job: Job
    revision: int
    grain: str
    timezone: str
    script_path: str
    kind: str  # "" until something has run it
    inputs: tuple[PlanInput, ...]
    outputs: tuple[PlanOutput, ...]
    days: str = ""  # those that all its inputs have, see days.py

    @property
    def datasets(self) -> list[Dataset]:
        """What it reads and produces."""
        return [*(item.dataset for item in self.inputs), *(item.dataset for item in self.outputs)]

    @property
    def is_pipeline(self) -> bool:
        """True when `dataflow run NAME` does the job's work, and no script."""
        return self.kind not in ("", SCRIPT)

    @property
    def is_on_demand(self) -> bool:
        """True if only a claim with a dataid starts it."""
        return self.job.schedule == ON_DEMAND

    @property
    def one_at_a_time(self) -> bool:
        """True if runs must not overlap: the job is ordered, or writes all dataids to one location."""
        return self.job.ordered or any(output.dataset.is_overwritten for output in self.outputs)


@record
class Claimant:
    """The process that asks for work: its identity, and the name of the lock that proves it is alive."""

    token: str
    host: str
    boot_id: str
    pid: int
    user: str
    environment: str
    script_path: str = ""
    script_hash: str = ""
    job_script: str = ""  # the script as the job remembers it: relative to the project

    @property
    def actor(self) -> str:
        """Who it is, in the journal."""
        return f"{self.user}@{self.host}"


@record
class Pin:
    """An input chunk at the version a run reads."""

    position: int
    chunk_id: int
    dataid: str
    version: int
    location: str
    size: int | None
    checked: str
    dirty_run_id: int | None
    written_over_by: str = ""  # the dataid that has overwritten it, if they share a location


@record
class Lacking:
    """A chunk of an input with several that the work needs and a run does not read."""

    position: int
    dataid: str


@record
class OutputChunk:
    """A published chunk that a run is about to replace, and the live runs that read it."""

    dataset: str
    version: int
    readers: tuple[int, ...]


@record
class Run:
    """One attempt at a piece of work, as claimed; `is_first` if the work had no run before."""

    run_id: int
    work_id: int
    job_id: int
    job: str
    dataid: str
    attempt: int
    claimant: str
    lease_seconds: float
    grace_seconds: float
    pins: tuple[Pin, ...] = ()
    replaces: tuple[OutputChunk, ...] = ()
    is_first: bool = False
    lacking: tuple[Lacking, ...] = ()


@record
class ClaimRequest:
    """A request for as many runs as there are tokens.

    Each run has a new token; a repeat of the same token after a lost answer gets the same run.
    `intervals_added`: a batch of due intervals was just added; claim what is ready before adding more.
    `dead` names claimants of this machine whose kernel lock is free, `killed` dead runs whose kill command
    has run, and `credentials` the datasets whose passwords the runs will be given. After the first run only
    work is claimed that ranks before `rival`, the first work of another job.
    """

    claimant: Claimant
    tokens: tuple[str, ...]
    lease_seconds: float
    grace_seconds: float
    dataid: str | None = None
    force: bool = False
    has_kill_command: bool = False
    dead: tuple[str, ...] = ()
    killed: tuple[int, ...] = ()
    credentials: tuple[str, ...] = ()
    intervals_added: bool = False
    rival: tuple[int, int, str] | None = None


def rank_of(priority: int, called_at: str) -> tuple[int, int, str]:
    """Return the place of claimable work among that of all jobs; the smallest comes first."""
    return -priority, 1, called_at


@record
class LapsedRun:
    """A dead run."""

    run_id: int
    work_id: int
    dataid: str
    host: str
    claimant: str
    has_kill_command: bool


@record
class ClaimResult:
    """The result of a claim: runs, or why to claim again (`calendar` is due, `plan` is out of date)."""

    runs: tuple[Run, ...] = ()
    again: str = ""


@record
class Publication:
    """What a run publishes for one output dataset."""

    dataset: str
    location: str = ""
    rows: int | None = None
    size: int | None = None
    checked: str = ""


@record
class Ending:
    """How a run ended, and what it publishes.

    `delay_seconds` is for returned work: 0 means at once. `untouched`: the command never ran.
    """

    run: Run
    outcome: RunOutcome
    exit_code: int | None = None
    reason: str = ""
    answers: str = "[]"
    publications: tuple[Publication, ...] = ()
    delay_seconds: float = 0.0
    untouched: bool = False
    final: bool = False


@record
class RunRow:
    """A run as `dataflow runs` shows it."""

    run_id: int
    job: str
    dataid: str
    attempt: int
    outcome: RunOutcome
    exit_code: int | None
    host: str
    user: str
    environment: str
    script_path: str
    script_hash: str
    started_at: str
    ended_at: str | None
    lease_left_seconds: float | None
    reason: str
    answers: str
    claimant: str
    pid: int


@record
class WorkRow:
    """A piece of work as `why` sees it."""

    work_id: int
    job: str
    dataid: str
    state: WorkState
    hold: bool
    resubmitted: bool
    missing: int
    attempts: int
    losses: int
    run_id: int | None
    reason: str
    wait_seconds: float | None
    modified_at: str
    quarantined: bool = False


@record
class ChunkRow:
    """A chunk as `dataflow chunks` shows it."""

    dataset: str
    dataid: str
    status: str
    version: int
    modified_at: str
    readers: tuple[int, ...]
    location: str
    lacked: int = 0  # chunks that its run needed and did without
