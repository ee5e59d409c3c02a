"""docs/sql.md lists the SQL that the tests compare with PostgreSQL, and the SQL that is refused."""

from __future__ import annotations

import re

import pytest

from dataflow.pipelines.sql.translation import Translated, translate
from dataflow.pipelines.sql.types import MAX_DIGITS
from tests.docs.pages import list_rows, list_sections
from tests.docs.sql_table import PAGE, build_refused, build_supported, write_tables
from tests.pipelines.sql.both import SCHEMA

SECTIONS = list_sections(PAGE)


def translated(expression: str) -> Translated:
    return translate(f"select {expression} as x from orders", "postgres", SCHEMA)


def test_the_tables_are_up_to_date() -> None:
    page = PAGE.read_text()
    assert write_tables(page) == page, "docs/sql.md is out of date. Run: python -m tests.docs.sql_table"


def test_functions_operators_and_constructs_from_the_tests_are_listed() -> None:
    shown = {row[0]: re.findall(r"`([^`]+)`", row[1]) for row in list_rows(build_supported())}
    everything = [name for names in shown.values() for name in names]
    for name in ("regexp_replace", "jsonb_agg", "percentile_cont", "string_agg", "extract", "unnest", "lag"):
        assert everything.count(name) == 1
    assert {"->>", "~*", r"\|\|", "@>", "&&"} <= set(shown["operators"])
    assert not {"::", "=-", "*)"} & set(shown["operators"])
    assert {"numeric(p,s)", "character(n)", "text[]"} <= set(shown["casts to"])
    assert {"CASE", "SIMILAR TO", "a[1:2]"} <= set(shown["in expressions"])
    assert {"ROLLUP", "LATERAL", "DISTINCT ON", "FILTER"} <= set(shown["in queries"])


def test_each_reason_for_a_refusal_is_listed_once() -> None:
    rows = list_rows(build_refused())
    reasons = [row[1] for row in rows]
    assert len(reasons) == len(set(reasons))
    told = {row[0]: row[1] for row in rows}
    assert told["`price::money`"].endswith("write numeric(12,2)")
    assert told["`'infinity'::date`"].startswith("has no equivalent on Spark: infinite dates")
    assert not [reason for reason in reasons if "error in PostgreSQL" in reason or "Rewrite it" in reason]


def test_the_documented_limits_match_the_translation() -> None:
    assert f"{MAX_DIGITS} digits before the point, 56 after it" in SECTIONS["Limits"]


@pytest.mark.parametrize(
    "expression",
    """
cents / 7 + big % 3
price + rate
price * 2
rate % price
round(price, 1) + trunc(rate) + ceil(price) + floor(rate)
ratio * 3 / 7
wide between 1 and 2.5 or wide in (3, 7)
coalesce(wide, price)
greatest(wide, cents)
name like 'a%' and length(name) > 3
concat(code, name || 'x', substring(name, 2, 3))
position('b' in name)
due + interval '1 month - 1 day'
date_trunc('month', done)
extract(year from due)
(array[cents, small])[1:2]
tags || array['q']
code = any(tags)
sum(price)
string_agg(code, ',' order by id)
rank() over (partition by team order by wide)
lower('ABC') || '1.5 days'::interval::text
""".strip().splitlines(),
)
def test_expressions_documented_as_native_call_no_python(expression: str) -> None:
    assert not translated(expression).functions


@pytest.mark.parametrize(
    "expression",
    [
        "price / 3",
        "wide + 1",
        "name ilike 'a%'",
        "name ~ 'a'",
        "upper(name)",
        "to_char(done, 'YYYY')",
        "done at time zone 'Europe/London'",
        "avg(cents)",
        "sum(wide)",
        "tags && array['a']",
        "to_jsonb(id)",
    ],
)
def test_expressions_documented_as_python_call_python(expression: str) -> None:
    assert translated(expression).functions


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("price + 1", "numeric(13,2)"),
        ("sum(price)", "numeric(22,2)"),
        ("round(wide, 2)", "numeric(38,2)"),
        ("wide::numeric(12,2)", "numeric(12,2)"),
        ("wide", "numeric"),
        ("sum(wide)", "numeric"),
        ("cents::numeric / 100", "numeric"),
        ("avg(price)", "numeric(*)"),
        ("price / 3", "numeric(*)"),
        ("round(price / 3, 11)", "numeric(*)"),
    ],
)
def test_numerics_of_a_view_are_stored_as_documented(expression: str, wanted: str) -> None:
    ((_, kind),) = translated(expression).kept
    assert kind == wanted


def test_another_view_reads_a_numeric_stored_as_text_as_numeric() -> None:
    found = translate("select max(a) as x from totals", "postgres", {"totals": {"a": "numeric(*)"}})
    assert found.columns == (("x", "numeric"),)
