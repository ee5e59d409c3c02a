"""Time zones in seconds: files of the tz database, and POSIX rules such as EST5EDT."""

from __future__ import annotations

import importlib.resources
import re
import struct
from bisect import bisect_right
from calendar import isleap
from functools import lru_cache
from typing import NamedTuple

from dataflow.pipelines.pg_functions.civil import days_in_month, from_days, to_days, weekday

DAY_SECONDS = 86_400
AMERICAN_RULES = ",M3.2.0,M11.1.0"  # if a POSIX zone has a summer time but no rules


class LocalTime(NamedTuple):
    """A zone's offset from UTC in seconds, and its abbreviation."""

    offset: int
    name: str


class YearRule(NamedTuple):
    """The start of a period in each year: by month, week and weekday, or by day of the year."""

    kind: str
    month: int
    week: int
    day: int
    seconds: int

    def second_of_year(self, year: int) -> int:
        start = to_days(year, 1, 1)
        if self.kind == "J":  # never counts February 29
            day = self.day - 1 + (self.day >= 60 and isleap(year))
        elif self.kind == "":
            day = self.day
        else:
            first = to_days(year, self.month, 1)
            day = first - start + (self.day - weekday(first)) % 7 + 7 * (self.week - 1)
            while day >= first - start + days_in_month(year, self.month):
                day -= 7
        return day * DAY_SECONDS + self.seconds


class Rules(NamedTuple):
    """A POSIX zone: its standard time, and its summer time with the rules for both."""

    standard: LocalTime
    summer: LocalTime | None
    start: YearRule | None
    end: YearRule | None

    def changes_in(self, year: int) -> list[tuple[int, LocalTime]]:
        """The changes of a year, in order."""
        if not self.summer or not self.start or not self.end:
            return []
        begin = to_days(year, 1, 1) * DAY_SECONDS
        changes = [
            (begin + self.start.second_of_year(year) - self.standard.offset, self.summer),
            (begin + self.end.second_of_year(year) - self.summer.offset, self.standard),
        ]
        return sorted(changes, key=lambda change: change[0])


class Zone(NamedTuple):
    """A time zone: past changes, then rules for the future."""

    moments: tuple[int, ...]
    times: tuple[LocalTime, ...]  # from each of the moments on
    first: LocalTime  # before the first of them
    rules: Rules | None

    def at(self, moment: int) -> LocalTime:
        """The local time in force at a moment in UTC."""
        _, times, place = self._changes_around(moment)
        return times[place - 1] if place else self.first

    def find_name(self, name: str, moment: int) -> LocalTime | None:
        """The local time with that abbreviation: the last up to the moment, else the first after it."""
        _, times, place = self._changes_around(moment)
        for time in (*reversed(times[:place]), self.first, *times[place:]):
            if time.name == name:
                return time
        return None

    def offset_of_local(self, local: int) -> int:
        """The offset of a local time; a repeated time is the later one, a skipped one the earlier."""
        moments, times, place = self._changes_around(local - DAY_SECONDS)
        before = (times[place - 1] if place else self.first).offset
        if place == len(moments):
            return before
        change, after = moments[place], times[place].offset
        if local - before < change and local - after < change:
            return before
        if local - before > change and local - after >= change:
            return after
        return min(before, after)

    def _changes_around(self, moment: int) -> tuple[tuple[int, ...], tuple[LocalTime, ...], int]:
        """The changes of the offset, what follows each of them, and how many of them are past."""
        moments, times = self.moments, self.times
        if self.rules and self.rules.summer:
            year = from_days(moment // DAY_SECONDS)[0]
            changes = [
                change
                for each in range(year - 1, year + 3)
                for change in self.rules.changes_in(each)
                if not moments or change[0] > moments[-1]
            ]
            moments += tuple(change[0] for change in changes)
            times += tuple(change[1] for change in changes)
        return moments, times, bisect_right(moments, moment)


_OFFSET = r"([+-]?)(\d+)(?::(\d+))?(?::(\d+))?"
_NAME = r"(?:<([^>]*)>|([^0-9,+<-]*))"
_POSIX = re.compile(rf"{_NAME}{_OFFSET}(?:{_NAME}(?:{_OFFSET})?(?:[,;](.+))?)?")
_RULE = re.compile(rf"(?:M(\d+)\.(\d+)\.(\d+)|(J?)(\d+))(?:/{_OFFSET})?")


def parse_posix(text: str) -> Zone | None:
    """Parse a POSIX zone, whose offsets count west of UTC; None if it is not one."""
    rules = _parse_rules(text)
    if not rules or (rules.summer and not rules.changes_in(2000)):
        return None
    return Zone((), (), rules.standard, rules)


def _parse_rules(text: str) -> Rules | None:
    match = _POSIX.fullmatch(text)
    if not match or (offset := _read_offset(match, 3)) is None:
        return None
    standard = LocalTime(-offset, match[1] if match[1] is not None else match[2])
    summer_name = match[7] if match[7] is not None else match[8]
    if not summer_name:
        is_complete = summer_name is None or (match[10] is None and match[13] is None and "<" not in text[1:])
        return Rules(standard, None, None, None) if is_complete else None
    summer_offset = _read_offset(match, 9) if match[10] else offset - 3600
    if summer_offset is None:
        return None
    summer = LocalTime(-summer_offset, summer_name)
    parts = (match[13] or AMERICAN_RULES[1:]).split(",")
    rules = [_parse_year_rule(part) for part in parts]
    return Rules(standard, summer, rules[0], rules[1]) if len(rules) == 2 and all(rules) else None


def _parse_year_rule(text: str) -> YearRule | None:
    match = _RULE.fullmatch(text)
    if not match:
        return None
    seconds = _read_offset(match, 6) if match[7] else 7200
    if seconds is None:
        return None
    if match[1]:
        month, week, day = int(match[1]), int(match[2]), int(match[3])
        is_good = 1 <= month <= 12 and 1 <= week <= 5 and day <= 6
        return YearRule("M", month, week, day, seconds) if is_good else None
    day = int(match[5])
    is_good = 1 <= day <= 365 if match[4] else day <= 365
    return YearRule(match[4], 0, 0, day, seconds) if is_good else None


def _read_offset(match: re.Match[str], group: int) -> int | None:
    hours, minutes, seconds = (int(match[group + place] or 0) for place in (1, 2, 3))
    if hours > 167 or minutes > 59 or seconds > 60:
        return None
    total = hours * 3600 + minutes * 60 + seconds
    return -total if match[group] == "-" else total


# Separate zones until the 2024 tz database, links since then; distributions differ.
_LINKS = {
    "EST5EDT": "America/New_York",
    "CST6CDT": "America/Chicago",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
}


@lru_cache(maxsize=1)
def _list_names() -> dict[str, str]:
    """The names of all zones by their upper-case names."""
    listed = importlib.resources.files("tzdata").joinpath("zones").read_text()
    return {name.upper(): name for name in listed.split()} | _LINKS


@lru_cache(maxsize=1024)
def load_zone(name: str) -> Zone | None:
    """A zone of the tz database, in any case, or a POSIX zone; None if it is unknown."""
    known = _list_names().get(name.upper())
    if not known:
        return parse_posix(name.upper())
    folder = importlib.resources.files("tzdata").joinpath("zoneinfo")
    return parse_zone_file(folder.joinpath(*known.split("/")).read_bytes())


def parse_zone_file(content: bytes) -> Zone:
    """The second, 64-bit part of a compiled zone (RFC 8536), and the rules in its last line."""
    start = content.index(b"TZif", 4)
    *_, time_count, type_count, name_size = struct.unpack(">6I", content[start + 20 : start + 44])
    body = content[start + 44 :]
    moments = struct.unpack(f">{time_count}q", body[: 8 * time_count])
    indexes = body[8 * time_count : 9 * time_count]
    kinds = body[9 * time_count : 9 * time_count + 6 * type_count]
    names = body[9 * time_count + 6 * type_count :][:name_size]
    times = [_read_type(kinds[place : place + 6], names) for place in range(0, len(kinds), 6)]
    rules = _parse_rules(content[:-1].rpartition(b"\n")[2].decode())
    return Zone(moments, tuple(times[index] for index in indexes), times[0], rules)


def _read_type(kind: bytes, names: bytes) -> LocalTime:
    offset, _is_summer, name = struct.unpack(">iBB", kind)
    return LocalTime(offset, names[name:].split(b"\0", 1)[0].decode())
