"""Evaluation of checks against the statistics of staged data: one finding each, with its evidence.

Only statistics are used; checks that need a pass over the data are listed for the caller to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from dataflow.errors import BadInput
from dataflow.model.answers import Verdict
from dataflow.model.record import record, replace
from dataflow.model.wording import did_you_mean, format_seconds, plural, quoted
from dataflow.pipelines.shape.checks import ABOUT_COLUMNS, Check, not_null, shown_values, unique
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.sql_types import NUMBERS, TEXTS, TIMES
from dataflow.pipelines.shape.statistics import ColumnStatistics, Statistics, Wanted
from dataflow.pipelines.shape.values import Unfit, convert

_NEEDS_PASS = ("unique", "sql")
_SUITED = {
    "between": (*NUMBERS, "text", "character varying", *TIMES),
    "accepted": (*NUMBERS, *TEXTS, *TIMES, "boolean"),
    "fresh": TIMES,
}


@record
class Finding:
    """Result of one check. Only a NO of severity error blocks publishing."""

    check: str
    column: str
    verdict: Verdict
    evidence: str
    severity: str = "error"

    @property
    def refuses(self) -> bool:
        """True if this finding alone blocks publishing."""
        return self.verdict is Verdict.NO and self.severity == "error"


def complete_checks(checks: Iterable[Check], fields: Sequence[Field]) -> tuple[Check, ...]:
    """The checks of the constraints, then the declared ones, in their columns' types; raises BadInput."""
    by_name = {field.column: field for field in fields}
    implied = [not_null(field.column) for field in fields if field.not_null]
    implied += [unique(field.column) for field in fields if field.primary_key or field.unique]
    declared = [_in_types(check, by_name) for check in checks]
    accepted = [check.column for check in declared if check.kind == "accepted"]
    for column in accepted:
        if accepted.count(column) > 1:
            raise BadInput(f"checks: column {quoted(column)} has two lists of accepted values; merge them")
    return tuple(dict.fromkeys((*implied, *declared)))


def wanted_by(checks: Iterable[Check]) -> Wanted:
    """The statistics that these completed checks need."""
    known = tuple(checks)
    bounds = {check.column for check in known if check.kind in ("between", "fresh")}
    accepted = {check.column: check.values for check in known if check.kind == "accepted"}
    numerics = {check.column for check in known if any(isinstance(each, Decimal) for each in check.values)}
    return Wanted(tuple(sorted(bounds)), tuple(sorted(accepted.items())), tuple(sorted(numerics)))


def list_counted(checks: Iterable[Check]) -> list[Check]:
    """The checks that need a pass over the staged data: of uniqueness first, then SQL conditions."""
    return sorted(
        (check for check in checks if check.kind in _NEEDS_PASS),
        key=lambda check: _NEEDS_PASS.index(check.kind),
    )


def judge_count(check: Check, bad_rows: int, samples: Sequence[str] = ()) -> Finding:
    """The finding of a check that needed a pass, from the number of rows that violate it."""
    what = "not unique" if check.kind == "unique" else "false"
    shown = f", such as {shown_values(samples)}" if samples else ""
    counted = "1 row is" if bad_rows == 1 else f"{bad_rows} rows are"
    evidence = f"{counted} {what}{shown}" if bad_rows else "no row is refused"
    return _finding(check, not bad_rows, evidence)


def judge(
    checks: Iterable[Check], statistics: Statistics, last_rows: int | None, interval_end: datetime | None
) -> list[Finding]:
    """A finding for each completed check, except those of list_counted."""
    known = [check for check in checks if check.kind not in _NEEDS_PASS]
    circumstances = _Circumstances(statistics, last_rows, interval_end)
    return [_JUDGES[check.kind](check, circumstances) for check in known]


@record
class _Circumstances:
    statistics: Statistics
    last_rows: int | None
    interval_end: datetime | None

    def column(self, check: Check) -> ColumnStatistics:
        return self.statistics.columns.get(check.column, ColumnStatistics())


def _judge_minimum_rows(check: Check, given: _Circumstances) -> Finding:
    rows, needed = given.statistics.rows, check.values[0]
    are = "is" if needed == 1 else "are"
    return _finding(check, rows >= needed, f"{rows} {plural(rows, 'row')}, at least {needed} {are} needed")


def _judge_at_least(check: Check, given: _Circumstances) -> Finding:
    rows, share = given.statistics.rows, check.values[0]
    if given.last_rows is None:
        return _finding(check, True, f"{rows} {plural(rows, 'row')}, no last version to compare with")
    last = f"the last version has {given.last_rows}"
    evidence = f"{rows} {plural(rows, 'row')}, {last}; at least {share * 100:f} % are needed"
    return _finding(check, rows >= given.last_rows * share, evidence)


def _judge_not_wholly_null(check: Check, given: _Circumstances) -> Finding:
    rows, columns = given.statistics.rows, given.statistics.columns
    empty = [name for name in check.values or columns if rows and columns[name].nulls == rows]
    have = "the only row has" if rows == 1 else f"all {rows} rows have"
    evidence = f"{have} NULL in {shown_values(empty)}" if empty else "every column has values"
    return _finding(check, not empty, evidence if rows else "there are no rows")


def _judge_not_null(check: Check, given: _Circumstances) -> Finding:
    nulls, rows = given.column(check).nulls, given.statistics.rows
    have = "has" if nulls == 1 else "have"
    return _finding(check, not nulls, f"{nulls} of {rows} {plural(rows, 'row')} {have} NULL")


def _judge_accepted(check: Check, given: _Circumstances) -> Finding:
    found = given.column(check)
    shown = f", such as {shown_values(found.samples)}" if found.samples else ""
    have = "row has" if found.unaccepted == 1 else "rows have"
    return _finding(check, not found.unaccepted, f"{found.unaccepted} {have} other values{shown}")


def _judge_between(check: Check, given: _Circumstances) -> Finding:
    (low, high), found = check.values, given.column(check)
    if found.minimum is None:
        return _finding(check, True, "there are no values")
    fits = (low is None or found.minimum >= low) and (high is None or found.maximum <= high)
    return _finding(check, fits, f"values lie from {found.minimum} to {found.maximum}")


def _judge_fresh(check: Check, given: _Circumstances) -> Finding:
    newest = given.column(check).maximum
    if given.interval_end is None:
        return Finding(
            str(check), check.column, Verdict.NOT_CHECKED, "the run has no interval", check.severity
        )
    if newest is None:
        return _finding(check, False, "there are no values")
    oldest = _moment(given.interval_end) - timedelta(seconds=check.values[0])
    span = format_seconds(check.values[0])
    evidence = f"the newest value is {newest}; required: {oldest} or later ({span} before the interval's end)"
    return _finding(check, _moment(newest) >= oldest, evidence)


def _moment(value: date) -> datetime:
    """A date counts from midnight; without a zone it is UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _finding(check: Check, fits: bool, evidence: str) -> Finding:
    return Finding(str(check), check.column, Verdict.YES if fits else Verdict.NO, evidence, check.severity)


def _in_types(check: Check, by_name: dict[str, Field]) -> Check:
    if not isinstance(check, Check):
        raise BadInput(f"checks: {check!r} is not a check; write one like minimum_rows(100)")
    named = check.values if check.kind in ABOUT_COLUMNS else (check.column,)
    for name in filter(None, named):
        if name not in by_name:
            raise BadInput(f"check {check}: unknown column {quoted(name)}.{did_you_mean(name, by_name)}")
    if check.kind not in _SUITED:
        return check
    kind = by_name[check.column].type
    if kind.name not in _SUITED[check.kind]:
        raise BadInput(f"check {check} cannot be used with a column of type {kind.ddl}")
    if check.kind == "fresh":
        return check
    return replace(
        check, values=tuple(_in_type(check, by_name[check.column], value) for value in check.values)
    )


def _in_type(check: Check, field: Field, value: Any) -> Any:
    plain = value.isoformat() if isinstance(value, date) else value
    plain = str(value) if isinstance(value, Decimal | float) else plain
    try:
        return convert(field.type, plain)
    except Unfit as unfit:
        raise BadInput(f"check {check}: {quoted(str(value))} {unfit}, column {field.type.ddl}") from None


_JUDGES: dict[str, Callable[[Check, _Circumstances], Finding]] = {
    "minimum_rows": _judge_minimum_rows,
    "at_least": _judge_at_least,
    "not_wholly_null": _judge_not_wholly_null,
    "not_null": _judge_not_null,
    "accepted": _judge_accepted,
    "between": _judge_between,
    "fresh": _judge_fresh,
}
