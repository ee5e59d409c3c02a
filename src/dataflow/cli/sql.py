"""`dataflow sql`: one reading statement on the status store, for questions no command answers."""

from __future__ import annotations

import sys

from dataflow.cli.output import add_json_option
from dataflow.cli.tables import add_wide_option, data_columns, show_rows
from dataflow.errors import BadInput
from dataflow.store.reader import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from dataflow.cli.context import Context


_PLAIN = (str, int, float, type(None), list, dict)


def add_parser(subparsers: Any) -> None:
    """Adds `sql`."""
    epilog = 'What every chunk looks like now: dataflow sql "select * from datastatus"'
    parser = subparsers.add_parser("sql", help="one reading statement", description=__doc__, epilog=epilog)
    parser.add_argument(
        "statement", metavar="STATEMENT", help='such as "select * from datastatus"; - for stdin'
    )
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=sql)


def sql(args: argparse.Namespace, context: Context) -> int:
    """Runs one statement that only reads; anything else is refused before it runs."""
    statement = sys.stdin.read() if args.statement == "-" else args.statement
    if not statement.strip():
        raise BadInput('sql needs a statement, such as: dataflow sql "select * from datastatus"')
    columns, rows = context.store.database.select(statement)
    names = unique_names(columns)
    records = ({name: plain(value) for name, value in zip(names, row, strict=True)} for row in rows)
    show_rows(records, data_columns(names), args.json, "No rows.", args.wide)
    return 0


def unique_names(columns: Sequence[str]) -> list[str]:
    """The columns' names, the second `name` of a join called `name_2`: a JSON object holds each once."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def plain(value: Any) -> Any:
    """A database's value as JSON and people take it: times as ISO text in UTC, bytes in hex."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if hasattr(value, "astimezone") and value.tzinfo is not None:
        return time_text(value)
    return str(value)
