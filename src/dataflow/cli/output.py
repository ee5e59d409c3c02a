"""How answers reach stdout: a rich table on a terminal, plain aligned text elsewhere, JSON when asked.

Rows are streamed: a million of them need no more memory than a few hundred.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import chain, islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Record = Mapping[str, Any]

MEASURED_ROWS = 500
"""Rows looked at to find the columns' widths; the rest is streamed below them."""

STYLES = {
    "READY": "green",
    "DONE": "green",
    "yes": "green",
    "ok": "green",
    "RUNNING": "blue",
    "CLAIMABLE": "cyan",
    "FAILED": "bold red",
    "INVALID": "bold magenta",
    "no": "bold red",
    "problem": "bold red",
    "LOST": "red",
    "STALE": "yellow",
    "RESUBMIT": "yellow",
    "HOLD": "yellow",
    "warning": "yellow",
    "PENDING": "dim",
    "WAITING": "dim",
    "not checked": "dim",
}

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Gives a reading command its --json."""
    parser.add_argument("--json", action="store_true", help="the answer as JSON on stdout")


def show_rows(rows: Iterable[Record], columns: Sequence[str], as_json: bool, empty: str = "") -> int:
    """Writes rows as a table or one JSON array and gives how many; if none, `empty` is said on stderr."""
    if as_json:
        return _write_json_array(rows, columns)
    remaining = iter(rows)
    first = [[as_text(row.get(column)) for column in columns] for row in islice(remaining, MEASURED_ROWS)]
    if not first:
        if empty:
            print(empty, file=sys.stderr)
        return 0
    if sys.stdout.isatty() and len(first) < MEASURED_ROWS:
        _write_rich_table(first, columns)
        return len(first)
    rest = ([as_text(row.get(column)) for column in columns] for row in remaining)
    return _write_plain_table(first, rest, columns)


def show_object(record: Record, as_json: bool) -> None:
    """Writes one thing: a JSON object, or a line per field."""
    if as_json:
        print(to_json(record, indent=2))
        return
    width = max(map(len, record), default=0)
    for name, value in record.items():
        print(f"{name:<{width}}  {as_text(value)}".rstrip())


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON that the terminal's encoding can carry; times and enums as their text."""
    return _encoder(indent).encode(value)


def as_text(value: Any) -> str:
    """A value for people: nothing for None, lists joined, and nothing in it that moves the cursor."""
    if value is None:
        return ""
    if type(value) is str and value.isprintable():  # nearly all are, and a million rows have many
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(as_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={as_text(item)}" for name, item in value.items())
    return _UNPRINTABLE.sub(_escaped, str(value))


def paint(text: str, style: str | None = None) -> str:
    """The text in the colour of its status, on a terminal that wants colours; else as it is."""
    style = style or STYLES.get(text)
    if style is None or not sys.stdout.isatty():
        return text
    console = _console()
    with console.capture() as captured:
        console.print(text, style=style, end="", soft_wrap=True, markup=False, highlight=False, emoji=False)
    return str(captured.get())


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] < "\x7f" else f"\\u{ord(found[0]):04x}"


def _encoder(indent: int | None) -> json.JSONEncoder:
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return json.JSONEncoder(ensure_ascii=ascii_only, indent=indent, default=str)


def _write_json_array(rows: Iterable[Record], columns: Sequence[str] | None) -> int:
    encode, count = _encoder(None).encode, 0
    for row in rows:
        sys.stdout.write("[\n" if count == 0 else ",\n")
        sys.stdout.write(encode(row if columns is None else {column: row.get(column) for column in columns}))
        count += 1
    sys.stdout.write("\n]\n" if count else "[]\n")
    return count


def _write_plain_table(first: list[list[str]], rest: Iterator[list[str]], columns: Sequence[str]) -> int:
    widths = [max(map(len, cells)) for cells in zip(columns, *first, strict=True)]
    count = -1
    for cells in chain([list(columns)], first, rest):
        line = "  ".join([cell.ljust(width) for cell, width in zip(cells, widths, strict=True)])
        sys.stdout.write(line.rstrip() + "\n")
        count += 1
    return count


def _write_rich_table(cells: list[list[str]], columns: Sequence[str]) -> None:
    # Imported here: rich takes longer to load than most commands take to answer.
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*[Text(cell, style=STYLES.get(cell, "")) for cell in row])
    _console().print(table, markup=False, highlight=False, emoji=False)


def _console() -> Any:
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
