"""The fields that a format template reads from a string, and the moment they form."""

from __future__ import annotations

from calendar import isleap

from dataflow.pipelines.pg_functions import civil
from dataflow.pipelines.pg_functions.format_pictures import Node
from dataflow.pipelines.pg_functions.integers import cut, modulo
from dataflow.pipelines.pg_functions.intervals import SECOND
from dataflow.pipelines.pg_functions.zones import AnyZone, fixed_zone


class Fields:
    """The numbers that were read; 0 means not read."""

    def __init__(self) -> None:
        self.hour = self.minute = self.second = self.millis = self.micros = self.seconds_of_day = 0
        self.year = self.century = self.month = self.day = self.julian = 0
        self.day_of_year = self.weekday = self.week = self.week_of_month = 0
        self.is_afternoon = self.is_before_christ = 0
        self.year_digits = self.precision = 0
        self.has_half_day_clock = False
        self.convention = ""  # Gregorian or ISO
        self.zone_sign = self.zone_hour = self.zone_minute = 0
        self.zone: AnyZone | None = None

    def set(self, name: str, value: int, node: Node) -> None:
        if getattr(self, name) not in (0, value):
            raise ValueError(f'conflicting values for "{node.text}" field in formatting string')
        setattr(self, name, value)


class FieldSum:
    """Builds a moment from the fields."""

    def __init__(self, fields: Fields, text: str) -> None:
        self.fields, self.text = fields, text
        self.year, self.month, self.day = 0, 1, 1
        self.known: set[str] = set()

    def finish(self) -> civil.Moment:
        hour, minute, second = self._find_time()
        self._find_year()
        self._find_day()
        micros = self.fields.millis * 1000 + self.fields.micros
        self._expect("month" not in self.known or 1 <= self.month <= 12)
        self._expect("day" not in self.known or 1 <= self.day <= 31)
        self._expect(len(self.known) < 3 or self.day <= civil.days_in_month(self.year, self.month))
        is_time = 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= micros < SECOND
        self._expect(is_time and abs(self.fields.millis * 1000) < 2**31)
        self._find_zone()
        return civil.Moment(self.year, self.month, self.day, hour, minute, second, micros)

    def _expect(self, is_in_range: bool) -> None:
        if not is_in_range:
            raise ValueError(f'date/time field value out of range: "{self.text}"')

    def _find_time(self) -> tuple[int, int, int]:
        fields = self.fields
        hours = cut(fields.seconds_of_day, 3600)
        minutes = cut(fields.seconds_of_day - hours * 3600, 60)
        hour = fields.hour or hours
        minute = fields.minute or minutes
        second = fields.second or fields.seconds_of_day - hours * 3600 - minutes * 60
        if fields.has_half_day_clock:
            if not 1 <= hour <= 12:
                raise ValueError(f'hour "{hour}" is invalid for the 12-hour clock')
            hour = hour % 12 + (12 if fields.is_afternoon else 0)
        return hour, minute, second

    def _find_year(self) -> None:
        fields = self.fields
        century = -fields.century if fields.is_before_christ else fields.century
        if fields.year and not (fields.century and fields.year_digits <= 2):
            year = -fields.year if fields.is_before_christ else fields.year
            self.year = year + 1 if year < 0 else year
        elif fields.year:
            year = modulo(fields.year, 100)
            if year:
                self.year = year + (century - 1) * 100 if century >= 0 else (century + 1) * 100 - year + 1
            else:
                self.year = century * 100 + (0 if century >= 0 else 1)
        elif fields.century:
            self.year = (century - 1) * 100 + 1 if century >= 0 else century * 100 + 1
        else:
            return
        self._expect(-(2**31) <= self.year < 2**31)
        self.known.add("year")

    def _find_day(self) -> None:
        fields = self.fields
        if fields.julian:
            self._set_days(fields.julian - civil.EPOCH_JULIAN)
        if fields.week and fields.convention == "iso":
            weekday = (fields.weekday - 2 if fields.weekday > 1 else 6) if fields.weekday else 0
            self._set_days(civil.iso_year_start(self.year) + (fields.week - 1) * 7 + weekday)
        elif fields.week:
            fields.day_of_year = self._fit((fields.week - 1) * 7 + 1)
        if fields.week_of_month:
            fields.day = self._fit((fields.week_of_month - 1) * 7 + 1)
        if fields.day:
            self.day = fields.day
            self.known.add("day")
        if fields.month:
            self.month = fields.month
            self.known.add("month")
        if fields.day_of_year and (self.month <= 1 or self.day <= 1):
            self._set_day_of_year()

    def _set_day_of_year(self) -> None:
        fields = self.fields
        if not self.year and not fields.is_before_christ:
            raise ValueError("cannot calculate day of year without year information")
        if fields.convention == "iso":
            self._set_days(civil.iso_year_start(self.year) + fields.day_of_year - 1)
            return
        ends = [0]
        for month in range(1, 13):
            ends.append(ends[-1] + civil.days_in_month(2000 if isleap(self.year) else 2001, month))
        month = next((month for month in range(1, 13) if fields.day_of_year <= ends[month]), 13)
        self.month = month if self.month <= 1 else self.month
        self.day = fields.day_of_year - ends[month - 1] if self.day <= 1 else self.day
        self.known |= {"month", "day"}

    def _set_days(self, days: int) -> None:
        self.year, self.month, self.day = civil.from_days(days)
        self.known |= {"year", "month", "day"}

    def _fit(self, value: int) -> int:
        self._expect(-(2**31) <= value < 2**31)
        return value

    def _find_zone(self) -> None:
        fields = self.fields
        if not fields.zone_sign:
            return
        if not 0 <= fields.zone_hour <= 15 or not 0 <= fields.zone_minute < 60:
            raise ValueError(f'time zone displacement out of range: "{self.text}"')
        offset = (fields.zone_hour * 60 + fields.zone_minute) * 60
        fields.zone = fixed_zone(offset * fields.zone_sign)
