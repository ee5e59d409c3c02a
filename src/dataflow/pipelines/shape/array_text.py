"""PostgreSQL's text form of an array of one dimension, `{a,"b c",NULL}`, as a CSV file brings it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACES = " \t\n\r\f\v"
_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^",{}\\]|\\.)+?))\s*(?=,|$)', re.DOTALL)


def parse_array(text: str) -> Iterator[str | None]:
    """The elements; an unquoted NULL is None. Raises ValueError if it is not such a text."""
    inner = text.strip(_SPACES)
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError("is not an array: neither a list nor a text like {a,b}")
    inner = inner[1:-1]
    place = 0
    while inner.strip(_SPACES):
        found = _ELEMENT.match(inner, place)
        if found is None:
            raise ValueError("is not an array of one dimension like {a,b}")
        yield _element(found)
        place = found.end() + 1
        if found.end() == len(inner):
            return


def _element(found: re.Match[str]) -> str | None:
    if found[1] is not None:
        return re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL)
    return None if found[2].upper() == "NULL" else re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)
