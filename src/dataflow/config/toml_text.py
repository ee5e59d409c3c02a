"""Writing TOML: the few kinds of values that declarations are made of."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# TOML does not allow these inside quotes.
_UNQUOTABLE = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def toml_text(text: str) -> str:
    """Return the string in quotes, on one line."""
    return '"' + _UNQUOTABLE.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04X}"), text) + '"'


def toml_key(key: str) -> str:
    """Return the key, quoted only if necessary."""
    return key if _BARE_KEY.fullmatch(key) else toml_text(key)


def toml_value(value: object) -> str:
    """Return a string, number, boolean, array of strings, or table of strings given as pairs."""
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_text(text)}" for key, text in value) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_text(str(item)) for item in value) + "]"
    return repr(value)


def toml_table(keys: Iterable[str], items: Iterable[tuple[str, object]]) -> str:
    """Return a table under its header, with one line per item."""
    header = "[" + ".".join(toml_key(key) for key in keys) + "]\n"
    return header + "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in items)
