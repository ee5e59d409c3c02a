"""Schedules of a fixed length, such as `every 6 hours`, like a timedelta in Airflow."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.wording import quoted

EVERY = "every"
SHORTEST_SECONDS = 60
LONGEST_SECONDS = 36_500 * 86_400

_UNITS = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}
_NAMES = {
    **{name: size for unit, size in _UNITS.items() for name in (unit[0], unit, f"{unit}s")},
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86_400),
    **dict.fromkeys(("min", "mins"), 60),
}
_PART = re.compile("([0-9]{1,12}) ?([a-z]+) ?")


def is_step(expression: str) -> bool:
    """Return whether an expression is `every …`, in any case."""
    return expression.lower().split()[:1] == [EVERY]


def canonical_step(expression: str) -> str:
    """Return the canonical form of `every …`; BadInput for a span that is invalid or too short."""
    words = " ".join(expression.lower().split()[1:])
    words = f"1 {words}" if words in _NAMES else words
    seconds, position = 0, 0
    while part := _PART.match(words, position):
        if part[2] not in _NAMES:
            break
        seconds += int(part[1]) * _NAMES[part[2]]
        position = part.end()
    if not words or position < len(words):
        raise BadInput(
            f"Schedule {quoted(expression)} cannot be read. Write it like: every 6 hours, every 90 minutes, "
            "every 2 days."
        )
    return step_text(seconds)


def step_text(seconds: float) -> str:
    """Return the canonical expression of a step of this length; BadInput if it cannot be a schedule."""
    if seconds != int(seconds) or not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise BadInput(
            f"A schedule of {seconds:g} seconds is not possible: it takes whole seconds, from 1 minute to "
            "36500 days."
        )
    unit, size = next((unit, size) for unit, size in _UNITS.items() if seconds % size == 0)
    count = int(seconds) // size
    return f"{EVERY} {unit}" if count == 1 else f"{EVERY} {count} {unit}s"


def step_seconds(expression: str) -> int:
    """Return the length of a canonical step."""
    *count, unit = expression.split()[1:]
    return int(count[0] if count else 1) * _NAMES[unit]
