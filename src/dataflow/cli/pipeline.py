"""`dataflow pipeline list|run`, and `dataflow run` of a pipeline. See also pipeline_show."""

from __future__ import annotations

import os
import signal
import sys

from dataflow.cli.output import add_json_option
from dataflow.cli.pipeline_import import add_import
from dataflow.cli.pipeline_show import add_words, plan_pipeline
from dataflow.cli.runjob import add_streams_option, check_streams, parser, read_timeout
from dataflow.cli.tables import add_wide_option
from dataflow.cli.takeover import add_word
from dataflow.config.project import get_working_dir
from dataflow.errors import BadInput, ConfigError, Conflict, LeaseLost, TimedOut, UnknownName, UsageError
from dataflow.model.record import record
from dataflow.model.records import VIEW

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from types import FrameType
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.declare.catalog import Catalog, Definition
    from dataflow.pipelines.declare.settings import PipelineSettings

REFUSALS = (BadInput, ConfigError, Conflict, UnknownName)
TAKEN = ("command", "drain", "streams", "dataid", "dry_run", "store", "quiet", "waiting_exit_code", "timeout")
"""The options of RunJob that apply to a pipeline."""


@record
class RunOptions:
    """Which intervals to run: the next, all, or a named one."""

    drain: bool = False
    dataid: str | None = None
    quiet: bool = False
    waiting_exit_code: int = 0
    timeout_seconds: float | None = None
    streams: int = 1

    def check(self) -> None:
        """Raises UsageError for --drain together with --dataid, and for -j without --drain."""
        check_streams(self.streams, self.drain)
        if self.drain and self.dataid is not None:
            raise UsageError(
                "--dataid and --drain exclude each other: one names an interval, the other runs them all."
            )


def add_parser(subparsers: Any) -> None:
    """Adds `pipeline`."""
    text = "Works with the dataset and view pipelines in pipelines/*.py, next to dataflow.toml."
    parser = subparsers.add_parser("pipeline", help="pipelines on Spark", description=text)
    words = parser.add_subparsers(dest="word", required=True, parser_class=type(parser))
    text = "Lists the pipelines of the project and the errors in their files."
    one = words.add_parser("list", help="list pipelines and the errors in their files", description=text)
    add_wide_option(one)
    add_json_option(one)
    one.set_defaults(call=list_pipelines)
    add_words(words)
    add_import(words)
    add_word(words)
    text = "Runs the next interval of a pipeline. Same as dataflow run NAME."
    run = words.add_parser("run", help="run the next interval of a pipeline", description=text)
    run.add_argument("name", metavar="NAME", help="name of the class")
    run.add_argument("--drain", action="store_true", help="go on until no interval is left")
    add_streams_option(run)
    run.add_argument("--dataid", metavar="D", help="run this interval, due or not")
    run.set_defaults(call=run_word, makes_store=True)


def list_pipelines(args: argparse.Namespace, context: Context) -> int:
    """Lists all pipelines with their datasets and schedules."""
    from dataflow.cli.layout import PROSE, Column
    from dataflow.cli.tables import show_rows

    catalog = load(context)
    from dataflow.pipelines.declare.settings import PipelineSettings

    settings = PipelineSettings(context.config.project_dir, context.environ, context.passphrase)
    rows = [_row(definition, catalog, settings) for definition in catalog.definitions.values()]
    rows = settings.secrets.redact_all(rows)
    columns = (
        Column("pipeline"),
        Column("kind", 4),
        Column("dataset", 1),
        Column("target", 5),
        Column("schedule", 2),
        Column("start", 6),
        Column("end", 7),
        Column("note", 3, PROSE),
    )
    show_rows(rows, columns, args.json, "" if catalog.problems else _none_words(context), args.wide)
    for problem in catalog.problems:
        context.say(problem)
    return ConfigError.exit_code if catalog.problems else 0


def _none_words(context: Context) -> str:
    """What to do where there are no pipelines."""
    from dataflow.pipelines.declare.imports import OWN, PIPELINE_MODULES

    old = os.path.join(context.config.project_dir, OWN)
    if any(os.path.isdir(os.path.join(old, name)) for name in PIPELINE_MODULES):
        return "There are no pipelines in pipelines/. To convert dataflow/: dataflow pipeline import ."
    return "There are no pipelines. Write one into pipelines/, see docs/pipelines.md."


def run_word(args: argparse.Namespace, context: Context) -> int:
    """Runs the next interval of a pipeline, or all of them."""
    return run_pipeline(context, args.name, RunOptions(args.drain, args.dataid, streams=args.streams))


def run_command(args: argparse.Namespace, prog: str) -> int:
    """`dataflow run NAME [options]`; options may come before or after the name."""
    from dataflow.cli.context import Context
    from dataflow.cli.main import parse_options

    name, *rest = args.command
    given = _merged(args, parse_options(parser(prog), rest), parser(prog))
    if given.command:
        raise UsageError(
            f"A pipeline takes no arguments: {' '.join(given.command)}. Usage: {prog} {name} [--drain]"
        )
    _refuse_options(given, parser(prog), name)
    if not 0 <= given.waiting_exit_code <= 255:
        raise UsageError(f"--waiting-exit-code must be 0 to 255, got {given.waiting_exit_code}.")
    options = RunOptions(
        given.drain,
        given.dataid,
        given.quiet,
        given.waiting_exit_code,
        read_timeout(given.timeout),
        given.streams,
    )
    context = Context(given.store, os.environ, get_working_dir(), makes_store=not given.dry_run)
    try:
        if given.dry_run:
            return show_plan(context, name, options)
        return run_pipeline(context, name, options)
    finally:
        context.close()


def show_plan(context: Context, name: str, options: RunOptions) -> int:
    """`--dry-run`: shows the plan of the pipeline and changes nothing."""
    import argparse

    options.check()
    return plan_pipeline(
        argparse.Namespace(name=name, dataid=options.dataid, json=False, wide=False), context
    )


def load(context: Context) -> Catalog:
    """The project's pipelines; ConfigError if their packages are not installed."""
    load_packages()
    from dataflow.pipelines.declare.catalog import Catalog

    return Catalog(context.config.project_dir, context.environ)


def load_packages() -> None:
    """Imports the packages of pipelines; ConfigError if they are not installed."""
    try:
        import dataflow.pipelines.declare.catalog  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"Pipelines need packages that are not installed ({error}). "
            "Install them: pip install '.[spark]' in the DataFlow checkout"
        ) from error


def run_pipeline(context: Context, name: str, options: RunOptions) -> int:
    """Registers the project's pipelines and runs intervals of one; returns RunJob's exit codes."""
    options.check()
    catalog = load(context)
    definition = catalog.get(name)
    for problem in catalog.problems:
        context.say(f"warning: {problem}")
    from dataflow.cli.progress import PipelineProgress
    from dataflow.client import Flow
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.pipelines.run.facilities import Facilities, ProjectValues
    from dataflow.pipelines.run.worker import PipelineWorker

    settings = PipelineSettings(context.config.project_dir, context.environ, context.passphrase)
    _register(context, catalog, definition, settings)
    signal.signal(signal.SIGTERM, _leave)
    settings.secrets.add(*context.list_secrets())
    with Flow(context.config, context.store, settings.secrets) as flow, PipelineProgress() as progress:
        facilities = Facilities(
            context.config,
            context.store,
            settings,
            ProjectValues(context.environ, catalog.constants),
            progress,
        )

        def say(text: str) -> None:
            with progress.paused():
                progress.clear()
                context.say(text)

        worker = PipelineWorker(flow, facilities, definition, say, options.quiet)
        try:
            with settings.secrets.hidden_in_errors():
                outcome = worker.run(options.drain, options.dataid, options.timeout_seconds, options.streams)
        finally:
            facilities.spark.close()
        if outcome.error is not None:
            return outcome.error.exit_code if isinstance(outcome.error, (LeaseLost, TimedOut)) else 1
        if not outcome.done:
            return _nothing_done(context, flow, definition, options)
    return 0


def _register(context: Context, catalog: Catalog, definition: Definition, settings: PipelineSettings) -> None:
    """Registers all pipelines; warns about others that cannot be registered."""
    from dataflow.pipelines.register.pipeline_jobs import register_pipelines

    try:
        register_pipelines(context.store, catalog.definitions.values(), settings)
    except REFUSALS:
        register_pipelines(context.store, catalog.list_needed(definition), settings)
        for other in catalog.definitions.values():
            try:
                register_pipelines(context.store, catalog.list_needed(other), settings)
            except REFUSALS as error:
                place = "" if str(error).startswith(other.place) else f"{other.place}: {other.job}: "
                context.say(f"warning: {other.job} is not registered: {place}{error}")


def _nothing_done(context: Context, flow: Any, definition: Definition, options: RunOptions) -> int:
    found = flow.why(definition.job, options.dataid)
    if not options.quiet:
        context.say(f"{definition.job}: {found.verdict}")
        if found.next:
            context.say(f"next: {found.next}")
    return 0 if found.verdict.startswith("READY") else options.waiting_exit_code


def _merged(
    before: argparse.Namespace, after: argparse.Namespace, known: argparse.ArgumentParser
) -> argparse.Namespace:
    """The options after the pipeline's name, completed by those before it."""
    for name, value in vars(before).items():
        if name != "command" and getattr(after, name) == known.get_default(name):
            setattr(after, name, value)
    return after


def _refuse_options(given: argparse.Namespace, known: argparse.ArgumentParser, name: str) -> None:
    """Raises UsageError for an option that only scripts have, instead of ignoring it."""
    for action in known._actions:
        if action.dest in TAKEN or getattr(given, action.dest, action.default) == action.default:
            continue
        raise UsageError(
            f"{action.option_strings[0]} is only for scripts, and {name} is a pipeline. "
            "See: dataflow pipeline run --help"
        )


def _row(definition: Definition, catalog: Catalog, settings: PipelineSettings) -> dict[str, object]:
    from dataflow.pipelines.register.pipeline_jobs import find_misplaced
    from dataflow.pipelines.show.description import over_note

    timing, flaw = definition.timing, find_misplaced(catalog.list_needed(definition), settings)
    if not flaw and definition.kind == VIEW:
        from dataflow.pipelines.run.view_trial import find_flaw  # start-up: only views are of SQL

        flaw = find_flaw(definition, catalog, settings)
    note = f"can never run: {flaw}" if flaw else over_note(definition)
    return {
        "pipeline": definition.job,
        "kind": definition.kind,
        "dataset": definition.dataset,
        "target": definition.target,
        "schedule": timing.schedule,
        "start": timing.start,
        "end": timing.end,
        "note": note,
    }


def _leave(number: int, _: FrameType | None) -> None:
    """On SIGTERM, hands the run back as interrupted."""
    sys.exit(128 + number)
