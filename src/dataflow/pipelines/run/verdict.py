"""The verdict on the staged rows of a run: whether they may be published, and the warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce

from dataflow.errors import BadInput, InvalidData
from dataflow.model.answers import Verdict
from dataflow.model.wording import plural
from dataflow.pipelines.handover.records import Staged, Target, TaskReport
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.findings import (
    Finding,
    complete_checks,
    judge,
    judge_count,
    list_counted,
    wanted_by,
)
from dataflow.pipelines.shape.shaped import Reject, RejectPolicy
from dataflow.pipelines.shape.sql_types import ColumnType, parse_sql_type
from dataflow.pipelines.shape.statistics import NOTHING, Statistics, Wanted

SHOWN_REJECTS = 3


class Judgement:
    """The checks of one run and the reports they are judged by."""

    def __init__(self, checks: Iterable[Check], fields: Sequence[Field]) -> None:
        self._checks = complete_checks(checks, fields)
        self._reports: list[TaskReport] = []
        self.rows = self.rejected = self.rows_read = 0  # staged, rejected, and read from the source
        self.findings: list[Finding] = []

    @property
    def wanted(self) -> Wanted:
        """The counts that the tasks must collect for these checks."""
        return wanted_by(self._checks)

    def add(self, reports: list[TaskReport]) -> None:
        """The reports of all accepted attempts."""
        self._reports = reports
        self.rows = sum(report.staged.rows for report in reports)
        self.rejected = sum(report.rejected for report in reports)
        self.rows_read = sum(report.rows_read for report in reports)

    def list_staged(self) -> list[Staged]:
        """What the accepted attempts staged."""
        return [report.staged for report in self._reports]

    def list_rejects(self) -> list[Reject]:
        """The rejected values that were kept, in order."""
        found = [reject for report in self._reports for reject in report.rejects]
        return sorted(found, key=lambda reject: (reject.part, reject.row))

    def list_drift(self) -> list[str]:
        """Differences between source and mapping, one per line."""
        missing = self._count_missing()
        new = sorted({name for report in self._reports for name in report.new})
        all_rows = f"{self.rows_read} {plural(self.rows_read, 'row')}"
        lines = [
            f"drift: source field {name} is missing in {rows} of {all_rows}" for name, rows in missing.items()
        ]
        return lines + [f"drift: source field {name} is not mapped" for name in new]

    def _count_missing(self) -> dict[str, int]:
        """The number of rows that lack each mapped source field."""
        missing: Counter[str] = Counter()
        for report in self._reports:
            missing.update(dict(report.missing))
        return missing

    def list_absent(self) -> list[str]:
        """The mapped source fields that no row has: most likely misspelt."""
        return [name for name, rows in self._count_missing().items() if rows == self.rows_read]

    def decide_rejects(self, policy: RejectPolicy) -> None:
        """Raises InvalidData if more rows were rejected than the policy allows."""
        if excess := policy.find_excess(self.rejected, self.rows_read):
            shown = [
                f"part {one.part} row {one.row} {one.field}={one.value!r} {one.reason}"
                for one in self.list_rejects()[:SHOWN_REJECTS]
            ]
            found, _, advice = excess.partition("; ")  # the cause first
            raise InvalidData(f"{found}: {'; '.join(shown)}. {advice[:1].upper()}{advice[1:]}.")

    def decide_checks(self, target: Target, last_rows: int | None, interval_end: datetime | None) -> None:
        """Raises InvalidData if a check of severity error fails."""
        statistics = reduce(Statistics.merge, (report.statistics for report in self._reports), NOTHING)
        self.findings = judge(self._checks, statistics, last_rows, interval_end)
        accepted = self.list_staged()
        for check in list_counted(self._checks):
            bad_rows, samples = target.count_bad_rows(check, accepted)
            self.findings.append(judge_count(check, bad_rows, samples))
        refusing = [f"{one.check}: {one.evidence}" for one in self.findings if one.refuses]
        if refusing:
            absent = self.list_absent()
            cause = f" No row of the source has: {', '.join(absent)}." if absent else ""
            checks = "1 check" if len(refusing) == 1 else f"{len(refusing)} checks"
            raise InvalidData(f"{checks} failed: {'; '.join(refusing)}.{cause}")

    def list_warnings(self) -> list[str]:
        """The failed checks of severity warning."""
        return [
            f"{one.check}: {one.evidence}"
            for one in self.findings
            if one.verdict is Verdict.NO and not one.refuses
        ]

    @property
    def left_out(self) -> str:
        """How many rows were rejected."""
        return f"{self.rejected} of {self.rows_read} {plural(self.rows_read, 'row')} rejected"

    @property
    def evidence(self) -> str:
        """A summary to publish with the chunk: checks passed, warned and not checked."""
        passed = sum(one.verdict is Verdict.YES for one in self.findings)
        parts = [f"{passed} {plural(passed, 'check')} passed on {self.rows} {plural(self.rows, 'row')}"]
        if self.rejected:
            parts.append(self.left_out)
        for word, verdict in (("warned", Verdict.NO), ("not checked", Verdict.NOT_CHECKED)):
            if named := [one.check for one in self.findings if one.verdict is verdict]:
                parts.append(f"{len(named)} {word}: {', '.join(named)}")
        return "; ".join(parts)


def fields_of(columns: Iterable[tuple[str, str]]) -> tuple[Field, ...]:
    """The columns of a result as fields, for checks and targets."""
    return tuple(Field(name, name, parse_sql_type(kind)) for name, kind in columns)


def checked_field(name: str, kind: str) -> Field:
    """A column of a result that stays in its database as a field; the lake may lack its type."""
    try:
        return Field(name, name, parse_sql_type(kind))
    except BadInput:
        return Field(name, name, ColumnType(kind))  # its values cannot be checked
