"""The command that dataflow.toml declares for a job on this machine: whether a worker can run it."""

from __future__ import annotations

import os

from dataflow.actions.next_commands import shell
from dataflow.actions.work_case import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.work_case import WorkCase


def find_declared(case: WorkCase) -> tuple[str, ...]:
    """Return the words of the command that a worker of this machine runs for a job; none if it has none."""
    return () if case.plan.is_pipeline else case.config.commands.get(case.plan.job.name, ())


def explain_broken(case: WorkCase) -> Reason | None:
    """Explain why a worker cannot run the job's command; None if it can, or the command has no path."""
    words = find_declared(case)
    if not words or "/" not in words[0]:
        return None
    path = os.path.normpath(os.path.join(case.config.project_dir, words[0]))
    name = case.plan.job.name
    if not os.path.isfile(path):
        found, command = "there is no such file", f"correct command of [job.{name}] in dataflow.toml"
    elif not os.access(path, os.X_OK):
        found, command = "it is not executable", shell("chmod", "+x", path)
    else:
        return None
    return Reason(f'no worker here can run its command "{path}": {found}', command)


def command_line(case: WorkCase) -> str:
    """Return the RunJob command line of a declared command, from the project's folder."""
    return shell("RunJob", "--job", case.plan.job.name, *find_declared(case))
