"""`dataflow status`: the state of all jobs and datasets, with an exit code for monitoring."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter

from dataflow.actions.missing import time_of
from dataflow.actions.next_commands import runner, shell, why_command
from dataflow.actions.status import COUNTED, get_status
from dataflow.cli.layout import PROSE, Column
from dataflow.cli.options import finish
from dataflow.cli.output import as_text, show_object
from dataflow.cli.pipeline_names import FOLDER, list_texts
from dataflow.cli.runs import find_loss
from dataflow.cli.tables import show_datasets, show_rows
from dataflow.cli.terminal import wrap_for
from dataflow.config.durations import format_seconds, parse_seconds
from dataflow.errors import BadInput
from dataflow.model.records import SCRIPT
from dataflow.model.status import RunOutcome, WorkState
from dataflow.model.wording import plural, shortened, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dataflow.actions.lateness import Overdue
    from dataflow.actions.status import DatasetStatus, Failure, JobStatus, StoreStatus
    from dataflow.cli.context import Context
    from dataflow.model.records import RunRow
    from dataflow.store.store import Store

TEXT = "Shows the state of all jobs and datasets: counts, gaps, late work and failures."
FAIL_WORDS = ("failed", "late")
JOB_COLUMNS = (
    Column("job"),
    *(Column(state, rank) for state, rank in zip(COUNTED, (4, 3, 2, 5, 1, 6, 7), strict=True)),
    Column("oldest", 8, PROSE),
)
DATASET_COLUMNS = (
    Column("dataset"),
    Column("chunks", 1),
    Column("not_ready", 2),
    Column("not_done", 3),
    Column("first", 7),
    Column("last", 4),
    Column("gaps", 5),
    Column("missing", 6, PROSE),
)
LONGEST_REASON = 80
"""Of a reason in the table; `dataflow why` and --json show all of it."""
FAILURE_COLUMNS = (
    Column("job"),
    Column("dataid"),
    Column("state", 1),
    Column("run_id", 4),
    Column("reason", 2, PROSE),
    Column("next", 3, PROSE),
)
MOST_RUNNING = 10_000
SHOWN_LOST = 5


def add_parser(subparsers: Any) -> None:
    """Adds `status`."""
    parser = subparsers.add_parser("status", description=TEXT)
    parser.add_argument(
        "--fail-if",
        type=fail_words,
        default=(),
        metavar="WORDS",
        help="exit with 1 if any work is failed, late or both: failed,late",
    )
    parser.add_argument(
        "--late-after",
        type=span,
        default=3600.0,
        metavar="SPAN",
        help="open work is late after this time (default: 1h)",
    )
    finish(parser, status, "all", "wide", "json")


def fail_words(text: str) -> tuple[str, ...]:
    """The words of --fail-if."""
    words = tuple(word.strip().lower() for word in text.split(","))
    unknown = [word for word in words if word not in FAIL_WORDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown word {unknown[0]!r}; known: {', '.join(FAIL_WORDS)}")
    return words


def span(text: str) -> float:
    """A duration such as 90s or 1h30m, in seconds."""
    try:
        return parse_seconds(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def status(args: argparse.Namespace, context: Context) -> int:
    """Shows the state of everything; exits 1 if --fail-if names something that is so."""
    found = get_status(context.store)
    late = {job.job: _why_late(job, args.late_after) for job in found.list_late(args.late_after)}
    not_done = count_not_done(found, context.store.read.list_producers())
    gone = _list_gone(found, context.config.project_dir)
    lost = list_lost(context)
    if args.json:
        show_object(as_record(found, set(late), not_done, gone, lost), True)
    else:
        _show_jobs(found, set(late), lost, args)
        print()
        rows = [_dataset_record(one, not_done) | {"missing": _missing_text(one)} for one in found.datasets]
        show_datasets(rows, DATASET_COLUMNS, args, "No datasets yet. Add one: dataflow dataset add NAME")
        _show_failures(found, args)
        _show_lost(context.store, lost)
        _show_due(context.store, found)
        _show_undefined(gone)
    failed = found.count_failed()
    reasons = [f"{job} ({why})" if why else job for job, why in sorted(late.items())]
    verdicts = {"failed": f"{failed} failed or invalid" if failed else "", "late": ", ".join(reasons)}
    bad = [word for word in args.fail_if if verdicts[word]]
    for word in bad:
        context.say(f"dataflow: {word}: {verdicts[word]}")
    return 1 if bad else 0


def count_not_done(found: StoreStatus, producers: Mapping[str, str]) -> dict[str, int]:
    """The number of unfinished chunks of each dataset, from the counts of its job."""
    unfinished = {job.job: sum(job.counts.values()) - job.counts[WorkState.DONE] for job in found.jobs}
    return {dataset: unfinished.get(job, 0) for dataset, job in producers.items()}


def list_lost(context: Context) -> list[tuple[RunRow, str]]:
    """The runs that count as RUNNING though their process is gone or their lease has lapsed, and which."""
    runs = context.store.read.list_runs(MOST_RUNNING, "", "", RunOutcome.RUNNING)
    return [(run, loss) for run in runs if (loss := find_loss(run, context.config))]


def as_record(
    found: StoreStatus,
    late: set[str],
    not_done: Mapping[str, int],
    gone: Sequence[str],
    lost: Sequence[tuple[RunRow, str]],
) -> dict[str, Any]:
    """The status as JSON carries it; `gone` are the pipelines whose class was deleted."""
    lost_jobs = {run.job for run, _ in lost}
    return {
        "jobs": [
            _job_record(job, job.job in late)
            | {"gone": job.job in gone, "process_gone": job.job in lost_jobs}
            for job in found.jobs
        ],
        "datasets": [_dataset_record(dataset, not_done) for dataset in found.datasets],
        "failures": [_failure_record(failure) for failure in found.failures],
    }


def _show_jobs(
    found: StoreStatus, late: set[str], lost: Sequence[tuple[RunRow, str]], args: argparse.Namespace
) -> None:
    gone = Counter([run.job for run, _ in lost])
    rows = []
    for job in found.jobs:
        row = _job_record(job, False) | {"oldest": _oldest_text(job, job.job in late)}
        if gone[job.job]:
            row[WorkState.RUNNING] = f"{row[WorkState.RUNNING]} ({gone[job.job]} gone)"
        rows.append(row)
    empty = "No jobs yet. Add one: dataflow job add NAME --in DATASET --out DATASET"
    show_rows(rows, JOB_COLUMNS, False, empty, args.wide)


def _show_failures(found: StoreStatus, args: argparse.Namespace) -> None:
    if found.failures:
        print()
        rows = [
            _failure_record(one) | {"reason": shortened(one.reason, LONGEST_REASON)} for one in found.failures
        ]
        show_rows(rows, FAILURE_COLUMNS, False, wide=args.wide)


def _show_lost(store: Store, lost: Sequence[tuple[RunRow, str]]) -> None:
    """On stdout with the tables: on stderr cron would mail it."""
    if lost:
        print()
    for run, loss in lost[:SHOWN_LOST]:
        plan = store.find_plan(run.job)
        text = f"{run.job}/{run.dataid}: RUNNING ({loss}): run {run.run_id} on {run.host}"
        command = runner(plan) if plan else "RunJob"
        print(wrap_for(sys.stdout, f"{as_text(text)}. The next {command} takes it over."))
    if len(lost) > SHOWN_LOST:
        print(f"and {len(lost) - SHOWN_LOST} more: dataflow runs --outcome RUNNING")


def _list_gone(found: StoreStatus, project_dir: str) -> list[str]:
    """Pipelines that no file of the project names; none where this folder has no pipelines.

    Found by reading, not by loading: status must be quick, and run no code of the project.
    """
    texts = list_texts(project_dir)
    words = set(re.findall(r"\w+", "\n".join(texts)))
    pipelines = [job.job for job in found.jobs if job.kind not in ("", SCRIPT)]
    return [job for job in pipelines if texts and job not in words]


def _show_due(store: Store, found: StoreStatus) -> None:
    """Prints overdue and skipped intervals on stdout with the tables; cron would mail them from stderr."""
    if any(job.overdue or job.skipped for job in found.jobs):
        print()
    for job in found.jobs:
        if job.overdue:
            plan = store.find_plan(job.job)
            command = runner(plan) if plan else "RunJob"
            adds = f"the next {command} adds {'it' if job.overdue.intervals == 1 else 'them'} as work"
            text = f"{job.job}: {_overdue_text(job.overdue)} ({job.overdue.dataset}); {adds}"
            print(wrap_for(sys.stdout, text))
        if job.skipped:
            dataids = f"{job.skipped.count:,} WAITING {plural(job.skipped.count, 'dataid')}"
            command = why_command(job.job, job.skipped.first)
            print(wrap_for(sys.stdout, f"{job.job}: its schedule skipped {dataids}; see: {command}"))


def _show_undefined(jobs: Sequence[str]) -> None:
    """Prints the pipelines whose class was deleted."""
    for job in jobs:
        text = (
            f"{job}: no longer defined in {FOLDER}/, so its work cannot run. Define it again, or "
            f"remove the job: {shell('dataflow', 'job', 'remove', job)}"
        )
        print(wrap_for(sys.stdout, text))


def _overdue_text(overdue: Overdue) -> str:
    intervals = f"{overdue.intervals:,} {plural(overdue.intervals, 'interval')}"
    return f"{intervals} overdue since {time_of(overdue.since_at)}"


def _why_late(job: JobStatus, late_after_seconds: float) -> str:
    """Returns why a job is late where the table of jobs does not say so; empty for open work."""
    reasons = []
    if job.overdue and not job.hold and job.overdue.age_seconds > late_after_seconds:
        reasons.append(_overdue_text(job.overdue))
    if job.longest and job.longest.is_late(late_after_seconds):
        age = format_seconds(int(job.longest.age_seconds))
        reasons.append(f"run {job.longest.run_id} of {job.longest.dataid} RUNNING for {age}")
    return ", ".join(reasons)


def _oldest_text(job: JobStatus, is_late: bool) -> str:
    if job.oldest is None:
        return ""
    age = format_seconds(int(job.oldest.age_seconds))
    return f"{job.oldest.dataid} {job.oldest.state} for {age}{', late' if is_late else ''}"


def _missing_text(dataset: DatasetStatus) -> str:
    more = (dataset.gaps or 0) > len(dataset.missing)
    return ", ".join(dataset.missing) + (" …" if more else "")


def _job_record(job: JobStatus, is_late: bool) -> dict[str, Any]:
    overdue = _part(job.overdue, "dataset", "intervals", "since_at", "age_seconds")
    if overdue:
        overdue["since_at"] = utc_text(overdue["since_at"])
    return {
        "job": job.job,
        **job.counts,
        "oldest": _part(job.oldest, "dataid", "state", "since_at", "age_seconds", "reason"),
        "late": is_late,
        "due": overdue is not None,
        "overdue": overdue,
        "skipped": _part(job.skipped, "count", "first"),
        "running": _part(job.longest, "run_id", "dataid", "age_seconds", "usual_seconds"),
    }


def _part(found: object, *names: str) -> dict[str, Any] | None:
    """A part of a job's status, durations to the millisecond; None if the job has no such part."""
    if found is None:
        return None
    values = {name: getattr(found, name) for name in names}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def _dataset_record(dataset: DatasetStatus, not_done: Mapping[str, int]) -> dict[str, Any]:
    names = ("dataset", "grain", "chunks", "not_ready", "first", "last", "gaps")
    record: dict[str, Any] = {name: getattr(dataset, name) for name in names}
    return record | {"not_done": not_done.get(dataset.dataset, 0), "missing": list(dataset.missing)}


def _failure_record(failure: Failure) -> dict[str, Any]:
    names = ("job", "dataid", "state", "run_id", "reason", "modified_at", "next")
    return {name: getattr(failure, name) for name in names}
