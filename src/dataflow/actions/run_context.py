"""What a run was given: the versions it has read, its variables, and where it writes about itself."""

from __future__ import annotations

import json
import os
import re

from dataflow.actions.names import find_plan, get_run
from dataflow.actions.run_log import get_log_path
from dataflow.model.record import record
from dataflow.model.status import RunOutcome
from dataflow.model.step_times import find_step_times
from dataflow.model.url_text import masked_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.model.records import RunRow
    from dataflow.model.step_times import StepTime
    from dataflow.store.lineage_reads import PinnedChunk
    from dataflow.store.store import Store

    Pairs = tuple[tuple[str, str], ...]

MOST_INPUTS = 1000
SEARCHED_BYTES = 1 << 18
"""Start of the log that is searched for what a pipeline has recorded."""
_SPARK_UI = re.compile(r"^.{0,40}Spark UI: (https?://[^\s\"<>]{1,300})$", re.MULTILINE)


@record
class RunContext:
    """What a run was given. `environment` has no secrets; `note` says what it is, and where the rest is."""

    run_id: int
    user: str
    environment_name: str
    script_path: str
    inputs: tuple[PinnedChunk, ...]
    environment: Pairs
    note: str
    steps: tuple[StepTime, ...]
    spark_ui: str


def get_run_context(store: Store, config: Config, run_id: int) -> RunContext:
    """Return what a run was given; UnknownName for an unknown run."""
    run = get_run(store, run_id)
    environment, note = _find_environment(store, config, run)
    found = _SPARK_UI.search(_read_start(config, run_id))
    return RunContext(
        *(run.run_id, run.user, run.environment, run.script_path),
        tuple(store.read.list_pinned(run_id, MOST_INPUTS)),
        masked_pairs(environment),
        note,
        find_step_times(_read_end(config, run_id)),
        found[1] if found else "",
    )


def _find_environment(store: Store, config: Config, run: RunRow) -> tuple[Pairs, str]:
    """Return the variables that the job declares and, while the run is at work here, those of its context."""
    plan = find_plan(store, run.job)
    declared = dict(plan.job.environment) if plan else {}
    path = os.path.join(config.context_dir, f"{run.claimant}-{run.run_id}.json")
    if run.host == config.host and (facts := _read_context(path)):
        return tuple(
            (declared | facts["environment"]).items()
        ), "Declared by the job, and from the context file."
    place = f", on {run.host}" if run.outcome is RunOutcome.RUNNING and run.host != config.host else ""
    note = f"Declared by the job. The file $DATAFLOW_CONTEXT of a run has the others while it runs{place}."
    return tuple(declared.items()), note


def _read_context(path: str) -> dict[str, dict[str, str]] | None:
    try:
        with open(path, "rb") as file:
            found: dict[str, dict[str, str]] = json.loads(file.read().decode("utf-8", "replace"))
            return found
    except (OSError, ValueError):  # it has ended, or belongs to another user
        return None


def _read_start(config: Config, run_id: int) -> str:
    try:
        with open(get_log_path(config, run_id), "rb") as log:
            return log.read(SEARCHED_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _read_end(config: Config, run_id: int) -> str:
    try:
        with open(get_log_path(config, run_id), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - SEARCHED_BYTES))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""
