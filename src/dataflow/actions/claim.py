"""Claim: ask the store for work until it gives some or there is none."""

from __future__ import annotations

from functools import partial

from dataflow import errors
from dataflow.model.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dataflow.model.records import Claimant, ClaimRequest, ClaimResult, Ending, Plan
    from dataflow.model.status import WorkState
    from dataflow.store.store import Store

    States = list[WorkState | errors.LeaseLost | None]


def finish_and_claim(
    store: Store, plan: Plan, endings: Sequence[Ending], request: ClaimRequest | None, repeat: bool = False
) -> tuple[States, ClaimResult, Plan]:
    """Finishes runs and claims the next in one transaction; gives the plan too, which may have been renewed.

    Due intervals of the job's calendars are added on the way, so cron and RunJob need no scheduler.
    `repeat` says that an earlier call with the same arguments got no answer.
    """
    states, result = store.finish_and_claim(plan, endings, request, repeat)
    while result.again:
        plan = prepare_again(store, plan, result.again)
        assert request is not None
        request = replace(request, credentials=list_credentials(plan))
        result = store.claim(plan, request)
    return states, result, plan


def list_credentials(plan: Plan) -> tuple[str, ...]:
    """The job's own datasets whose passwords its runs are given."""
    datasets = [*(item.dataset for item in plan.inputs), *(item.dataset for item in plan.outputs)]
    return tuple(sorted({dataset.name for dataset in datasets if dataset.encryptedpass}))


def preview(store: Store, plan: Plan, request: ClaimRequest) -> tuple[ClaimResult, Plan]:
    """What a claim would give now; nothing is claimed or changed."""
    before = None
    while (result := store.preview(plan, request, before)).again:
        if result.again == "calendar":
            from dataflow.actions.calendar import preview_due_intervals

            before = partial(preview_due_intervals, plan=plan, actor=store.actor)
        else:
            plan, before = prepare_again(store, plan, result.again), None
    return result, plan


def prepare_again(store: Store, plan: Plan, reason: str) -> Plan:
    """Does what a claim asked for before it can be made."""
    if reason == "calendar":
        from dataflow.actions.calendar import (
            add_due_intervals,  # start-up: only jobs with a calendar pay for it
        )

        add_due_intervals(store, plan)
        return plan
    found = store.find_plan(plan.job.name)
    if found is None:
        raise errors.UnknownName(f"Job {plan.job.name} was removed. List: dataflow job list")
    return found


def with_dead(
    store: Store, plan: Plan, request: ClaimRequest, is_dead: Callable[[str], bool]
) -> ClaimRequest:
    """The request with the claimants of this machine that the kernel says are gone."""
    claimant: Claimant = request.claimant
    others = store.list_claimants(plan.job_id, claimant.host, claimant.boot_id, claimant.token)
    return replace(request, dead=tuple(name for name in others if is_dead(name)))
