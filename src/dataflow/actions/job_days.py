"""The days of drafted jobs: a job follows inputs that leave days out, and its outputs follow the job."""

from __future__ import annotations

from dataflow.actions.dataset_rules import TODAY, is_automatic
from dataflow.errors import BadInput
from dataflow.model.days import EVERY_DAY, common_days, day_after, days_of
from dataflow.model.grain import Grain
from dataflow.model.mapping import LATEST, PREVIOUS, SAME
from dataflow.model.record import replace
from dataflow.store import registry as registered
from dataflow.store.registry import CALENDAR_SUFFIX, calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataflow.actions.registry_draft import Registry
    from dataflow.model.records import Plan
    from dataflow.store.database import Transaction
    from dataflow.store.entries import JobEntry

FIRST_DAY = "2000-01-01"


def find_days(tx: Transaction, registry: Registry) -> None:
    """Set the days of the drafted jobs; draft the registered jobs that follow them.

    One generation at a time: where the days of a dataset change, its readers are next.
    """
    search = _Search(tx, registry)
    waiting = list(registry.drafted)
    moved = search.read_former(waiting)
    while waiting:
        search.read_producers(waiting)
        for name in waiting:
            moved |= search.set_days(name)
        waiting = search.list_readers(moved)
        moved = set()


class _Search:
    """The days of datasets, as they are found."""

    def __init__(self, tx: Transaction, registry: Registry) -> None:
        self._tx = tx
        self._registry = registry
        self._days: dict[str, str] = {}

    def read_former(self, jobs: Iterable[str]) -> set[str]:
        """Read what these jobs had; return the datasets that they no longer produce."""
        gone: set[str] = set()
        for name in jobs:
            if plan := self._registry.plans.get(name):
                self._read(plan)
                gone |= set(plan.job.outputs) - set(self._registry.drafted[name].job.outputs)
        made = {output for checked in self._registry.drafted.values() for output in checked.job.outputs}
        gone = {dataset for dataset in gone - made if self._days[dataset]}
        self._days |= dict.fromkeys(gone, EVERY_DAY)
        return gone

    def read_producers(self, jobs: Iterable[str]) -> None:
        """Read the days of what these jobs read and no drafted job gives."""
        drafted, datasets = self._registry.drafted, self._registry.datasets
        inputs = {item.dataset for name in jobs for item in drafted[name].inputs}
        unknown = [name for name in inputs - self._days.keys() if datasets[name].grain == Grain.DAILY]
        owners = {name.removesuffix(CALENDAR_SUFFIX) for name in unknown if is_automatic(name)} - {TODAY}
        owners.update(registered.list_producers(self._tx, self._registry.ids_of(unknown)).values())
        others = sorted(owners - drafted.keys())
        self._registry.plans.load(others)
        for name in others:
            if plan := self._registry.plans.get(name):
                self._read(plan)

    def set_days(self, name: str) -> set[str]:
        """Set the days of a drafted job; return which of the datasets that it gives have other days now."""
        checked = self._registry.drafted[name]
        is_daily = checked.grain == Grain.DAILY
        moved = self._move([calendar_name(name)], days_of(checked.job.schedule) if is_daily else EVERY_DAY)
        found = tuple(
            [self._days.get(item.dataset, EVERY_DAY) if is_daily else EVERY_DAY for item in checked.inputs]
        )
        days = _common(checked, found)
        self._registry.drafted[name] = replace(checked, days=days, input_days=found)
        return moved | self._move(checked.job.outputs, days)

    def _read(self, plan: Plan) -> None:
        is_daily = plan.grain == Grain.DAILY
        self._days[calendar_name(plan.job.name)] = days_of(plan.job.schedule) if is_daily else EVERY_DAY
        self._days |= dict.fromkeys(plan.job.outputs, plan.days)

    def _move(self, datasets: Iterable[str], days: str) -> set[str]:
        """Set the days of datasets; return those that had others."""
        moved = {dataset for dataset in datasets if self._days.get(dataset, EVERY_DAY) != days}
        self._days |= dict.fromkeys(datasets, days)
        return moved

    def list_readers(self, datasets: set[str]) -> list[str]:
        """Return the jobs that read these datasets; those that are only registered are drafted, too."""
        self._registry.datasets.load(datasets)
        for name in self._registry.list_other_users(datasets):
            self._registry.draft_again(name)
            self._read(self._registry.plans[name])
        drafted = self._registry.drafted.items()
        return [name for name, job in drafted if any(item.dataset in datasets for item in job.inputs)]


def _common(checked: JobEntry, input_days: tuple[str, ...]) -> str:
    """Return the days that all inputs have whose chunk of the same day is needed, or else the previous."""
    by_input = list(zip(checked.inputs, input_days, strict=True))
    callers = [days for item, days in by_input if item.mapping == SAME] or [
        days
        for item, days in by_input
        if item.mapping == PREVIOUS and item.dataset not in checked.job.outputs
    ]
    days = common_days(callers)
    if days and day_after(days, FIRST_DAY) is None:
        shown = ", ".join([f"{item.dataset} has {some}" for item, some in by_input if some])
        raise BadInput(
            f"Job {checked.job.name}: its inputs have no day in common ({shown}), so it would never run. "
            f"Read one of them as DATASET:{LATEST}."
        )
    return days
