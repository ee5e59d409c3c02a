"""`dataflow job add|list|show|pairs|remove|reset-script`."""

from __future__ import annotations

import argparse

from dataflow.actions.descriptions import describe_job, describe_whole_job
from dataflow.actions.job_graph import find_open_chain
from dataflow.actions.next_commands import shell
from dataflow.actions.register import add_job, remove_job, reset_script
from dataflow.cli.asking import may_go_on
from dataflow.cli.dataset import say_change, split_pairs
from dataflow.cli.layout import PROSE, Column, make_columns
from dataflow.cli.options import Commands, add_switches, exit_codes, number, whole
from dataflow.cli.output import show_object
from dataflow.cli.tables import show_rows
from dataflow.config.durations import parse_option
from dataflow.config.fields import parse_input
from dataflow.errors import BadInput
from dataflow.model.records import Job
from dataflow.model.schedule import Schedule, due_intervals
from dataflow.model.wording import counted, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.actions.differences import Change
    from dataflow.cli.context import Context

LISTS = {
    "in": (
        "inputs",
        "DATASET[:MAPPING]",
        "input dataset and its mapping: same (default), previous, latest, within, containing, "
        "'window(-6, 0)', all or pairs; 'orders:within at_least 20' and 'orders:within by 06:00 then "
        "partial' relax it; `today` always exists",
    ),
    "out": ("outputs", "DATASET", "output dataset"),
    "env": ("env", "K=V", "environment variable of the script"),
}
TEXTS = {
    "schedule": "schedule of the job: @once, @hourly, @daily, @weekly, @monthly, @quarterly, @yearly, a cron "
    "expression, 'every 6 hours', or none (runs only with --dataid); '' removes it",
    "start": "first moment at which an interval may begin; without a schedule, the first dataid",
    "end": "last moment at which an interval may begin",
    "timezone": "time zone of the schedule (default: UTC)",
    "pool": "pool that limits this job together with others; '' takes it out",
    "order": "which claimable dataid comes first: oldest or newest (default: oldest)",
}
FLAGS = {
    "catchup": "run all intervals since --start, not only the latest",
    "ordered": "run dataids strictly in order",
}
NUMBERS = {
    "retries": "how many times a failed run is retried (default: 0)",
    "max_running": "maximum number of concurrent runs (default: 0, no limit)",
    "priority": "work with a higher priority runs first within the job (default: 0)",
    "max_crashes": "after this many runs of a dataid that died, it is quarantined (default: 5)",
}
DURATIONS = {
    "retry_delay": "delay before the first retry, such as 90s or 5m, ±20 %% (default: 1m)",
    "lease": "how long a claim lasts without renewal (default: 5m)",
    "grace": "time to exit after SIGTERM (default: 10s)",
    "timeout": "longest time a run may take (default: 0, no limit)",
    "retry_max_delay": "longest delay before a retry (default: 1h)",
    "late_after": "a change that comes later than this after a result was published asks (default: 0, never)",
}
CHANGES = {
    "on_change": "when an input of a finished result changes: rerun (default), ask or ignore",
}
OTHERS = ("retry_backoff", "final_exit_codes")
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
    loading = words.add("pairs", load_list, line="load the list of an input mapped pairs")
    loading.add_argument("name", metavar="NAME", help="name of the job")
    loading.add_argument("dataset", metavar="DATASET", help="input with the mapping pairs")
    columns = "two columns: dataid of the job, dataid of the input; - reads stdin"
    loading.add_argument("file", metavar="FILE", help=columns)
    add_switches(loading, new="accept chunks that the dataset does not have yet")


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
    help_text = "factor by which the delay grows with each retry; 1: the same delay each time (default: 2)"
    parser.add_argument("--retry-backoff", type=number, metavar="X", default=None, help=help_text)
    help_text = "exit codes of the script that are not retried, such as 2,64; '' for none"
    parser.add_argument("--final-exit-codes", type=exit_codes, metavar="N,N", default=None, help=help_text)
    for name, meaning in CHANGES.items():
        parser.add_argument(_option(name), metavar="WHAT", default=None, help=meaning)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def add(args: argparse.Namespace, context: Context) -> None:
    """Registers a job. For a registered one, changes only the fields that are given."""
    values = _given(args)
    change = add_job(context.store, Job(args.name, **values), values)
    say_change(context, change)
    start = context.get_plan(args.name).job.start
    if args.start and not start.startswith(args.start):
        context.say(f"The first dataid of job {args.name} from {args.start} on is {start}.")
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
    text = f"Job {name} reads its own earlier output {chain}. Name its first dataid: "
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
    rows = (describe_job(plan, held.get(plan.job.name, False)) for plan in context.store.read.list_plans())
    empty = "No jobs yet. Add one: dataflow job add NAME --in DATASET"
    show_rows(rows, LIST_COLUMNS, args.json, empty, args.wide)


def show_one(args: argparse.Namespace, context: Context) -> None:
    """Shows a job."""
    plan = context.get_plan(args.name)
    show_object(describe_whole_job(context.store, plan, context.config.commands), args.json)


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


def load_list(args: argparse.Namespace, context: Context) -> None:
    """Loads the pairs of work and chunks of an input; they replace the list that it had."""
    from dataflow.actions.pairs import load_pairs
    from dataflow.cli.chunks import open_lines

    plan = context.get_plan(args.name)
    name = "stdin" if args.file == "-" else args.file
    try:
        with open_lines(args.file, "FILE") as lines:
            result = load_pairs(context.store, plan, args.dataset, lines, args.new)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from error
    pairs, chunks = counted(result.pairs, "pair"), counted(result.chunks, "chunk")
    works = counted(result.works, "dataid")
    context.say(f"Job {args.name}: {pairs} loaded, for {works} and {chunks} of {args.dataset}.")


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of the job that the command line names."""
    values = {name: getattr(args, name) for name in (*TEXTS, *FLAGS, *NUMBERS, *OTHERS, *CHANGES)}
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
