"""Schedule expressions, presets, cron and fixed steps: checking them and recognising plain calendars.

croniter is imported only here, and never for presets, which are on the start-up path.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dataflow.errors import BadInput
from dataflow.model.grain import Grain
from dataflow.model.records import ON_DEMAND
from dataflow.model.wording import did_you_mean, plural, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

ONCE = "@once"
PRESETS = {
    ONCE: Grain.TEXT,
    "@hourly": Grain.HOURLY,
    "@daily": Grain.DAILY,
    "@weekly": Grain.WEEKLY,
    "@monthly": Grain.MONTHLY,
    "@quarterly": Grain.QUARTERLY,
    "@yearly": Grain.YEARLY,
}
PRESET_ALIASES = {"@midnight": "@daily", "@annually": "@yearly"}
CONTINUOUS = "@continuous"
FORMS = "a cron expression of 5 fields, every 6 hours, or none"
FIELDS = (
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of month", "1-31"),
    ("month", "1-12 or JAN-DEC"),
    ("day of week", "0-7 or SUN-SAT, where 0 and 7 are Sunday"),
)
# The day of month, month and day of week of each calendar that dataids can name.
_CALENDARS = {
    "* * *": Grain.DAILY,
    "* * SUN": Grain.WEEKLY,
    "1 * *": Grain.MONTHLY,
    "1 1 *": Grain.YEARLY,
}
_DAY_ALIASES = ({"?": "*", "01": "1"}, {"JAN": "1", "01": "1"}, {"?": "*", "0": "SUN", "7": "SUN"})

_is_number = re.compile("[0-9]{1,2}").fullmatch
_is_written_well = re.compile("[0-9A-Za-z*?,/#-]+").fullmatch
# croniter's H and R insert hashed or random numbers, which would move the intervals.
_is_random = re.compile("(.*,)?[HR]([^A-Z].*)?", re.IGNORECASE).fullmatch
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


def canonical_expression(expression: str) -> str:
    """Return the canonical form of a schedule; BadInput names the invalid part."""
    name = expression.strip().lower()
    if name in (ON_DEMAND, f"@{ON_DEMAND}"):
        return ON_DEMAND
    if is_step(name):
        return canonical_step(expression)
    if not name.startswith("@"):
        return _checked_cron(expression)
    return _known_preset(expression, PRESET_ALIASES.get(name, name))


def calendar_of(expression: str) -> tuple[Grain, int, int]:
    """Return the grain of a canonical expression's dataids, and the hour and minute its intervals start at.

    The grain is text if the expression is not a plain calendar.
    """
    if expression in PRESETS:
        return PRESETS[expression], 0, 0
    if expression == ON_DEMAND or is_step(expression):
        return Grain.TEXT, 0, 0
    return _plain_calendar(expression) or (Grain.TEXT, 0, 0)


def has_some_days(expression: str) -> bool:
    """Return whether it is a cron expression of one time a day on some days, such as weekdays."""
    if not expression or expression in PRESETS or expression == ON_DEMAND or is_step(expression):
        return False
    is_once_a_day = all(map(_is_number, expression.split()[:2]))
    return is_once_a_day and _plain_calendar(expression) is None


@lru_cache(maxsize=4096)  # asked for each chunk of a batch, inside a transaction
def is_on_day(day_fields: str, day: str) -> bool:
    """Return whether the last three fields of a cron expression have a day."""
    from datetime import datetime

    from croniter import croniter  # as in cron_starts

    return bool(croniter.match(f"0 0 {day_fields}", datetime.fromisoformat(day)))


def days_from(day_fields: str, day: str, *, forward: bool) -> Iterator[str]:
    """Yield the days of the last three fields of a cron expression after a day, or before it."""
    from datetime import datetime

    from croniter import CroniterBadDateError, croniter  # as in cron_starts

    walk = croniter(f"0 0 {day_fields}", datetime.fromisoformat(day))
    try:
        while True:
            found: datetime = walk.get_next(datetime) if forward else walk.get_prev(datetime)
            yield found.date().isoformat()
    except (CroniterBadDateError, OverflowError, ValueError):  # the calendar ends
        return


def cron_starts(expression: str, tz: tzinfo, at: float) -> Iterator[tuple[int, str]]:
    """Yield when intervals start, in epoch seconds, from the one that contains `at` on, and on which day.

    The day is that of the expression: a skipped time may begin only after midnight.
    """
    # Imported here because croniter costs more start-up time than everything else in model.
    from datetime import datetime

    from croniter import croniter

    if croniter.expand(expression)[0][1] != ["*"]:
        yield from _named_hour_starts(expression, tz, at)
        return
    # For every hour: it continues through a repeated hour.
    walk = croniter(expression, datetime.fromtimestamp(int(at) + 1, tz))
    start: datetime = walk.get_prev(datetime)
    while True:
        yield int(start.timestamp()), start.date().isoformat()
        start = walk.get_next(datetime)


def _named_hour_starts(expression: str, tz: tzinfo, at: float) -> Iterator[tuple[int, str]]:
    """Yield the starts of a schedule with fixed hours; a repeated time counts once, the first time.

    It follows the wall clock: a skipped time counts as if the clocks had not changed.
    """
    from datetime import datetime, timedelta

    from croniter import croniter

    def next_at(walk: croniter) -> tuple[int, str]:
        wall: datetime = walk.get_next(datetime)
        return int(wall.replace(tzinfo=tz).timestamp()), wall.date().isoformat()

    day = timedelta(days=1)
    walk = croniter(expression, datetime.fromtimestamp(at, tz).replace(tzinfo=None) + day)
    while walk.get_prev(datetime).replace(tzinfo=tz).timestamp() > at:
        pass
    # From two days before: a zone may skip a whole day, which moves skipped times after it.
    walk = croniter(expression, walk.get_current(datetime) - 2 * day)
    current, on_day = next_at(walk)
    while True:
        following, next_day = next_at(walk)
        if following > current:
            if following > at:
                yield current, on_day
            current, on_day = following, next_day
        elif following == current:
            on_day = next_day  # the zone skipped the day before


def _known_preset(expression: str, name: str) -> str:
    if name == CONTINUOUS:
        raise BadInput(
            f"{CONTINUOUS} has no intervals, so it has no dataids. Use a short step such as "
            "every 5 minutes; or let an input start the job: no schedule, and the dataset it reads as input."
        )
    if name not in PRESETS:
        known = [*PRESETS, *PRESET_ALIASES]
        raise BadInput(
            f"{quoted(expression)} is not a schedule.{did_you_mean(name, known)} "
            f"Presets: {', '.join(known)}; or {FORMS}."
        )
    return name


def _checked_cron(expression: str) -> str:
    fields = expression.split()
    if len(fields) != len(FIELDS):
        names = ", ".join([name for name, _ in FIELDS])
        raise _refused(
            expression,
            f"it has {len(fields)} {plural(len(fields), 'field')} and a cron expression has 5: {names}",
        )
    for position, field in enumerate(fields):
        if not _is_field(field, position):
            name, accepted = FIELDS[position]
            raise _refused(expression, f"{name} {quoted(field)} is not within {accepted}")
    result = " ".join(fields)
    if not _ever_happens(result):
        raise _refused(expression, "no such day exists")
    return result


def _plain_calendar(expression: str) -> tuple[Grain, int, int] | None:
    minute, hour, *days = expression.upper().split()
    grain = _CALENDARS.get(
        " ".join([names.get(day, day) for names, day in zip(_DAY_ALIASES, days, strict=True)])
    )
    if grain is None or not _is_number(minute):
        return None
    if hour == "*":
        return (Grain.HOURLY, 0, int(minute)) if grain == Grain.DAILY else None
    return (grain, int(hour), int(minute)) if _is_number(hour) else None


def _is_field(field: str, position: int) -> bool:
    from croniter import CroniterError, croniter  # as in cron_starts

    if not _is_written_well(field) or _is_random(field):
        return False
    try:
        croniter.expand(" ".join([field if place == position else "*" for place in range(len(FIELDS))]))
    except CroniterError:
        return False
    return True


def _ever_happens(expression: str) -> bool:
    from croniter import CroniterBadDateError, croniter  # as in cron_starts

    try:
        croniter(expression, 0).get_next(float)
    except CroniterBadDateError:
        return False
    return True


def _refused(expression: str, reason: str) -> BadInput:
    text = f"Schedule {quoted(expression)} is not valid: {reason}."
    name = f"@{expression.strip().lower()}"
    if name in PRESETS or name in PRESET_ALIASES:
        text += f" Did you mean {name}?"
    return BadInput(
        f"{text} Use a preset such as @daily, or a cron expression of 5 fields such as 30 6 * * *."
    )


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
