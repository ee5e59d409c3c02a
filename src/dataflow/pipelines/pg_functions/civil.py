"""Calendar arithmetic on integers: days since 1970-01-01 and years, months, days; year 0 is 1 BC."""

from __future__ import annotations

from calendar import isleap
from typing import NamedTuple

from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.intervals import DAY, HOUR, MINUTE, SECOND

EPOCH_JULIAN = 2_440_588  # the Julian day of 1970-01-01
MIN_DAY = -EPOCH_JULIAN
END_DATE = 2_147_483_494 - EPOCH_JULIAN  # the first day after the last date
MIN_TIMESTAMP = MIN_DAY * DAY
END_TIMESTAMP = (109_203_528 - EPOCH_JULIAN) * DAY
POSTGRES_EPOCH = 10_957 * DAY  # 2000-01-01, PostgreSQL's epoch


class Moment(NamedTuple):
    """The fields of a timestamp."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    micros: int


def days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and isleap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def to_days(year: int, month: int, day: int) -> int:
    """The day number of a date, computed like PostgreSQL: an interval's month may be 0 or negative."""
    month, year = (month + 1, year + 4800) if month > 2 else (month + 13, year + 4799)
    century = cut(year, 100)
    days = year * 365 - 32_167 + cut(year, 4) - century + cut(century, 4)
    return days + cut(7834 * month, 256) + day - EPOCH_JULIAN


def from_days(days: int) -> tuple[int, int, int]:
    """The year, month and day."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def weekday(days: int) -> int:
    """The day of the week; Sunday is 0."""
    return (days + 4) % 7


def iso_weekday(days: int) -> int:
    """The ISO day of the week; Sunday is 7."""
    return weekday(days) or 7


def day_of_year(days: int) -> int:
    return days - to_days(from_days(days)[0], 1, 1) + 1


def iso_year_start(year: int) -> int:
    """The Monday of the first ISO week, which contains January 4."""
    fourth = to_days(year, 1, 4)
    return fourth - iso_weekday(fourth) + 1


def to_iso(year: int, month: int, day: int) -> tuple[int, int, int]:
    """The ISO year of a date, the week in it and the day in it."""
    days, start = to_days(year, month, day), iso_year_start(year)
    if days < start:
        year, start = year - 1, iso_year_start(year - 1)
    if cut(days - start, 7) + 1 >= 52 and days >= iso_year_start(year + 1):
        year, start = year + 1, iso_year_start(year + 1)
    return year, cut(days - start, 7) + 1, days - start + 1


def is_julian(year: int, month: int) -> bool:
    """Whether the date is in PostgreSQL's range."""
    return (-4713, 11) <= (year, month) < (5_874_898, 6)


def find_days(year: int, month: int, day: int) -> int | None:
    """The day number of a date; None if it is out of PostgreSQL's range."""
    if not is_julian(year, month):
        return None
    days = to_days(year, month, day)
    return days if MIN_DAY <= days < END_DATE else None


def take_apart(micros: int) -> Moment:
    days, rest = divmod(micros, DAY)
    hour, rest = divmod(rest, HOUR)
    minute, rest = divmod(rest, MINUTE)
    return Moment(*from_days(days), hour, minute, *divmod(rest, SECOND))


def clock(hour: int, minute: int, second: int, micros: int) -> int:
    """The microseconds of a time of day."""
    return hour * HOUR + minute * MINUTE + second * SECOND + micros


def to_micros(moment: Moment) -> int:
    """The microseconds of a moment, which may lie outside the range of timestamps by less than its zone."""
    if not is_julian(moment.year, moment.month):
        raise ValueError("timestamp out of range")
    return to_days(*moment[:3]) * DAY + clock(*moment[3:])


def check_timestamp(micros: int, shown: str = "") -> int:
    """Return the timestamp; ValueError, with the text shown, if it is out of PostgreSQL's range."""
    if not MIN_TIMESTAMP <= micros < END_TIMESTAMP:
        raise ValueError(f"timestamp out of range: {shown}" if shown else "timestamp out of range")
    return micros


def add_months(year: int, month: int, day: int, months: int) -> tuple[int, int, int]:
    """The date some months later; the last day if that month is shorter."""
    years, month = divmod(month - 1 + months, 12)
    return year + years, month + 1, min(day, days_in_month(year + years, month + 1))
