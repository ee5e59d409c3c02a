"""The names and macros that a template can use for one interval, as in Airflow. Does not render."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import jinja2
from dateutil import parser, relativedelta  # type: ignore[import-untyped]

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import quoted
from dataflow.pipelines.handover.records import FINANCIAL_YEAR

UNDATED = "{} is undefined: the schedule @once has no interval without a start_date. Set start_date."


@record
class TemplateInterval:
    """The period of a run: `start` inclusive, `end` exclusive, both aware; `zone` is an IANA name.

    `previous` is the start of the previous interval; None means that the interval is its own previous one.
    """

    start: datetime
    end: datetime
    zone: str = "UTC"
    previous: datetime | None = None
    has_dates: bool = True  # False if the bounds are only the time of the request, so SQL must not use them


def build_context(
    interval: TemplateInterval, params: Mapping[str, object], constants: Mapping[str, object], place: str
) -> dict[str, Any]:
    """All names that a template can use; BadInput if a parameter would hide a built-in one."""
    times = _name_times(interval)
    if month_day := constants.get(FINANCIAL_YEAR):
        times["financial_year_first_date"] = find_financial_year(
            str(month_day), _local(interval.start, interval)
        )
    if not interval.has_dates:
        times = {name: jinja2.StrictUndefined(UNDATED.format(quoted(name))) for name in times}
    context = times | {"macros": MACROS, **constants}
    hidden = sorted(set(params) & (set(context) | {"params"}))
    if hidden:
        raise BadInput(f"{place}: params cannot be named {quoted(hidden[0])}, a built-in template name")
    return context | dict(params) | {"params": dict(params)}


def find_financial_year(month_day: str, day: date) -> str:
    """The first date, as text, of the financial year that contains `day`."""
    try:
        month, first = (int(part) for part in month_day.split("-"))
        year = day.year if (day.month, day.day) >= (month, first) else day.year - 1
        return date(year, month, first).isoformat()
    except ValueError as error:
        raise BadInput(
            f"{FINANCIAL_YEAR} must be MM-DD, for example 04-06, got {quoted(month_day)}"
        ) from error


def _name_times(interval: TemplateInterval) -> dict[str, Any]:
    start, end = _local(interval.start, interval), _local(interval.end, interval)
    previous = _local(interval.previous, interval) if interval.previous else start
    days = {
        "ds": start,
        "prev_ds": previous,
        "next_ds": end,
        "yesterday_ds": start - timedelta(days=1),
        "tomorrow_ds": start + timedelta(days=1),
    }
    names: dict[str, Any] = {name: f"{day:%Y-%m-%d}" for name, day in days.items()}
    names |= {f"{name}_nodash": text.replace("-", "") for name, text in names.items()}
    names |= {"ts": start.isoformat(), "ts_nodash": f"{start:%Y%m%dT%H%M%S}"}
    names["ts_nodash_with_tz"] = f"{start:%Y%m%dT%H%M%S%z}"
    names |= dict.fromkeys(("data_interval_start", "execution_date", "logical_date"), start)
    names |= {"data_interval_end": end, "next_execution_date": end, "prev_execution_date": previous}
    return names


def _local(time: datetime, interval: TemplateInterval) -> datetime:
    return time.astimezone(ZoneInfo(interval.zone))


def ds_add(ds: str, days: int) -> str:
    """The date `days` later."""
    return f"{datetime.strptime(str(ds), '%Y-%m-%d') + timedelta(days=int(days)):%Y-%m-%d}"


def ds_format(ds: str, input_format: str, output_format: str) -> str:
    """A date in another format."""
    return datetime.strptime(str(ds), input_format).strftime(output_format)


# Not the modules themselves: from a module a template could reach os and sys.
MACROS = SimpleNamespace(
    datetime=datetime,
    timedelta=timedelta,
    ds_add=ds_add,
    ds_format=ds_format,
    dateutil=SimpleNamespace(
        parser=SimpleNamespace(parse=parser.parse),
        relativedelta=SimpleNamespace(
            relativedelta=relativedelta.relativedelta,
            **{day: getattr(relativedelta, day) for day in ("MO", "TU", "WE", "TH", "FR", "SA", "SU")},
        ),
    ),
)
