"""`dataflow sql` and `query`: one read-only statement on the status store, or on published datasets."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager

from dataflow.actions.next_commands import shell
from dataflow.cli.layout import CELL, Column
from dataflow.cli.options import Commands, count
from dataflow.cli.pipeline_settings import get_settings
from dataflow.cli.tables import data_columns, show_rows
from dataflow.config.packages import installed_packages
from dataflow.errors import BadInput
from dataflow.model.url_text import without_secrets
from dataflow.private_files import STATE_FOLDER, make_private_folder
from dataflow.store.reads import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dataflow.cli.context import Context
    from dataflow.pipelines.show.query import QueryResult

MOST_ROWS = 1000
QUERIES = ".query"  # not a valid job name

_PLAIN = (str, int, float, type(None), list, dict)


def add_parser(commands: Commands) -> None:
    """Adds `sql` and `query`."""
    epilog = 'Example: dataflow sql "select * from datastatus"'
    parser = commands.add("sql", sql, "wide", "json", epilog=epilog)
    _add_statement(parser, "datastatus")
    epilog = 'Example: dataflow query "select count(*) from orders". For the status store: dataflow sql'
    parser = commands.add("query", query, "wide", "json", epilog=epilog)
    _add_statement(parser, "orders")
    help_text = f"show at most N rows (default: {MOST_ROWS})"
    parser.add_argument("--rows", type=count, default=MOST_ROWS, metavar="N", help=help_text)


def _add_statement(parser: argparse.ArgumentParser, table: str) -> None:
    help_text = f'a SELECT, such as "select * from {table}"; - reads stdin'
    parser.add_argument("statement", metavar="STATEMENT", help=help_text)


def sql(args: argparse.Namespace, context: Context) -> None:
    """Runs one read-only SQL statement on the tables and views of the status store."""
    columns, rows = context.store.database.select(_statement(args, "datastatus"))
    shown = ([_without_secrets(*cell) for cell in zip(columns, row, strict=True)] for row in rows)
    show_rows(*_records(columns, shown, CELL), args.json, "No rows.", args.wide)


def query(args: argparse.Namespace, context: Context) -> None:
    """Runs one SELECT of Spark SQL on published datasets, each by its name."""
    answer = _ask(context, _statement(args, "orders"), args.rows)
    show_rows(*_records(answer.columns, answer.rows), args.json, "No rows.", args.wide)
    if not answer.is_whole:
        context.say(f"Showing the first {args.rows:,} rows. To see more: --rows N")


def _statement(args: argparse.Namespace, table: str) -> str:
    statement: str = sys.stdin.read() if args.statement == "-" else args.statement
    if not statement.strip():
        word = args.command
        raise BadInput(f'{word} needs a statement, such as: dataflow {word} "select * from {table}"')
    return statement


def _without_secrets(column: str, value: Any) -> Any:
    """A value of the store. Only locations hold secrets: `code=3` in a sentence is none."""
    may_hold = isinstance(value, str) and (column == "location" or " " not in value)
    return without_secrets(value) if may_hold else value


def _records(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *kind: str
) -> tuple[Iterator[dict[str, Any]], list[Column]]:
    """The rows of a statement for display, and their columns."""
    names = unique_names(columns)
    records = ({name: plain(value) for name, value in zip(names, row, strict=True)} for row in rows)
    return records, data_columns(names, *kind)


def _ask(context: Context, statement: str, most: int) -> QueryResult:
    with installed_packages("Queries"):
        from dataflow.pipelines.show.query import ask, fetch_tables, read_question
        from dataflow.pipelines.spark.session import explained, start_session
    config = context.config
    question = read_question(context.store, statement, config.project_dir)
    if question.stale:
        context.say(f"Left out STALE chunks (an input has a newer version): {', '.join(question.stale)}")
    for name in sorted({*question.chunks, *question.tables}):
        if not (question.chunks.get(name) or question.tables.get(name)):
            context.say(
                f"{name} has no ready chunk; it reads as empty. See: {shell('dataflow', 'chunks', name)}"
            )
    settings = get_settings(context)
    log_path = os.path.join(config.log_dir, f"spark-{os.getpid()}.log")
    with ExitStack() as stack:
        stack.enter_context(settings.secrets.hidden_in_errors())
        fetched = {}
        if question.tables:
            folder = stack.enter_context(_made_folder(config.project_dir))
            fetched = fetch_tables(question, settings, folder)
        if sys.stderr.isatty():
            context.say("Starting Spark …")
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
    from tempfile import TemporaryDirectory  # start-up: slow to import, and few queries read tables

    root = os.path.join(project_dir, STATE_FOLDER, "staging", QUERIES)
    make_private_folder(root)
    with TemporaryDirectory(dir=root) as folder:
        yield os.path.join(folder, str(os.getpid()))


def unique_names(columns: Sequence[str]) -> list[str]:
    """Unique column names: the second `name` of a join becomes `name_2`."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def plain(value: Any) -> Any:
    """A database value for JSON and people: times as ISO text in UTC, bytes in hex."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if hasattr(value, "astimezone") and value.tzinfo is not None:
        return time_text(value)
    return str(value)
