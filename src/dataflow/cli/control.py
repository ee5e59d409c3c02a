"""`dataflow scale`, `pause`, `resume` and `pool`: control of jobs while they run."""

from __future__ import annotations

import argparse
import os

from dataflow.actions.control import (
    PoolStatus,
    list_pools,
    pause_all,
    remove_pool,
    resume_all,
    scale,
    set_pool,
)
from dataflow.actions.descriptions import describe_pool
from dataflow.actions.interventions import hold, release
from dataflow.actions.next_commands import shell
from dataflow.cli.context import Context
from dataflow.cli.layout import PROSE, make_columns
from dataflow.cli.options import Commands, whole
from dataflow.cli.tables import show_rows
from dataflow.config.project import PROJECT_FILE
from dataflow.model.records import Plan
from dataflow.model.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POOL_COLUMNS = make_columns(pool=0, size=0, running=0, jobs=(1, PROSE))


def add_parser(commands: Commands) -> None:
    """Adds the four commands."""
    parser = commands.add("scale", scale_job, "JOB", "why")
    parser.add_argument(
        "number", metavar="N", type=whole, help="maximum number of concurrent runs; 0: no limit"
    )
    for word, call in (("pause", pause), ("resume", resume)):
        parser = commands.add(word, call, "why")
        parser.add_argument("job", metavar="JOB", nargs="?", help="only this job (default: everything)")
    words = commands.add_group("pool", "Sets, lists or removes pools: limits that several jobs share.")
    parser = words.add(
        "set", set_size, "NAME", "why", line="create a pool or change its size", makes_store=True
    )
    parser.add_argument("size", metavar="N", type=whole, help="runs at a time of all jobs in the pool")
    words.add("list", list_all, "wide", "json", line="list all pools and who uses them")
    words.add("remove", remove_one, "NAME", line="remove a pool that no job uses")


def scale_job(args: argparse.Namespace, context: Context) -> None:
    """Sets how many runs of a job may run at a time. Running work continues."""
    plan = context.get_plan(args.job)
    before = scale(context.store, plan, args.number, args.why)
    after = _limit(args.number)
    if before == args.number:
        context.say(f"Job {args.job} already had {after}; nothing changed.")
        return
    context.say(f"Job {args.job} now has {after} (was {_limit(before)}). Running work continues.")
    if plan.one_at_a_time:
        context.say(
            f"Job {args.job} still runs one at a time: it is ordered, or writes all dataids to one place."
        )
    _say_if_declared(context, plan, args.number)


def _limit(number: int) -> str:
    return f"a limit of {counted(number, 'run')} at a time" if number else "no limit"


def _say_if_declared(context: Context, plan: Plan, number: int) -> None:
    """Warns that the project's file declares another limit, which the next apply restores."""
    from dataflow.config.declarations import read_declarations

    path = os.path.join(context.config.project_dir, PROJECT_FILE)
    if not os.path.exists(path):
        return
    declared = {job.name: job for job in read_declarations([path]).jobs}
    job = declared.get(plan.job.name)
    if job is not None and job.max_running != number:
        declares = (
            f"declares max_running = {job.max_running}" if job.max_running else "declares no max_running"
        )
        context.say(
            f"{PROJECT_FILE} {declares} for job {job.name}. Change it there too, or the next dataflow apply "
            "restores it."
        )


def pause(args: argparse.Namespace, context: Context) -> None:
    """Pauses one job, or all jobs. Running work continues; `dataflow force` still works."""
    if args.job is not None:
        count = hold(context.store, context.get_plan(args.job), None, args.why)
        again = shell("dataflow", "resume", args.job)
        context.say(
            f"Paused job {args.job}: it is on hold. Running work continues. To resume: {again}"
            if count
            else f"Job {args.job} was already paused; nothing changed. To resume: {again}"
        )
        return
    if pause_all(context.store, args.why):
        context.say("Paused everything: no job starts new work. Running work continues.")
    else:
        context.say("Everything was already paused; nothing changed.")
    context.say("To resume: dataflow resume")


def resume(args: argparse.Namespace, context: Context) -> None:
    """Ends a pause of a job, or of everything."""
    if args.job is not None:
        count = release(context.store, context.get_plan(args.job), None, args.why)
        context.say(
            f"Resumed job {args.job}." if count else f"Job {args.job} was not paused; nothing changed."
        )
        if context.store.read.find_pause() is not None:
            context.say("Everything is still paused. To resume: dataflow resume")
        return
    if resume_all(context.store, args.why):
        context.say("Resumed: jobs start new work again.")
    else:
        context.say("There was no pause of everything; nothing changed.")
    held = [found.job for found in context.store.read.list_job_holds() if found.hold]
    if held:
        context.say(
            f"Still on hold: {', '.join(held)}. To resume one: {shell('dataflow', 'resume', held[0])}"
        )


def set_size(args: argparse.Namespace, context: Context) -> None:
    """Creates a pool or changes its size: how many runs of all its jobs may run at a time."""
    before = set_pool(context.store, args.name, args.size, args.why)
    if before == args.size:
        context.say(f"Pool {args.name} already has size {args.size}; nothing changed.")
    elif before:
        context.say(f"Pool {args.name} now has size {args.size} (was {before}). Running work continues.")
    else:
        command = shell("dataflow", "job", "add", "JOB", "--pool", args.name)
        context.say(f"Added pool {args.name} with size {args.size}. To put a job into it: {command}")


def list_all(args: argparse.Namespace, context: Context) -> None:
    """Lists all pools with their size, the runs that use them now, and their jobs."""
    rows = [_describe(pool, args.json) for pool in list_pools(context.store)]
    show_rows(rows, POOL_COLUMNS, args.json, "No pools yet. Add one: dataflow pool set NAME N", args.wide)


def _describe(pool: PoolStatus, as_json: bool) -> dict[str, Any]:
    found = describe_pool(pool)
    if as_json:
        return found
    return found | {"jobs": ", ".join([f"{one['job']} ({one['running']})" for one in found["jobs"]])}


def remove_one(args: argparse.Namespace, context: Context) -> None:
    """Removes a pool that no job uses."""
    remove_pool(context.store, args.name)
    context.say(f"Removed pool {args.name}.")
