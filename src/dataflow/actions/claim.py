"""Claim: ask the store for work until it returns some or there is none."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dataflow.model.records import (
        Claimant,
        ClaimRequest,
        ClaimResult,
        Ending,
        Pin,
        Plan,
        PlanInput,
        Run,
    )
    from dataflow.model.status import WorkState
    from dataflow.store.store import Store

    States = list[WorkState | errors.LeaseLost | None]

MOST_PREVIEWED = 13
"""Batches of due intervals after which a preview gives up: it blocks the store."""


def finish_and_claim(
    store: Store, plan: Plan, endings: Sequence[Ending], request: ClaimRequest | None, repeat: bool = False
) -> tuple[States, ClaimResult, Plan]:
    """Finish runs and claim the next in one transaction; also return the plan, which may be newer.

    Due intervals of the job's calendars are added too, so cron and RunJob need no scheduler: one batch, and
    more only while no work can be claimed.
    `repeat`: an earlier call with the same arguments got no answer.
    """
    _call_for(store, plan, request)
    states, result = store.finish_and_claim(plan, endings, request, repeat)
    return states, *_claim_again(store, plan, request, result)


def preview(store: Store, plan: Plan, request: ClaimRequest) -> tuple[ClaimResult, Plan]:
    """Return what a claim would give now; nothing is claimed or changed.

    Only a few batches of due intervals are tried, because others have to wait; `again` means that a claim
    would try more.
    """

    def claim(rehearsed: Store) -> tuple[ClaimResult, Plan]:
        _call_for(rehearsed, plan, request)
        return _claim_again(rehearsed, plan, request, rehearsed.claim(plan, request), MOST_PREVIEWED)

    return store.rehearse(claim)


def _call_for(store: Store, plan: Plan, request: ClaimRequest | None) -> None:
    """Add the dataid of a claim to the calendar of a job that runs only on request."""
    if request is not None and plan.is_on_demand and request.dataid is not None and not request.force:
        from dataflow.actions.calendar import call_for  # start-up: few jobs have such a schedule

        call_for(store, plan, request.dataid)


def _claim_again(
    store: Store, plan: Plan, request: ClaimRequest | None, result: ClaimResult, most: float = float("inf")
) -> tuple[ClaimResult, Plan]:
    """Do what a claim asked for and claim again, at most `most` times, until it asks for nothing more."""
    tried = 0
    while result.again and tried < most:
        plan = prepare_again(store, plan, result.again)
        assert request is not None
        added = result.again == "calendar"
        request = replace(request, credentials=list_credentials(plan), intervals_added=added)
        result = store.claim(plan, request)
        tried += 1
    return result, plan


def renew_leases(store: Store, claimant: str, run_ids: Sequence[int]) -> set[int]:
    """Renew the leases of a process's runs; return the runs it still holds."""
    return store.renew(claimant, run_ids)


def acknowledge_end(store: Store, run: Run) -> None:
    """Record that the processes of a revoked run have ended, so its work need not wait for the lease."""
    store.acknowledge(run.run_id, run.claimant)


def pin_ready_chunks(store: Store, plan: Plan, run: Run, source: PlanInput) -> tuple[Pin, ...]:
    """Pin all chunks of an input that are ready now for a claimed run; return them in order."""
    return store.pin_ready(plan, run, source)


def list_credentials(plan: Plan) -> tuple[str, ...]:
    """Return the job's datasets whose passwords its runs receive."""
    return tuple(sorted({dataset.name for dataset in plan.datasets if dataset.encryptedpass}))


def prepare_again(store: Store, plan: Plan, reason: str) -> Plan:
    """Do what a claim asked for before it can succeed."""
    if reason == "calendar":
        from dataflow.actions import calendar  # start-up: only jobs with a calendar pay for it

        calendar.add_due_intervals(store, plan)
        return plan
    found = store.find_plan(plan.job.name)
    if found is None:
        raise errors.UnknownName(f"Job {plan.job.name} was removed. List: dataflow job list")
    return found


def with_dead(
    store: Store, plan: Plan, request: ClaimRequest, is_dead: Callable[[str], bool]
) -> ClaimRequest:
    """Add the dead claimants of this machine to the request."""
    claimant: Claimant = request.claimant
    others = store.list_claimants(plan.job_id, claimant.host, claimant.boot_id, claimant.token)
    return replace(request, dead=tuple(name for name in others if is_dead(name)))
