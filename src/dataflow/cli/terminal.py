"""Text for a terminal: its width, lines wrapped at words, short local times and durations.

Off a terminal nothing here changes a text.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import TextIO

DEFAULT_WIDTH = 80
NARROWEST = 20


def find_width(stream: TextIO | None) -> int | None:
    """The number of columns of the terminal behind a stream; None if it is not a terminal."""
    if stream is None or not stream.isatty():
        return None
    wanted = os.environ.get("COLUMNS", "")
    width = int(wanted) if wanted.isascii() and wanted.isdigit() else 0
    if not width:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            width = 0
    return max(width or DEFAULT_WIDTH, NARROWEST)


def wrap_for(stream: TextIO | None, text: str) -> str:
    """The text with its lines wrapped at words to the stream's terminal; unchanged off a terminal."""
    width = find_width(stream)
    return text if width is None else "\n".join(wrap_line(line, width) for line in text.split("\n"))


def write_line(text: str, stream: TextIO | None = None) -> None:
    """Prints a text to stdout, or to another stream; on a terminal its lines wrap at words."""
    stream = stream or sys.stdout
    print(wrap_for(stream, text), file=stream)


def wrap_line(line: str, width: int, hanging: int | None = None) -> str:
    """One line wrapped at words; further lines are indented by `hanging`, or as far as the first."""
    if measure(line) <= width:
        return line
    start = line[: len(line) - len(line.lstrip(" "))]
    indent = len(start) if hanging is None else hanging
    first, *rest = wrap_words(line.strip(" "), width - indent)
    return "\n".join([start + first, *(" " * indent + one for one in rest)])


def wrap_words(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns; only a word that is longer than that is cut."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and measure(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines += _cut(word, max(width, 2))
    return lines


def measure(text: str) -> int:
    """The number of columns that a text takes: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # start-up: most texts are ASCII

    return sum(2 if east_asian_width(one) in "WF" else 0 if combining(one) else 1 for one in text)


def shorten_middle(word: str, most: int) -> str:
    """A word cut to `most` columns, with `…` for its middle: both ends of a path matter."""
    if measure(word) <= most:
        return word
    kept = most - 1
    while True:
        tail = kept // 2
        short = f"{word[: kept - tail]}…{word[len(word) - tail :]}"
        if measure(short) <= most or kept == 0:
            return short
        kept -= 1


def _cut(word: str, width: int) -> list[str]:
    pieces = [""]
    for one in word:
        if measure(pieces[-1] + one) > width:
            pieces.append("")
        pieces[-1] += one
    return pieces


def short_time(text: str, now: datetime | None = None) -> str:
    """An ISO time as `04:59` today, `16 Nov 04:59` this year, `16 Nov 2025 04:59` before; in local time."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.tzinfo is None:
        return text
    moment = moment.astimezone(None if now is None else now.tzinfo)
    today = now or datetime.now().astimezone()
    clock = f"{moment:%H:%M}"
    if moment.date() == today.date():
        return clock
    year = "" if moment.year == today.year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year} {clock}"


def short_span(seconds: float) -> str:
    """A duration by its two largest units: `0.4s`, `12s`, `3m 12s`, `1h 5m`, `2d 3h`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    rest = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        parts.append((count, unit))
    while parts[0][0] == 0:
        parts.pop(0)
    return " ".join(f"{count}{unit}" for count, unit in parts[:2] if count)
