"""Changes to the registry, drafted and checked together before any of them is written.

A draft only reads; `apply` shows it, and registering writes it in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from dataflow.actions.dataset_rules import TODAY, check_dataset, check_name, is_automatic
from dataflow.actions.differences import UNCHANGED, Change, compare, compare_days
from dataflow.actions.input_rules import leave_out_schedule
from dataflow.actions.job_days import as_checked, check_days, derive_days, find_days
from dataflow.actions.job_graph import check_cycles, check_producers
from dataflow.actions.job_rules import check_job, refuse_secrets
from dataflow.actions.next_commands import shell
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.grain import Grain
from dataflow.model.mapping import PAIRS, SAME, UNCALLING
from dataflow.model.record import replace
from dataflow.model.records import ON_DEMAND, Job, JobInput
from dataflow.model.schedule import names_interval
from dataflow.model.wording import did_you_mean, quoted
from dataflow.store import registry
from dataflow.store.controls import find_missing_pool, list_pool_names
from dataflow.store.registry import calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dataflow.model.records import Dataset, Plan
    from dataflow.store.database import Transaction
    from dataflow.store.entries import JobEntry

Item = TypeVar("Item")


class Registered(Mapping[str, Item]):
    """Datasets or jobs by name. Only iterating reads all names."""

    def __init__(
        self, read: Callable[[Sequence[str]], Mapping[str, Item]], list_names: Callable[[], Sequence[str]]
    ) -> None:
        self._read = read
        self._list_names = list_names
        self._found: dict[str, Item | None] = {}

    def load(self, names: Iterable[str]) -> None:
        """Read those that have not been read before, in one go."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._found]
        if wanted:
            found = self._read(wanted)
            self._found.update({name: found.get(name) for name in wanted})

    def put(self, name: str, item: Item) -> None:
        """Set what the name stands for, whatever is in the store."""
        self._found[name] = item

    def __getitem__(self, name: str) -> Item:
        self.load([name])
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        new = [name for name, item in self._found.items() if item is not None]
        return iter(dict.fromkeys([*self._list_names(), *new]))

    def __len__(self) -> int:
        return len(list(iter(self)))


class Draft:
    """What to write, in order, and the changes to show; `followers` are the jobs whose days follow others."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, str], Change] = {}
        self.datasets: list[Dataset] = []
        self.jobs: list[JobEntry] = []
        self.followers: list[str] = []

    @property
    def changes(self) -> list[Change]:
        """The changes, in order."""
        return list(self._changes.values())

    def put(self, change: Change) -> None:
        """Add a change, or replace that of the same dataset or job."""
        self._changes[change.kind, change.name] = change


class Registry:
    """Datasets and jobs as they are and as they will be; only what is needed is read."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.dataset_ids: dict[str, int] = {}
        self.datasets = Registered(self._read_datasets, lambda: registry.list_names(tx, "dataset"))
        self.plans = Registered(self._read_plans, lambda: registry.list_names(tx, "job"))
        self.drafted: dict[str, JobEntry] = {}

    def find_job(self, name: str) -> Job | None:
        """Return a job as it will be, or is; None if there is none."""
        if name in self.drafted:
            return self.drafted[name].job
        plan = self.plans.get(name)
        return plan.job if plan else None

    def load(self, datasets: Iterable[Dataset], jobs: Iterable[Job]) -> None:
        """Read in one go what a draft of these needs."""
        names = {dataset.name for dataset in datasets} | {TODAY}
        for job in jobs:
            names.update(item.dataset for item in job.inputs)
            names.update((*job.outputs, calendar_name(job.name)))
        self.datasets.load(sorted(names))
        self.plans.load(job.name for job in jobs)

    def find_ids(self, names: Iterable[str]) -> list[int]:
        """Return the ids of those of these datasets that are registered."""
        self.datasets.load(names)
        return [self.dataset_ids[name] for name in names if name in self.dataset_ids]

    def draft(self, datasets: Iterable[Dataset], jobs: Iterable[Job], may_be_over: bool = False) -> Draft:
        """Return the checked changes; raise for the first one that is invalid."""
        draft = Draft()
        datasets, jobs = list(datasets), list(jobs)
        self.load(datasets, jobs)
        self._check_pools(jobs)
        moved = [name for dataset in datasets if (name := self._draft_dataset(draft, dataset))]
        # A job may read the calendar of another job, which must come first.
        in_order = sorted(jobs, key=lambda job: any(is_automatic(item.dataset) for item in job.inputs))
        rewired = [job.name for job in in_order if self._draft_job(draft, job, may_be_over)]
        self._draft_users(draft, moved)
        self._check_graph(rewired)
        self._draft_days(draft, find_days(self._tx, self))
        for checked in draft.jobs:
            check_days(checked)
        return draft

    def _read_datasets(self, names: Sequence[str]) -> dict[str, Dataset]:
        found = registry.find_datasets(self._tx, names)
        self.dataset_ids.update({name: dataset_id for name, (dataset_id, _) in found.items()})
        return {name: dataset for name, (_, dataset) in found.items()}

    def _read_plans(self, names: Sequence[str]) -> dict[str, Plan]:
        return {plan.job.name: plan for plan in registry.find_plans(self._tx, names)}

    def _draft_dataset(self, draft: Draft, dataset: Dataset) -> str | None:
        """Add one dataset to the draft; return its name if its dataids will be read differently."""
        before = self.datasets.get(dataset.name)
        after = check_dataset(dataset, before)
        change = compare("dataset", before, after)
        draft.put(change)
        if change.what == UNCHANGED:
            return None
        self.datasets.put(after.name, after)
        draft.datasets.append(after)
        if before is None or (before.grain, before.timezone) == (after.grain, after.timezone):
            return None
        self._check_grain_change(before, after)
        return after.name

    def _draft_job(self, draft: Draft, job: Job, may_be_over: bool) -> bool:
        """Add one job to the draft; return whether it will read or produce other datasets."""
        checked = check_job(job, self.datasets, may_be_over)
        before = self.find_job(job.name)
        refuse_secrets(job, before)
        change = compare("job", before, checked.job)
        draft.put(change)
        if before is None or (before.inputs, before.schedule) != (checked.job.inputs, checked.job.schedule):
            self._check_moments(checked)
        self._draft_calendars(checked)
        self.drafted[job.name] = checked
        if self._check_job_grain(checked) or change.what != UNCHANGED:
            draft.jobs.append(checked)
        return before is None or (before.inputs, before.outputs) != (checked.job.inputs, checked.job.outputs)

    def _draft_calendars(self, checked: JobEntry) -> None:
        for calendar in checked.automatic:
            known = self.datasets.get(calendar.name)
            if known is not None and known != calendar:
                self._check_grain_change(known, calendar, checked.job.name)
            self.datasets.put(calendar.name, calendar)

    def _draft_users(self, draft: Draft, moved: list[str]) -> None:
        """Add unchanged jobs that use a dataset whose grain or time zone changes."""
        if not moved:
            return
        for name in self.list_other_users(moved):
            checked = self._draft_again(name)
            self._draft_calendars(checked)
            # What the latest chunk covers depends on its dataset's time zone.
            follows = any(item.mapping != SAME and item.dataset in moved for item in checked.job.inputs)
            if self._check_job_grain(checked) or follows:
                draft.jobs.append(checked)

    def list_other_users(self, datasets: Iterable[str]) -> list[str]:
        """Return the registered jobs that use any of these datasets and are not drafted."""
        ids = self.ids_of(datasets)
        users = registry.list_users(self._tx, ids) if ids else []
        self.plans.load(users)
        return [name for name in users if name not in self.drafted]

    def ids_of(self, datasets: Iterable[str]) -> list[int]:
        """Return the ids of those of these datasets that are registered."""
        return [self.dataset_ids[name] for name in datasets if name in self.dataset_ids]

    def _draft_again(self, name: str) -> JobEntry:
        """Draft a registered job that follows the change of a dataset."""
        try:
            checked = check_job(self.plans[name].job, self.datasets, may_be_over=True)
        except BadInput as error:
            way_out = "To change them together, declare them in a file: dataflow apply FILE"
            raise Conflict(f"{error} Nothing was changed. {way_out}") from error
        self.drafted[name] = checked
        return checked

    def draft_removal(self, plan: Plan) -> Draft:
        """Return what follows the removal of a job: what it produced may have any day then."""
        draft = Draft()
        self._draft_days(draft, find_days(self._tx, self, plan))
        return draft

    def draft_all_days(self) -> Draft:
        """Return the changes of jobs whose days differ from what the declarations say."""
        draft = Draft()
        plans = {plan.job.name: plan for plan in registry.list_plans(self._tx)}
        for name, plan in plans.items():
            self.plans.put(name, plan)
        self._draft_days(draft, derive_days({name: as_checked(plan) for name, plan in plans.items()}))
        return draft

    def _draft_days(self, draft: Draft, found: dict[str, JobEntry]) -> None:
        """Set the days of drafted jobs, and add the other jobs whose days change."""
        draft.jobs = [found.pop(checked.job.name) for checked in draft.jobs]
        for name, checked in found.items():
            change = compare_days(as_checked(self.plans[name]), checked)
            if change.what != UNCHANGED:
                draft.jobs.append(checked)
                draft.followers.append(name)
                draft.put(change)

    def _check_pools(self, jobs: Iterable[Job]) -> None:
        """Refuse jobs in a pool that does not exist."""
        wanted = {check_name("pool", job.pool): job.name for job in jobs if job.pool}
        if missing := find_missing_pool(self._tx, sorted(wanted)) if wanted else "":
            known = list_pool_names(self._tx)
            raise UnknownName(
                f"Job {wanted[missing]}: no pool {quoted(missing)}.{did_you_mean(missing, known)} Create it "
                f"first: {shell('dataflow', 'pool', 'set', missing)} N"
            )

    def _check_graph(self, rewired: list[str]) -> None:
        """Check that no dataset gets a second producer and no changed job waits for itself."""
        if not rewired:
            return
        jobs = {name: checked.job for name, checked in self.drafted.items()}
        outputs = {name for job in rewired for name in jobs[job].outputs}
        ids = self.ids_of(outputs)
        makers = [
            Job(job, (), (dataset,))
            for dataset, job in registry.list_producers(self._tx, ids).items()
            if job not in jobs
        ]
        check_producers([*makers, *jobs.values()], jobs)
        downstream: dict[str, Job] = {}
        for feed in registry.list_feeds(self._tx, ids):
            job = downstream.get(feed.job, Job(feed.job))
            part = (
                {"inputs": (*job.inputs, JobInput(feed.dataset))}
                if feed.is_input
                else {"outputs": (*job.outputs, feed.dataset)}
            )
            downstream[feed.job] = replace(job, **part)
        check_cycles(downstream | jobs, rewired)

    def _check_grain_change(self, before: Dataset, after: Dataset, job: str = "") -> None:
        same_words = before.grain == after.grain and Grain(after.grain) is not Grain.HOURLY
        if same_words or not registry.count_chunks(self._tx, self.dataset_ids.get(before.name, 0)):
            return
        what = "grain" if before.grain != after.grain else "timezone"
        old, new = getattr(before, what), getattr(after, what)
        if is_automatic(before.name):
            way_out = f"Register it under another name, or start over: dataflow job remove {job}"
        else:
            way_out = f"Register another dataset: dataflow dataset add NEW_NAME --{what} {new}"
        raise Conflict(
            f"Dataset {before.name} has chunks whose dataids were written for {what} {old}, "
            f"so its {what} cannot become {new}. {way_out}"
        )

    def _check_moments(self, checked: JobEntry) -> None:
        """Refuse a schedule with text dataids if the chunks of an input have others: none would match."""
        job = checked.job
        if checked.grain != Grain.TEXT or job.schedule in ("", ON_DEMAND):
            return
        for item in job.inputs:
            found = registry.list_newest_dataids(self._tx, self.dataset_ids.get(item.dataset, 0))
            if item.mapping in (*UNCALLING, PAIRS) or not found:
                continue
            if not any(names_interval(job.schedule, dataid) for dataid in found):
                raise BadInput(
                    f"Job {job.name} would wait forever for chunks of {item.dataset}, which has dataids "
                    f"such as {quoted(found[0])}. {leave_out_schedule(item.dataset)}"
                )

    def _check_job_grain(self, checked: JobEntry) -> bool:
        """Return whether the job's grain or time zone changes; a job with work keeps its grain."""
        name = checked.job.name
        plan = self.plans.get(name)
        if plan is None or (plan.grain, plan.timezone) == (checked.grain, checked.timezone):
            return False
        if plan.grain == checked.grain or not registry.has_work(self._tx, plan.job_id):
            return True
        raise Conflict(
            f"Job {name} has work whose dataids are of grain {plan.grain}, and its inputs are now of grain "
            f"{checked.grain}. Register it under another name, or start over: dataflow job remove {name}"
        )


def merge(before: Item | None, after: Item, given: Iterable[str] | None) -> Item:
    """Return a dataset or job with fields that were not given left unchanged; None: all were given."""
    if before is None or given is None:
        return after
    return replace(before, **{name: getattr(after, name) for name in given})
