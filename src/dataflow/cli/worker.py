"""`dataflow worker`, `workers` and `up`: keeps a project running, and shows who does."""

from __future__ import annotations

import os
import sys

from dataflow import failpoints
from dataflow.actions.descriptions import describe_worker
from dataflow.cli.layout import PROSE, TIME, Column
from dataflow.cli.options import Commands, count
from dataflow.cli.tables import show_rows
from dataflow.config.project import no_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from dataflow.cli.context import Context
    from dataflow.model.worker_rows import WorkerRow
    from dataflow.service.request import WorkerRequest

COLUMNS = (
    Column("worker"),
    Column("host", 1),
    Column("pid", 3),
    Column("version", 4),
    Column("started_at", 2, TIME),
    Column("jobs", 5),
    Column("streams", 6),
    Column("doing", 0, PROSE),
)


def add_parser(commands: Commands) -> None:
    """Adds `worker`, `workers` and `up`."""
    for word, call in (("worker", worker), ("up", up)):
        parser = commands.add(word, call, makes_store=True)
        cores = os.cpu_count() or 1
        parser.add_argument("-j", dest="streams", type=count, default=cores, metavar="N", help=STREAMS)
        parser.add_argument(
            "--jobs", nargs="+", default=[], metavar="GLOB", help="only jobs whose names match"
        )
        if word == "worker":
            help_text = "end when nothing is left to do, with exit code 1 if a run failed"
            parser.add_argument("--until-idle", action="store_true", help=help_text)
            help_text = "print only warnings and errors"
            parser.add_argument("-q", "--quiet", action="store_true", help=help_text)
        else:
            help_text = "serve no page"
            parser.add_argument("--no-page", action="store_true", help=help_text)
        help_text = "stop an unused Spark session after this time (default: 10m)"
        parser.add_argument("--spark-idle", default="10m", metavar="DURATION", help=help_text)
    commands.add("workers", workers, "wide", "json")


STREAMS = "run N streams in parallel (default: the number of cores)"


def worker(args: argparse.Namespace, context: Context) -> int:
    """Works on every job that this machine has a command for, until it is stopped."""
    from dataflow.runjob.output import Terminal
    from dataflow.service.session import run_worker

    return run_worker(_make_request(args, context), context, Terminal(2))


def up(args: argparse.Namespace, context: Context) -> int:
    """Runs a worker in the foreground and serves the page; on a terminal, it shows what the worker does."""
    args.until_idle = args.quiet = False
    request = _make_request(args, context)
    if args.no_page:
        return _work_in_foreground(request, context)
    from dataflow.cli.page import Page

    page = Page(args.store, context)
    try:
        page.announce()
        return _work_in_foreground(request, context)
    finally:
        page.close()


def _work_in_foreground(request: WorkerRequest, context: Context) -> int:
    from dataflow.runjob.output import Terminal
    from dataflow.service.session import run_worker

    if not sys.stderr.isatty():
        return run_worker(request, context, Terminal(2))
    from dataflow.cli.live_view import LiveView  # start-up: rich is slow

    with LiveView() as view:
        return run_worker(request, context, view.messages, view)


def workers(args: argparse.Namespace, context: Context) -> None:
    """Lists the workers that are alive: where, since when, which version, and what they are doing."""
    from dataflow.actions.workers import list_live
    from dataflow.runjob.dead_workers import is_dead_here

    found = list_live(context.store, lambda row: is_dead_here(context.config, row))
    idle = "everything is paused" if context.store.read.find_pause() else "waiting for work"
    rows = [describe_worker(row) if args.json else _as_row(row, idle) for row in found]
    show_rows(rows, COLUMNS, args.json, "No worker is alive. Start one: dataflow worker", args.wide)


def _make_request(args: argparse.Namespace, context: Context) -> WorkerRequest:
    from dataflow.cli.main import version
    from dataflow.config.durations import parse_option
    from dataflow.service.request import WorkerRequest
    from dataflow.store.opener import refuse_missing

    failpoints.arm(os.environ.get("DATAFLOW_FAILPOINT", ""))
    if context.config.is_outside:
        raise no_project(context.cwd)
    if not os.path.isdir(os.path.join(context.config.project_dir, "pipelines")):
        refuse_missing(context.config.store_url, "dataflow apply")  # pipelines register themselves
    return WorkerRequest(
        context.config,
        context.environ,
        context.cwd,
        args.store,
        version(),
        args.streams,
        tuple(args.jobs),
        args.until_idle,
        args.quiet,
        parse_option("--spark-idle", args.spark_idle),
    )


def _as_row(row: WorkerRow, idle: str) -> dict[str, object]:
    doing = ", ".join(f"{run.job} {run.dataid} (run {run.run_id})" for run in row.doing)
    found = {"worker": row.name, "host": row.host, "pid": row.pid, "version": row.version}
    more = {"started_at": row.started_at, "jobs": row.jobs, "streams": row.streams}
    return found | more | {"doing": doing or idle}
