"""Rules for a job before it is registered: numbers, inputs and their grains, calendar and start.

Nothing here reads the store; the datasets it may use are passed in.
"""

from __future__ import annotations

from dataflow.actions.dataset_rules import TODAY, check_name, check_text, is_automatic
from dataflow.actions.input_rules import OF_JOB_GRAIN, check_grains
from dataflow.actions.shell_names import find_collision, find_taken
from dataflow.errors import BadInput, UnknownName
from dataflow.model.completeness import parse_rule
from dataflow.model.cron import canonical_expression, has_some_days
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain, check_timezone
from dataflow.model.mapping import PAIRS, parse_mapping, word_of
from dataflow.model.record import replace
from dataflow.model.records import (
    ASK,
    CHANGES,
    NEWEST,
    OLDEST,
    ON_DEMAND,
    RERUN,
    Dataset,
    Job,
    JobInput,
)
from dataflow.model.retries import LARGEST_BACKOFF
from dataflow.model.schedule import due_intervals, grain_of, has_no_interval, parse_schedule
from dataflow.model.url_text import is_secret
from dataflow.model.variable_names import is_variable_name, may_come_from_store
from dataflow.model.wording import did_you_mean, format_seconds, quoted
from dataflow.store.entries import JobEntry
from dataflow.store.registry import CALENDAR_SUFFIX, calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dataflow.model.schedule import Schedule

LARGEST = 2**31 - 1  # the largest integer that both databases store
MARGIN_SECONDS = 2.0  # killing starts this long before the grace period
RENEWALS = 3  # a lease is renewed after a third
ORDERS = (OLDEST, NEWEST)
LARGEST_EXIT_CODE = 255


def check_job(job: Job, datasets: Mapping[str, Dataset], may_be_over: bool = False) -> JobEntry:
    """Return the job checked against existing datasets; BadInput or UnknownName if it is wrong.

    `may_be_over` accepts a job that starts after its end and so has no due interval.
    """
    check_name("job", job.name)
    try:
        _check_numbers(job)
        _check_order(job)
        _check_change(job)
        schedule = _parse_schedule(job)
        is_over = schedule is not None and has_no_interval(schedule)
        if is_over and not may_be_over:
            raise BadInput(
                f"{job.schedule} has no interval that starts between --start {job.start} and --end "
                f"{job.end}. Swap them if they are in the wrong order, or set a later --end."
            )
        job = _canonical(job, schedule)
        automatic = _automatic(job, schedule, datasets)
        used = (*(item.dataset for item in job.inputs), *job.outputs)
        known = {name: datasets[name] for name in used if name in datasets}
        known |= {dataset.name: dataset for dataset in automatic}
        inputs = _check_inputs(job, schedule, known, datasets)
        grain, timezone = check_grains(job, inputs, known)
        _check_environment(job, inputs)
        start = job.start if is_over else _canonical_start(job, schedule, grain, timezone)
    except BadInput as error:
        raise BadInput(f"Job {job.name}: {error}") from error
    return JobEntry(replace(job, start=start), inputs, grain.value, timezone, automatic)


def check_lease(lease_seconds: float, grace_seconds: float) -> None:
    """Raise BadInput if a run would be killed before it could renew its lease."""
    kill_after = lease_seconds - grace_seconds - MARGIN_SECONDS
    renewal = lease_seconds / RENEWALS
    if kill_after > renewal:
        return
    shortest = int((grace_seconds + MARGIN_SECONDS) * RENEWALS / (RENEWALS - 1)) + 1
    lease, grace = format_seconds(lease_seconds), format_seconds(grace_seconds)
    raise BadInput(
        f"lease {lease} is too short for grace {grace}: it is renewed every {renewal:.3g} s, "
        f"and a run is killed {max(kill_after, 0):.3g} s after the last renewal. "
        f"Use --lease {shortest}s or longer, or a shorter --grace."
    )


def _check_numbers(job: Job) -> None:
    for option, number, smallest in (
        ("--retries", job.retries, 0),
        ("--max-running", job.max_running, 0),
        ("--priority", job.priority, -LARGEST),
        ("--retry-delay", job.retry_delay_seconds, 0),
        ("--grace", job.grace_seconds, 0),
        ("--timeout", job.timeout_seconds, 0),
        ("--retry-max-delay", job.retry_max_delay_seconds, 0),
        ("--max-crashes", job.max_crashes, 1),
        ("--late-after", job.late_after_seconds, 0),
    ):
        if not smallest <= number <= LARGEST:
            raise BadInput(f"{option} is {number:g}; it must be between {smallest} and {LARGEST}.")
    check_lease(job.lease_seconds, job.grace_seconds)
    if not 1 <= job.retry_backoff <= LARGEST_BACKOFF:
        raise BadInput(
            f"--retry-backoff is {job.retry_backoff:g}; it must be between 1 (the same delay each time) and "
            f"{LARGEST_BACKOFF:g}."
        )
    for code in job.final_exit_codes:
        if not 1 <= code <= LARGEST_EXIT_CODE:
            meaning = " (0 is success)" if code == 0 else ""
            raise BadInput(
                f"--final-exit-codes has {code}{meaning}; an exit code of a failed script is between 1 and "
                f"{LARGEST_EXIT_CODE}."
            )


def _check_order(job: Job) -> None:
    if job.order not in ORDERS:
        known = ", ".join(ORDERS)
        raise BadInput(
            f"--order {quoted(job.order)} is unknown.{did_you_mean(job.order, ORDERS)} Known: {known}."
        )
    if job.ordered and job.order == NEWEST:
        raise BadInput(
            "--order newest and --ordered exclude each other: an ordered job runs its oldest dataid first. "
            "Leave one of them out."
        )


def _check_change(job: Job) -> None:
    """Raise BadInput unless it is clear what happens when an input of a finished result changes."""
    if job.on_change not in CHANGES:
        known = f"it must be one of {', '.join(CHANGES)}.{did_you_mean(job.on_change, CHANGES)}"
        raise BadInput(f"--on-change is {quoted(job.on_change)}; {known}")
    late = job.late_after_seconds
    if late and job.on_change != RERUN:
        raise BadInput(
            f"--late-after {format_seconds(late)} is about results that are redone by themselves, but "
            f"--on-change is {job.on_change}. Use --on-change rerun, or --late-after 0."
        )
    if not job.outputs and (late or job.on_change == ASK):
        option = "--late-after" if late else "--on-change ask"
        raise BadInput(f"{option} needs a result to ask about, but the job has no output. Add --out DATASET.")


def _parse_schedule(job: Job) -> Schedule | None:
    expression = canonical_expression(job.schedule) if job.schedule else ""
    if expression not in ("", ON_DEMAND):
        return parse_schedule(expression, job.timezone, job.start or None, job.end or None, job.catchup)
    if job.end or job.catchup:
        option = "--end" if job.end else "--catchup"
        raise BadInput(f"{option} needs a schedule with intervals. Add --schedule @daily.")
    if expression:
        return parse_schedule(expression, job.timezone, None, None, False)
    if not job.inputs:
        raise BadInput(
            "it has neither an input nor a schedule, so nothing would ever start it. Add --in DATASET, "
            "--schedule @daily, or --schedule none to start it with --dataid."
        )
    check_timezone(job.timezone)
    return None


def _canonical(job: Job, schedule: Schedule | None) -> Job:
    """Return the job in canonical form, except its start, which needs the grain."""
    inputs = tuple(
        JobInput(item.dataset, parse_mapping(item.mapping), parse_rule(item.rule)) for item in job.inputs
    )
    lists = [item.dataset for item in inputs if item.mapping == PAIRS]
    if len(set(lists)) < len(lists):
        raise BadInput("a dataset has one list of pairs per job. Name it once with the mapping pairs.")
    for names in ([str(item) for item in inputs], list(job.outputs), [name for name, _ in job.environment]):
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"{quoted(name)} appears twice. Name it once.")
    expression = schedule.expression if schedule else ""
    codes = tuple(sorted(set(job.final_exit_codes)))
    parts = {"environment": tuple(sorted(job.environment)), "final_exit_codes": codes}
    return replace(job, inputs=inputs, schedule=expression, **parts)


def _automatic(job: Job, schedule: Schedule | None, datasets: Mapping[str, Dataset]) -> tuple[Dataset, ...]:
    """Return the calendar datasets that the job needs: that of its schedule, and `today`."""
    found = []
    if schedule is not None:
        found.append(_own_calendar(job, schedule, datasets))
    if any(item.dataset == TODAY for item in job.inputs):
        today = datasets.get(TODAY, Dataset(TODAY, grain=Grain.DAILY.value, timezone=job.timezone))
        if today.timezone != job.timezone:
            raise BadInput(
                f"the dataset today uses the time zone {today.timezone}, the job {job.timezone}. Use "
                f"--timezone {today.timezone}, or a --schedule @daily instead of today."
            )
        found.append(today)
    return tuple(found)


def _own_calendar(job: Job, schedule: Schedule, datasets: Mapping[str, Dataset]) -> Dataset:
    """Return the calendar of the job's schedule.

    On demand it has the grain of the job's datasets; with some days, daily if one of them is daily.
    """
    grain, timezone = grain_of(schedule).value, schedule.timezone
    names = [item.dataset for item in job.inputs if word_of(item.mapping) in OF_JOB_GRAIN]
    known = [datasets[name] for name in (*names, *job.outputs) if name in datasets]
    if schedule.expression == ON_DEMAND and known:
        grain, timezone = known[0].grain, known[0].timezone
    elif has_some_days(schedule.expression) and (
        TODAY in names or any(dataset.grain == Grain.DAILY for dataset in known)
    ):
        grain = Grain.DAILY.value
    return Dataset(calendar_name(job.name), grain=grain, timezone=timezone)


def _check_inputs(
    job: Job, schedule: Schedule | None, known: Mapping[str, Dataset], datasets: Iterable[str]
) -> tuple[JobInput, ...]:
    own = calendar_name(job.name)
    if any(item.dataset == own for item in job.inputs):
        raise BadInput(f"{own} is created by the job's own schedule and is always an input. Remove it.")
    for name in job.outputs:
        if is_automatic(name):
            raise BadInput(f"{name} is a calendar, which no job can produce. Choose another --out.")
    inputs = job.inputs if schedule is None else (*job.inputs, JobInput(own))
    used = [("--in", item.dataset) for item in inputs] + [("--out", name) for name in job.outputs]
    for option, name in used:
        if name not in known:
            check_name("dataset", name)
            command = f"job add {name.removesuffix(CALENDAR_SUFFIX)} --schedule …"
            nearest = did_you_mean(name, {*datasets, *known})
            raise UnknownName(
                f"Job {job.name}: no dataset {quoted(name)} for {option}.{nearest} "
                f"{'Otherwise register' if nearest else 'Register'} it first: "
                f"dataflow {command if is_automatic(name) else f'dataset add {name}'}"
            )
    return inputs


def _check_environment(job: Job, inputs: tuple[JobInput, ...]) -> None:
    for name, value in job.environment:
        if not is_variable_name(name):
            raise BadInput(
                f"--env {quoted(name)} is not a variable name. Use letters, digits and underscores, and "
                "start with a letter or underscore."
            )
        check_text(f"--env {name}", value)
        if owner := find_taken(name, job, inputs):
            raise BadInput(f"--env {name} would hide a variable of {owner}. Choose another name.")
        if not may_come_from_store(name):
            raise BadInput(
                f"--env {name} is refused: programs may read code, files or hosts from a variable of "
                f"that name. Choose a name in lower case, such as job_{name.lower()}, or set {name} in "
                f"[job.{job.name}.environment] in the dataflow.toml of the machines that run the job."
            )
    if collision := find_collision(job, inputs):
        one, other, prefix = collision
        raise BadInput(
            f"datasets {one} and {other} would both become {prefix}_… in a script, because characters "
            "other than letters, digits and underscores become underscores. Rename one of them."
        )


def refuse_secrets(job: Job, before: Job | None) -> None:
    """Raise BadInput for a variable with a secret in plain text; a store keeps those it has."""
    for pair in job.environment:
        if is_secret(*pair) and (before is None or pair not in before.environment):
            raise BadInput(
                f"Job {job.name}: --env {pair[0]} contains a password or another secret, which is not kept "
                "in plain text. Store it encrypted with a dataset of the job: dataflow dataset add NAME "
                "--password-stdin. Or set it in the environment of RunJob, which passes it on."
            )


def _canonical_start(job: Job, schedule: Schedule | None, grain: Grain, timezone: str) -> str:
    """Return the job's first dataid: of the schedule's first interval, or as given."""
    has_intervals = schedule is not None and schedule.expression != ON_DEMAND
    if not job.start or (has_intervals and grain is Grain.TEXT):
        return job.start
    if schedule is None or not has_intervals:
        try:
            return canonical_dataid(job.start, grain, timezone)
        except BadInput as error:
            raise BadInput(f"--start: {error}") from error
    by_day = grain is Grain.DAILY
    first, _ = due_intervals(replace(schedule, catchup=True, by_day=by_day), None, float("inf"), 1)
    return first[0].dataid
