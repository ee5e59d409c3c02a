"""Reading a TOML file, with errors that say where in it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.config.problems import Problems

_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_END = " (at end of document)"


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
        problems.add(f"{path}:{place[1]}:{place[2]}", message[: place.start()])
    else:
        lines = text.split("\n")
        problems.add(f"{path}:{len(lines)}:{len(lines[-1]) + 1}", message.removesuffix(_END))
