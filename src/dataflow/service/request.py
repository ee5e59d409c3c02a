"""What one call of `dataflow worker` asks for, and what it shows meanwhile."""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from dataflow.config.settings import Config

    class View(Protocol):
        """Shows what a worker is doing."""

        def show(self, state: Snapshot) -> None:
            """Show the current state; called about twice a second."""


SPARK_IDLE_SECONDS = 600.0


@record
class WorkerRequest:
    """Which jobs to work on, how many at once, and until when."""

    config: Config
    environ: Mapping[str, str]
    cwd: str
    store_url: str | None  # the value of --store
    version: str
    streams: int
    globs: tuple[str, ...] = ()
    until_idle: bool = False
    quiet: bool = False
    spark_idle_seconds: float = SPARK_IDLE_SECONDS


@record
class ActiveRun:
    """A run of this worker; `began_at` on the clock of deadlines."""

    job: str
    dataid: str
    run_id: int
    began_at: float


@record
class Snapshot:
    """What a worker is doing now, and how its runs have ended since it was started."""

    name: str
    streams: int
    jobs: int
    doing: tuple[ActiveRun, ...]
    done: int
    failed: int
    lost: int
    is_draining: bool
    trouble: str  # why it waits, such as a store that does not answer
