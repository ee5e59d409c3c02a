"""How one value or one thing is written to stdout: as text, as JSON, in colour. Tables are in `tables`."""

from __future__ import annotations

import json
import re
import sys

from dataflow.cli.terminal import find_width, measure, wrap_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Record = Mapping[str, Any]

_WORDS = {
    "green": ("READY", "DONE", "yes", "ok"),
    "blue": ("RUNNING",),
    "cyan": ("CLAIMABLE",),
    "bold red": ("FAILED", "no", "problem"),
    "bold magenta": ("INVALID",),
    "red": ("LOST",),
    "yellow": ("STALE", "RESUBMIT", "HOLD", "warning"),
    "dim": ("PENDING", "WAITING", "not checked"),
}
STYLES = {word: style for style, words in _WORDS.items() for word in words}

_AMBIGUOUS = ("", "NULL", "[]", "{}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def show_object(record: Record, as_json: bool) -> None:
    """Writes one record: a JSON object, or a line per field."""
    if as_json:
        print(to_json(record, indent=2))
        return
    label, width = max(map(len, record), default=0), find_width(sys.stdout)
    for name, value in record.items():
        write_field(name, as_text(value), label, width)


def write_field(name: str, value: str, label: int, width: int | None) -> None:
    """Writes one field as a line; on a terminal the value wraps, and a very long word gets its own lines."""
    line = f"{name:<{label}}  {value}".rstrip()
    room = (width or 0) - label - 2
    if width is None or measure(line) <= width:
        print(line)
    elif max(map(measure, value.split(" "))) <= room:
        first, *rest = wrap_words(value, room)
        print(f"{name:<{label}}  {first}")
        for text in rest:
            print(" " * (label + 2) + text)
    else:
        print(name)
        for text in wrap_words(value, width - 2):
            print(f"  {text}")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON in the encoding of stdout; times and enums as text."""
    return encoder(indent).encode(value)


def as_text(value: Any) -> str:
    """A value for people: "" for None, lists joined, control characters escaped."""
    if value is None:
        return ""
    if type(value) is str and value.isprintable():  # the common case, kept fast
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(as_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={as_text(item)}" for name, item in value.items())
    return _UNPRINTABLE.sub(_escaped, str(value))


def as_value(value: Any) -> str:
    """A value of a query: NULL, an empty string and an empty list differ, and a list or struct is JSON."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | dict):
        return as_text(encoder(None).encode(value))
    if isinstance(value, str) and (value in _AMBIGUOUS or value.startswith("'")):
        return "'" + as_text(value).replace("'", "''") + "'"
    return as_text(value)


def paint(text: str, style: str | None = None) -> str:
    """The text in the colour of its status on a colour terminal; unchanged elsewhere."""
    style = style or STYLES.get(text)
    if style is None or not sys.stdout.isatty():
        return text
    printer = console()
    with printer.capture() as captured:
        printer.print(text, style=style, end="", soft_wrap=True, markup=False, highlight=False, emoji=False)
    return str(captured.get())


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] < "\x7f" else f"\\u{ord(found[0]):04x}"


def encoder(indent: int | None) -> json.JSONEncoder:
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return json.JSONEncoder(ensure_ascii=ascii_only, indent=indent, default=str)


def console() -> Any:
    """A rich console on stdout, which decides about colours. rich takes longer to load than most commands."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
