"""Building blocks of random expressions: constants and templates of each family, one per line.

In a template, `{family}` is an operand of that family, and `⟨one¦other⟩` is one of several alternatives.
"""

from __future__ import annotations

_CONSTANTS = {
    "smallint": r"""
1::smallint
(-3)::smallint
0::smallint
null::smallint
""",
    "integer": r"""
0
1
2
3
-1
7
10
100
null::integer
""",
    "bigint": r"""
0::bigint
12345678901
(-1)::bigint
7::bigint
""",
    "numeric": r"""
0
0.0
1.5
2.50
-0.001
100
33.333
7::numeric
1e3
null::numeric
12.340
""",
    "real": r"""
0.5::real
2::real
""",
    "double": r"""
0.5::double precision
2.5::float8
-1.25::float8
1e5::float8
""",
    "text": r"""
''
'a'
'B'
'éa'
'10'
'x,y'
' sp '
null::text
'😀'
'İ'
'a.c'
""",
    "boolean": r"""
true
false
null::boolean
""",
    "date": r"""
date '2020-02-29'
date '1999-12-31'
date '2021-01-01'
""",
    "timestamp": r"""
timestamp '2020-03-29 01:30:00'
timestamp '1999-12-31 23:59:59.5'
""",
    "timestamptz": r"""
timestamptz '2020-10-25 00:30:00+00'
timestamptz '2019-12-31 23:30:00-01'
""",
    "interval": r"""
interval '1 day'
interval '1 month'
interval '1 month - 1 day'
interval '1.5 hours'
""",
    "text[]": r"""
array['a','b']
'{}'::text[]
array['x',null]
'{a,"b c"}'::text[]
""",
    "integer[]": r"""
array[1,2,3]
'{}'::int[]
array[0,null]
""",
    "jsonb": r"""
'{"a": 1}'::jsonb
'[1, "x", null]'::jsonb
'{}'::jsonb
'"t"'::jsonb
""",
    "uuid": r"""
'00000000-0000-0000-0000-000000000001'::uuid
""",
    "price": r"""
price
""",
    "rate": r"""
rate
""",
    "small_numeric": r"""
1.5
-2.25
0.1
""",
}

_TEMPLATES = {
    "integer": r"""
{integer} + {smallint}
{integer} % 7
{smallint} - {smallint}
{smallint} * {smallint}
{integer} / nullif({integer}, 0)
length({text})
strpos({text}, {text})
{date} - {date}
cardinality({text[]})
array_length({integer[]}, 1)
octet_length({text})
ascii({text})
position({text} in {text})
({integer[]})[⟨0¦1¦2¦-1⟩]
abs({smallint}::integer)
jsonb_array_length(case when jsonb_typeof({jsonb}) = 'array' then {jsonb} end)
regexp_count({text}, '⟨[a-z]¦.¦\w+¦x*⟩')
({boolean})::integer
sign({integer})::integer
array_position({text[]}, {text})
width_bucket({price}, 0, 100, 5)
""",
    "smallint": r"""
{smallint}
(({integer} % 100))::smallint
""",
    "bigint": r"""
{bigint} + 1
{integer}::bigint * {smallint}
{bigint} / 3
({numeric} % 1000)::bigint
{integer}::bigint
""",
    "numeric": r"""
{numeric} + {numeric}
{numeric} - {price}
{price} * {rate}
{numeric} * {small_numeric}
{numeric} / nullif({numeric}, 0)
{price} / 3
{numeric} % nullif({small_numeric}, 0)
round({numeric}, ⟨0¦1¦2¦-1¦5⟩)
round({numeric})
trunc({numeric}, ⟨0¦1¦3⟩)
abs({numeric})
ceil({numeric})
floor({rate})
-{numeric}
{price}
{rate}
({integer})::numeric
({numeric})::numeric(30,⟨0¦2¦6⟩)
extract(⟨epoch¦year¦month¦day¦dow¦hour¦second¦decade¦century¦week¦isoyear¦milliseconds⟩ from {timestamptz})
extract(⟨year¦doy¦quarter¦isodow¦epoch¦millennium⟩ from {date})
extract(⟨epoch¦day¦hour¦month⟩ from {interval})
sqrt(abs({price}))
mod({numeric}, 7)
({small_numeric})::float8::numeric
scale({numeric})::numeric
sign({numeric})
power({small_numeric}, 2)
({price})::text::numeric
div({numeric}, 3)
""",
    "price": r"""
price
rate
price
round({rate}, 2)
""",
    "rate": r"""
rate
price
""",
    "small_numeric": r"""
price
1.5
-2.25
({smallint})::numeric
0.1
""",
    "real": r"""
{real}
single
""",
    "double": r"""
{double} + {double}
{double} * 0.5
{double} - {integer}
{double} / 4
abs({double})
round({double})
floor({double})
({numeric})::float8
{real}::float8
sqrt(abs({double}))
date_part('⟨day¦month¦year¦hour¦epoch⟩', {timestamp})
sign({double})
trunc({double})
""",
    "text": r"""
{text} || {text}
{text} || {integer}
lower({text})
upper({text})
initcap({text})
left({text}, ⟨0¦1¦2¦-1⟩)
right({text}, ⟨1¦2¦-2⟩)
substring({text}, ⟨0¦1¦2⟩, ⟨0¦1¦3⟩)
substr({text}, {smallint})
trim({text})
replace({text}, {text}, ⟨'x'¦''¦'é'⟩)
split_part({text}, ⟨','¦'-'¦'a'⟩, ⟨1¦2¦-1⟩)
reverse({text})
lpad({text}, ⟨0¦3¦8⟩, ⟨'*'¦'ab'¦''⟩)
rpad({text}, 5)
repeat({text}, ⟨0¦2⟩)
translate({text}, 'abc', ⟨'xy'¦''⟩)
concat({text}, {boolean}, {integer})
concat_ws('-', {text}, {numeric}, {date})
md5({text})
regexp_replace({text}, ⟨'[a-z]+'¦'\W'¦'x*'¦'(.)(.)'¦'[[:alpha:]]'¦'a|ab'¦'^.'⟩, ⟨'-'¦'<\1>'¦''¦'\&\&'⟩)
regexp_replace({text}, ⟨'[a-z]'¦'\s'¦'\w'¦'é'¦'b*'⟩, ⟨'-'¦''⟩, ⟨'g'¦'gi'¦'i'⟩)
({integer})::text
({numeric})::text
({date})::text
({timestamptz})::text
({boolean})::text
({double})::text
to_char({timestamptz}, ⟨'YYYY-MM-DD'¦'Day, DDth Mon YYYY'¦'HH24:MI:SS.US'¦'IYYY-IW-ID'⟩)
to_char({timestamptz}, ⟨'FMMonth J'¦'SSSS IDDD'¦'hh12:mi am WW Q'⟩)
to_char({date}, ⟨'DD/MM/YY'¦'Dy D'¦'CC RM'⟩)
to_char({numeric}, ⟨'999,990.99'¦'FM9990.0'¦'S000'¦'9.99EEEE'¦'RN'¦'999PR'⟩)
({text[]})[⟨0¦1¦2¦-1⟩]
array_to_string({text[]}, ⟨','¦''⟩)
{jsonb} ->> ⟨'a'¦'b'⟩
{jsonb} #>> '{a,b}'
({jsonb})::text
({uuid})::text
format(⟨'%s-%s'¦'%2$s %1$s'¦'%L %I'⟩, {text}, {text})
substring({text} from ⟨'[0-9]+'¦'(.)b'¦'\w+'⟩)
overlay({text} placing 'XX' from 2)
quote_literal({text})
jsonb_typeof({jsonb})
({interval})::text
label::text
code::text
({text[]})::text
chr(97 + abs({smallint}) % 20)
btrim({text}, 'a ')
({text})::varchar(3)::text
({text})::char(3)::text
""",
    "text[]": r"""
{text[]} || {text[]}
{text[]} || array[{text}]
string_to_array({text}, ⟨','¦'-'¦''⟩)
regexp_split_to_array({text}, ⟨','¦'\s+'¦'x*'⟩)
array_remove({text[]}, {text})
array_append({text[]}, {text})
({text[]})[1:2]
array[{text}, {text}]
""",
    "integer[]": r"""
{integer[]} || {integer[]}
array[{integer}, {smallint}]
array_prepend({integer}, {integer[]})
({integer[]})[2:]
""",
    "jsonb": r"""
{jsonb} -> ⟨'a'¦'b'¦'tags'⟩
{jsonb} -> ⟨0¦-1¦1⟩
{jsonb} || {jsonb}
to_jsonb({text})
to_jsonb({numeric})
jsonb_build_object('k', {text}, 'n', {integer})
jsonb_build_array({integer}, {text}, {boolean})
{jsonb} #> '{a}'
jsonb_strip_nulls({jsonb})
""",
    "uuid": r"""
({uuid})::text::uuid
""",
    "boolean": r"""
{integer} ⟨<¦=¦<>¦>=⟩ {integer}
{numeric} ⟨<¦=¦<>¦>⟩ {numeric}
{numeric} = {integer}
{bigint} > {numeric}
{text} ⟨<¦=¦<>¦>=⟩ {text}
{double} ⟨<¦=¦>⟩ {double}
{double} > {numeric}
{date} ⟨<¦=¦>⟩ {date}
{timestamptz} ⟨<¦>=⟩ {date}
{timestamp} = {timestamp}
{boolean} and {boolean}
{boolean} or {boolean}
not {boolean}
{text} is null
{numeric} is not null
{boolean} is not true
{text} like ⟨'%a%'¦'_b%'¦'\a%'¦'%\%%'¦'É%'⟩
{text} ilike ⟨'%É%'¦'i%'¦'A_C'¦'%ß%'⟩
{text} not like 'a%'
{text} similar to ⟨'(a|b)%'¦'[a-z]+'⟩
{text} ~ ⟨'^\w+$'¦'[[:upper:]]'¦'\d'¦'a|é'¦'\s'¦'^$'⟩
{text} ~* ⟨'école'¦'A.C'¦'ß'¦'σ'⟩
{text} !~ 'a'
{integer} in (1, 2, {integer})
{text} not in ('a', {text})
{numeric} between {numeric} and {numeric}
{integer} between symmetric {integer} and {integer}
{text} is distinct from {text}
{numeric} is not distinct from {numeric}
{text} = any({text[]})
{integer} <> all({integer[]})
{text[]} @> {text[]}
{text[]} && {text[]}
{jsonb} ? ⟨'a'¦'b'⟩
{jsonb} @> ⟨'{"a": 1}'¦'[1]'⟩
{jsonb} = {jsonb}
starts_with({text}, {text})
({integer}, {text}) < ({integer}, {text})
{interval} > {interval}
{uuid} = {uuid}
code = {text}
label < {text}
({text[]}) = ({text[]})
⟨'t'¦'off'¦'yes'¦' TRUE '⟩::boolean
({integer})::boolean
""",
    "date": r"""
{date} + {smallint}
{date} - 1
({timestamptz})::date
({timestamp})::date
make_date(2020, 1 + abs({smallint} % 12)::int, 15)
({date})::text::date
to_date(⟨'2020-12-31', 'YYYY-MM-DD'¦'31 Jan 1999', 'DD Mon YYYY'⟩)
""",
    "timestamp": r"""
{date} + {interval}
{timestamp} - {interval}
{timestamptz} at time zone ⟨'Europe/London'¦'America/New_York'¦'UTC'¦'EST'¦'Asia/Kolkata'⟩
date_trunc('⟨hour¦day¦month¦week¦year¦quarter¦decade¦century¦milliseconds⟩', {timestamp})
({timestamptz})::timestamp
date_bin('15 minutes', {timestamp}, timestamp '2001-01-01')
""",
    "timestamptz": r"""
{timestamptz} + {interval}
date_trunc('⟨month¦day¦week¦minute⟩', {timestamptz})
date_trunc('day', {timestamptz}, 'Europe/London')
{timestamp} at time zone 'Europe/London'
({date})::timestamptz
to_timestamp({smallint} * 1000.5::float8)
""",
    "interval": r"""
{timestamptz} - {timestamptz}
{timestamp} - {timestamp}
{interval} + {interval}
{interval} * {smallint}
age({timestamp}, {timestamp})
justify_interval({interval})
-{interval}
make_interval(0, {smallint}::int)
justify_days({interval})
{interval} / 3
""",
}

_QUERIES = {
    "nested": r"""
with c as (select id, {any} as x from facts where {boolean}) select id, x from c
with c as (select id, {any} as x from facts) select id, x from c
select id from facts where team in (select id from teams where ⟨grade > 1¦budget is null¦true⟩)
select id, (select max(name) from teams where teams.id = facts.team) as m, {any} as e from facts
select id from facts where exists (select 1 from teams where teams.id = facts.team and {boolean})
select s.n, count(*) from (select {integer} % 5 as n from facts) s group by s.n
""",
    "rows": r"""
select id, unnest(tags) as tag from facts
select f.id, u.x from facts f, unnest(f.counts) as u(x)
select f.id, u.x, u.n from facts f cross join lateral unnest(f.tags) with ordinality as u(x, n)
select g.n, ⟨g.n * 2¦g.n::text¦g.n / 3.0⟩ as d from generate_series(1, 5) as g(n)
select f.id, e.v from facts f, jsonb_array_elements(case jsonb_typeof(doc) when 'array' then doc end) as e(v)
select d::date as d from generate_series(date '2020-02-27', date '2020-03-02', interval '1 day') as g(d)
select id, regexp_matches(title, '[a-z]', 'g') as m from facts
select v.a, v.b from (values (1, 'x'), (2, null), (⟨0¦1¦5¦9⟩, 'y')) as v(a, b)
select f.id, l.t from facts f left join lateral (select name as t from teams where id = f.team) l on true
""",
    "sets": r"""
select percentile_disc(0.5) within group (order by {integer}) as p from facts
select team, percentile_cont(0.25) within group (order by whole) as p from facts group by team
select mode() within group (order by title) as m from facts
select paid, stddev(price) as s, variance(small) as v, var_pop(rate) as w from facts group by paid
select sum({numeric}) as a, avg({numeric}) as b from facts
select array_agg(title order by title, id) as a, jsonb_agg(whole order by id) as j from facts
select team, count(distinct (paid, team)) as c from facts group by team
select id, {numeric} as x from facts order by {numeric} desc nulls last, id limit 7
select id, {numeric} as x from facts order by x, id offset 3
""",
    "windows": r"""
row_number()
rank()
dense_rank()
percent_rank()
cume_dist()
ntile(3)
lag(amount)
lead(title, 2, 'none')
""",
    "framed windows": r"""
first_value(price)
last_value(day)
sum(price)
avg(amount)
sum(whole)
count(*)
max(title)
min(amount)
nth_value(small, 2)
""",
    "joins": r"""
f.team = t.id
f.amount = t.budget
f.price > t.budget
f.day = t.since
f.small = t.grade
lower(f.title) = t.name
""",
    "joined": r"""
f.id
t.id as team_id
coalesce(t.budget, f.price) as c
t.name || f.title as n
f.amount * t.budget as p
""",
}

CONSTANTS = {family: text.strip().splitlines() for family, text in _CONSTANTS.items()}
TEMPLATES = {family: text.strip().splitlines() for family, text in _TEMPLATES.items()}
QUERIES = {shape: text.strip().splitlines() for shape, text in _QUERIES.items()}
