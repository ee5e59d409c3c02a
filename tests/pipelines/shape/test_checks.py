"""Checks: declaration, immediate refusals, and evaluation against statistics."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dataflow.errors import BadInput
from dataflow.model.answers import Verdict
from dataflow.pipelines.run.worker import told_rows
from dataflow.pipelines.shape.checks import (
    Check,
    accepted,
    at_least,
    between,
    fresh,
    minimum_rows,
    not_null,
    not_wholly_null,
    sql,
    unique,
)
from dataflow.pipelines.shape.fields import parse_fields
from dataflow.pipelines.shape.findings import (
    Finding,
    complete_checks,
    judge,
    judge_count,
    list_counted,
    wanted_by,
)
from dataflow.pipelines.shape.shaped import RejectPolicy, parse_policy
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.shape.statistics import NOTHING, Statistics

FIELDS = parse_fields(
    [
        ("id", "uuid PRIMARY KEY"),
        ("status", "text NOT NULL"),
        ("code", "varchar(3) UNIQUE"),
        ("amount", "numeric(12,2)"),
        ("at", "timestamptz"),
        ("day", "date"),
        ("payload", "jsonb"),
    ]
)
END = datetime(2026, 1, 2, tzinfo=UTC)


def findings(
    checks: list[Check], rows: list[Any], last_rows: int | None = None, end: datetime | None = END
) -> list[Finding]:
    completed = [one for one in complete_checks(checks, FIELDS) if one.kind != "not_null" or one in checks]
    batch = pa.RecordBatch.from_pylist(rows, schema=Shaper(FIELDS).schema)
    return judge(completed, Statistics.of(batch, wanted_by(completed)), last_rows, end)


def verdict(check: Check, rows: list[Any], **given: Any) -> Verdict:
    (found,) = findings([check], rows, **given)
    return found.verdict


def test_constraints_are_checks_without_a_declaration() -> None:
    completed = complete_checks([], FIELDS)
    assert completed == (not_null("id"), not_null("status"), unique("id"), unique("code"))
    assert list_counted(completed) == [unique("id"), unique("code")]
    rows = [{"id": "x"}, {"id": None, "status": "a"}]
    batch = pa.RecordBatch.from_pylist(rows, schema=Shaper(FIELDS).schema)
    found = judge(completed, Statistics.of(batch, wanted_by(completed)), None, None)
    assert [(one.column, one.verdict, one.evidence) for one in found] == [
        ("id", Verdict.NO, "1 of 2 rows has NULL"),
        ("status", Verdict.NO, "1 of 2 rows has NULL"),
    ]


@pytest.mark.parametrize(
    ("check", "rows", "expected"),
    [
        (minimum_rows(2), 2, Verdict.YES),
        (minimum_rows(3), 2, Verdict.NO),
        (minimum_rows(0), 0, Verdict.YES),
    ],
)
def test_minimum_rows(check: Check, rows: int, expected: Verdict) -> None:
    assert verdict(check, [{}] * rows) is expected


@pytest.mark.parametrize(
    ("share", "rows", "last", "expected"),
    [
        (0.9, 9, 10, Verdict.YES),
        (0.9, 8, 10, Verdict.NO),
        (0.9, 0, None, Verdict.YES),
        (0.9, 0, 0, Verdict.YES),
        (0.29, 29, 100, Verdict.YES),
        (0.29, 28, 100, Verdict.NO),
        (1, 99, 100, Verdict.NO),
    ],
)
def test_at_least_a_share_of_the_last_version(
    share: float, rows: int, last: int | None, expected: Verdict
) -> None:
    assert verdict(at_least(share), [{}] * rows, last_rows=last) is expected


def test_a_column_that_is_entirely_null_is_named() -> None:
    rows = [{"status": "a", "id": "x"}, {"status": None}]
    (found,) = findings([not_wholly_null()], rows)
    assert found.verdict is Verdict.NO
    assert '"code", "amount", "at", "day", "payload"' in found.evidence
    assert verdict(not_wholly_null("status", "id"), rows) is Verdict.YES
    assert verdict(not_wholly_null("status", "day"), rows) is Verdict.NO
    assert verdict(not_wholly_null(), []) is Verdict.YES


def test_one_row_is_counted_in_the_singular() -> None:
    checks = [
        minimum_rows(1),
        at_least(0.5),
        accepted("status", ["a"]),
        not_null("id"),
        not_wholly_null("id"),
    ]
    rows = [{"status": "z", "id": None}]
    assert [found.evidence for found in findings(checks, rows)] == [
        "1 of 1 row has NULL",
        "1 row, at least 1 is needed",
        "1 row, no last version to compare with",
        '1 row has other values, such as "z"',
        'the only row has NULL in "id"',
    ]
    assert RejectPolicy(0.5).find_excess(1, 1) == "1 of 1 row does not fit; the limit is 50 %"
    assert RejectPolicy(1).find_excess(2, 2) == "2 of 2 rows do not fit; the limit is 1 row"
    assert RejectPolicy(5).find_excess(6, 9) == "6 of 9 rows do not fit; the limit is 5 rows"
    assert told_rows({"orders": 1}) == ", 1 row"
    assert told_rows({"orders": 1, "lines": 2}) == ", 1 row of orders, 2 rows of lines"


def test_accepted_values_are_compared_in_the_columns_type() -> None:
    assert verdict(accepted("status", ["a", "b"]), [{"status": "a"}, {}]) is Verdict.YES
    (found,) = findings([accepted("status", ["a"])], [{"status": "a"}, {"status": "z"}, {"status": "z"}])
    assert (found.verdict, found.evidence) == (Verdict.NO, '2 rows have other values, such as "z"')
    assert (
        verdict(accepted("amount", [1, "2.5", Decimal("3"), 0.1]), [{"amount": Decimal("0.10")}])
        is Verdict.YES
    )
    assert verdict(accepted("day", [date(2026, 1, 1)]), [{"day": date(2026, 1, 1)}]) is Verdict.YES


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, Verdict.YES),
        (1, 2, Verdict.YES),
        ("1.01", 10, Verdict.NO),
        (0, 1.99, Verdict.NO),
        (None, 2, Verdict.YES),
        (1, None, Verdict.YES),
        (None, 1, Verdict.NO),
    ],
)
def test_between_includes_both_bounds(low: Any, high: Any, expected: Verdict) -> None:
    rows = [{"amount": Decimal("1.00")}, {"amount": Decimal("2.00")}, {}]
    assert verdict(between("amount", low, high), rows) is expected


def test_between_ignores_null_and_supports_times() -> None:
    assert verdict(between("amount", 0, 1), [{}]) is Verdict.YES
    rows = [{"at": datetime(2026, 1, 1, 12, tzinfo=UTC)}]
    assert verdict(between("at", "2026-01-01", datetime(2026, 1, 2, tzinfo=UTC)), rows) is Verdict.YES
    assert verdict(between("at", "2026-01-01T12:00:01Z", None), rows) is Verdict.NO


def test_freshness_is_measured_from_the_intervals_end() -> None:
    rows = [{"at": END - timedelta(days=2), "day": date(2026, 1, 1)}]
    assert verdict(fresh("at", "2 days"), rows) is Verdict.YES
    assert verdict(fresh("at", "47h"), rows) is Verdict.NO
    assert verdict(fresh("at", timedelta(days=2)), rows) is Verdict.YES
    assert verdict(fresh("day", "1 day"), rows) is Verdict.YES
    assert verdict(fresh("day", "23 Hours"), rows) is Verdict.NO
    assert verdict(fresh("at", "2 days"), [{}]) is Verdict.NO
    assert verdict(fresh("at", "2 days"), rows, end=None) is Verdict.NOT_CHECKED
    assert verdict(fresh("at", "2 days"), rows, end=datetime(2026, 1, 2)) is Verdict.YES


def test_statistics_of_zero_batches_can_be_checked() -> None:
    checks = complete_checks([accepted("status", ["a"]), between("amount", 0, 1), not_wholly_null()], FIELDS)
    assert {one.verdict for one in judge(checks, NOTHING, None, END)} == {Verdict.YES}


def test_checks_that_need_a_pass_are_returned_and_evaluated_from_a_count() -> None:
    checks = complete_checks([sql("amount >= 0", severity="warning"), unique("status", "day")], FIELDS)
    counted = list_counted(checks)
    assert [one.values for one in counted] == [("id",), ("code",), ("status", "day"), ("amount >= 0",)]
    bad = judge_count(counted[3], 3, ["-1"])
    assert (bad.verdict, bad.severity, bad.refuses) == (Verdict.NO, "warning", False)
    assert bad.evidence == '3 rows are false, such as "-1"'
    assert judge_count(counted[2], 0).verdict is Verdict.YES
    assert judge_count(counted[2], 1).refuses


def test_only_a_no_of_severity_error_blocks_publishing() -> None:
    assert findings([minimum_rows(1)], [])[0].refuses
    assert not findings([minimum_rows(1, severity="warning")], [])[0].refuses
    assert not findings([minimum_rows(1)], [{}])[0].refuses
    assert not findings([fresh("at", "1d")], [{}], end=None)[0].refuses


def test_checks_can_be_pickled_and_printed() -> None:
    check = between("amount", 0, 10, severity="warning")
    assert pickle.loads(pickle.dumps(check)) == check
    assert str(check) == "between(amount, 0, 10)"
    wanted = wanted_by(complete_checks([check], FIELDS))
    assert pickle.loads(pickle.dumps(wanted)) == wanted


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda: minimum_rows(-1), "whole number"),
        (lambda: minimum_rows(1.5), "whole number"),  # type: ignore[arg-type]
        (lambda: minimum_rows(True), "whole number"),
        (lambda: at_least(0), "above 0"),
        (lambda: at_least(float("nan")), "above 0"),
        (lambda: at_least("90 %"), "above 0"),  # type: ignore[arg-type]
        (lambda: accepted("a", "abc"), "a list of values"),
        (lambda: between("a", None, None), "at least one bound"),
        (lambda: fresh("a", "soon"), "duration"),
        (lambda: fresh("a", -1), "negative"),
        (unique, "at least one column"),
        (lambda: unique(5), "not column names"),  # type: ignore[arg-type]
        (lambda: not_null(None), "not column names"),  # type: ignore[arg-type]
        (lambda: sql(" "), "boolean SQL"),
        (lambda: minimum_rows(1, severity="fatal"), "severity 'fatal'"),
    ],
)
def test_an_invalid_declaration_is_refused(declare: Callable[[], Check], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        declare()


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (accepted("statu", ["a"]), 'unknown column "statu". Did you mean "status"?'),
        (unique("id", "no"), 'unknown column "no"'),
        (not_wholly_null("no"), 'unknown column "no"'),
        (between("payload", 0, 1), "cannot be used with a column of type jsonb"),
        (accepted("id", ["x"]), "cannot be used with a column of type uuid"),
        (fresh("amount", "1d"), "cannot be used with"),
        (between("amount", "x", 1), "is not a numeric"),
        (accepted("amount", [0.001]), "more than 2 digits after"),
        ("minimum_rows", "is not a check"),
    ],
)
def test_a_check_that_does_not_match_the_columns_is_refused(check: Any, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        complete_checks([check], FIELDS)


def test_two_lists_of_accepted_values_for_one_column_are_refused() -> None:
    with pytest.raises(BadInput, match="two lists"):
        complete_checks([accepted("status", ["a"]), accepted("status", ["b"])], FIELDS)


@pytest.mark.parametrize(
    ("policy", "rejected", "rows", "expected"),
    [
        (parse_policy("fail"), 0, 10, True),
        (parse_policy("fail"), 1, 10, False),
        (parse_policy({"quarantine": 2}), 2, 10, True),
        (parse_policy({"quarantine": 2}), 3, 10, False),
        (parse_policy({"quarantine": 0.29}), 29, 100, True),
        (parse_policy({"quarantine": 0.29}), 30, 100, False),
        (parse_policy({"quarantine": 1}), 1, 1, True),
    ],
)
def test_rejects_fail_a_run_unless_quarantine_allows_them(
    policy: RejectPolicy, rejected: int, rows: int, expected: bool
) -> None:
    found = policy.find_excess(rejected, rows)
    assert (not found) is expected
    assert expected or str(rows) in found


@pytest.mark.parametrize(
    "rejects",
    ["ignore", {"fail": 5}, {"quarantine": None}, {"quarantine": 0}, {"quarantine": 1.5},
     {"quarantine": 1.0}, {"quarantine": 5, "fail": 5}, {},
     {"quarantine": True}, {"quarantine": float("nan")}, {"quarantine": -1}, {"quarantine": "5"}],
)  # fmt: skip
def test_an_invalid_policy_is_refused(rejects: Any) -> None:
    with pytest.raises(BadInput, match="rejects"):
        parse_policy(rejects)
