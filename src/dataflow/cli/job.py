"""`dataflow job add|list|show|remove|reset-script`."""

from __future__ import annotations

import argparse

from dataflow.actions.job_graph import find_open_chain
from dataflow.actions.next_commands import shell
from dataflow.actions.register import add_job, remove_job, reset_script
from dataflow.cli.asking import may_go_on
from dataflow.cli.dataset import say_change, split_pairs
from dataflow.cli.layout import PROSE, Column, make_columns
from dataflow.cli.options import Commands, whole
from dataflow.cli.output import show_object
from dataflow.cli.tables import show_rows
from dataflow.config.durations import parse_option
from dataflow.config.fields import parse_input
from dataflow.model.records import Job, Plan
from dataflow.model.schedule import Schedule, due_intervals
from dataflow.model.url_text import masked_pairs
from dataflow.model.wording import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.actions.differences import Change
    from dataflow.cli.context import Context

LISTS = {
    "in": ("inputs", "DATASET[:previous|:latest]", "input dataset; `today` always exists"),
    "out": ("outputs", "DATASET", "output dataset"),
    "env": ("env", "K=V", "environment variable of the script"),
}
TEXTS = {
    "schedule": "schedule of the job: @once, @hourly, @daily, @weekly, @monthly, @quarterly, @yearly, a cron "
    "expression, 'every 6 hours', or none (runs only with --dataid); '' removes it",
    "start": "first moment at which an interval may begin; without a schedule, the first dataid",
    "end": "last moment at which an interval may begin",
    "timezone": "time zone of the schedule (default: UTC)",
}
FLAGS = {
    "catchup": "run all intervals since --start, not only the latest",
    "ordered": "run dataids strictly in order",
}
NUMBERS = {
    "retries": "how many times a failed run is retried (default: 0)",
    "max_running": "maximum number of concurrent runs (default: 0, no limit)",
    "priority": "work with a higher priority runs first within the job (default: 0)",
}
DURATIONS = {
    "retry_delay": "delay before a retry, such as 90s or 5m (default: 1m)",
    "lease": "how long a claim lasts without renewal (default: 5m)",
    "grace": "time to exit after SIGTERM (default: 10s)",
    "timeout": "longest time a run may take (default: 0, no limit)",
}
LIST_COLUMNS = (
    *(Column("job"), Column("in", 1, PROSE), Column("out", 2, PROSE)),
    *make_columns(schedule=3, grain=5, ordered=6, hold=4, priority=7),
)


def add_parser(commands: Commands) -> None:
    """Adds `job` and its subcommands."""
    words = commands.add_group("job", "Adds, lists, shows or removes jobs, or resets their script.")
    parser = words.add("add", add, line="register or change a job", makes_store=True)
    _add_fields(parser)
    words.add("list", list_all, "wide", "json", line="list all jobs")
    words.add("show", show_one, "NAME", "json", line="show a job")
    words.add("remove", remove_one, "NAME", "yes", line="remove a job")
    words.add("reset-script", reset_one, "NAME", line="forget the script of a job")


def _add_fields(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the script without its extension")
    for name, (dest, metavar, meaning) in LISTS.items():
        help_text = f"{meaning}; repeatable; replaces all earlier ones"
        parser.add_argument(f"--{name}", dest=dest, action="append", metavar=metavar, help=help_text)
    for name, meaning in TEXTS.items():
        parser.add_argument(f"--{name}", default=None, help=meaning)
    for name, meaning in FLAGS.items():
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=meaning)
    for name, meaning in NUMBERS.items():
        parser.add_argument(_option(name), type=whole, metavar="N", default=None, help=meaning)
    for name, meaning in DURATIONS.items():
        parser.add_argument(_option(name), metavar="DURATION", default=None, help=meaning)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def add(args: argparse.Namespace, context: Context) -> None:
    """Registers a job. For a registered one, changes only the fields that are given."""
    values = _given(args)
    change = add_job(context.store, Job(args.name, **values), values)
    say_change(context, change)
    if context.get_plan(args.name).is_pipeline:
        context.say(
            f"warning: {args.name} is a pipeline; the next dataflow run restores what its class declares. "
            f"Change the class instead: dataflow pipeline show {args.name}"
        )
    say_how_it_begins(context, args.name)
    say_if_no_start(context, context.get_plan(args.name).job)
    _say_if_over(context, args.name)
    say_what_stays(context, change)


def say_what_stays(context: Context, change: Change) -> None:
    """Reports work that stays DONE although its job has a new input, and how to do it again."""
    if not change.new_inputs:
        return
    plan = context.get_plan(change.name)
    unread = context.store.read.find_unread_work(plan.job_id)
    if unread is None:
        return
    done, first, last = unread.count, unread.first, unread.last
    stays = f"{done:,} {plural(done, 'dataid')} {'stays' if done == 1 else 'stay'} DONE"
    span = (first,) if first == last else ("--from", first, "--to", last)
    context.say(
        f"Job {plan.job.name}: {stays} without the new input {', '.join(change.new_inputs)}. "
        f"To do {'it' if done == 1 else 'them'} again: {shell('dataflow', 'resubmit', plan.job.name, *span)}"
    )


def say_how_it_begins(context: Context, name: str) -> None:
    """Says how to start a job that waits for its own output."""
    plan = context.get_plan(name)
    chain = find_open_chain(plan.job)
    if chain is None:
        return
    text = f"Job {name} reads its own output ({chain}:previous). Name its first dataid: "
    text += f"dataflow job add {name} --start DATAID"
    staged = any(item.dataset.staged for item in plan.outputs if item.dataset.name == chain)
    context.say(
        text if staged else f"{text}, or mark an earlier chunk as ready: dataflow ready {chain} DATAID"
    )


def say_if_no_start(context: Context, job: Job) -> None:
    """Warns about a schedule that would catch up if it knew from when on."""
    if job.catchup and not job.start:
        context.say(
            f"warning: {job.name} adds only the latest interval: --catchup needs a --start to begin from. "
            f"Give one: dataflow job add {job.name} --start DATE"
        )


def _say_if_over(context: Context, name: str) -> None:
    """Warns about a schedule that has ended and does not catch up."""
    job = context.get_plan(name).job
    if not job.end or job.catchup:
        return
    from time import time

    schedule = Schedule(job.schedule, job.timezone, job.start or None, job.end, job.catchup)
    if due_intervals(schedule, None, time(), 1) == ([], None):
        context.say(
            f"warning: {name} will never run: its --end has passed, and without --catchup only the latest "
            "interval runs. Give --catchup or a later --end."
        )


def list_all(args: argparse.Namespace, context: Context) -> None:
    """Lists all jobs."""
    held = {found.job: found.hold for found in context.store.read.list_job_holds()}
    rows = (describe(plan, held.get(plan.job.name, False)) for plan in context.store.read.list_plans())
    empty = "No jobs yet. Add one: dataflow job add NAME --in DATASET"
    show_rows(rows, LIST_COLUMNS, args.json, empty, args.wide)


def show_one(args: argparse.Namespace, context: Context) -> None:
    """Shows a job."""
    plan = context.get_plan(args.name)
    record = describe(plan, context.store.read.is_job_held(plan.job_id))
    show_object(record | {"kind": plan.kind or None, "script_path": plan.script_path or None}, args.json)


def remove_one(args: argparse.Namespace, context: Context) -> int:
    """Removes a job and its work. Its runs and journal entries stay."""
    plan = context.get_plan(args.name)
    question = f"Remove job {plan.job.name} and its work? Its runs and journal entries stay."
    if not may_go_on(question, args.yes):
        return 1
    followers = remove_job(context.store, args.name)
    context.say(f"Removed job {args.name}.")
    for change in followers:
        say_change(context, change)
    return 0


def reset_one(args: argparse.Namespace, context: Context) -> None:
    """Forgets which script does a job's work; the next run decides again, without a warning."""
    reset_script(context.store, args.name)
    context.say(f"Job {args.name}: forgot its script. The next run sets it again.")


def describe(plan: Plan, hold: bool) -> dict[str, Any]:
    """A job as it is shown."""
    job = plan.job
    record: dict[str, Any] = {
        "job": job.name,
        "in": [str(item) for item in job.inputs],
        "out": list(job.outputs),
        "environment": dict(masked_pairs(job.environment)),
    }
    names = (*TEXTS, *FLAGS, *NUMBERS, *(f"{name}_seconds" for name in DURATIONS))
    record |= {name: getattr(job, name) for name in names}
    return record | {"grain": plan.grain, "hold": hold}


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of the job that the command line names."""
    values = {name: getattr(args, name) for name in (*TEXTS, *FLAGS, *NUMBERS)}
    values = {name: value for name, value in values.items() if value is not None}
    for name in DURATIONS:
        if (text := getattr(args, name)) is not None:
            values[f"{name}_seconds"] = parse_option(_option(name), text)
    if args.inputs is not None:
        values["inputs"] = tuple([parse_input(text) for text in args.inputs])
    if args.outputs is not None:
        values["outputs"] = tuple(args.outputs)
    if args.env is not None:
        values["environment"] = split_pairs("--env", args.env)
    if values.get("schedule") == "":
        # The schedule takes its other settings with it, unless they are given.
        values = {"end": "", "catchup": False} | values
    return values
