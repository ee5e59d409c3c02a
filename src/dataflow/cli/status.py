"""`dataflow status`: the state of all jobs and datasets, with an exit code for monitoring."""

from __future__ import annotations

import argparse
from collections import Counter

from dataflow.actions.missing import time_of
from dataflow.actions.next_commands import runner, shell, why_command
from dataflow.actions.pipeline_names import FOLDER
from dataflow.actions.status import COUNTED, JobStatus, StoreStatus, get_status
from dataflow.actions.status_description import describe_status, list_lost, list_undefined
from dataflow.cli.layout import PROSE, Column, make_columns
from dataflow.cli.options import Commands
from dataflow.cli.output import as_text, show_object
from dataflow.cli.parser import unknown_word
from dataflow.cli.tables import show_datasets, show_rows
from dataflow.cli.terminal import write_line
from dataflow.config.durations import parse_seconds
from dataflow.errors import BadInput
from dataflow.model.records import RunRow
from dataflow.model.status import WorkState
from dataflow.model.wording import counted, format_seconds, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dataflow.actions.lateness import Overdue
    from dataflow.cli.context import Context
    from dataflow.store.control_reads import PauseRow

FAIL_WORDS = ("failed", "late")
JOB_COLUMNS = (
    Column("job"),
    *(Column(state, rank) for state, rank in zip(COUNTED, (4, 3, 2, 5, 1, 6, 7), strict=True)),
    Column("oldest", 8, PROSE),
)
DATASET_COLUMNS = make_columns(
    dataset=0, chunks=1, not_ready=2, not_done=3, first=7, last=4, gaps=5, missing=(6, PROSE)
)
LONGEST_REASON = 80
"""Of a reason in the table; `dataflow why` and --json show all of it."""
FAILURE_COLUMNS = make_columns(job=0, dataid=0, state=1, run_id=4, reason=(2, PROSE), next=(3, PROSE))
SHOWN_LOST = 5


def add_parser(commands: Commands) -> None:
    """Adds `status`."""
    parser = commands.add("status", status, "all", "wide", "json")
    help_text = "exit with 1 if work is failed, or work or a dataset is late; for both: failed,late"
    parser.add_argument("--fail-if", type=fail_words, default=(), metavar="WORDS", help=help_text)
    help_text = "open work, overdue intervals and running runs are late after this time (default: 1h)"
    parser.add_argument("--late-after", type=duration, default=3600.0, metavar="DURATION", help=help_text)


def fail_words(text: str) -> tuple[str, ...]:
    """The words of --fail-if."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word.lower() not in FAIL_WORDS:
            raise unknown_word("condition", word, FAIL_WORDS)
    return tuple(word.lower() for word in words)


def duration(text: str) -> float:
    """A duration such as 90s or 1h30m, in seconds."""
    try:
        return parse_seconds(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def status(args: argparse.Namespace, context: Context) -> int:
    """Shows the state of all jobs and datasets: counts, gaps, late work and failures."""
    found, lost = get_status(context.store), list_lost(context.store, context.config.host, context.is_gone)
    late = {job.job: _why_late(job, args.late_after) for job in found.list_late(args.late_after)}
    gone = list_undefined(found, context.config.project_dir)
    record = describe_status(found, context.store.read.list_producers(), list(late), lost, gone)
    if args.json:
        show_object(record, True)
    else:
        _show_pause(found.paused)
        _show_tables(found, record, lost, args)
        _show_lost(context, lost)
        _show_due(context, found)
        _show_late(found)
        _show_undefined(gone)
    failed = found.count_failed()
    reasons = [f"{job} ({why})" if why else job for job, why in sorted(late.items())]
    reasons += [f"{one.dataset} ({one.kind})" for one in found.late]
    verdicts = {"failed": f"{failed} failed or invalid" if failed else "", "late": ", ".join(reasons)}
    bad = [word for word in args.fail_if if verdicts[word]]
    for word in bad:
        context.say(f"dataflow: {word}: {verdicts[word]}")
    return 1 if bad else 0


def _show_tables(
    found: StoreStatus,
    record: Mapping[str, list[dict[str, Any]]],
    lost: Sequence[tuple[RunRow, str]],
    args: argparse.Namespace,
) -> None:
    counts = Counter([run.job for run, _ in lost])
    jobs = [
        row | {"oldest": _oldest_text(job, row["late"])}
        for row, job in zip(record["jobs"], found.jobs, strict=True)
    ]
    for row in jobs:
        if count := counts[row["job"]]:
            row[WorkState.RUNNING] = f"{row[WorkState.RUNNING]} ({count} gone)"
        if row["quarantined"]:
            row[WorkState.FAILED] = f"{row[WorkState.FAILED]} ({row['quarantined']} quarantined)"
    empty = "No jobs yet. Add one: dataflow job add NAME --in DATASET --out DATASET"
    show_rows(jobs, JOB_COLUMNS, False, empty, args.wide)
    print()
    datasets = []
    for row in record["datasets"]:
        more = " …" if (row["gaps"] or 0) > len(row["missing"]) else ""
        datasets.append(row | {"missing": ", ".join(row["missing"]) + more})
    show_datasets(datasets, DATASET_COLUMNS, args, "No datasets yet. Add one: dataflow dataset add NAME")
    if record["failures"]:
        print()
        rows = [row | {"reason": shortened(row["reason"], LONGEST_REASON)} for row in record["failures"]]
        show_rows(rows, FAILURE_COLUMNS, False, wide=args.wide)


def _show_pause(pause: PauseRow | None) -> None:
    """Prints the pause of everything above the tables."""
    if pause is not None:
        by = f"{pause.actor}: {pause.why}" if pause.why else pause.actor
        write_line(f"Everything is paused since {pause.at} (by {as_text(by)}). To resume: dataflow resume")
        print()


def _show_lost(context: Context, lost: Sequence[tuple[RunRow, str]]) -> None:
    """On stdout with the tables: on stderr cron would mail it."""
    if lost:
        print()
    for run, loss in lost[:SHOWN_LOST]:
        text = f"{run.job}/{run.dataid}: RUNNING ({loss}): run {run.run_id} on {run.host}"
        write_line(f"{as_text(text)}. The next {_runner_of(context, run.job)} takes it over.")
    if len(lost) > SHOWN_LOST:
        print(f"and {len(lost) - SHOWN_LOST} more: dataflow runs --outcome RUNNING")


def _show_due(context: Context, found: StoreStatus) -> None:
    """Prints holds, overdue and skipped intervals, and work that asks; on stderr cron would mail them."""
    if any(job.hold or job.overdue or job.skipped or job.asking for job in found.jobs):
        print()
    for job in found.jobs:
        if job.hold:
            by = as_text(_holder(context, job.job))
            write_line(f"{job.job}: on hold{by}; to resume it: {shell('dataflow', 'resume', job.job)}")
        if job.overdue:
            them = "it" if job.overdue.intervals == 1 else "them"
            adds = f"the next {_runner_of(context, job.job)} adds {them} as work"
            write_line(f"{job.job}: {_overdue_text(job.overdue)} ({job.overdue.dataset}); {adds}")
        if job.skipped:
            are, stay = ("is", "stays") if job.skipped.count == 1 else ("are", "stay")
            text = f"{counted(job.skipped.count, 'dataid')} {are} outside its schedule and {stay} WAITING"
            write_line(f"{job.job}: {text}; see: {why_command(job.job, job.skipped.first)}")
        if job.asking:
            asks = f"{counted(job.asking.count, 'STALE dataid')} {'asks' if job.asking.count == 1 else 'ask'}"
            write_line(f"{job.job}: {asks} what to do; see: {why_command(job.job, job.asking.first)}")


def _show_late(found: StoreStatus) -> None:
    """Prints the datasets that are stale or overdue, on stdout as above."""
    if found.late:
        print()
    for one in found.late:
        write_line(as_text(f"{one.dataset}: {one.kind} since {time_of(one.since_at)}: {one.reason}"))


def _runner_of(context: Context, job: str) -> str:
    plan = context.store.find_plan(job)
    return runner(plan, job in context.config.commands) if plan else "RunJob"


def _holder(context: Context, job: str) -> str:
    """Who put a job on hold and why, as the journal has it."""
    held = context.store.read.find_hold(job, "")
    if held is None:
        return ""
    return f" (by {held.actor}: {held.why})" if held.why else f" (by {held.actor})"


def _show_undefined(jobs: Sequence[str]) -> None:
    """Prints the pipelines whose class was deleted."""
    for job in jobs:
        write_line(
            f"{job}: no longer defined in {FOLDER}/, so its work cannot run. Define it again, or "
            f"remove the job: {shell('dataflow', 'job', 'remove', job)}"
        )


def _overdue_text(overdue: Overdue) -> str:
    return f"{counted(overdue.intervals, 'interval')} overdue since {time_of(overdue.since_at)}"


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
