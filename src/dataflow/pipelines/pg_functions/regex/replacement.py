r"""The replacement of a match: literal text, the whole match as `\&` and groups as `\1` to `\9`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dataflow.pipelines.pg_functions.regex.dissection import Spans

ESCAPE = re.compile(r"\\([1-9&\\])")


class Replacement(NamedTuple):
    """Literal strings and group numbers, in order."""

    parts: tuple[str | int, ...]
    has_groups: bool  # beyond the whole match

    def write(self, text: str, found: Spans) -> Iterator[str]:
        """Fill in the captures of a match."""
        for part in self.parts:
            if isinstance(part, str):
                yield part
            elif part in found:
                yield text[slice(*found[part])]


@lru_cache(512)
def read_replacement(written: str) -> Replacement:
    """Parse a replacement; a backslash before anything else is literal."""
    parts: list[str | int] = []
    done = 0
    for escape in ESCAPE.finditer(written):
        parts.append(written[done : escape.start()])
        done = escape.end()
        mark = escape[1]
        parts.append("\\" if mark == "\\" else 0 if mark == "&" else int(mark))
    parts.append(written[done:])
    return Replacement(tuple(parts), any(isinstance(part, int) and part > 0 for part in parts))
