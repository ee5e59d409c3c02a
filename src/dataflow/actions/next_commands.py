"""The exact commands that explanations and errors end with, quoted for a shell."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan


def shell(*words: str) -> str:
    """A command line in which every word stays one word."""
    from shlex import quote  # start-up: only explanations need it

    return " ".join(quote(word) for word in words)


def run_command(plan: Plan, dataid: str | None = None, *, kill: bool = False) -> str:
    """The RunJob that does a job's next work, or that of one dataid; `kill` if lost work must be ended."""
    words = ["RunJob", *(["--kill-command", "COMMAND"] if kill else [])]
    if dataid is not None:
        words += ["--dataid", dataid]
    script = plan.script_path
    if not script:
        return shell(*words, "--job", plan.job.name) + " COMMAND"
    if os.path.splitext(os.path.basename(script))[0] != plan.job.name:
        words += ["--job", plan.job.name]
    return shell(*words, script)


def why_command(job: str, dataid: str = "") -> str:
    """The command that explains one work, or a job's next."""
    return shell("dataflow", "why", job, *([dataid] if dataid else []))


def ready_command(dataset: str, dataid: str) -> str:
    """The command that says a chunk is there."""
    return shell("dataflow", "ready", dataset, dataid)


def move_command(dataset: str) -> str:
    """The command that says where a dataset's chunks are."""
    return shell("dataflow", "dataset", "add", dataset, "--location") + " PLACE"


def resubmit_command(job: str, dataid: str) -> str:
    """The command that has work done again."""
    return shell("dataflow", "resubmit", job, dataid)


def follow_command(run_id: int) -> str:
    """The command that shows what a run writes until it ends."""
    return f"dataflow logs {run_id} -f"
