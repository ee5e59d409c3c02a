"""`dataflow status`: how all jobs and datasets stand, and an exit code for monitoring."""

from __future__ import annotations

import argparse
import glob
import os
import re

from dataflow.actions.missing import time_of
from dataflow.actions.next_commands import runner, shell
from dataflow.actions.status import COUNTED, get_status
from dataflow.cli.output import add_json_option, show_object, show_rows
from dataflow.config.durations import format_seconds, parse_seconds
from dataflow.errors import BadInput
from dataflow.model.records import SCRIPT
from dataflow.model.status import WorkState
from dataflow.model.wording import shortened, utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dataflow.actions.lateness import Overdue
    from dataflow.actions.status import DatasetStatus, Failure, JobStatus, StoreStatus
    from dataflow.cli.context import Context
    from dataflow.store.store import Store

PIPELINES = "pipelines"
FAIL_WORDS = ("failed", "late")
DATASET_COLUMNS = ("dataset", "chunks", "not_ready", "not_done", "first", "last", "gaps", "missing")
LONGEST_REASON = 80
FAILURE_COLUMNS = ("job", "dataid", "state", "run_id", "reason", "next")


def add_parser(subparsers: Any) -> None:
    """Adds `status`."""
    parser = subparsers.add_parser("status", help="how everything stands", description=__doc__)
    parser.add_argument(
        *("--fail-if",),
        type=fail_words,
        default=(),
        metavar="WORDS",
        help="exit 1 if any work is: failed,late",
    )
    parser.add_argument(
        *("--late-after",),
        type=span,
        default=3600.0,
        metavar="SPAN",
        help="open work is late after this (1h)",
    )
    add_json_option(parser)
    parser.set_defaults(call=status)


def fail_words(text: str) -> tuple[str, ...]:
    """The words of --fail-if."""
    words = tuple(word.strip().lower() for word in text.split(","))
    unknown = [word for word in words if word not in FAIL_WORDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FAIL_WORDS)}")
    return words


def span(text: str) -> float:
    """A span of time as people write it."""
    try:
        return parse_seconds(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def status(args: argparse.Namespace, context: Context) -> int:
    """Shows how everything stands; exits 1 if --fail-if names something that is so."""
    found = get_status(context.store)
    late = {job.job: _why_late(job, args.late_after) for job in found.list_late(args.late_after)}
    not_done = count_not_done(found, context.store.read.list_producers())
    gone = _list_gone(found, context.config.project_dir)
    if args.json:
        show_object(as_record(found, set(late), not_done, gone), True)
    else:
        _show_tables(found, set(late), not_done)
        _show_due(context.store, found)
        for job in gone:
            print(
                f"{job}: no longer defined in {PIPELINES}/, so its work cannot run. Define it again, or "
                f"remove the job: {shell('dataflow', 'job', 'remove', job)}"
            )
    failed = found.count_failed()
    reasons = [f"{job} ({why})" if why else job for job, why in sorted(late.items())]
    verdicts = {"failed": f"{failed} failed or invalid" if failed else "", "late": ", ".join(reasons)}
    bad = [word for word in args.fail_if if verdicts[word]]
    for word in bad:
        context.say(f"dataflow: {word}: {verdicts[word]}")
    return 1 if bad else 0


def count_not_done(found: StoreStatus, producers: Mapping[str, str]) -> dict[str, int]:
    """How many chunks of each dataset its job's unfinished work is about: counted already, so it is free."""
    unfinished = {job.job: sum(job.counts.values()) - job.counts[WorkState.DONE] for job in found.jobs}
    return {dataset: unfinished.get(job, 0) for dataset, job in producers.items()}


def as_record(
    found: StoreStatus, late: set[str], not_done: Mapping[str, int], gone: Sequence[str] = ()
) -> dict[str, Any]:
    """The status as JSON carries it; `gone` are the pipelines whose class was deleted."""
    return {
        "jobs": [_job_record(job, job.job in late) | {"gone": job.job in gone} for job in found.jobs],
        "datasets": [_dataset_record(dataset, not_done) for dataset in found.datasets],
        "failures": [_failure_record(failure) for failure in found.failures],
    }


def _show_tables(found: StoreStatus, late: set[str], not_done: Mapping[str, int]) -> None:
    columns = ("job", *COUNTED, "oldest")
    jobs = [_job_record(job, False) | {"oldest": _oldest_text(job, job.job in late)} for job in found.jobs]
    show_rows(jobs, columns, False, "No jobs. Add one: dataflow job add NAME --in DATASET --out DATASET")
    print()
    datasets = [
        _dataset_record(dataset, not_done) | {"missing": _missing_text(dataset)} for dataset in found.datasets
    ]
    show_rows(datasets, DATASET_COLUMNS, False, "No datasets. Add one: dataflow dataset add NAME")
    if found.failures:
        print()
        failures = [_failure_record(one) | {"reason": _shortened(one.reason)} for one in found.failures]
        show_rows(failures, FAILURE_COLUMNS, False)


def _list_gone(found: StoreStatus, project_dir: str) -> list[str]:
    """Pipelines that no file of the project names; none where this folder has no pipelines.

    Found by reading, not by loading: status must be quick, and run no code of the project.
    """
    texts = []
    for path in glob.glob(os.path.join(glob.escape(project_dir), PIPELINES, "*.py")):
        with open(path, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    words = set(re.findall(r"\w+", "\n".join(texts)))
    pipelines = [job.job for job in found.jobs if job.kind not in ("", SCRIPT)]
    return [job for job in pipelines if texts and job not in words]


def _show_due(store: Store, found: StoreStatus) -> None:
    """Prints overdue intervals on stdout with the tables; cron would mail them from stderr."""
    if any(job.overdue for job in found.jobs):
        print()
    for job in found.jobs:
        if job.overdue:
            plan = store.find_plan(job.job)
            command = runner(plan) if plan else "RunJob"
            adds = f"the next {command} adds {'it' if job.overdue.intervals == 1 else 'them'} as work"
            print(f"{job.job}: {_overdue_text(job.overdue)} ({job.overdue.dataset}); {adds}")


def _overdue_text(overdue: Overdue) -> str:
    what = "1 interval" if overdue.intervals == 1 else f"{overdue.intervals:,} intervals"
    return f"{what} overdue since {time_of(overdue.since_at)}"


def _why_late(job: JobStatus, late_after_seconds: float) -> str:
    """Returns why a job is late where the table of jobs does not say so; empty for open work."""
    reasons = []
    if job.overdue and not job.hold and job.overdue.age_seconds > late_after_seconds:
        reasons.append(_overdue_text(job.overdue))
    if job.longest and job.longest.is_late(late_after_seconds):
        age = format_seconds(int(job.longest.age_seconds))
        reasons.append(f"run {job.longest.run_id} of {job.longest.dataid} RUNNING for {age}")
    return ", ".join(reasons)


def _shortened(reason: str) -> str:
    """A reason that fits in a table; `dataflow why` and --json have all of it."""
    return shortened(reason, LONGEST_REASON)


def _oldest_text(job: JobStatus, is_late: bool) -> str:
    if job.oldest is None:
        return ""
    age = format_seconds(int(job.oldest.age_seconds))
    return f"{job.oldest.dataid} {job.oldest.state} for {age}{', late' if is_late else ''}"


def _missing_text(dataset: DatasetStatus) -> str:
    more = (dataset.gaps or 0) > len(dataset.missing)
    return ", ".join(dataset.missing) + (" …" if more else "")


def _job_record(job: JobStatus, is_late: bool) -> dict[str, Any]:
    oldest = None
    if job.oldest is not None:
        oldest = {
            "dataid": job.oldest.dataid,
            "state": job.oldest.state,
            "since_at": job.oldest.since_at,
            "age_seconds": round(job.oldest.age_seconds, 3),
            "reason": job.oldest.reason,
        }
    return {
        **{"job": job.job, **job.counts, "oldest": oldest, "late": is_late},
        **{"due": job.overdue is not None, "overdue": _overdue_record(job), "running": _running_record(job)},
    }


def _overdue_record(job: JobStatus) -> dict[str, Any] | None:
    if job.overdue is None:
        return None
    return {
        "dataset": job.overdue.dataset,
        "intervals": job.overdue.intervals,
        "since_at": utc_text(job.overdue.since_at),
        "age_seconds": round(job.overdue.age_seconds, 3),
    }


def _running_record(job: JobStatus) -> dict[str, Any] | None:
    if job.longest is None:
        return None
    usual = job.longest.usual_seconds
    return {
        "run_id": job.longest.run_id,
        "dataid": job.longest.dataid,
        "age_seconds": round(job.longest.age_seconds, 3),
        "usual_seconds": None if usual is None else round(usual, 3),
    }


def _dataset_record(dataset: DatasetStatus, not_done: Mapping[str, int]) -> dict[str, Any]:
    names = ("dataset", "grain", "chunks", "not_ready", "first", "last", "gaps")
    record: dict[str, Any] = {name: getattr(dataset, name) for name in names}
    return record | {"not_done": not_done.get(dataset.dataset, 0), "missing": list(dataset.missing)}


def _failure_record(failure: Failure) -> dict[str, Any]:
    names = ("job", "dataid", "state", "run_id", "reason", "modified_at", "next")
    return {name: getattr(failure, name) for name in names}
