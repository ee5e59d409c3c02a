"""Inputs with several chunks of which work lacks some: how many, which, and until when it waits for them."""

from __future__ import annotations

from dataflow.model.completeness import deadline_of, fewest, has_deadline, required
from dataflow.model.coverage import kind_of
from dataflow.model.mapping import ALL, PAIRS, SIMPLE
from dataflow.model.record import record
from dataflow.model.wording import counted, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.actions.work_case import WorkCase
    from dataflow.model.records import PlanInput, RunRow

SHOWN = 3
"""Missing dataids that are named."""


@record
class Shortage:
    """An input of which the work lacks chunks: all it needs, those that are not ready, how many must be.

    `deadline`: after it, one chunk is enough; None if there is none, or it has passed and was noticed.
    """

    source: PlanInput
    needed: int
    lacking: tuple[str, ...]
    wanted: int
    deadline: float | None = None

    @property
    def ready(self) -> int:
        """How many of the chunks are ready."""
        return self.needed - len(self.lacking)

    @property
    def is_blocking(self) -> bool:
        """True while too few are ready."""
        return self.ready < self.wanted


def list_shortages(case: WorkCase) -> list[Shortage]:
    """Return the inputs with several chunks that the work does not have enough of."""
    return [shortage for shortage in _list_incomplete(case) if shortage.is_blocking]


def describe_incomplete(case: WorkCase) -> str:
    """Return, for work that can be claimed, what it will do without; "" if nothing."""
    parts = [
        f"{found.ready:,} of {counted(found.needed, 'chunk')} of {found.source.dataset.name}, without "
        f"{shorten(found.lacking)}"
        for found in _list_incomplete(case)
        if not found.is_blocking
    ]
    return f"; partial: it will read {' and '.join(parts)}" if parts else ""


def _list_incomplete(case: WorkCase) -> list[Shortage]:
    """Return the inputs with several chunks of which some are not ready."""
    work = case.store.read.find_work(case.plan.job_id, case.dataid)
    kept = case.store.read.list_counts(work.work_id) if work else {}
    found = []
    for source in case.plan.inputs:
        if source.mapping in SIMPLE:
            continue
        needed = case.store.read.list_needed(case.plan, source, case.dataid)
        ready = case.store.read.list_ready_among(source.dataset_id, needed) if needed else set()
        lacking = tuple([dataid for dataid in needed if dataid not in ready])
        if source.position in kept:  # a claim may have noticed that the deadline has passed
            wanted, deadline = kept[source.position].needed, kept[source.position].deadline
        else:
            wanted = required(source.rule, len(needed))
            deadline = deadline_of(source.rule, case.dataid, kind_of(case.plan))
        if lacking:
            found.append(Shortage(source, len(needed), lacking, wanted, deadline))
    return found


def describe(shortage: Shortage, now: float, as_object: bool = False) -> str:
    """Return a shortage in words, with the first missing dataids; `as_object` follows "waits for"."""
    name = shortage.source.dataset.name
    chunks = f"{counted(shortage.needed, 'chunk')} of {name}"
    is_ready = "is ready" if shortage.ready == 1 else "are ready"
    some = f"{shortage.ready:,} of {chunks} {is_ready}"
    if as_object:
        some = f"{chunks}, of which {shortage.ready:,} {is_ready}"
    text = f"{some}; missing: {shorten(shortage.lacking)}"
    least = fewest(shortage.source.rule)
    if least is not None:
        return f"{text}; at least {shortage.wanted} must be ready"
    if has_deadline(shortage.source.rule):
        if shortage.deadline is None or shortage.deadline <= now:
            then = "the next claim takes those there are" if shortage.ready else "the first chunk will do"
            return f"{text}; the deadline has passed, and {then}"
        return f"{text}; after {utc_text(shortage.deadline)} the chunks there are will do"
    return text


def shorten(dataids: Sequence[str]) -> str:
    """Return the first few of some dataids, and how many more there are."""
    shown = ", ".join(dataids[:SHOWN])
    return shown if len(dataids) <= SHOWN else f"{shown} and {len(dataids) - SHOWN:,} more"


def describe_partial(case: WorkCase, run: RunRow) -> str:
    """Return what a run did without, in words; "" if it read everything."""
    if not case.store.read.count_lacked(run.run_id):
        return ""
    pinned = case.store.read.list_run_pins(run.run_id)
    parts = []
    for source in case.plan.inputs:
        if source.mapping in SIMPLE:
            continue
        there = set(pinned.get(source.position, ()))
        needed = case.store.read.list_needed(case.plan, source, case.dataid)
        if lacking := [dataid for dataid in needed if dataid not in there]:
            read = f"{len(needed) - len(lacking):,} of {counted(len(needed), 'chunk')}"
            parts.append(f"{read} of {source.dataset.name}, without {shorten(lacking)}")
    return f"partial: made from {' and '.join(parts)}" if parts else "partial"


def has_enough_of_all(case: WorkCase, source: PlanInput) -> bool:
    """Return whether an input mapped `all` has as many ready chunks as it needs."""
    assert source.mapping == ALL
    return case.store.read.has_ready(source.dataset_id, fewest(source.rule) or 1)


def has_no_pairs(case: WorkCase, source: PlanInput) -> bool:
    """Return whether an input mapped `pairs` has no list yet."""
    return source.mapping == PAIRS and not case.store.read.count_pairs(case.plan.job_id, source.dataset_id)
