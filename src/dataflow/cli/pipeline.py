"""`dataflow pipeline list|run`, and `dataflow run` of a pipeline. See also pipeline_show."""

from __future__ import annotations

import os
import signal
import sys

from dataflow.cli import pipeline_show, pipeline_transfer
from dataflow.cli.context import Context
from dataflow.cli.options import Commands
from dataflow.cli.parser import parse_options
from dataflow.cli.pipeline_settings import get_settings, load_catalog
from dataflow.cli.runjob import add_option, check_choice, make_request, parser
from dataflow.config.project import get_working_dir, no_project
from dataflow.errors import BadInput, ConfigError, LeaseLost, TimedOut, UsageError
from dataflow.model.coverage import kind_of
from dataflow.model.dataid import canonical_dataid, interval_of
from dataflow.runjob.report import explain_nothing
from dataflow.runjob.request import JobRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


TAKEN = ("command", "drain", "streams", "dataid", "dry_run", "store", "quiet", "waiting_exit_code", "timeout")
"""The options of RunJob that apply to a pipeline."""


def add_parser(commands: Commands) -> None:
    """Adds `pipeline`."""
    text = "Works with the dataset and view pipelines in pipelines/*.py, next to dataflow.toml."
    words = commands.add_group("pipeline", text)
    words.add("list", list_pipelines, "wide", "json", line="list pipelines and the errors in their files")
    pipeline_show.add_parsers(words)
    pipeline_transfer.add_parsers(words)
    run = words.add("run", run_word, "NAME", line="run the next interval of a pipeline", makes_store=True)
    run.add_argument("--drain", action="store_true", help="continue until no interval is left")
    add_option(run, "-j")
    run.add_argument("--dataid", metavar="D", help="run this interval, due or not")


def list_pipelines(args: argparse.Namespace, context: Context) -> int:
    """Lists the pipelines of the project and the errors in their files."""
    from dataflow.cli.layout import PROSE, make_columns
    from dataflow.cli.tables import show_rows

    catalog, settings = load_catalog(context), get_settings(context)
    from dataflow.pipelines.show.description import list_briefly

    rows = list_briefly(catalog, settings)
    columns = make_columns(
        pipeline=0, kind=4, dataset=1, target=5, schedule=2, start=6, end=7, note=(3, PROSE)
    )
    show_rows(rows, columns, args.json, "" if catalog.problems else _none_words(context), args.wide)
    for problem in catalog.problems:
        context.say(problem)
    return ConfigError.exit_code if catalog.problems else 0


def _none_words(context: Context) -> str:
    """What to do where there are no pipelines."""
    from dataflow.pipelines.declare.imports import OWN, PIPELINE_MODULES

    folder = context.config.project_dir
    old = os.path.join(folder, OWN)
    if any(os.path.isdir(os.path.join(old, name)) for name in PIPELINE_MODULES):
        return "There are no pipelines in pipelines/. To convert dataflow/: dataflow pipeline import ."
    if context.config.is_outside:
        return f"{no_project(folder)}."
    return f"There are no pipelines in {folder}/pipelines. Write one, see docs/pipelines.md."


def run_word(args: argparse.Namespace, context: Context) -> int:
    """Runs the next interval of a pipeline. Same as dataflow run NAME."""
    check_choice(args.streams, args.drain, args.dataid)
    asked = JobRequest(
        context.config,
        context.environ,
        args.name,
        (),
        drain=args.drain,
        streams=args.streams,
        dataid=args.dataid,
    )
    return run_pipeline(context, asked)


def run_command(args: argparse.Namespace, prog: str) -> int:
    """`dataflow run NAME [options]`; options may come before or after the name."""
    name, *rest = args.command
    known = parser(prog)
    given = parse_options(known, rest, given=args)
    if given.command:
        raise UsageError(
            f"A pipeline takes no arguments: {' '.join(given.command)}. Usage: {prog} {name} [--drain]"
        )
    _refuse_options(given, known, name)
    context = Context(given.store, os.environ, get_working_dir(), makes_store=not given.dry_run)
    try:
        asked = make_request(given, context, name)
        if not given.dry_run:
            return run_pipeline(context, asked)
        given.name, given.json, given.wide = name, False, False
        pipeline_show.plan_pipeline(given, context)
        return 0
    finally:
        context.close()


def _warn_if_not_ended(context: Context, job: str, dataid: str) -> None:
    """Warns about an interval of the future, whose data cannot be complete."""
    kind = kind_of(context.get_plan(job))
    try:
        interval = interval_of(canonical_dataid(dataid, kind.grain, kind.timezone), kind.grain, kind.timezone)
    except BadInput:
        return  # the claim refuses it
    if interval is not None and interval[1].timestamp() > context.store.read.get_now():
        context.say(f"warning: interval {dataid} of {job} has not ended yet; what comes later is not in it.")


def run_pipeline(context: Context, asked: JobRequest) -> int:
    """Registers the project's pipelines and runs intervals of one; returns RunJob's exit codes."""
    catalog = load_catalog(context)
    definition = catalog.get(asked.job)
    for problem in catalog.problems:
        context.say(f"warning: {problem}")
    from dataflow.cli.progress import PipelineProgress
    from dataflow.client import Flow
    from dataflow.pipelines.register.project_jobs import register_project
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.pipelines.run.worker import PipelineWorker
    from dataflow.runjob.session import count_left

    settings = get_settings(context)
    register_project(context.store, catalog, settings, context.say, definition)
    if asked.dataid is not None:
        _warn_if_not_ended(context, asked.job, asked.dataid)
    # Hands the run back as interrupted.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    settings.secrets.add(*context.list_secrets())
    progress = PipelineProgress(asked.quiet)
    with Flow(context.config, context.store, settings.secrets) as flow, progress:
        facilities = Facilities(context.config, context.store, settings, catalog.constants, progress)

        def say(text: str) -> None:
            with progress.paused():
                progress.clear()
                context.say(text)

        worker = PipelineWorker(flow, facilities, definition, say, asked.quiet)
        try:
            with settings.secrets.hidden_in_errors():
                outcome = worker.run(asked.drain, asked.dataid, asked.timeout_seconds, asked.streams)
        finally:
            facilities.spark.shared.stop()
        has_run = outcome.done or outcome.error
        if asked.drain and has_run and outcome.broken is None and not asked.quiet:
            say(f"{definition.job}: {outcome.describe(count_left(context.store, definition.job))}")
        if outcome.error is not None:
            return outcome.error.exit_code if isinstance(outcome.error, (LeaseLost, TimedOut)) else 1
        if not outcome.done:
            tell = (lambda _text: None) if asked.quiet else context.say
            return explain_nothing(asked, flow.why(definition.job, asked.dataid), tell)
    return 0


def _refuse_options(given: argparse.Namespace, known: argparse.ArgumentParser, name: str) -> None:
    """Raises UsageError for an option that only scripts have, instead of ignoring it."""
    for action in known._actions:
        if action.dest in TAKEN or getattr(given, action.dest, action.default) == action.default:
            continue
        raise UsageError(
            f"{action.option_strings[0]} is only for scripts, and {name} is a pipeline. "
            "See: dataflow pipeline run --help"
        )
