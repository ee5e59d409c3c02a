"""What one call of RunJob or one claim from Python asks for, as one frozen record."""

from __future__ import annotations

from dataflow.model.job_dataid import job_dataid
from dataflow.model.record import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from dataflow.config.settings import Config
    from dataflow.model.records import Job, Plan
    from dataflow.store.store import Store

    class Face(Protocol):
        """The caller: it opens the store and knows the passphrase."""

        @property
        def store(self) -> Store:
            """The status store, opened on first use."""

        def passphrase(self) -> str:
            """Return the passphrase, asking for it on first use."""

        def list_secrets(self) -> list[str]:
            """List the secrets opened so far."""


@record
class JobRequest:
    """A job, the command that does its work (none in Python), and how to run it."""

    config: Config
    environ: Mapping[str, str]
    job: str
    argv: tuple[str, ...]
    drain: bool = False
    streams: int = 1
    dataid: str | None = None
    force: bool = False
    clean_env: bool = False
    lease_seconds: float | None = None
    grace_seconds: float | None = None
    timeout_seconds: float | None = None
    kill_command: tuple[str, ...] = ()
    waiting_exit_code: int = 0
    quiet: bool = False

    def lease_and_grace(self, job: Job) -> tuple[float, float]:
        """Return the lease and the grace of a run in seconds: those given for this call, else the job's."""
        return (
            job.lease_seconds if self.lease_seconds is None else self.lease_seconds,
            job.grace_seconds if self.grace_seconds is None else self.grace_seconds,
        )


def with_canonical_dataid(request: JobRequest, plan: Plan) -> JobRequest:
    """Return the request with its dataid in canonical form; BadInput if the grain does not allow it."""
    if request.dataid is None:
        return request
    return replace(request, dataid=job_dataid(request.dataid, plan))
