"""`dataflow pipeline list|run`, and `dataflow run` of a pipeline; the other words are in pipeline_show."""

from __future__ import annotations

import os
import signal
import sys

from dataflow.cli.pipeline_show import add_words
from dataflow.config.project import get_working_dir
from dataflow.errors import ConfigError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from types import FrameType
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.catalog import Catalog, Definition

LOST = 125


def add_parser(subparsers: Any) -> None:
    """Adds `pipeline`."""
    text = "Dataset and view pipelines: the classes in pipelines/*.py beside dataflow.toml."
    parser = subparsers.add_parser("pipeline", help="pipelines on Spark", description=text)
    words = parser.add_subparsers(dest="word", required=True, parser_class=type(parser))
    one = words.add_parser("list", help="all pipelines of the project, and what is wrong with their files")
    one.add_argument("--json", action="store_true", help="as JSON")
    one.set_defaults(call=list_pipelines)
    add_words(words)
    run = words.add_parser("run", help="do the next interval of a pipeline (the same as dataflow run NAME)")
    run.add_argument("name", metavar="NAME", help="the name of the class")
    run.add_argument("--drain", action="store_true", help="go on until nothing is claimable")
    run.add_argument("--dataid", metavar="D", help="this interval, due or not")
    run.set_defaults(call=run_word, makes_store=True)


def list_pipelines(args: argparse.Namespace, context: Context) -> int:
    """All pipelines with what they read and make."""
    from dataflow.cli.output import show_rows

    catalog = load(context)
    rows = [_row(definition) for definition in catalog.definitions.values()]
    columns = ("pipeline", "kind", "dataset", "target", "schedule", "start", "end", "note")
    show_rows(
        rows, columns, args.json, "There are no pipelines. Write one into pipelines/, see docs/pipelines.md."
    )
    for problem in catalog.problems:
        context.say(problem)
    return ConfigError.exit_code if catalog.problems else 0


def run_word(args: argparse.Namespace, context: Context) -> int:
    """Does the next interval of a pipeline, or all of them."""
    return run_pipeline(context, args.name, args.drain, args.dataid)


def run_command(args: argparse.Namespace, prog: str) -> int:
    """`dataflow run NAME [options]`: options may stand before the pipeline's name or after it."""
    from dataflow.cli.context import Context
    from dataflow.cli.main import parse_options
    from dataflow.cli.runjob import parser

    name, *rest = args.command
    after = parse_options(parser(prog), rest)
    if after.command:
        raise UsageError(
            f"A pipeline takes no arguments: {' '.join(after.command)}. Usage: {prog} {name} [--drain]"
        )
    context = Context(after.store or args.store, os.environ, get_working_dir(), makes_store=True)
    try:
        return run_pipeline(context, name, args.drain or after.drain, after.dataid or args.dataid)
    finally:
        context.close()


def load(context: Context) -> Catalog:
    """The project's pipelines; ConfigError with what to install when their packages are missing."""
    try:
        from dataflow.pipelines.catalog import Catalog
    except ImportError as error:
        raise ConfigError(
            f"Pipelines need packages that are not installed ({error}). "
            "Install them: pip install 'dataflow-runjob[spark]'"
        ) from error
    return Catalog(context.config.project_dir, context.environ)


def run_pipeline(context: Context, name: str, drain: bool = False, dataid: str | None = None) -> int:
    """Registers the project's pipelines, then claims and runs intervals of one; gives RunJob's exit codes."""
    catalog = load(context)
    definition = catalog.get(name)
    for problem in catalog.problems:
        context.say(f"warning: {problem}")
    from dataflow.cli.progress import PipelineProgress
    from dataflow.client import Flow
    from dataflow.pipelines.facilities import Facilities
    from dataflow.pipelines.registering import register_pipelines
    from dataflow.pipelines.settings import PipelineSettings
    from dataflow.pipelines.worker import PipelineWorker

    settings = PipelineSettings(context.config.project_dir, context.environ, context.passphrase)
    register_pipelines(context.store, catalog.definitions.values(), settings)
    signal.signal(signal.SIGTERM, _leave)
    settings.secrets.add(*context.list_secrets())
    with Flow(context.config, context.store, settings.secrets) as flow, PipelineProgress() as progress:
        facilities = Facilities(
            context.config, context.store, settings, (context.environ, catalog.constants), progress
        )
        worker = PipelineWorker(flow, facilities, definition, context.say)
        try:
            with settings.secrets.hidden_in_errors():
                outcome = worker.run(drain, dataid)
        finally:
            facilities.close()
        if outcome.error is not None:
            return outcome.error.exit_code if outcome.error.exit_code == LOST else 1
        if not outcome.done:
            return _nothing_done(context, flow, definition, dataid)
    return 0


def _nothing_done(context: Context, flow: Any, definition: Definition, dataid: str | None) -> int:
    found = flow.why(definition.job, dataid)
    context.say(f"{definition.job}: {found.verdict}")
    if found.next:
        context.say(f"next: {found.next}")
    return 0


def _row(definition: Definition) -> dict[str, object]:
    timing = definition.timing
    note = (
        f"starts after its end; run one with --dataid, or change end_date: {definition.place}"
        if timing.is_over
        else ""
    )
    return {
        "pipeline": definition.job,
        "kind": type(definition).__name__.removesuffix("Definition").lower(),
        "dataset": definition.dataset,
        "target": definition.target,
        "schedule": timing.schedule,
        "start": timing.start,
        "end": timing.end,
        "note": note,
    }


def _leave(number: int, _: FrameType | None) -> None:
    """SIGTERM: the run is handed back as interrupted."""
    sys.exit(128 + number)
