"""How a table fits a terminal: which columns are shown, how wide each is, where cells wrap.

Pure: nothing here prints. A column is never narrower than its longest word, so no word or name is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from dataflow.cli.terminal import measure, shorten_middle, wrap_words
from dataflow.model.record import record

GAP = 2
READABLE = 20
"""A column of sentences is not squeezed below this, if its sentences are that long."""

LONGEST_WORD = 24
"""A longer word, such as a path, is shortened where its column can be dropped."""

WHOLE = 30
"""A value of a query up to this length stays on one line, spaces or not."""

TIME, SPAN, PROSE, WORDS, DATA, CELL = "time", "span", "prose", "words", "data", "cell"
"""What a column holds. PROSE and WORDS (a few), DATA (of a query) and CELL (of the store) wrap at spaces."""

WRAPPED = (PROSE, WORDS, DATA, CELL)


class Column(str):
    """A column's name, how soon it is dropped (0: never), what it holds and where it is shown."""

    __slots__ = ("is_extra", "is_full", "kind", "rank")

    rank: int
    kind: str
    is_extra: bool
    is_full: bool

    def __new__(
        cls, name: str, rank: int = 0, kind: str = "", *, extra: bool = False, full: bool = False
    ) -> Column:
        """`extra`: only on a terminal, in place of columns that are `full`: shown in pipes and --wide."""
        made = super().__new__(cls, name)
        made.rank, made.kind, made.is_extra, made.is_full = rank, kind, extra, full
        return made


def make_columns(**ranks: int | tuple[int, str]) -> tuple[Column, ...]:
    """Columns by name, each with how soon it is dropped (0: never) and, if it is not plain, what it holds."""
    return tuple(
        Column(name, *(rank if isinstance(rank, tuple) else (rank,))) for name, rank in ranks.items()
    )


@record
class Layout:
    """The columns to show with their widths, and those that found no room."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    hidden: tuple[int, ...]


def choose(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> Layout | None:
    """The most important columns that fit into `width`; None if those that must be shown do not."""
    kept = list(range(len(columns)))
    below = [[row[place] for row in cells] for place in kept]
    narrow = [_narrowest(*pair) for pair in zip(columns, below, strict=True)]
    empty = [all(cell in ("", "0") for cell in found) for found in below]
    while sum(narrow[place] + GAP for place in kept) - GAP > width:
        droppable = [place for place in kept if columns[place].rank]
        if not droppable:
            return None
        # Columns without a value go first, then the least important, then the rightmost.
        kept.remove(max(droppable, key=lambda place: (empty[place], columns[place].rank, place)))
    room = width - sum(narrow[place] + GAP for place in kept) + GAP
    widths = dict(zip(kept, [narrow[place] for place in kept], strict=True))
    for place in sorted(kept, key=lambda place: columns[place].rank):
        wished = max([len(columns[place]), *map(measure, below[place])]) - widths[place]
        more = min(room, wished)
        widths[place] += more
        room -= more
    hidden = tuple(place for place in range(len(columns)) if place not in kept)
    return Layout(tuple(kept), tuple(widths[place] for place in kept), hidden)


def lay_out(row: Sequence[str], columns: Sequence[Column], layout: Layout) -> list[list[str]]:
    """The lines of one row, each a list of cells that are no wider than their columns."""
    stacks = []
    for place, width in zip(layout.shown, layout.widths, strict=True):
        stacks.append(_lines(row[place], columns[place], width))
    return [list(line) for line in zip_longest(*stacks, fillvalue="")]


def _narrowest(column: Column, cells: Sequence[str]) -> int:
    natural = max([len(column), *map(measure, cells)])
    if column.kind not in WRAPPED:
        return natural
    words = max([measure(word) for cell in cells for word in _words(cell, column.kind)], default=0)
    if column.rank and column.kind == PROSE:
        words = min(words, LONGEST_WORD)
    return max(len(column), words, 0 if column.kind == WORDS else min(natural, READABLE))


def _words(cell: str, kind: str) -> list[str]:
    return [cell] if kind in (DATA, CELL) and len(cell) <= WHOLE else cell.split(" ")


def _lines(cell: str, column: Column, width: int) -> list[str]:
    if measure(cell) <= width:
        return [cell]
    if column.kind not in WRAPPED:  # a row that came after those measured
        return [shorten_middle(cell, width)]
    return wrap_words(" ".join(shorten_middle(word, width) for word in cell.split(" ")), width)
