"""The one way a command prints a table: to a terminal, to a pipe or as JSON.

A terminal gets the columns that fit, short local times, and a footer that names what is hidden. A pipe gets
every column and full ISO times as plain aligned text. Rows are streamed: a million need no more memory than
a few hundred.
"""

from __future__ import annotations

import sys
from itertools import chain, islice

from dataflow.cli.layout import DATA, SPAN, TIME, Column, Layout, choose, lay_out
from dataflow.cli.output import STYLES, as_text, as_value, console, encoder, write_field
from dataflow.cli.terminal import find_width, measure, short_span, short_time, write_line
from dataflow.model.wording import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Record = Mapping[str, Any]

MEASURED_ROWS = 500
"""Rows measured to find the columns' widths; the rest is streamed below them."""


def show_datasets(
    rows: Iterable[Record], columns: Sequence[Column], args: argparse.Namespace, empty: str
) -> None:
    """Writes rows of datasets; on a terminal without the automatic calendars, unless --all is given."""
    found = list(rows)
    if args.json or args.all or not sys.stdout.isatty():
        show_rows(found, columns, args.json, empty, args.wide)
        return
    from dataflow.actions.dataset_rules import is_automatic  # start-up: few tables list datasets

    shown = [row for row in found if not is_automatic(row["dataset"])]
    hidden = len(found) - len(shown)
    show_rows(shown, columns, False, "" if hidden else empty, args.wide)
    if hidden:
        print(f"Hidden: {hidden} automatic calendar {plural(hidden, 'dataset')}. To list: --all")


def data_columns(names: Iterable[str], kind: str = DATA) -> list[Column]:
    """Columns of a query, of which the last are dropped first; DATA shows NULL, '' and [] as such."""
    return [Column(name, rank, kind) for rank, name in enumerate(names)]


def show_rows(
    rows: Iterable[Record], columns: Sequence[str], as_json: bool, empty: str = "", wide: bool = False
) -> int:
    """Writes rows as a table or one JSON array and returns how many; if none, says `empty` on stderr.

    JSON has every field of a row, except for those that only a terminal shows.
    """
    known = [column if isinstance(column, Column) else Column(column) for column in columns]
    width = find_width(sys.stdout)
    if as_json:
        return _write_json_array(rows, {column for column in known if column.is_extra})
    full = [column for column in known if not column.is_extra]
    is_short = width is not None and not wide
    shown = [column for column in known if not column.is_full] if is_short else full
    remaining = ([_cell(row, column, is_short) for column in shown] for row in rows)
    first = list(islice(remaining, MEASURED_ROWS))
    if not first:
        if empty:
            write_line(empty, sys.stderr)
        return 0
    if width is None:
        return _write_plain(first, remaining, shown)
    kept = [Column(column, 0, column.kind) for column in shown] if wide else shown
    layout = choose(kept, first, width)
    if layout is None:
        return _write_blocks(chain(first, remaining), shown, width)
    return _write_table(chain(first, remaining), shown, layout, width)


def _cell(row: Record, column: Column, is_short: bool) -> str:
    value = row.get(column)
    if column.kind == DATA:
        return as_value(value)
    if is_short and column.kind == TIME and isinstance(value, str):
        return short_time(value)
    if is_short and column.kind == SPAN and isinstance(value, int | float):
        return short_span(value)
    return as_text(value)


def _write_json_array(rows: Iterable[Record], hidden: set[Column]) -> int:
    encode, count = encoder(None).encode, 0
    for row in rows:
        sys.stdout.write("[\n" if count == 0 else ",\n")
        sys.stdout.write(encode({name: value for name, value in row.items() if name not in hidden}))
        count += 1
    sys.stdout.write("\n]\n" if count else "[]\n")
    return count


def _write_plain(first: list[list[str]], rest: Iterator[list[str]], columns: Sequence[str]) -> int:
    widths = [max(map(len, cells)) for cells in zip(columns, *first, strict=True)]
    count = -1
    for cells in chain([list(columns)], first, rest):
        line = "  ".join([cell.ljust(width) for cell, width in zip(cells, widths, strict=True)])
        sys.stdout.write(line.rstrip() + "\n")
        count += 1
    return count


def _write_table(rows: Iterable[list[str]], columns: Sequence[Column], layout: Layout, width: int) -> int:
    printer, count = _Printer(layout.widths), 0
    printer.write([columns[place] for place in layout.shown], "bold")
    for count, row in enumerate(rows, 1):  # noqa: B007
        styles = [STYLES.get(row[place].partition(" (")[0], "") for place in layout.shown]
        for cells in lay_out(row, columns, layout):
            printer.write(cells, *styles)
    if layout.hidden:
        names = ", ".join(columns[place] for place in layout.hidden)
        write_line(f"Hidden columns: {names}. All of them: --wide or --json")
    return count


def _write_blocks(rows: Iterable[list[str]], columns: Sequence[Column], width: int) -> int:
    """One field per line, for rows that are too wide for a table."""
    label = max(map(len, columns))
    count = 0
    for count, row in enumerate(rows, 1):
        if count > 1:
            print()
        for column, cell in zip(columns, row, strict=True):
            write_field(column, cell, label, width)
    return count


class _Printer:
    """Writes lines of cells to a terminal, in colour where it takes colours."""

    def __init__(self, widths: Sequence[int]) -> None:
        # Imported here: rich takes longer to load than most commands take to answer.
        from rich.text import Text

        self._widths = widths
        self._console = console()
        self._text = Text

    def write(self, cells: Sequence[str], *styles: str) -> None:
        line = self._text()
        for place, (cell, width) in enumerate(zip(cells, self._widths, strict=True)):
            style = styles[min(place, len(styles) - 1)]
            is_last = not any(cells[place + 1 :])
            line.append(cell, style or None)
            if is_last:
                break
            line.append(" " * (width - measure(cell) + 2))
        self._console.print(line, soft_wrap=True)
