"""The transaction that gives work to a run."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.coverage import kind_of
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import previous_job_dataid
from dataflow.model.mapping import SIMPLE, UNCALLING
from dataflow.model.records import NEWEST, ClaimResult, Run, rank_of
from dataflow.model.status import WorkState
from dataflow.store import consumers, latest_inputs, leases, pins
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.reads import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.model.records import ClaimRequest, Plan
    from dataflow.store.database import Transaction

ANY_LOSSES = 1 << 30


def claim(tx: Transaction, plan: Plan, request: ClaimRequest) -> ClaimResult:
    """Create up to one run per token: free dead runs, promote due work, take the first in order."""
    look = tx.find("claim.look", job_id=plan.job_id)
    if look is None:
        raise errors.UnknownName(f"Job {plan.job.name} was removed. List: dataflow job list")
    _, hold, ordered, max_running, _, _, _, revision, script_path, calendar_due, lapsed, is_far, *waits = look
    if revision != plan.revision:
        return ClaimResult(again="plan")
    if calendar_due and not request.force and not request.intervals_added:
        return ClaimResult(again="calendar")
    limit = 1 if plan.one_at_a_time else max_running
    if limit:
        tx.lock("claim.lock_job", job_id=plan.job_id)
    if lapsed or is_far:
        leases.shorten(tx, plan.job_id)
    if lapsed or request.dead or request.killed:
        leases.free_lapsed(tx, plan, request)
    _end_waits(tx, plan.job_id, *waits)
    if not script_path and request.claimant.script_hash:  # otherwise the script could not be read
        path = request.claimant.job_script or request.claimant.script_path
        tx.run("claim.set_script_path", job_id=plan.job_id, script_path=path)
    if hold and not request.force:
        return ClaimResult()
    room = _room(tx, plan, limit, request)
    runs: list[Run] = []
    for token in request.tokens[:room]:
        found = _find_work(tx, plan, request, bool(ordered))
        if found is None or (runs and _is_overtaken(found, request)):
            break
        run = _give(tx, plan, request, token, found)
        if run is None:
            return ClaimResult(again="plan")
        runs.append(run)
    again = "calendar" if calendar_due and room and not runs and not request.force else ""
    return ClaimResult(tuple(runs), again)


def _end_waits(tx: Transaction, job_id: int, are_over: bool, are_old: bool, are_due: bool) -> None:
    """Make work claimable whose wait is over, or whose wait started before the last boot.

    `are_due`: some work need not wait for complete inputs any more.
    """
    if are_due:
        from dataflow.store import several_inputs  # start-up: few jobs have deadlines

        several_inputs.relax(tx, job_id)
    if are_old:
        tx.run("claim.end_old_waits", job_id=job_id)
    if are_over or are_old:
        tx.run("claim.promote", job_id=job_id)


def find_claimed(tx: Transaction, plan: Plan, request: ClaimRequest) -> ClaimResult | None:
    """Return the runs that an earlier, unanswered call with the same tokens still holds, or None."""
    runs, known = [], False
    for token in request.tokens:
        row = tx.find("claim.find_by_token", token=token)
        known = known or row is not None
        if row is not None and not row[6]:
            run_id, work_id, dataid, attempt, lease_seconds, grace_seconds, _ = row
            pinned = pins.list_pins(tx, plan, run_id)
            lacking = pins.list_lacking(tx, plan, dataid, pinned)
            identity = (run_id, work_id, plan.job_id, plan.job.name, dataid, attempt, request.claimant.token)
            replaces = pins.close_outputs(tx, plan, dataid, run_id)
            lease = (lease_seconds, grace_seconds)
            runs.append(Run(*identity, *lease, pinned, replaces, lacking=lacking))
    return ClaimResult(runs=tuple(runs)) if known else None


def _room(tx: Transaction, plan: Plan, limit: int, request: ClaimRequest) -> int:
    """Return how many of the requested runs the limits of the job and its pool allow; refuse a forced run."""
    wanted = len(request.tokens)
    if plan.job.pool:
        wanted = min(wanted, _pool_room(tx, plan, request))
    if not limit:
        return wanted
    at_work = len(tx.rows("claim.at_work", job_id=plan.job_id, outliving=plan.one_at_a_time))
    room = max(0, min(wanted, limit - at_work))
    if request.force and not room:
        raise errors.Conflict(
            f"Job {plan.job.name} runs {limit} at a time, and that many are running or still ending. "
            f"Wait for one: dataflow runs --job {plan.job.name}"
        )
    return room


def lock_pool(tx: Transaction, plan: Plan) -> int:
    """Let one claim at a time count the runs in the job's pool; return the pool's size.

    It is the first lock of all: a claim that has finished runs before it holds work that others wait for.
    """
    row = tx.find("control.find_pool", pool=plan.job.pool)
    if row is None:
        raise errors.Conflict(
            f"Job {plan.job.name} is in pool {plan.job.pool}, which does not exist. "
            f"Create it: dataflow pool set {plan.job.pool} N"
        )
    return int(row[0])


def _pool_room(tx: Transaction, plan: Plan, request: ClaimRequest) -> int:
    pool = plan.job.pool
    size = lock_pool(tx, plan)
    room = max(0, size - len(tx.rows("control.pool_uses", pool=pool)))
    if request.force and not room:
        raise errors.Conflict(
            f"Pool {pool} has room for {size}, and that many runs of its jobs are running or still ending. "
            "Wait for one, or enlarge it. See: dataflow pool list"
        )
    return room


def _find_work(tx: Transaction, plan: Plan, request: ClaimRequest, ordered: bool) -> tuple[Any, ...] | None:
    if request.dataid is not None:
        return _named_work(tx, plan, request, ordered)
    suspect_losses = leases.suspect_losses(plan.job.max_crashes)

    def has_two(found: tuple[Any, ...]) -> bool:
        is_suspect = found[5] >= suspect_losses
        return is_suspect and tx.find("claim.suspect_of", claimant=request.claimant.token) is not None

    if not ordered:
        query = "claim.next_newest" if plan.job.order == NEWEST else "claim.next_work"
        found = tx.find(query, job_id=plan.job_id, suspect_losses=ANY_LOSSES)
        if found is None or not has_two(found):
            return found
        return tx.find(query, job_id=plan.job_id, suspect_losses=suspect_losses)
    found = tx.find("claim.next_ordered", job_id=plan.job_id)
    if found is None or found[4] != WorkState.CLAIMABLE or found[6] or has_two(found):
        return None
    return found if _in_turn(tx, plan, found) else None


def _is_overtaken(found: tuple[Any, ...], request: ClaimRequest) -> bool:
    """Return whether it is another job's turn before this work."""
    return request.rival is not None and rank_of(found[6], time_text(found[7])) > request.rival


def _named_work(tx: Transaction, plan: Plan, request: ClaimRequest, ordered: bool) -> tuple[Any, ...] | None:
    dataid = request.dataid
    assert dataid is not None
    if request.force:
        _make_forced(tx, plan, dataid)
    found = tx.find("claim.named_work", job_id=plan.job_id, dataid=dataid)
    if found is None:
        return None
    if request.force:
        _refuse_two_runs(tx, f"{plan.job.name}/{dataid}", found)
        return found
    if found[4] != WorkState.CLAIMABLE or found[6]:
        return None
    if ordered:
        first = tx.find("claim.next_ordered", job_id=plan.job_id)
        return found if first and first[0] == found[0] and _in_turn(tx, plan, found) else None
    return found


def _refuse_two_runs(tx: Transaction, work: str, found: tuple[Any, ...]) -> None:
    """Refuse to force work that a run holds, or whose revoked run may still be ending."""
    state, run_id = found[4], found[7]
    row = tx.find("claim.last_run", run_id=run_id)
    if row is None:
        return
    host, has_kill_command, left_seconds = row
    if state == WorkState.RUNNING:
        raise errors.Conflict(
            f"{work} is RUNNING under run {run_id} on {host}. Wait for it, or: dataflow cancel {run_id}"
        )
    if left_seconds is not None:
        ending, command = leases.describe_ending(host, has_kill_command, left_seconds)
        raise errors.Conflict(f"Run {run_id} of {work} {ending}. {command}")


def _make_forced(tx: Transaction, plan: Plan, dataid: str) -> None:
    key = sort_key(dataid, Grain(plan.grain))
    has_latest = any(source.mapping in UNCALLING for source in plan.inputs)
    if has_latest or plan.days:
        latest_inputs.lock(tx, plan.job_id)
    row = tx.find(
        "claim.insert_forced_work",
        job_id=plan.job_id,
        dataid=dataid,
        sort_key=key,
        priority=plan.job.priority,
        ordered=plan.job.ordered,
    )
    if row is not None:
        tx.run("claim.insert_forced_inputs", work_id=row[0], job_id=plan.job_id)
        if any(source.mapping not in SIMPLE for source in plan.inputs):
            from dataflow.store import several_inputs  # start-up: few jobs have such inputs

            several_inputs.set_needed(tx, plan.job_id, [dataid])
        else:
            consumers.waive_inputs(tx, plan.job_id, kind_of(plan), plan.job.start, [dataid])
        if plan.days:  # elsewhere a ready chunk would have created the work
            consumers.count_ready(tx, plan.job_id, [dataid])
        if has_latest:
            latest_inputs.cover(tx, plan.job_id, [(dataid, key)])


def _in_turn(tx: Transaction, plan: Plan, found: tuple[Any, ...]) -> bool:
    """Return whether the previous dataid of an ordered job is done, or this is its first.

    Without it a late chunk would be overtaken by the next one: work exists only once a chunk calls for it.
    """
    before = previous_job_dataid(found[1], plan)
    if before is None or tx.find("claim.earlier_work", job_id=plan.job_id, sort_key=found[2]) is None:
        return True
    state = tx.find("claim.state_of", job_id=plan.job_id, dataid=before)
    return state is not None and state[0] == WorkState.DONE


def _give(
    tx: Transaction, plan: Plan, request: ClaimRequest, token: str, found: tuple[Any, ...]
) -> Run | None:
    """Create the run and give it the work; None if the job changed since the claim read it."""
    work_id, dataid, _, attempt, state = found[:5]
    claimant = request.claimant
    row = tx.find(
        "claim.insert_run",
        work_id=work_id,
        job_id=plan.job_id,
        dataid=dataid,
        attempt=attempt,
        token=token,
        claimant=claimant.token,
        host=claimant.host,
        boot_id=claimant.boot_id,
        pid=claimant.pid,
        user_name=claimant.user,
        environment=claimant.environment,
        script_path=claimant.script_path,
        script_hash=claimant.script_hash,
        has_kill_command=request.has_kill_command,
        lease_seconds=request.lease_seconds,
        grace_seconds=request.grace_seconds,
        revision=plan.revision,
        force=request.force,
    )
    if row is None:
        return None
    run_id, earlier_run_id = row
    if tx.find("claim.take", work_id=work_id, run_id=run_id, state=state) is None:
        raise errors.Conflict(
            f"Work {plan.job.name}/{dataid} changed while it was being claimed. Run the same command again."
        )
    pinned = pins.pin_inputs(tx, plan, run_id, claimant.token, dataid)
    lacking = pins.list_lacking(tx, plan, dataid, pinned)
    if lacking:
        tx.run("several.set_lacked", run_id=run_id, lacked=len(lacking))
    replaces = pins.close_outputs(tx, plan, dataid, run_id)
    action = "force" if request.force else "claim"
    why = f"received the credentials of {', '.join(request.credentials)}" if request.credentials else ""
    write_journal(
        tx,
        JournalEntry(
            action,
            claimant.actor,
            plan.job.name,
            dataid=dataid,
            run_id=run_id,
            from_state=state,
            to_state=WorkState.RUNNING,
            why=why,
        ),
    )
    lease = (request.lease_seconds, request.grace_seconds)
    identity = (run_id, work_id, plan.job_id, plan.job.name, dataid, attempt, claimant.token)
    return Run(*identity, *lease, pinned, replaces, is_first=not earlier_run_id, lacking=lacking)
