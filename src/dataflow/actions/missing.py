"""The input chunks that work lacks, and the state of their producers."""

from __future__ import annotations

import time

from dataflow.actions.declared_commands import find_declared
from dataflow.actions.job_graph import find_open_chain
from dataflow.actions.next_commands import (
    force_command,
    ready_command,
    resubmit_command,
    run_command,
    runner,
    shell,
    why_command,
)
from dataflow.actions.shortages import describe, has_enough_of_all, list_shortages
from dataflow.actions.work_case import Reason, why_not_ready
from dataflow.model.coverage import find_first_covering, kind_of
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.mapping import ALL, LATEST, SIMPLE, WINDOW, is_lagging, needed_by, word_of
from dataflow.model.record import record, replace
from dataflow.model.status import RunOutcome
from dataflow.store.registry import CALENDAR_SUFFIX, calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dataflow.actions.shortages import Shortage
    from dataflow.actions.work_case import WorkCase
    from dataflow.model.records import Pin, Plan, PlanInput, RunRow
    from dataflow.model.schedule import Interval
    from dataflow.store.chunk_reads import ChunkFacts
    from dataflow.store.store import Store


MOST_STALE = 20
"""Missing chunks of one input that are looked at one by one."""


@record
class Cause:
    """Why a chunk is not ready. `is_of_chunk`: the reason is what the chunk itself is or has."""

    reason: Reason
    is_of_chunk: bool = False
    is_unmarked: bool = False

    @property
    def text(self) -> str:
        """The reason as it stands behind a colon."""
        if self.is_unmarked:
            return self.reason.text.removeprefix("is ")
        return f"it {self.reason.text}" if self.is_of_chunk else self.reason.text


def list_missing(case: WorkCase, explain_producer: Callable[[WorkCase], Reason]) -> list[Reason]:
    """Return every needed input chunk that is not ready, with the reason and the next command.

    Of an input with several chunks it is one reason, which names the first few.
    """
    found = [_why_missing(case, *lacking, explain_producer) for lacking in list_lacking(case)]
    found += [_why_short(case, shortage, explain_producer) for shortage in list_shortages(case)]
    found.sort(key=lambda reason: not reason.is_outside)  # nothing else would help
    latest = [source for source in case.plan.inputs if source.mapping == LATEST]
    found += [_why_uncovered(case, source) for source in latest if not find_latest(case, source)]
    for source in case.plan.inputs:
        if source.mapping == ALL and not has_enough_of_all(case, source):
            name = source.dataset.name
            least = f"too few chunks of {name} are ready for {source.rule}" if source.rule else ""
            text = least or f"no chunk of {name} is ready"
            found.append(Reason(f"waits for {source.as_declared}: {text}", _next_for(case, source, None)))
    return found


def list_stale(case: WorkCase, explain_producer: Callable[[WorkCase], Reason]) -> list[Reason]:
    """Return every needed input chunk that is STALE, with the reason and the next command."""
    lacking = list_lacking(case)
    for shortage in list_shortages(case):
        some = shortage.lacking[:MOST_STALE]
        source = shortage.source
        lacking += [(source, dataid, case.find_chunk(source.dataset_id, dataid)) for dataid in some]
    return [
        _why_missing(case, source, dataid, chunk, explain_producer)
        for source, dataid, chunk in lacking
        if chunk is not None and chunk.stale
    ]


def _why_short(case: WorkCase, shortage: Shortage, explain_producer: Callable[[WorkCase], Reason]) -> Reason:
    """Explain too few chunks of an input; the next command is that of the first missing one."""
    dataid = shortage.lacking[0]
    if beginning := _why_before_the_first(case, shortage):
        return beginning
    chunk = case.find_chunk(shortage.source.dataset_id, dataid)
    cause = _find_cause(case, shortage.source, dataid, chunk, explain_producer)
    # What a producer waits for continues its sentence.
    text = describe(shortage, case.store.read.get_now(), as_object=bool(case.depth))
    if cause.is_unmarked:
        return replace(cause.reason, text=text)
    name = f"{shortage.source.dataset.name}/{dataid}"
    first = name if case.depth else f"input {name}"
    return replace(cause.reason, text=f"{text}; {first} is not ready: {cause.text}")


def _why_before_the_first(case: WorkCase, shortage: Shortage) -> Reason | None:
    """Explain a window that reaches back before the first chunk of its input: the job needs a --start."""
    source, job = shortage.source, case.plan.job
    if word_of(source.mapping) != WINDOW or job.start or case.depth or case.plan.is_pipeline:
        return None
    first = next(iter(case.store.read.list_chunks(source.dataset_id, most=1)), None)
    grain = Grain(source.dataset.grain)
    if first is None or sort_key(first.dataid, grain) <= sort_key(shortage.lacking[0], grain):
        return None
    text = describe(shortage, case.store.read.get_now())
    begins = f"the first chunk of {source.dataset.name} is {first.dataid}, and job {job.name} has no --start"
    return Reason(f"{text}; {begins}", shell("dataflow", "job", "add", job.name, "--start", first.dataid))


def find_latest(case: WorkCase, source: PlanInput) -> Pin | None:
    """Return the chunk that a claim made now would pin for a `latest` input."""
    return case.store.read.find_latest_pin(case.plan, source, case.dataid)


def next_interval(case: WorkCase, source: PlanInput) -> Reason | None:
    """Return when a calendar has its next chunk; None if the input is not a calendar."""
    calendar = case.store.read.find_calendar(source.dataset_id)
    if calendar is None:
        return None
    from dataflow.actions.calendar import list_due_intervals  # as in list_due

    name, command = source.dataset.name, run_command(case.plan)
    due, due_at = list_due_intervals(calendar)
    if due:
        adds = f"the next {runner(case.plan, bool(find_declared(case)))} adds it"
        return Reason(f"interval {due[0].dataid} of {name} has ended, and {adds}", command)
    if due_at is None:
        owner = name.removesuffix(CALENDAR_SUFFIX)
        plan = case.store.find_plan(owner)
        if plan is not None and plan.is_on_demand:
            return Reason(f"{owner} runs only on request, with a dataid", run_command(plan, "DATAID"))
        if plan is not None and plan.is_pipeline:  # each run registers it again from its class
            text = f"calendar {name} has ended; change end_date of {owner}, or run one interval"
            return Reason(text, f"{run_command(plan)} --dataid DATAID")
        later = shell("dataflow", "job", "add", owner, "--end") + " DATE"
        return Reason(f"calendar {name} has ended", later)
    return Reason(f"the next interval of {name} ends at {time_of(due_at)}", command)


def time_of(seconds: float) -> str:
    """Return a time as ISO text in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def list_lacking(case: WorkCase) -> list[tuple[PlanInput, str, ChunkFacts | None]]:
    """Return the dataids of inputs with one chunk that the work needs and that are not ready.

    None of `latest` inputs.
    """
    found = []
    for source in case.plan.inputs:
        if source.mapping not in SIMPLE:
            continue
        for dataid in needed_by(case.plan, source, case.dataid):
            chunk = case.find_chunk(source.dataset_id, dataid)
            if chunk is None or not chunk.is_ready:
                found.append((source, dataid, chunk))
    return found


def _why_missing(
    case: WorkCase,
    source: PlanInput,
    dataid: str,
    chunk: ChunkFacts | None,
    explain_producer: Callable[[WorkCase], Reason],
) -> Reason:
    cause = _find_cause(case, source, dataid, chunk, explain_producer)
    name, reason = f"{source.dataset.name}/{dataid}", cause.reason
    if not case.depth:
        return (
            reason if reason.is_outside else replace(reason, text=f"input {name} is not ready: {cause.text}")
        )
    link = "which" if cause.is_of_chunk else "and"  # what a producer waits for continues its sentence
    return replace(reason, text=f"{name}, {link} {reason.text}")


def _find_cause(
    case: WorkCase,
    source: PlanInput,
    dataid: str,
    chunk: ChunkFacts | None,
    explain_producer: Callable[[WorkCase], Reason],
) -> Cause:
    """Explain why one chunk is not ready, without naming it."""
    reason = _why_not_due(case, source, dataid) or _why_no_beginning(case, source, chunk)
    if reason is not None:
        return Cause(reason)
    producer = case.store.read.find_producer(source.dataset_id)
    plan = case.store.find_plan(producer) if producer else None
    if plan is None:
        found = why_not_ready(chunk) if chunk else "is not marked ready"
        return Cause(Reason(found, ready_command(source.dataset.name, dataid)), True, chunk is None)
    if chunk is not None and chunk.withdrawn:
        return Cause(Reason("was withdrawn", resubmit_command(plan.job.name, dataid)), True)
    reason = explain_producer(replace(case, plan=plan, dataid=dataid, depth=case.depth + 1))
    if chunk is None or not (run := _find_overwriter(case, chunk)):
        return Cause(reason)
    if run.dataid == dataid:
        return Cause(replace(reason, text=f"{why_not_ready(chunk)}, and {reason.text}"), True)
    repair = resubmit_command(run.job, run.dataid)  # in a place that all dataids share
    return Cause(Reason(f"{why_not_ready(chunk)}, which was to make {run.dataid}", repair), True)


def _find_overwriter(case: WorkCase, chunk: ChunkFacts) -> RunRow | None:
    """Return the run that has left a chunk partly overwritten; None while it is still at it."""
    run = case.store.read.find_run(chunk.dirty_run_id) if chunk.dirty_run_id else None
    return None if run is None or run.outcome is RunOutcome.RUNNING else run


def _why_uncovered(case: WorkCase, source: PlanInput) -> Reason:
    """Return which chunk of a `latest` input the work waits for, and the newest that is ready."""
    name = source.dataset.name
    wanted = find_first_covering(case.dataid, kind_of(case.plan), kind_of(source.dataset))
    ready = case.store.read.find_newest_ready(source.dataset_id)
    newest = f"the newest ready is {ready.dataid}" if ready else "none is ready"
    command = _next_for(case, source, wanted[0] if wanted else None)
    if wanted is None:
        return Reason(f"waits for a chunk of {name}: {newest}", command)
    dataid, ends = wanted
    needs = (
        f"chunk {dataid} or a later one" if ends is None else f"a chunk ending at or after {_moment(ends)}"
    )
    return Reason(f"waits for {name} to cover {case.dataid} (needs {needs}; {newest})", command)


def _next_for(case: WorkCase, source: PlanInput, dataid: str | None) -> str:
    """Return the command that produces a chunk, or explains why it is missing."""
    producer = case.store.read.find_producer(source.dataset_id)
    if producer is not None:
        plan = case.store.find_plan(producer)
        if plan is not None and plan.is_pipeline and _has_next(case.store, plan):
            return run_command(plan)
        return why_command(producer, dataid) if dataid else why_command(producer)
    if case.store.read.find_calendar(source.dataset_id) is not None:
        return run_command(case.plan)
    return ready_command(source.dataset.name, dataid or "DATAID")


def _has_next(store: Store, plan: Plan) -> bool:
    """Return whether a run of the job would find work, including intervals that are not added yet."""
    if store.read.find_first_claimable(plan.job_id) is not None:
        return True
    return any(list_due(store, source.dataset_id) for source in plan.inputs)


def _moment(moment: datetime) -> str:
    """Return a time in its own zone; the date alone at midnight."""
    text = moment.isoformat(timespec="minutes")
    return text[: len("2026-08-20")] if text[10:16] == "T00:00" else text


def _why_no_beginning(case: WorkCase, source: PlanInput, chunk: ChunkFacts | None) -> Reason | None:
    """Explain the first work of a job that reads its own previous output: it waits for a --start."""
    job = case.plan.job
    is_own = is_lagging(source.mapping) and source.dataset.name == find_open_chain(job)
    if chunk is not None or not is_own:
        return None
    key = sort_key(case.dataid, Grain(case.plan.grain))
    if case.store.read.has_earlier_work(case.plan.job_id, key):
        return None
    text = f"job {job.name} reads its own output, and {case.dataid} is not declared to be the first"
    if case.plan.is_pipeline:  # each run registers it again, as the function declares it
        return Reason(f'{text}: give {job.name} start_date="{case.dataid}"', run_command(case.plan))
    return Reason(text, shell("dataflow", "job", "add", job.name, "--start", case.dataid))


def _why_not_due(case: WorkCase, source: PlanInput, dataid: str) -> Reason | None:
    calendar = case.store.read.find_calendar(source.dataset_id)
    if calendar is None:
        return None
    from dataflow.actions.calendar import list_due_intervals, schedule_of  # as in list_due
    from dataflow.model.schedule import find_interval

    name, command = source.dataset.name, run_command(case.plan)
    if case.plan.is_on_demand and name == calendar_name(case.plan.job.name):
        text = f"{case.plan.job.name} runs only on request, with a dataid"
        return Reason(text, run_command(case.plan, case.dataid))
    due, _ = list_due_intervals(calendar)
    if any(interval.dataid == dataid for interval in due):
        taker = runner(case.plan, bool(find_declared(case)))
        return Reason(f"its interval has ended, and the next {taker} adds it", command)
    schedule = schedule_of(calendar)
    interval = find_interval(schedule, dataid)
    if interval is None:
        # Neither `ready` nor, after the first interval, another --start makes a calendar go back.
        text = f"calendar {name} has no interval {dataid}"
        return Reason(text, force_command(case.plan, case.dataid), is_outside=True)
    if interval.end_at > calendar.now_at:
        until = time_of(interval.end_at)
        return Reason(f"its interval ends at {until}", f"wait until {until}")
    if schedule.catchup and due:
        return Reason(f"its interval has ended, and a later {runner(case.plan)} adds it", command)
    return Reason(
        f"{name} skipped it, because without catch-up it adds only the latest interval",
        force_command(case.plan, case.dataid),
    )


def list_due(store: Store, dataset_id: int) -> list[Interval]:
    """Return the ended intervals of a calendar that are not added; none of any other dataset."""
    calendar = store.read.find_calendar(dataset_id)
    if calendar is None:
        return []
    # Imported here: most jobs have no calendar.
    from dataflow.actions.calendar import list_due_intervals

    return list_due_intervals(calendar)[0]
