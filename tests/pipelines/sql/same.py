# ruff: noqa: E501
"""Expressions and queries that must give the same in PostgreSQL and, translated, in Spark."""

from __future__ import annotations

EXPRESSIONS = {
    "numbers": r"""
cents::numeric/100
cents/100
cents/7
-cents::bigint/7
cents%7
mod(cents,-7)
big/3
big%1000
small/2
small%2
price/100
price/3
price/7::numeric
rate/3
case when abs(price)>0.1 and abs(price)<100 then rate/price end
case when abs(rate) between 0.1 and 100 then price/rate end
wide/3
wide/100
wide/7.5
coalesce(wide,0)/3
ratio=0.1
price*2/4
price*rate
price*price
price+rate
price-wide/2
wide*2
wide*0.1
wide+price
wide-wide
-wide
abs(wide)
ceil(wide)
floor(wide)
trunc(wide,3)
sign(wide)
greatest(wide,price)
wide::double precision
case when wide in (-1.5,3,2.5,-2.5,10,33.3) then wide*wide end
case when abs(wide)<100 then wide*price end
case when abs(wide) between 0.01 and 100 then price/wide end
wide::bigint
-price
abs(rate)
abs(cents::bigint)
rate*1.5
1.5*2
7/2
-7/2
7.0/2
1/3.0
1e3/7
cents*1.0/3
round(price,1)
round(price)
round(rate,4)
round(cents::numeric/100::numeric,2)
round(price/3,2)
(cents/100)::numeric(15,2)
(price*1.2)::numeric(14,1)
round(wide,2)
round(ratio)
trunc(price,1)
trunc(rate)
ceil(price)
floor(rate)
ceil(ratio)
floor(ratio)
sign(price)
sqrt(abs(ratio))
ratio*3
ratio/3
ratio+cents
ratio::numeric
ratio::numeric(20,2)
price::double precision
price::bigint
case when abs(price)<100 then price::integer end
case when id<20 then rate::integer end
ratio::bigint
""",
    "text": r"""
small::text
cents::text||'x'
price::text
rate::text
(price+1)::text
paid::text
due::text
done::text
local::text
code||name
code||cents
'a'||null
concat(code,name,paid,cents)
concat_ws('-',code,name)
coalesce(code,'none')
coalesce(cents,0)/2
coalesce(price,0)
nullif(code,'')
nullif(cents,0)
greatest(cents,small,3)
least(price,rate)
greatest(due,'2020-01-01')
greatest(code,name)
name=code
name<code
code>'A'
code<'a'
name like 'a%'
name ilike 'a%'
name like '%\\%%'
name like 'x!%' escape '!'
name not like '%a%'
name not ilike '%A%'
name ~ '^[A-Za-z]+$'
name ~ 'b.e'
name ~* 'acme|OFF'
name !~ '\d'
code ~ '^[0-9]+$'
name ~ 'k$'
upper(name)
lower(name)
length(name)
substring(name from 2 for 3)
substring(name,0,2)
substring(name,-1,3)
substring(name,3)
substr(name,small-5,4)
position('b' in name)
strpos(name,'')
left(name,2)
left(name,-2)
right(name,2)
right(name,-2)
left(name,small)
split_part(name,'-',2)
split_part(name,'-',-1)
replace(name,'a','__')
replace(name,'','z')
lpad(code,4,'0')
rpad(code,1)
trim(name)
ltrim(name,' s')
trim(both 'Aa' from name)
rtrim(name)
btrim(name,'x')
reverse(name)
md5(name)
regexp_replace(name,'[^a-z]','','g')
starts_with(name,'A')
upper(name||'straße')
lower('İ'||upper(name))
name ~ '[\d-]'
name ~ '[-\d]'
name ~ '^.{2,3}$'
name ilike 'ac!%' escape '!'
""",
    "conditions": r"""
name is null
paid is true
paid is not true
paid is not false
paid is unknown
not paid
paid and code='A1'
paid or cents>0
code is distinct from name
cents is not distinct from small
cents between 0 and 100
cents not between 0 and 100
code in ('A1','b')
code not in ('A1','b')
code not in ('A1',null)
cents in (7,-7,100)
price in (2.5,0.05)
price=2.5
price>rate
wide>big
wide=1.5
big=ratio
cents=7.0
case when cents>0 then 'pos' when cents<0 then 'neg' end
case code when 'A1' then 1 when 'b' then 2.5 else 0 end
case when paid then cents else price end
""",
    "times": r"""
date_trunc('month',done)
date_trunc('month',due)
date_trunc('month',local)
date_trunc('week',done)
date_trunc('quarter',due)
date_trunc('year',done)
date_trunc('day',done)
date_trunc('hour',local)
date_trunc('second',done)
date_trunc('milliseconds',done)
date_trunc('month',done)::date
date_trunc('month',done)::DATE = date_trunc('month',to_date('2017-11-30 00:00:00','YYYY-MM-DD'))
date_trunc('day',done,'Europe/London')
date_trunc('hour',done,'Europe/London')
date_trunc('month',done,'America/New_York')
to_date('2017-11-30 00:00:00','YYYY-MM-DD')
to_date(day_text,'YYYY-MM-DD')
to_timestamp('2020-02-29 10:20:30','YYYY-MM-DD HH24:MI:SS')
to_char(done,'YYYY-MM-DD HH24:MI:SS')
to_char(due,'DD/MM/YYYY')
to_char(done,'Mon YYYY')
to_char(due,'FMMonth DD, YYYY')
to_char(due,'Month|')
to_char(done,'HH12:MI AM')
to_char(done,'YYYY-MM-DD"T"HH24:MI:SS.US')
to_char(due,'Day Dy DAY Q IW IYYY ID DDD')
to_char(local,'YYYYMMDD HH24MISS.MS')
to_char(due,'FMDD/FMMM/YY MON mon MONTH')
done::date
done::timestamp
local::timestamptz
due::timestamp
due::timestamptz
done at time zone 'Europe/London'
local at time zone 'Europe/London'
local at time zone 'America/New_York'
local at time zone 'Australia/Lord_Howe'
(done at time zone 'Europe/London')::date
due at time zone 'Europe/London'
date_trunc('month', done at time zone 'Europe/London')
due+1
due-1
due+interval '1 month'
due-interval '1 month'
done+interval '1 month'
done-interval '1 year 2 months 3 days 4 hours'
local+interval '1 day'
done+interval '36 hours'
case when small between -100 and 100 then done+interval '1 month'*small end
case when cents between -99 and 999 then done+cents*interval '1 day' end
due-date '2020-01-01'
due-'2020-01-01'
done-local>interval '30 days'
extract(day from done-timestamptz '2020-01-01')
extract(epoch from done-timestamptz '2020-01-01 00:00:00+02')
extract(year from done)
extract(month from due)
extract(dow from due)
extract(isodow from due)
extract(doy from due)
extract(week from due)
extract(isoyear from due)
extract(quarter from done)
extract(hour from done)
extract(minute from local)
extract(second from done)
extract(epoch from done)
extract(epoch from due)
extract(year from due)/3
date_part('year',done)/3
date_part('dow',due)
done>='2020-01-01'
done>='2020-02-29 23:59:59.5+00'
done<timestamp '2020-03-29 01:00:00'
due>='2020-02-29'
due=done
local<done
due between '2019-01-01' and '2020-12-31'
done=any(array['2017-12-01'::timestamptz])
day_text::date>'2010-01-01' or day_text is null or true
date '2020-02-29'
timestamptz '2020-10-25 01:30:00+01'
timestamp '2020-10-25 01:30:00+01'
'2020-01-31'::date + interval '1 month'
'1 month'::interval + due
due + interval '1' month
timestamp '2014-10-26 00:30:00' at time zone 'Asia/Magadan'
timestamp '2020-10-25 02:30:00' at time zone 'Antarctica/Troll'
local at time zone 'UTC'
extract(year from date '0001-01-01' - 1)
extract(isoyear from date '0001-01-03' - id)
extract(isoyear from date '9999-12-31' + id)
extract(isoyear from date '2020-12-28' + id)
to_char(date '0001-01-03' - id * 200,'YYYY FMYYYY IYYY FMIYYY')
to_char(date '9999-12-31' + id,'YYYY FMYYYY IYYY FMIYYY')
to_char(date '2020-12-28' + id,'YYYY FMYYYY IYYY FMIYYY')
(ratio * 1e10)::real::double precision
(ratio * 1e-20)::real::double precision
(date '9999-12-31' + 1)::text
(timestamp '9999-12-31 00:00:00' + interval '1 day')::text
(timestamptz '9999-12-31 00:00:00' + interval '1 day')::text
to_char(date '0099-01-02','YYYY FMYYYY YY')
to_char(date '9999-12-31' + 1,'YYYY FMYYYY')
due + interval '-1 day 2 hours'
due + interval ' 1day  3 hrs '
""",
    "constants and casts": r"""
'123'::int
'1.50'::numeric
'0.1234567890123456789'::numeric
code='007'
case when code ~ '^[0-9]+$' then code::int end
case when code ~ '^[0-9]+$' then code::numeric/3 end
case when code ~ '^[0-9]+$' then code::bigint end
't'::boolean
cents::boolean
paid::int
'yes'::bool=paid
name::varchar(3)
price='33.334'
price in ('33.334','2.50')
price between '33.331' and '33.334'
rate='0.33333333334'
coalesce(price,'1.005')
greatest(price,'0.005')
price+'0.005'
price*'1.005'
price/'3'
cents/'7'
case when cents is not null then '0.126' else price end
nullif(price,'2.504')
price=any('{33.334,2.5}')
price<>all('{0.12345678901234567890,2.5}')
cents=any(array[7.0,1.5])
price=any('{}')
""",
    "arrays and subqueries": r"""
tags
tags[1]
tags[3]
'a'=any(tags)
'a'<>all(tags)
code=any(tags)
code=any('{A1,b}')
code=any(array['A1','b',null])
array_length(tags,1)
cardinality(tags)
array_to_string(tags,',')
array_to_string(tags,',','?')
array_to_string(tags,',',null)
array[cents,small]
exists(select 1 from teams where teams.id=orders.team)
(select max(name) from teams where teams.id=orders.team)
case when cents<>0 then 100/cents end
case when cents<>0 then 100.5/cents end
coalesce(price,100.5/nullif(cents,0))
case when code ~ '^[0-9]+$' then code::int/3.0 end
case when price<>0 then rate%price end
wide%7
right(name,small)
12345678901234567890
123456789012*1000
0.1+0.2
'${env:PATH}'
'a\b''c'
$$do'llar$$
true
null
""",
    "windows": r"""
rank() over (order by code desc,id)
row_number() over (partition by team order by price desc,id)
lag(cents) over (order by id)
lead(cents,2,0) over (order by id)
sum(cents) over (order by id)
sum(price) over (partition by team)
avg(cents) over (order by id rows between 2 preceding and current row)
count(*) filter (where paid) over (partition by code)
first_value(code) over (partition by team order by id)
last_value(code) over (partition by team order by id rows between unbounded preceding and unbounded following)
ntile(4) over (order by id)
dense_rank() over (order by price)
lag(price,1,'0.005') over (order by id)
lag(price,1,0.005) over (order by id)
lead(small,1,100000) over (order by id)
""",
}

QUERIES = r'''
select team, count(*), count(cents), count(distinct code), sum(cents), sum(big), sum(price), sum(wide/10), avg(cents), avg(price), avg(rate), avg(small), min(done), max(due), min(name), max(code), bool_and(paid), bool_or(paid), every(paid) from orders group by team
select avg(wide) from orders where abs(wide) < 1000
select avg(cents), sum(cents), min(code) from orders where false
select team, string_agg(code, ',' order by id desc), string_agg(distinct code, ';' order by code), array_agg(code order by code, id), array_agg(cents order by price desc, id), count(*) filter (where cents > 0), sum(price) filter (where paid), string_agg(code, '' order by id) filter (where id > 40) from orders group by team
select array_agg(code order by id) from orders where false
select id, code from orders order by code, id
select id, code from orders order by code desc, id
select id, code as c from orders order by c desc nulls last, id limit 7 offset 3
select distinct code from orders order by code
select distinct code, team from orders
select distinct on (team) team, id, code from orders order by team, price desc, id
select distinct on (o.team) o.* from orders o order by o.team, o.id
select distinct on (1) team, id from orders order by 1, id
select distinct on ((team), 2) team, paid, id from orders order by 2, team desc, id
select distinct on (code) upper(code) as code, id from orders order by code, id
select upper(code) as team, id from orders order by (team), (2)
select id from orders where team in (select teams.id % 2 as team from teams group by team)
select team, sum(count(*)) over (order by team) from orders group by team
select team, sum(cents), sum(cents) / sum(sum(cents)) over (), avg(sum(price)) over (), max(count(*) filter (where paid)) over () from orders group by team
select team, lag(sum(cents)) over (order by team), rank() over (order by count(*) desc, team), first_value(max(code)) over (partition by count(*) order by team) from orders group by team
select o.id, t.name as "Team ""Name""", t."Budget" from orders o left join teams t on t.id = o.team where t."Budget" is null or t."Budget" > 1
select o.id, t.name from orders o join teams t on o.team = t.id and t."Budget" > 0
select a.id, b.id from teams a full join teams b on a.id = b.id + 1
select * from teams a join teams b using (id)
select id, a.name from teams a full join (select id + 2 as id from teams) b using (id)
select a.name, b.id from teams a right join teams b on a."Budget" < b."Budget"
select a.id, b.id from teams a, teams b where a.id < b.id
select * from teams cross join (select 1 as one) x
with c as (select team, sum(cents) s from orders group by team), d(x, y) as (select * from c) select c.team, s / 2, y from c join d on c.team = d.x
select team, code from orders union select id, name from teams
select cents from orders union all select "Budget" from teams
select code from orders intersect select 'A1' union select 'zz'
select code from orders except select 'A1' order by 1
select team as t, count(*) c from orders group by t having count(*) > 3 order by t
select date_trunc('month', done) as m, count(*) from orders group by 1 order by 1
select to_char(done, 'YYYY') y, sum(price) / count(*) from orders group by y order by y
select 1 as a, 'x' as b, null as c, 1.5 as d
select sub.n from (select count(*) as n from orders where price > (select avg("Budget") from teams)) sub
select name, "Budget" from teams where name = 'red' order by "Budget" desc, 1
select coalesce(t.name, 'none') as k, sum(o.cents::numeric / 100) from orders o left join teams t on t.id = o.team group by coalesce(t.name, 'none')
select id from orders where team in (select id from teams) and code not in (select name from teams where name is not null)
select id from orders where team in (select id from teams where name is not null) or cents in (select id from teams)
select id, code from orders where team not in (select "Budget" from teams)
select min(wide), max(wide), sum(wide), avg(abs(price)) from orders
select max(price) - min(price), max(cents) / 7, count(distinct team) * 1.0 / count(*) from orders
'''
