"""Names as users type them: looked up, or refused with the nearest known name."""

from __future__ import annotations

from dataflow.errors import UnknownName
from dataflow.model.url_text import masked_url
from dataflow.model.wording import did_you_mean, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataflow.model.records import Dataset, Plan, RunRow, WorkRow
    from dataflow.store.store import Store


def get_plan(store: Store, job: str) -> Plan:
    """Return a job with all that a run of it needs."""
    found = find_plan(store, job)
    if found is None:
        raise unknown("job", job, store.read.list_names("job"), store.database.url)
    return found


def get_registered(store: Store, job: str, project_dir: str) -> Plan:
    """Return a job; UnknownName with the nearest name, or how to run a pipeline that has not run yet."""
    try:
        return get_plan(store, job)
    except UnknownName:
        from dataflow.actions.pipeline_names import find_hint  # start-up: only this error needs it

        if hint := find_hint(project_dir, job):
            raise UnknownName(hint) from None
        raise


def find_plan(store: Store, job: str) -> Plan | None:
    """Return the job, or None if there is none."""
    return store.find_plan(job) if _can_be_asked(job) else None


def get_dataset(store: Store, name: str) -> tuple[int, Dataset]:
    """Return a dataset and its id."""
    found = store.find_dataset(name) if _can_be_asked(name) else None
    if found is None:
        raise unknown("dataset", name, store.read.list_names("dataset"), store.database.url)
    return found


def get_run(store: Store, run_id: int) -> RunRow:
    """Return one run."""
    found = store.read.find_run(run_id)
    if found is None:
        where = masked_url(store.database.url)
        raise UnknownName(f"No run {run_id} in {where}, or it was purged. List runs: dataflow runs")
    return found


def get_work(store: Store, plan: Plan, dataid: str) -> WorkRow:
    """Return the work of a dataid; BadInput if the dataid is not valid for the job."""
    from dataflow.model.job_dataid import job_dataid  # start-up: no run needs it

    dataid = job_dataid(dataid, plan)
    found = store.read.find_work(plan.job_id, dataid)
    if found is None:
        from dataflow.actions.next_commands import why_command  # start-up: only this error needs it

        why = why_command(plan.job.name, dataid)
        raise UnknownName(f"Job {plan.job.name} has no work {dataid}. To see why: {why}")
    return found


def unknown(kind: str, name: str, known: Iterable[str], store_url: str) -> UnknownName:
    """Return the error for a name that is not registered; it names the store, which may be the wrong one."""
    found = f"No {kind} {quoted(name)} in {masked_url(store_url)}."
    return UnknownName(f"{found}{did_you_mean(name, known)} List them: dataflow {kind} list")


def _can_be_asked(name: str) -> bool:
    """Return False for text that no store can look up: with NUL or invalid UTF-8."""
    return name.isprintable()
