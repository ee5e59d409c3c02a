"""`dataflow query`: runs one SELECT of Spark SQL on published datasets."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager

from dataflow.cli.chunks import count
from dataflow.cli.output import add_json_option
from dataflow.cli.sql import plain, unique_names
from dataflow.cli.tables import add_wide_option, data_columns, show_rows
from dataflow.errors import BadInput, ConfigError
from dataflow.private_files import STATE_FOLDER, make_private_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.show.query import QueryResult

MOST_ROWS = 1000
QUERIES = ".query"  # not a valid job name
TEXT = "Runs one SELECT of Spark SQL on published datasets, each by its name."


def add_parser(subparsers: Any) -> None:
    """Adds `query`."""
    epilog = 'Example: dataflow query "select count(*) from orders". For the status store: dataflow sql'
    parser = subparsers.add_parser(
        "query", help="run Spark SQL on published datasets", description=TEXT, epilog=epilog
    )
    parser.add_argument(
        "statement", metavar="STATEMENT", help='a SELECT, such as "select * from orders"; - reads stdin'
    )
    help_text = f"show at most N rows (default: {MOST_ROWS})"
    parser.add_argument("--rows", type=count, default=MOST_ROWS, metavar="N", help=help_text)
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=query)


def query(args: argparse.Namespace, context: Context) -> int:
    """Runs the query and shows its rows."""
    statement = sys.stdin.read() if args.statement == "-" else args.statement
    if not statement.strip():
        raise BadInput('query needs a statement, such as: dataflow query "select * from orders"')
    answer = _ask(context, statement, args.rows)
    names = unique_names(answer.columns)
    records = [{name: plain(value) for name, value in zip(names, row, strict=True)} for row in answer.rows]
    show_rows(records, data_columns(names), args.json, "No rows.", args.wide)
    if not answer.is_whole:
        context.say(f"Showing the first {args.rows:,} rows. To see more: --rows N")
    return 0


def _ask(context: Context, statement: str, most: int) -> QueryResult:
    try:
        from dataflow.pipelines.declare.settings import PipelineSettings
        from dataflow.pipelines.show.query import ask, fetch_tables, read_question
        from dataflow.pipelines.spark.session import explained, start_session
    except ImportError as error:
        raise ConfigError(
            f"Queries need packages that are not installed ({error}). Install them: "
            "pip install '.[spark]' in the DataFlow checkout"
        ) from error
    config = context.config
    question = read_question(context.store, statement, config.project_dir)
    if question.stale:
        context.say(f"Left out STALE chunks (an input has a newer version): {', '.join(question.stale)}")
    settings = PipelineSettings(config.project_dir, context.environ, context.passphrase)
    log_path = os.path.join(config.log_dir, f"spark-{os.getpid()}.log")
    with ExitStack() as stack:
        stack.enter_context(settings.secrets.hidden_in_errors())
        fetched = {}
        if question.tables:
            folder = stack.enter_context(_made_folder(config.project_dir))
            fetched = fetch_tables(question, settings, folder)
        session = start_session(settings.spark, log_path)
        try:
            with explained(log_path):
                return ask(session, question, most, fetched)
        finally:
            session.stop()


@contextmanager
def _made_folder(project_dir: str) -> Iterator[str]:
    """A temporary folder for the rows of tables, visible to all machines of Spark.

    What a killed process leaves looks like a run's staging, so `dataflow purge` deletes it.
    """
    root = os.path.join(project_dir, STATE_FOLDER, "staging", QUERIES)
    make_private_folder(root)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        yield os.path.join(folder, str(os.getpid()))
