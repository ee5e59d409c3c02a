"""What has no equal in Spark is refused with a reason, never translated into something else."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from dataflow.errors import BadInput
from dataflow.pipelines.sql.translation import translate
from tests.pipelines.sql.both import SCHEMA, Both

WITH_JSON = {**SCHEMA, "orders": {**SCHEMA["orders"], "notes": "jsonb"}}


@pytest.mark.parametrize(
    "expression",
    """
age(done)
price::money
name::char(3)
done::timestamp(0)
ratio::text
wide::text
(price/3)::text
price/3/7
(wide+1)/3
sum(wide)/3
avg(price)/3
initcap(name)
name similar to 'a'
name ~ code
name ~ '\\y'
name ~ '[[:alpha:]]'
regexp_replace(name, 'a', 'b')
to_char(price, '999')
to_char(done, 'TZ')
to_date(name, 'DD Mon YYYY')
to_timestamp(ratio)
done - local
interval '1 month'
interval '1 month' > interval '30 days'
done at time zone 'EST'
done at time zone code
date_trunc('century', done)
extract(century from done)
power(ratio, 2)
ln(ratio)
sqrt(price)
round(price, small)
string_agg(code, ',')
array_agg(code)
percentile_cont(0.5) within group (order by cents)
count(distinct (code, team))
team in (select id from teams)
tags = tags
tags[small]
tags || 'x'
name = cents
code || tags
(code, name) = ('a', 'b')
generate_series(1, 3)
unnest(tags)
some_function(name)
sum(ratio::real)
cents between symmetric 1 and 2
row_number() over w
lower(name) over ()
due + '1 day ago'::interval
due + '1 day 2'::interval
due + '1_000 days'::interval
due + '1 day-2 hours'::interval
due + interval '1 day ago'
due + interval '1 quarter'
code = any('{A1,NULL}')
code = any('{A1,,b}')
code = any('{A1')
name ilike 'AXC%' escape 'X'
name ilike 'AXC%' escape 'x'
name ~ '[\\d-z]'
name ~ '[a-\\d]'
name ~ 'a{,2}'
name ~ '{'
array_to_string(tags, ',', code)
'1e400'::double precision
'1e-400'::double precision
'1e39'::real
to_date('2020-02-011', 'YYYY-MM-DD')
count(distinct notes)
count(*) over (partition by notes)
rank() over (order by notes)
rank() over (order by tags)
string_agg(code, ',' order by notes)
""".strip().splitlines(),
)
def test_a_construct_without_an_equal_is_refused(expression: str) -> None:
    with pytest.raises(BadInput, match=r"^OrdersViewPipeline\.query: .*spark"):
        translate(f"select {expression} from orders", "postgres", WITH_JSON, "OrdersViewPipeline.query")


@pytest.mark.parametrize(
    "sql",
    [
        "select * from orders natural join teams",
        "select * from orders, teams right join teams t on true",
        "select * from orders, lateral (select 1) x",
        "with recursive a as (select 1 as x) select x from a",
        "select team from orders group by rollup (team)",
        "select distinct on (team) id from orders",
        "select id from orders where team not in (select id from teams) or paid",
        "select id from orders limit (select 1)",
        "select * from (values (1)) v(x)",
        "select * from orders tablesample system (10)",
        "select code from orders union select id from teams",
        "select distinct on (team) id from orders order by id",
        "select distinct on (2) id from orders order by 2",
        "select due + interval(0) '1.6 seconds' from orders",
        "select due + interval '36 hours' day from orders",
        "select due + interval '3' day to second from orders",
        "select 1_000",
        "select 0x1F",
        "select 0b101",
        "select distinct notes from orders",
        "select array_agg(notes order by id) as n from orders group by notes",
        "select notes as n, 1 from orders group by n",
        "select notes, 1 from orders group by 1",
        "select notes from orders union select notes from orders",
        "select notes from orders except all select notes from orders",
        "select id from orders order by notes",
        "select notes from orders order by 1",
        "select distinct on (notes) notes from orders order by notes",
        "select id from orders order by 2",
        "select a.id from orders a join orders b using (notes)",
        'with "Teams" as (select 1 as id) select count(*) from teams',
        'with a as (select 1 as id), "A" as (select 2 as id) select * from a',
        'select id from orders t where exists (select 1 from teams "T" where t.id = 1)',
    ],
)
def test_a_query_without_an_equal_is_refused(sql: str) -> None:
    with pytest.raises(BadInput, match=r"^query: "):
        translate(sql, "postgres", WITH_JSON)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select pricee from orders", 'no column "pricee". Did you mean "price"?'),
        ("select t.naem from teams t", 'no column "t.naem". Did you mean "name"?'),
        ("select Budget from teams", 'no column "budget"'),
        ("select id from ordrs", 'no dataset "ordrs". Did you mean "orders"?'),
        ("select id from pg_class", "no dataset"),
        ("select name from orders join teams on true", "orders and in teams"),
    ],
)
def test_names_that_do_not_exist_are_told_with_the_nearest(sql: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        translate(sql, "postgres", SCHEMA)
    assert told in str(caught.value)


def test_sparks_own_dialect_is_passed_on() -> None:
    found = translate(
        "select a.x, percentile(y, 0.5) from Orders a, teams where `b c` > 1 ;\n", "spark", SCHEMA
    )
    assert found.sql == "select a.x, percentile(y, 0.5) from Orders a, teams where `b c` > 1"
    assert found.tables == ("orders", "teams")
    with pytest.raises(BadInput, match="no dataset"):
        translate("select * from parquet.`/etc`", "spark", SCHEMA)


@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_a_name_with_dots_is_never_that_of_a_with(dialect: str) -> None:
    mark = "`" if dialect == "spark" else '"'
    file = f"{mark}/etc/passwd{mark}"
    sql = f"with {mark}text./etc/passwd{mark} as (select 1 as n) select * from text.{file}"
    with pytest.raises(BadInput, match="no dataset"):
        translate(sql, dialect, SCHEMA)


@pytest.mark.parametrize(
    "expression",
    [
        "1/(cents-cents)",
        "price/(price-price)",
        "name::int",
        "name::date",
        "to_date(name, 'YYYY-MM-DD')",
        "to_date(replace(day_text, '-', '-0'), 'YYYY-MM-DD')",
        "sqrt(ratio)",
        "(date '0001-01-01' - id)::text",
        "(ratio * 1e30)::real",
        "(ratio * 1e-30 * 1e-20)::real",
        "wide*wide*wide*wide",
    ],
)
def test_a_value_that_cannot_be_worked_out_stops_the_query(both: Both, expression: str) -> None:
    with pytest.raises(PySparkException):
        both.ask_spark(f"select {expression} from orders")
