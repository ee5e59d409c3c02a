"""SQL without an equivalent in Spark is refused with a reason, never translated to something else."""

from __future__ import annotations

import psycopg
import pytest
from pyspark.errors import PySparkException

from dataflow.errors import BadInput, UnknownName
from dataflow.pipelines.sql.translation import translate
from tests.pipelines.sql.both import SCHEMA, Both

WITH_JSON = {**SCHEMA, "orders": {**SCHEMA["orders"], "notes": "jsonb"}}


@pytest.mark.parametrize(
    "expression",
    """
price::money
done::time
done::timestamp(0)
wide::numeric(40,10)
string_agg(code, ',')
array_agg(code)
jsonb_agg(code)
name = cents
some_function(name)
sum(ratio::real)
sum(distinct wide)
lower(name) over ()
rank()
row_number() over w
name like 'a\\'
due + '1 day-2 hours banana'::interval
code = any('{A1')
'1e400'::double precision
'1e39'::real
'infinity'::date
'NaN'::numeric
to_date('2020-02-31', 'YYYY-MM-DD')
to_char(done, 1)
array[]
array[tags, tags]
name collate "en_US"
count(distinct notes)
count(*) over (partition by notes)
rank() over (order by notes)
rank() over (order by tags)
string_agg(code, ',' order by notes)
array_agg(tags order by id)
sum(cents) over (order by ratio range between 1 preceding and current row)
sum(cents) over (order by id groups between 1 preceding and current row)
sum(cents) over (order by id rows between 1 preceding and current row exclude ties)
max(paid)
1 like any(array['a'])
ratio % 2
'x'::json = '1'::json
grouping(team) over ()
json_each('{}'::json)
""".strip().splitlines(),
)
def test_a_construct_without_an_equivalent_in_spark_is_refused(expression: str) -> None:
    with pytest.raises(BadInput, match=r"^OrdersViewPipeline\.query: .*spark"):
        translate(f"select {expression} from orders", "postgres", WITH_JSON, "OrdersViewPipeline.query")


@pytest.mark.parametrize(
    "sql",
    [
        "select * from orders, teams right join teams t on true",
        "select distinct on (team) id from orders",
        "select wide from orders intersect all select wide from orders",
        "select wide, count(*) from orders group by rollup (wide)",
        "select code, count(*) from orders group by 'x'",
        "select o.id from orders o left join teams t on o.name || t.name ~ 'a'",
        "select id from orders where exists (select 1 from teams where orders.name ~ 'a')",
        "select id from orders where exists (select from teams t where t.id = team and initcap(code) = code)",
        "select id from orders where exists (select from teams t where t.id = team and chr(abs(98)) ~ 'a')",
        "select done - local as gap from orders",
        "select unnest(tags), count(*) from orders group by 1",
        "select id from orders limit (select 1)",
        "select * from orders tablesample system (10)",
        "select code from orders union select id from teams",
        "select distinct on (team) id from orders order by id",
        "select distinct on (2) id from orders order by 2",
        "select due + interval(0) '1.6 seconds' from orders",
        "select id from orders where team is distinct from id is not true",
        "select code not like name like 'a' from orders",
        "select local between done at time zone 'UTC' and local from orders",
        "select string_to_array(name, ' ')[1] from orders",
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
        "select id from orders order by -1",
        "select id from orders order by -0.5 desc",
        "select a.id from orders a join orders b using (notes)",
        "select (select (select o.team)) from orders o",
        "select (select max(t.id + o.id) from teams t) from orders o",
        "select team, (select max(name) from teams t where t.id = o.team) from orders o group by team",
        "select (select o.team union select 5 order by 1 limit 1) from orders o",
        "select o.id from orders o left join teams t on t.id = (select max(id) from teams where id < o.team)",
        "select team, count(*) from orders group by distinct rollup (team)",
        "select team from orders group by rollup (team) having grouping(team) = 0",
        "select team, name from orders group by team",
        'with "Teams" as (select 1 as id) select count(*) from teams',
        'with a as (select 1 as id), "A" as (select 2 as id) select * from a',
        'select id from orders t where exists (select 1 from teams "T" where t.id = 1)',
    ],
)
def test_a_query_without_an_equivalent_in_spark_is_refused(sql: str) -> None:
    with pytest.raises(BadInput, match=r"^query: "):
        translate(sql, "postgres", WITH_JSON)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select pricee from orders", 'unknown column "pricee". Did you mean "price"?'),
        ("select t.naem from teams t", 'unknown column "t.naem". Did you mean "name"?'),
        ("select Budget from teams", 'unknown column "budget"'),
        ("select id from ordrs", 'unknown dataset "ordrs". Did you mean "orders"?'),
        ("select id from pg_class", "unknown dataset"),
        ("select name from orders join teams on true", 'column "name" is in orders and teams'),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_name(sql: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        translate(sql, "postgres", SCHEMA)
    assert told in str(caught.value)


def test_spark_dialect_is_generated_from_the_parsed_tree() -> None:
    found = translate(
        "select a.x, percentile(y, 0.5) /* the median */ from Orders a, teams where `b c` > 1 ;\n",
        "spark",
        SCHEMA,
    )
    assert found.sql == "SELECT a.x, PERCENTILE(y, 0.5) FROM Orders AS a CROSS JOIN teams WHERE `b c` > 1"
    assert found.tables == ("orders", "teams")
    with pytest.raises(UnknownName, match="unknown dataset"):
        translate("select * from parquet.`/etc`", "spark", SCHEMA)


@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_a_qualified_name_never_refers_to_a_cte(dialect: str) -> None:
    mark = "`" if dialect == "spark" else '"'
    file = f"{mark}/etc/passwd{mark}"
    sql = f"with {mark}text./etc/passwd{mark} as (select 1 as n) select * from text.{file}"
    with pytest.raises((BadInput, UnknownName), match=r"no dataset|unknown dataset"):
        translate(sql, dialect, SCHEMA)


@pytest.mark.parametrize(
    "expression",
    [
        "1/(cents-cents)",
        "price/(price-price)",
        "name::int",
        "name::date",
        "to_date(name, 'YYYY-MM-DD')",
        "to_date(replace(day_text, '-', '-9'), 'YYYY-MM-DD')",
        "sqrt(ratio)",
        "(ratio * 1e30)::real",
        "(ratio * 1e-30 * 1e-20)::real",
        "wide*wide*wide*wide = 1",
    ],
)
def test_a_value_that_cannot_be_computed_stops_the_query(both: Both, expression: str) -> None:
    with pytest.raises(PySparkException):
        both.ask_spark(f"select {expression} from orders")


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("done - local", "extract(epoch from …)"),
        ("local::time", "to_char(…, 'HH24:MI:SS')"),
        ("due + time '10:00'", "interval '10:00'"),
        ("current_time", "to_char(now(), 'HH24:MI:SS')"),
        ("clock_timestamp()", "write now()"),
        ("'infinity'::timestamp > local", "write '9999-12-31'"),
        ("orders", "list its columns, or write to_jsonb"),
        ("(price, cents)", "list its columns"),
        ("row(1, 2)", "list its columns"),
        ("row_to_json(orders)", "list its columns, or write to_jsonb"),
        ("any_value(cents)", "write min(…)"),
        ("any_value(cents) over ()", "write min(…)"),
        ("jsonb_path_exists(notes, '$.a')", "jsonb_array_elements"),
        ("notes @? '$.a'", "jsonb_array_elements"),
        ("json_object_agg(id, name)", "jsonb_object_agg"),
        ("hashtext(name)", "write md5(…)"),
        ("regexpreplace(name, 'a', 'b')", 'did you mean "regexp_replace"'),
        ("make_interval(dayz => 3)", "write them in order instead: years, months"),
        ("code like any(tags)", "write them as literals: x LIKE ANY (ARRAY['a%', 'b%'])"),
        ("name !~ all(array['a', 'b'])", "write them as literals"),
        ("array(select id from teams)", "add ORDER BY to the subquery"),
        ("array(select id from teams order by id limit 1)", "array_agg(… ORDER BY …)"),
        ("lower(name) in (select name from teams)", "use a join instead"),
        ("count(orders.*)", "count a column that is never NULL"),
        ("sum(cents) over (order by due range between '1 mon' preceding and '1 day' following)", "in days"),
        ("sum(cents) over (order by due range between '1 hour' preceding and current row)", "whole days"),
        ("sum(cents) over (order by id groups 1 preceding)", "use plain ROWS or RANGE"),
        ("array[[1, 2], [3, 4]]", "write jsonb_build_array(…) or use ||"),
        ("'{{1,2},{3,4}}'::int[]", "has no equivalent on Spark: arrays of several dimensions"),
        ("'{{1,2},{3,4}}'::int[]", "write jsonb"),
        ("array_agg(tags order by id)", "write jsonb_agg(…)"),
        ("row_number() over ()", "add ORDER BY"),
        ("lag(cents, team) over (order by id)", "it must be a literal"),
        ("ntile(team) over (order by id)", "it must be a literal"),
        ("stddev(distinct team)", "write SELECT DISTINCT in a subquery first"),
        ("'today'::date", "write current_date or now()"),
        ("name::name", "write text"),
        ("quote_literal(5)", "cast its argument to text"),
        ("avg(done - local)", "extract(epoch from …)"),
        ("'294276-12-31 23:59:59'::timestamp", "write '9999-12-31'"),
        ("normalize(name, 'NFC')", "NFC, NFD, NFKC or NFKD"),
    ],
)
def test_a_refusal_says_what_to_write_instead(expression: str, advice: str) -> None:
    with pytest.raises(BadInput) as caught:
        translate(f"select {expression} from orders", "postgres", WITH_JSON)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "advice"),
    [
        ("with recursive n(i) as (select 1 union select i % 3 from n) select i from n", "UNION ALL"),
        (
            "with recursive n(i) as (select 1 union all select i + 0.5 from n where i < 3) select i from n",
            "add casts to its first part",
        ),
        ("select x.a from jsonb_to_recordset('[]') as x(a int)", "jsonb_array_elements"),
        ("select generate_series(1, max(id)) as n from orders", "compute the aggregate in a subquery"),
        ("select * from orders tablesample system (10)", "write only the name"),
        (
            "select id from orders o where exists (select 1 from teams t where t.id = o.team "
            "and exists (select 1 from teams s where s.id = o.id))",
            "join its table in the query between, or compute the value there",
        ),
        ("select (select (select o.team)) from orders o", "two levels out"),
        ("select (select count(*) from teams t, unnest(o.tags) u) from orders o", "two levels out"),
        (
            "select y.s from orders o cross join lateral "
            "(select x.s from teams t cross join lateral (select o.id + t.id as s) x) y",
            "two levels out",
        ),
        ("select (select max(t.id + o.id) from teams t) from orders o", "in a subquery in FROM"),
        ("select (select max(t.id) + o.id from teams t) from orders o", "in a subquery in FROM"),
        (
            "select team, (select max(t.name) from teams t where t.id = o.team) from orders o group by team",
            "or in an outer query",
        ),
        (
            "select team from orders o group by team "
            "order by (select max(t.name) from teams t where t.id = o.team)",
            "or in an outer query",
        ),
        ("select (select o.team union select 5 order by 1 limit 1) from orders o", "instead of LIMIT"),
        (
            "select x.n from orders o cross join lateral (select o.team as n union select 5 limit 1) x",
            "instead of LIMIT",
        ),
        (
            "select o.id from orders o left join teams t "
            "on t.id = (select max(id) from teams x where x.id < o.team)",
            "move it to WHERE or LATERAL",
        ),
        (
            "select o.id from orders o join teams t on exists "
            "(select 1 from teams s where s.id = t.id and s.id = o.team)",
            "move it to WHERE or LATERAL",
        ),
        ("select team, count(*) from orders group by distinct rollup (team)", "in GROUPING SETS"),
        ("select team from orders group by rollup (team) having grouping(team) = 0", "name it in SELECT"),
        (
            "select team from orders group by rollup (team) order by grouping(team)",
            "add it to SELECT",
        ),
        ("select id from orders order by id fetch first 3 rows with ties", "rank() OVER"),
    ],
)
def test_a_refused_query_says_what_to_write_instead(sql: str, advice: str) -> None:
    with pytest.raises(BadInput) as caught:
        translate(sql, "postgres", WITH_JSON)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "regexp_replace(name, '[', '')",
        "name ~ '(a'",
        "name ~* 'a{2,1}'",
        "regexp_match(name, 'a', 'q?')",
        "date_trunc('mnth', due)",
        "extract(foo from done)",
        "date_part('foo', local)",
        "to_char(price, '9.9.9')",
        "E'\\xc3'",
        "U&'\\00'",
    ],
)
def test_an_invalid_pattern_or_field_is_refused_before_the_query_runs(both: Both, expression: str) -> None:
    with pytest.raises(BadInput):
        translate(f"select {expression} from orders", "postgres", SCHEMA)
    with pytest.raises(psycopg.Error):
        both.connection.execute(f"select {expression} from orders")


@pytest.mark.parametrize(
    "sql",
    [
        "select team, name from orders group by team",
        "select team, sum(price) from orders",
        "select count(*) from orders order by id + 1",
        "select name, count(*) over () from orders group by team",
        "select count(*) from orders where count(*) > 1",
        "select team from orders group by count(*)",
        "select sum(count(*)) from orders",
        "select team from orders where rank() over (order by id) = 1",
        "select team from orders group by team having rank() over (order by team) = 1",
        "select sum(rank() over (order by id)) from orders",
        "select count(distinct team) over () from orders",
        "select id from orders limit -1",
        "select id from orders offset -1",
        "select id, team as id from orders order by id",
        'select id, name from orders order by 2 collate "C"',
        "select sum(cents, 1) from orders",
        "select max(cents, 1) from orders",
        "select first_value(id, true) over (order by id) from orders",
        "select rank(1) over (order by id) from orders",
        "select concat()",
        "select concat_ws()",
        "select length()",
        "select substr('a')",
        "select coalesce()",
        "select greatest()",
        "select array_agg() from orders",
        "select lag() over (order by id) from orders",
        "select unnest() from orders",
        "select unnest(tags) between 'a' and 'b' from orders",
        "select paid or unnest(tags) = 'a' from orders",
        "select case when paid then unnest(tags) end from orders",
        "select coalesce(unnest(tags), 'a') from orders",
        "select unnest(tags) in ('a', code) from orders",
        "select a.id from teams a full join teams b on a.id < b.id",
    ],
)
def test_a_query_that_postgres_rejects_is_refused_before_it_runs(both: Both, sql: str) -> None:
    with pytest.raises(BadInput, match=r"^query: "):
        translate(sql, "postgres", SCHEMA)
    with pytest.raises(psycopg.Error):
        both.connection.execute(sql)


def test_jsonb_object_agg_without_order_by_fails_on_a_duplicate_key(both: Both) -> None:
    with pytest.raises(PySparkException, match="two values for one key"):
        both.ask_spark("select jsonb_object_agg(name, id) from teams where name is not null")
