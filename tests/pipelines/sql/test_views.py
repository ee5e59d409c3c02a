"""How a view's SELECT is built, and what cannot be injected into it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.pipelines.handover.records import View
from dataflow.pipelines.sql.macros import TemplateInterval
from dataflow.pipelines.sql.parsing import read_statement
from dataflow.pipelines.sql.translation import translate
from dataflow.pipelines.sql.views import build_select
from tests.pipelines.sql.both import SCHEMA, Both

FEBRUARY = TemplateInterval(datetime(2020, 2, 1, tzinfo=UTC), datetime(2020, 3, 1, tzinfo=UTC))


def built(**parts: Any) -> str:
    return build_select(
        View(**{"pipeline": "OrdersViewPipeline", "datasets": ("orders",), **parts}), FEBRUARY
    )


def refusal(**parts: Any) -> str:
    with pytest.raises(BadInput) as caught:
        built(**parts)
    return str(caught.value)


def test_a_view_with_fields_returns_the_same_rows_as_postgres(both: Both) -> None:
    sql = built(
        fields=[
            ("name", "Company Name"),
            ("cents::numeric/100", "Subtotal"),
            ("done", 'a "quoted" name'),
            "code",
        ],
        where_clause="""
            paid IS NOT NULL AND
            date_trunc('month', done)::DATE =
            date_trunc('month', to_date('{{ ds }}', 'YYYY-MM-DD'));
        """,
    )
    theirs, ours = both.ask_postgres(sql), both.ask_spark(sql)
    assert theirs.rows and sorted(theirs.rows, key=repr) == sorted(ours.rows, key=repr)
    assert theirs.columns == ours.columns
    assert [name for name, _ in ours.columns] == ["Company Name", "Subtotal", 'a "quoted" name', "code"]


def test_each_field_expression_is_a_template() -> None:
    assert built(fields=[("'{{ ds }}'", "day"), "{{ params.column }}"], params={"column": "code"}) == (
        """SELECT '2020-02-01' AS "day", code FROM "orders\""""
    )
    assert refusal(fields=["id", "'{{ day }}'"]).startswith("OrdersViewPipeline.fields[2], line 1: ")


def test_a_view_with_joins_returns_the_same_rows_as_postgres(both: Both) -> None:
    sql = built(
        datasets=("orders", "teams"),
        fields=[
            ("orders.id", "Order"),
            ("ROUND(orders.price::numeric/100::numeric,2)", "Net"),
            ("teams.name", "Team"),
        ],
        join_clause="LEFT JOIN teams ON orders.team=teams.id -- all orders",
        where_clause="""
            orders.done <= to_date('{{ macros.datetime.strptime(ds, '%Y-%m-%d') +
                macros.dateutil.relativedelta.relativedelta(months=+1, days=-1) }}', 'YYYY-MM-DD')
            ORDER BY orders.id DESC
        """,
    )
    theirs = both.ask_postgres(sql)
    assert theirs.rows and theirs == both.ask_spark(sql)


@pytest.mark.parametrize(
    "query",
    [
        "select * from teams",
        "select * from orders, public.orders",
        "with teams as (select * from teams) select * from teams",
        'with "Teams" as (select 1 as id) select * from teams',
        'with teams as (select 1 as id) select * from "Teams"',
        "select * from (with teams as (select 1 as id) select * from teams) x, teams",
    ],
)
def test_a_view_reads_only_its_own_datasets_and_ctes(query: str) -> None:
    assert "which dataset_pipeline does not list. List everything it reads" in refusal(query=query)
    assert built(query="with a as (select 1), b as (select * from a) select * from orders, b")
    assert built(query="select * from orders, generate_series(1, 3) as n")
    assert built(query='with "teams" as (select 1) select * from orders, Teams')
    assert built(query="with `Teams` as (select 1) select * from orders, teams", dialect="spark")


def test_a_view_selects_all_fields_by_default_and_renders_params_in_a_query() -> None:
    assert built() == 'SELECT * FROM "orders"'
    query = "select id from orders where code = '{{ code }}' and id > {{ params.least }};"
    assert built(query=query, params={"code": "A1", "least": 3}).endswith("code = 'A1' AND id > 3")


def test_a_parameter_cannot_add_a_statement() -> None:
    message = refusal(query="select id from orders where id = {{ x }}", params={"x": "1; drop table orders"})
    assert message.startswith("OrdersViewPipeline.query: 2 statements, the first ending at line 1")


@given(st.text(min_size=1, max_size=15).filter(lambda name: "\0" not in name))
def test_any_alias_stays_a_single_name(alias: str) -> None:
    try:
        alias.encode()
    except UnicodeEncodeError:
        return
    sql = built(fields=[("id", alias)])
    if "${" not in alias:
        assert [name for name, _ in translate(sql, "postgres", SCHEMA).columns] == [alias]


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("1=1; drop table x", "2 statements, the first ending at line 1, column 4"),
        ("1=1) union select 1 --", 'at line 1, column 4, near ")"'),
        ("1=1 union select 2", "UNION is not allowed here. Write one condition and an optional ORDER BY"),
        ("1=1 group by id", "GROUP is not allowed here"),
        ("1=1 limit 5", "LIMIT is not allowed here"),
        ("1=1 for update", "LOCK is not allowed"),
        ("pg_read_file('/etc/passwd') is null", "pg_read_file is not allowed"),
        ("nextval('s') > 0", "nextval is not allowed"),
        ("pg_catalog.lower(name) = 'a'", "is not allowed. Write it without a schema"),
        ("id = (delete from orders returning id)", "SQL syntax error"),
        ("id =", "SQL syntax error"),
    ],
)
def test_a_where_clause_must_be_one_condition(clause: str, told: str) -> None:
    message = refusal(where_clause=clause)
    assert message.startswith("OrdersViewPipeline.where_clause: ") and told in message


@pytest.mark.parametrize(
    "expression", ["a, b", "a from x", "a; delete from x", "* ", "a as b", "", "a) union (select 1"]
)
def test_a_field_must_be_one_expression(expression: str) -> None:
    assert refusal(fields=[(expression, "x")]).startswith("OrdersViewPipeline.fields[1]: ")


def test_invalid_and_duplicate_aliases_are_refused() -> None:
    assert "63 bytes" in refusal(fields=[("id", "é" * 32)])
    assert "two columns" in refusal(fields=[("id", "x"), ("code", "x")])
    assert "pair" in refusal(fields=[("id", "x", "y")])


@pytest.mark.parametrize(
    "clause", ["where 1=1", "join teams on true where 1=1", "teams", "join teams on true; select 1"]
)
def test_a_join_clause_can_only_contain_joins(clause: str) -> None:
    assert refusal(join_clause=clause).startswith("OrdersViewPipeline.join_clause: ")


@pytest.mark.parametrize(
    "query",
    [
        "insert into x select 1",
        "with a as (delete from x returning *) select * from a",
        "select * into y from x",
        "copy x to '/tmp/x'",
        "set x = 1",
        "explain analyze select 1",
        "do $$ begin end $$",
        "vacuum x",
        "create table x (a int)",
        "select set_config('a', 'b', false)",
        "select dblink('x')",
        "select lo_import('/etc/passwd')",
        "select * from pg_ls_dir('/')",
        "select 1; select 2",
        "",
        "/* nothing */",
    ],
)
def test_a_query_can_only_read(query: str) -> None:
    assert refusal(query=query or " ", fields=True).startswith("OrdersViewPipeline.query: ")


@pytest.mark.parametrize(
    "query",
    [
        "select transform(a) using 'sh' from x",
        "select '${env:HOME}'",
        "select reflect('java.lang.System', 'exit')",
    ],
)
def test_spark_queries_that_run_code_or_read_the_environment_are_refused(query: str) -> None:
    assert refusal(query=query, dialect="spark").startswith("OrdersViewPipeline.query: ")


def test_comments_and_quotes_cannot_hide_statements() -> None:
    assert (
        built(query="select /* ; drop table x */ id from orders -- ; drop table y") == "SELECT id FROM orders"
    )
    assert "drop" in built(where_clause="name = 'a'';drop table x;--'")


def test_adjacent_strings_are_refused_unless_a_line_break_separates_them() -> None:
    assert "is two strings on one line" in refusal(query="select 'a' /* b */ 'c' as x from orders")
    sql = read_statement("select 'a' -- b\n 'c' as x from orders", "postgres", "query").sql("postgres")
    assert "'a'" in sql and "'c'" in sql


@pytest.mark.parametrize("number", ["0x1F", "0b101", "1_000"])
def test_a_number_that_is_not_decimal_is_refused(number: str) -> None:
    assert f"{number} is not a decimal number" in refusal(query=f"select {number} from orders")
