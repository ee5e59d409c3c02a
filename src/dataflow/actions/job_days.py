"""The days of jobs: a job has the days that its inputs have, and its outputs have those of the job.

They follow from the declarations alone, never from the days that jobs had before.
"""

from __future__ import annotations

from dataflow.actions.dataset_rules import TODAY, is_automatic
from dataflow.actions.differences import UNCHANGED, compare_days
from dataflow.errors import BadInput
from dataflow.model.days import EVERY_DAY, common_days, day_after, days_of
from dataflow.model.grain import Grain
from dataflow.model.mapping import LATEST, PREVIOUS, SAME, UNCALLING, WINDOW, word_of
from dataflow.model.record import replace
from dataflow.store import registry as registered
from dataflow.store.entries import JobEntry
from dataflow.store.registry import CALENDAR_SUFFIX, calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Registry
    from dataflow.model.records import Job, Plan
    from dataflow.store.database import Transaction
    from dataflow.store.entries import JobEntry

FIRST_DAY = "2000-01-01"


def derive_days(jobs: Mapping[str, JobEntry], known: Mapping[str, str] | None = None) -> dict[str, JobEntry]:
    """Return these jobs with their days; `known` are the days of datasets that other jobs produce.

    All start with every day and only lose days, so this ends, also if jobs read each other's previous chunks.
    """
    days = dict(known or {})
    readers: dict[str, list[str]] = {}
    for name, checked in jobs.items():
        days |= dict.fromkeys(checked.job.outputs, EVERY_DAY)
        days[calendar_name(name)] = _scheduled_days(checked.job, checked.grain)
        for item in checked.inputs:
            readers.setdefault(item.dataset, []).append(name)
    found: dict[str, JobEntry] = {}
    waiting = list(jobs)
    while waiting:
        name = waiting.pop()
        found[name] = checked = _follow_inputs(jobs[name], days)
        for output in checked.job.outputs:
            if days[output] != checked.days:
                days[output] = checked.days
                waiting += readers.get(output, ())
    return {name: found[name] for name in jobs}


def find_days(tx: Transaction, registry: Registry, removed: Plan | None = None) -> dict[str, JobEntry]:
    """Return the drafted jobs with their days, and the jobs that may follow them or a removed one."""
    gone = {removed.job.name} if removed else set()
    found = derive_days(registry.drafted, _find_known(tx, registry, registry.drafted, gone))
    former = [plan for name in (*registry.drafted, *gone) if (plan := registry.plans.get(name))]
    if any(checked.days for checked in found.values()) or any(plan.days for plan in former):
        jobs = _list_downstream(tx, registry, former, gone) | registry.drafted
        found = derive_days(jobs, _find_known(tx, registry, jobs, gone))
    return found


def list_wrong_days(plans: Iterable[Plan]) -> list[Change]:
    """Return the changes of those of all jobs whose days differ from what is declared."""
    before = {plan.job.name: as_checked(plan) for plan in plans}
    changes = [compare_days(before[name], after) for name, after in derive_days(before).items()]
    return [change for change in changes if change.what != UNCHANGED]


def as_checked(plan: Plan) -> JobEntry:
    """Return a registered job as a draft that changes nothing."""
    inputs = tuple([source.as_declared for source in plan.inputs])
    input_days = tuple([source.days for source in plan.inputs])
    return JobEntry(plan.job, inputs, plan.grain, plan.timezone, days=plan.days, input_days=input_days)


def check_days(checked: JobEntry) -> None:
    """Raise BadInput if a job would never run, because its inputs have no day in common."""
    if checked.days and day_after(checked.days, FIRST_DAY) is None:
        by_input = zip(checked.inputs, checked.input_days, strict=True)
        shown = ", ".join([f"{item.dataset} has {days}" for item, days in by_input if days])
        raise BadInput(
            f"Job {checked.job.name}: its inputs have no day in common ({shown}), so it would never run. "
            f"Read one of them as DATASET:{LATEST}."
        )


def _scheduled_days(job: Job, grain: str) -> str:
    return days_of(job.schedule) if grain == Grain.DAILY else EVERY_DAY


def _follow_inputs(checked: JobEntry, days: Mapping[str, str]) -> JobEntry:
    """Return a job with the days that all its `same` inputs have, or else all its `previous` inputs.

    Windows count as `previous`. Only daily datasets leave out days, and only daily jobs follow them.
    """
    is_daily = checked.grain == Grain.DAILY
    found: list[str] = []
    same: list[str] = []
    earlier: list[str] = []
    for item in checked.inputs:
        found.append(EVERY_DAY if item.mapping in UNCALLING else days.get(item.dataset, EVERY_DAY))
        if item.mapping == SAME:
            same.append(found[-1])
        elif word_of(item.mapping) in (PREVIOUS, WINDOW) and item.dataset not in checked.job.outputs:
            earlier.append(found[-1])
    own = common_days(same or earlier) if is_daily else EVERY_DAY
    return replace(checked, days=own, input_days=tuple(found))


def _find_known(
    tx: Transaction, registry: Registry, jobs: Mapping[str, JobEntry], gone: set[str]
) -> dict[str, str]:
    """Return the days of the datasets that these jobs read and other registered jobs produce."""
    inputs = {
        item.dataset for checked in jobs.values() for item in checked.inputs if item.mapping not in UNCALLING
    }
    owners = {name.removesuffix(CALENDAR_SUFFIX) for name in inputs if is_automatic(name)} - {TODAY}
    owners.update(registered.list_producers(tx, registry.find_ids(inputs)).values())
    others = sorted(owners - jobs.keys() - gone)
    registry.plans.load(others)
    known: dict[str, str] = {}
    for name in others:
        if plan := registry.plans.get(name):
            known |= dict.fromkeys(plan.job.outputs, plan.days)
            known[calendar_name(name)] = _scheduled_days(plan.job, plan.grain)
    return known


def _list_downstream(
    tx: Transaction, registry: Registry, former: Iterable[Plan], gone: set[str]
) -> dict[str, JobEntry]:
    """Return the registered jobs downstream of what drafted and former jobs produce."""
    jobs = [*(plan.job for plan in former), *(checked.job for checked in registry.drafted.values())]
    datasets = {name for job in jobs for name in (*job.outputs, calendar_name(job.name))}
    names = registered.list_downstream(tx, registry.find_ids(datasets))
    registry.plans.load(names)
    return {name: as_checked(registry.plans[name]) for name in names if name not in gone}
