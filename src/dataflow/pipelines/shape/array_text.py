"""PostgreSQL's text of an array of one dimension, such as `{a,"b c",NULL}`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACE = " \t\n\v\f\r"
# One element and the delimiter after it. The first group is a quoted element, read before a bad delimiter.
_ITEM = re.compile(
    r'[ \t-\r]*(?:"((?:[^"\\]|\\.)*)"[ \t-\r]*(?=[{,}])|((?:[^"\\{},]|\\.)*)(?=[,}]))([{,}])',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def split_array(text: str) -> Iterator[str | None]:
    """The text of each element, None for NULL; ValueError, as in PostgreSQL, after those before an error."""
    body, malformed = text.strip(_SPACE), ValueError(f'malformed array literal: "{text}"')
    if re.match(r"\[[-+0-9]", body):
        raise ValueError(
            f'array literals with dimensions are not supported: "{text}"; write only the elements'
        )
    if re.fullmatch(r"\{[ \t-\r]*\}", body):
        return
    place, mark = 1, "," if body.startswith("{") else ""
    while mark == ",":
        found = _ITEM.match(body, place)
        if found is None and re.compile(r"[ \t-\r]*\{").match(body, place):
            raise ValueError(f'arrays of several dimensions are not supported: "{text}"; write jsonb instead')
        if found is None or (found[1] is None and not found[2]):
            raise malformed
        yield _read_item(found)
        place, mark = found.end(), found[3]
    if mark != "}" or place < len(body):
        raise malformed


def _read_item(found: re.Match[str]) -> str | None:
    if found[1] is not None:
        return _ESCAPED.sub(r"\1", found[1])
    # Trailing white space belongs to the element only after a backslash.
    kept = found[2].rstrip(_SPACE)
    if (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept = found[2][: len(kept) + 1]
    return None if kept.upper() == "NULL" else _ESCAPED.sub(r"\1", kept)
