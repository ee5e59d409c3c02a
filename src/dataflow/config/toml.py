"""TOML: reading a file, with errors that say where in it, and writing what declarations are made of."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dataflow.config.problems import Problems

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_END = " (at end of document)"
_WORD = re.compile(r"[A-Za-z@./]")
_TWICE = re.compile(r"Cannot declare \((.*)\) twice")
_QUOTED = re.compile(r"'([^']*)'")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# TOML does not allow these inside quotes.
_UNQUOTABLE = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def load_toml(path: str, problems: Problems) -> dict[str, Any]:
    """Return the document in a file; empty, with a problem noted, if it cannot be read."""
    import tomllib  # start-up: takes longer to import than everything else here

    text = _read_text(path, problems)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _note_syntax_error(path, text, str(error), problems)
    except (ValueError, RecursionError):
        # tomllib raises these for integers of thousands of digits and very deep nesting.
        problems.add(path, "contains a number that is too long or nesting that is too deep")
    return {}


def _read_text(path: str, problems: Problems) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        problems.add(path, f"cannot be read: {error.strerror}")
        return ""
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        problems.add(f"{path}:{line}:{column}", "is not UTF-8; save the file as UTF-8")
        return ""


def _note_syntax_error(path: str, text: str, message: str, problems: Problems) -> None:
    place = _PLACE.search(message)
    if place:
        line, column = int(place[1]), int(place[2])
        rest = text.split("\n")[line - 1][column - 1 :]
        problems.add(f"{path}:{line}:{column}", _in_words(message[: place.start()], rest))
    else:
        lines = text.split("\n")
        problems.add(f"{path}:{len(lines)}:{len(lines[-1]) + 1}", message.removesuffix(_END))


def _in_words(message: str, rest: str) -> str:
    """Return tomllib's message, in our words where it is hard to understand; `rest` is the line from there.

    The value is not shown: it may be a secret.
    """
    if message == "Invalid value" and _WORD.match(rest):
        return f"{message}: a text needs quotes"
    if twice := _TWICE.fullmatch(message):
        return f"[{'.'.join(_QUOTED.findall(twice[1]))}] is declared twice; keep one of them"
    return message


def toml_text(text: str) -> str:
    """Return the string in quotes, on one line."""
    return '"' + _UNQUOTABLE.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04X}"), text) + '"'


def toml_key(key: str) -> str:
    """Return the key, quoted only if necessary."""
    return key if _BARE_KEY.fullmatch(key) else toml_text(key)


def toml_value(value: object) -> str:
    """Return a string, number, boolean, array of strings or numbers, or table of strings given as pairs."""
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_text(text)}" for key, text in value) + " }"
    if isinstance(value, tuple):
        return (
            "["
            + ", ".join(repr(item) if isinstance(item, int) else toml_text(str(item)) for item in value)
            + "]"
        )
    return repr(value)


def toml_table(keys: Iterable[str], items: Iterable[tuple[str, object]]) -> str:
    """Return a table under its header, with one line per item."""
    header = "[" + ".".join(toml_key(key) for key in keys) + "]\n"
    return header + "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in items)
