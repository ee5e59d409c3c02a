"""`dataflow sql`: runs one read-only SQL statement on the status store."""

from __future__ import annotations

import sys

from dataflow.cli.layout import CELL
from dataflow.cli.output import add_json_option
from dataflow.cli.tables import add_wide_option, data_columns, show_rows
from dataflow.errors import BadInput
from dataflow.store.reads import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from dataflow.cli.context import Context


TEXT = "Runs one read-only SQL statement on the tables and views of the status store."

_PLAIN = (str, int, float, type(None), list, dict)


def add_parser(subparsers: Any) -> None:
    """Adds `sql`."""
    epilog = 'Example: dataflow sql "select * from datastatus"'
    parser = subparsers.add_parser("sql", help="run one read-only statement", description=TEXT, epilog=epilog)
    parser.add_argument(
        "statement", metavar="STATEMENT", help='a SELECT, such as "select * from datastatus"; - reads stdin'
    )
    add_wide_option(parser)
    add_json_option(parser)
    parser.set_defaults(call=sql)


def sql(args: argparse.Namespace, context: Context) -> int:
    """Runs one read-only statement; refuses any other before it runs."""
    statement = sys.stdin.read() if args.statement == "-" else args.statement
    if not statement.strip():
        raise BadInput('sql needs a statement, such as: dataflow sql "select * from datastatus"')
    columns, rows = context.store.database.select(statement)
    names = unique_names(columns)
    records = ({name: plain(value) for name, value in zip(names, row, strict=True)} for row in rows)
    show_rows(records, data_columns(names, CELL), args.json, "No rows.", args.wide)
    return 0


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
