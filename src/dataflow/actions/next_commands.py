"""The exact commands that explanations and errors end with, quoted for a shell."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan


def shell(*words: str) -> str:
    """Return a command line with every word quoted for a shell."""
    from shlex import quote  # start-up: only explanations need it

    return " ".join(quote(word) for word in words)


def runner(plan: Plan, declared: bool = False) -> str:
    """Return what does a job's work, for use in a sentence: RunJob, or the command of a pipeline.

    With a command `declared` in dataflow.toml, a worker does it too.
    """
    if plan.is_pipeline:
        return run_command(plan)
    return "worker or RunJob" if declared else "RunJob"


def run_command(plan: Plan, dataid: str | None = None, *, kill: bool = False) -> str:
    """Return the command that does a job's next work or one dataid; `kill` if lost work must be stopped.

    What the store does not know, such as the script of a job that never ran, is described in words.
    """
    if plan.is_pipeline:
        return shell("dataflow", "run", plan.job.name, *([] if dataid is None else ["--dataid", dataid]))
    words = ["RunJob"]
    if dataid is not None:
        words += ["--dataid", dataid]
    script = plan.script_path
    if not script or os.path.splitext(os.path.basename(script))[0] != plan.job.name:
        words += ["--job", plan.job.name]
    if script:
        return shell(*words, script) + (", with a --kill-command before the script" if kill else "")
    return shell(*words) + f", followed by {'a --kill-command and ' if kill else ''}its script"


def force_command(plan: Plan, dataid: str) -> str:
    """Return the command that runs a job for a dataid without work."""
    if plan.is_pipeline:
        return run_command(plan, dataid)
    command = shell("dataflow", "force", plan.job.name, dataid)
    if plan.script_path:
        return f"{command} -- {shell(plan.script_path)}"
    return f"{command}, followed by -- and its script"


def why_command(job: str, dataid: str = "") -> str:
    """Return the command that explains one work, or a job's next."""
    return shell("dataflow", "why", job, *([dataid] if dataid else []))


def plan_command(plan: Plan, dataid: str) -> str:
    """Return the command that shows what an interval of a pipeline would do; "" for a script."""
    if not plan.is_pipeline or not dataid:
        return ""
    return shell("dataflow", "pipeline", "plan", plan.job.name, "--dataid", dataid)


def ready_command(dataset: str, dataid: str) -> str:
    """Return the command that marks a chunk ready."""
    return shell("dataflow", "ready", dataset, dataid)


def move_command(dataset: str) -> str:
    """Return the command that sets a dataset's location."""
    return shell("dataflow", "dataset", "add", dataset, "--location") + " PLACE"


def resubmit_command(job: str, dataid: str) -> str:
    """Return the command that resubmits work."""
    return shell("dataflow", "resubmit", job, dataid)


def follow_command(run_id: int) -> str:
    """Return the command that follows a run's log."""
    return f"dataflow logs {run_id} -f"
