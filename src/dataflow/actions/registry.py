"""Changes to what is registered, drafted and checked as a whole before any of them is written.

A draft only reads; `apply` shows it, and registering writes it in the same transaction.
"""

from __future__ import annotations

from dataflow.actions.dataset_rules import check_dataset, is_automatic
from dataflow.actions.differences import UNCHANGED, Change, compare
from dataflow.actions.job_graph import check_cycles, check_producers
from dataflow.actions.job_rules import check_job
from dataflow.errors import BadInput, Conflict
from dataflow.model.grain import Grain
from dataflow.model.mapping import LATEST
from dataflow.model.record import replace
from dataflow.model.status import WorkState
from dataflow.store import registration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataflow.actions.job_rules import CheckedJob
    from dataflow.model.records import Dataset, Job, Plan
    from dataflow.store.database import Transaction


class Draft:
    """What is to be written, in this order, and how it is told."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.datasets: list[Dataset] = []
        self.jobs: list[CheckedJob] = []


class Registry:
    """All datasets and jobs as they are, and as they will be."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        rows = tx.rows("registration.list_datasets")
        self.dataset_ids: dict[str, int] = {row[1]: row[0] for row in rows}
        self.datasets: dict[str, Dataset] = {row[1]: registration.dataset_from_row(row[1:]) for row in rows}
        self.plans: dict[str, Plan] = {plan.job.name: plan for plan in registration.list_plans(tx)}
        self.jobs: dict[str, Job] = {name: plan.job for name, plan in self.plans.items()}

    def draft(self, datasets: Iterable[Dataset], jobs: Iterable[Job], may_be_over: bool = False) -> Draft:
        """The checked way from what is to what shall be; raises for the first thing that cannot be."""
        draft = Draft()
        moved = [name for dataset in datasets if (name := self._draft_dataset(draft, dataset))]
        # A job may read the calendar of another one, which must be known by then.
        in_order = sorted(jobs, key=lambda job: any(is_automatic(item.dataset) for item in job.inputs))
        changed = [self._draft_job(draft, job, may_be_over) for job in in_order]
        self._draft_users(draft, moved, changed)
        check_producers(self.jobs.values(), changed)
        check_cycles(self.jobs, changed)
        return draft

    def _draft_dataset(self, draft: Draft, dataset: Dataset) -> str | None:
        """Adds one dataset to the draft, and gives its name if its dataids will be read another way."""
        before = self.datasets.get(dataset.name)
        after = check_dataset(dataset, before)
        change = compare("dataset", before, after)
        draft.changes.append(change)
        if change.what == UNCHANGED:
            return None
        self.datasets[after.name] = after
        draft.datasets.append(after)
        if before is None or (before.grain, before.timezone) == (after.grain, after.timezone):
            return None
        self._check_grain_change(before, after)
        return after.name

    def _draft_job(self, draft: Draft, job: Job, may_be_over: bool) -> str:
        checked = check_job(job, self.datasets, may_be_over)
        before = self.jobs.get(job.name)
        change = compare("job", before, checked.job)
        draft.changes.append(change)
        for calendar in checked.automatic:
            known = self.datasets.get(calendar.name)
            if known is not None and known != calendar:
                self._check_grain_change(known, calendar, job.name)
            self.datasets[calendar.name] = calendar
        self.jobs[job.name] = checked.job
        if self._check_job_grain(checked) or change.what != UNCHANGED:
            draft.jobs.append(checked)
        return job.name

    def _draft_users(self, draft: Draft, moved: list[str], changed: list[str]) -> None:
        """Jobs that are not changed themselves but use a dataset whose grain or time zone is."""
        for name, job in self.jobs.items():
            used = {*(item.dataset for item in job.inputs), *job.outputs}
            if name in changed or not used.intersection(moved):
                continue
            try:
                checked = check_job(job, self.datasets, may_be_over=True)
            except BadInput as error:
                way_out = "To change them together, declare them in a file: dataflow apply FILE"
                raise Conflict(f"{error} Nothing was changed. {way_out}") from error
            # What the latest chunk covers depends on its dataset's time zone.
            follows = any(item.mapping == LATEST and item.dataset in moved for item in job.inputs)
            if self._check_job_grain(checked) or follows:
                draft.jobs.append(checked)

    def _check_grain_change(self, before: Dataset, after: Dataset, job: str = "") -> None:
        same_words = before.grain == after.grain and Grain(after.grain) is not Grain.HOURLY
        if same_words or not self._count_chunks(before.name):
            return
        what = "grain" if before.grain != after.grain else "timezone"
        old, new = getattr(before, what), getattr(after, what)
        if is_automatic(before.name):
            way_out = f"Register it under another name, or start anew: dataflow job remove {job}"
        else:
            way_out = f"Register another beside it: dataflow dataset add NEW_NAME --{what} {new}"
        raise Conflict(
            f"Dataset {before.name} has chunks whose dataids were written for {what} {old}, "
            f"so its {what} cannot become {new}. {way_out}"
        )

    def _check_job_grain(self, checked: CheckedJob) -> bool:
        """True if the job's grain or time zone changes; a job that has work keeps its grain."""
        name = checked.job.name
        plan = self.plans.get(name)
        if plan is None or (plan.grain, plan.timezone) == (checked.grain, checked.timezone):
            return False
        if plan.grain == checked.grain or not self._has_work(plan):
            return True
        raise Conflict(
            f"Job {name} has work whose dataids are of grain {plan.grain}, and its inputs are now of grain "
            f"{checked.grain}. Register it under another name, or start anew: dataflow job remove {name}"
        )

    def _has_work(self, plan: Plan) -> bool:
        if self._tx.find("reading.last_done", job_id=plan.job_id):
            return True
        states = [state for state in WorkState if state is not WorkState.DONE]
        return any(
            self._tx.find("reading.first_open", job_id=plan.job_id, state=state.value) for state in states
        )

    def _count_chunks(self, name: str) -> int:
        row = self._tx.find("registration.count_chunks", dataset_id=self.dataset_ids.get(name, 0))
        return int(row[0]) if row else 0


def merge_job(before: Job | None, job: Job, given: Iterable[str] | None) -> Job:
    """The job with the fields that were not given as they were; None means that all were."""
    if before is None or given is None:
        return job
    return replace(before, **{name: getattr(job, name) for name in given})


def merge_dataset(before: Dataset | None, dataset: Dataset, given: Iterable[str] | None) -> Dataset:
    """The dataset with the fields that were not given as they were; None means that all were."""
    if before is None or given is None:
        return dataset
    return replace(before, **{name: getattr(dataset, name) for name in given})
