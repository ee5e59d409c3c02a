"""Values as text: quoted, shortened, with the nearest known name; times in UTC.

No rules about what is accepted live here.
"""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN_CHARACTERS = 60


def shortened(text: str, most: int) -> str:
    """Return the text, cut to `most` characters with `…` as the last.

    Messages are cut only here and by `quoted`: the mark tells redaction that a secret before it may be
    incomplete.
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(text: str) -> str:
    """Return the text in double quotes, escaped if it holds unprintable characters, cut if it is long."""
    # Imported here because json costs start-up time and only errors need it.
    import json

    shown = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS]
    result = json.dumps(shown, ensure_ascii=not shown.isprintable())
    return result if shown is text else f"{result}… ({len(text)} characters)"


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """Return ` Did you mean "…"?` for the nearest known name, or nothing when none is near."""
    # Imported here because difflib costs start-up time and only errors need it.
    import difflib

    by_folded = {name.casefold(): name for name in sorted(known)}
    near = difflib.get_close_matches(text.casefold(), by_folded, n=1)
    return f" Did you mean {quoted(by_folded[near[0]])}?" if near else ""


def plural(count: int, noun: str, many: str = "") -> str:
    """Return the noun, or unless there is exactly one its plural: 1 row, 2 rows, 2 retries."""
    return noun if count == 1 else many or f"{noun}s"


def counted(count: int, noun: str, many: str = "") -> str:
    """Return the number with its noun: 1 row, 2,000 rows."""
    return f"{count:,} {plural(count, noun, many)}"


def utc_text(seconds: float) -> str:
    """Return seconds since 1970 as ISO text in UTC, to the millisecond; earlier times count as 1970."""
    whole, part = divmod(int(max(seconds, 0) * 1000), 1000)
    return f"{_second_text(whole)}.{part:03d}Z"


@lru_cache(maxsize=1)  # the store asks for the time several times per chunk
def _second_text(seconds: int) -> str:
    import time  # built in; datetime would cost start-up time

    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def format_seconds(seconds: float) -> str:
    """Return the shortest string that parse_seconds reads as exactly this many seconds."""
    if seconds != int(seconds):
        from decimal import Decimal  # start-up: fractions of a second are rare

        return f"{Decimal(repr(seconds)):f}s"
    rest, parts = int(seconds), []
    for unit, size in UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
