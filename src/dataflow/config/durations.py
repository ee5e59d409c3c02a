"""Durations as users write them (`90`, `5m`, `1h30m`) and as the code stores them (seconds)."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.wording import UNITS, quoted

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_PARTS = re.compile("".join(f"(?:{_NUMBER}{unit})?" for unit in UNITS))
_LIBERAL_PART = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*([a-z]*)[\s,]*", re.IGNORECASE)
_LONGEST_SECONDS = 36_500 * 86400
_EXAMPLES = "90, 90s, 5m or 1h30m"


def parse_seconds(value: object) -> float:
    """Return the seconds of a number or a string such as `90`, `10s`, `5m`, `1h30m` or `0.5s`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadInput(f"must be a duration: a number of seconds, or a string like {_EXAMPLES}")
    seconds = _parse_text(value.strip()) if isinstance(value, str) else value
    if seconds < 0:
        raise BadInput(f"{value!r} is negative; write it like {_EXAMPLES}")
    if not seconds <= _LONGEST_SECONDS:  # not `>`: this also refuses nan
        raise BadInput(f"{value!r} is not between 0 and 36500d; write it like {_EXAMPLES}")
    return float(seconds)


def parse_option(option: str, text: str) -> float:
    """Return the seconds of an option's value; BadInput names the option."""
    try:
        return parse_seconds(text)
    except BadInput as error:
        raise BadInput(f"{option} {error}") from error


def _parse_text(text: str) -> float:
    if text.startswith("-"):
        raise BadInput(f"{quoted(text)} is negative; write it like {_nearest_form(text[1:])}")
    if re.fullmatch(_NUMBER, text):
        return float(text)
    parts = _PARTS.match(text)
    assert parts is not None  # each of them may be missing
    if not text or parts.end() < len(text):
        problem = f"{quoted(text)} is not a duration (see position {parts.end() + 1})"
        raise BadInput(f"{problem}; write it like {_nearest_form(text)}")
    return sum(float(count) * size for count, size in zip(parts.groups("0"), UNITS.values(), strict=True))


def _nearest_form(text: str) -> str:
    """Return the likely meaning of `5 minutes`, `1H30` or `30m 1h` in our form; examples if unclear."""
    counts: dict[str, str] = {}
    position = 0
    following = ""
    while position < len(text):
        part = _LIBERAL_PART.match(text, position)
        unit = _unit_named(part[2]) or following if part else ""
        if part is None or not unit or unit in counts:
            return _EXAMPLES
        counts[unit] = part[1].replace(",", ".")
        following = {"d": "h", "h": "m", "m": "s"}.get(unit, "")
        position = part.end()
    return "".join(counts[unit] + unit for unit in UNITS if unit in counts) or _EXAMPLES


def _unit_named(word: str) -> str:
    word = word.lower()
    for name in ("days", "hours", "hrs", "minutes", "mins", "seconds", "secs"):
        if word and name.startswith(word):
            return name[0]
    return ""
