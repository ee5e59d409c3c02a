# ruff: noqa: E501
"""Expressions and queries that must return the same result in PostgreSQL and Spark."""

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
case when name is not null then format('%I',name) end
case when name is not null then jsonb_build_object(name,cents) end
name is not null and format('%I',name)>'a'
case when cents<>0 then lpad(name, 100/cents) end
case when cents<>0 then substring(name from '(.)' || (100/cents)::text) end
case when cents<>0 then date_bin(make_interval(mins => 100/cents + 1000), done, done) end
case when cents<>0 then format('%s', 100/cents) end
case when cents<>0 then concat_ws(',', 100/cents, name) end
(id,code::int)<(-1,5)
(id,format('%I',name))>=(-1,'a')
(id,code::int)=(-1,5)
(id,code::int)<>(-1,5)
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
    "numerics without precision": r"""
wide::text
(price/3)::text
price/3/7
(wide+1)/3
sum(case when paid then wide else 0 end) over ()
coalesce(cents,wide)
coalesce(wide,cents)
greatest(0,wide)
least(wide,1.50)
array[1,wide]
case when paid then cents else wide end
nullif(wide,2.5)
wide in (2.5,-2.50,33.3)
wide between -2.5 and 10
wide=any(array[2.5,3])
(case when id%2=0 then 7 else wide end)::text
sum(price) over ()/100
avg(wide) over (order by id)
max(wide) over (order by id)
round(wide,2)::text
round(price::numeric,1)::text
round(ratio::numeric,2)
7::numeric::text
'7.00'::numeric::text
trim_scale('7.00'::numeric)
scale(price)
""",
    "patterns": r"""
regexp_replace(name,'\W','','g')
name ~ '\w'
name ~ '\s'
'École' ~* 'école'
'élan vital' ~ '^\w+\s\w+$'
regexp_replace('été à 12h','\W','','g')
regexp_replace('😀','x*','-','g')
regexp_replace('ABC1','[A-Z]*([A-Z][0-9])*','-','g')
regexp_replace(name,'a','b')
regexp_replace(name,'A','b','gi')
regexp_replace(name,'(.)(.)','\2\1')
regexp_match(name,'(.)b')
regexp_split_to_array(name,'-|b')
regexp_count(name,'[a-z]')
regexp_like(name,'^a','i')
regexp_substr(name,'[a-z]+')
regexp_instr(name,'[a-z]+')
substring(name from '[a-z]+')
name similar to '(a|A)%'
name ~ '[[:alpha:]]'
name ~ code
name like '\a%'
name like code||'%'
name ilike 'É%'
'İstanbul' ilike 'i%'
name !~* 'ACME'
""",
    "text functions": r"""
lower('İstanbul')
upper('ﬁ straße')
initcap(name)
translate(name,'abc','xyz')
repeat(code,3)
octet_length(name)
bit_length(name)
format('%s is %L',name,code)
overlay(name placing 'XX' from 2 for 1)
ascii(name)
chr(233)
to_hex(255)
quote_literal(name)
quote_ident(name)
split_part(name,' ',1)
btrim(name)
ltrim(name,' A')
lpad(code,6,'xy')
concat(name,null,code,paid)
concat_ws(',',code,null,name)
left(name,3)||'…'
starts_with(name,'A')
encode('abc'::bytea,'base64')
md5(name)
name::character(3)
code::char(3)||'x'
name::char(5)='x'
length(code::char(5))
octet_length(code::char(5))
name::varchar(3)
(price::text)::numeric
ratio::text
(ratio/3)::text
""",
    "json": r"""
'{"a":{"b":1}}'::jsonb -> 'a' -> 'b'
'{"a":{"b":1}}'::jsonb ->> 'a'
'{"a":{"b":1}}'::jsonb #>> '{a,b}'
'{"a":{"b":1}}'::jsonb #> '{a}'
'{"a":{"b":1}}'::jsonb ? 'a'
'{"a":1,"b":2}'::jsonb ?| array['z','b']
'{"a":{"b":1}}'::jsonb @> '{"a":{}}'
'[1,2]'::jsonb <@ '[1,2,3]'
'{"a": 1}'::jsonb||'{"b": 2.50}'::jsonb
'{"a": 1,"b":2}'::jsonb - 'a'
'{"b": 1.0,"a":[1,null,"x"]}'::jsonb
'{"a": 1}'::jsonb='{"a": 1.0}'::jsonb
('{"a": "5"}'::jsonb ->> 'a')::int
('[7.50]'::jsonb -> 0)::numeric
jsonb_build_object('id',id,'name',name,'price',price,'when',done)
jsonb_build_array(id,name,paid,due)
to_jsonb(done)
to_jsonb(price)
jsonb_typeof('[]'::jsonb)
jsonb_array_length('[1,2]'::jsonb)
jsonb_strip_nulls('{"a":null,"b":1}'::jsonb)
jsonb_set('{"a":1}'::jsonb,'{a}','2')
jsonb_pretty('{"a":[1]}'::jsonb)
jsonb_extract_path_text('{"a":{"b":"x"}}'::jsonb,'a','b')
'{"b":1, "a":2}'::json
'{"b":1, "a":2}'::json ->> 'a'
""",
    "arrays": r"""
tags[0]
tags[-1]
tags[small]
tags[1:2]
tags[2:]
tags @> array['a']
null::boolean and array_append(tags, '') @> tags
(paid and null) and name ~ 'e'
tags <@ array['a','b']
tags && array['a','z']
tags||array['q']
tags||'q'::text
'q'::text||tags
tags=array['a','b']
tags<>array['a']
string_to_array(name,'-')
array_to_string(tags,'+')
array_to_string(array[1,2,null],',','?')
array_append(tags,'z')
array_prepend('z',tags)
array_cat(tags,tags)
array_remove(tags,'a')
array_replace(tags,'a','q')
array_position(tags,'b')
array_positions(tags,'a')
array_upper(tags,1)
trim_array(array[1,2,3],1)
tags::text
'{1,2,NULL}'::int[]
'{"a b",c}'::text[]
coalesce(tags[1],'none')
ratio::text=any(tags)
code=any(array[name,code])
""",
    "dates and times": r"""
age(timestamp '2020-03-01',local)::text
age(done,timestamptz '2000-01-31')::text
make_date(2020,2,29)
make_timestamp(2020,2,29,12,30,1.5)
make_timestamptz(2020,1,1,0,0,0)
date_bin('15 minutes',local,timestamp '2001-01-01')
to_timestamp(1284352323.5)
to_timestamp(cents)
justify_interval(interval '35 days 25 hours')::text
justify_days(interval '35 days')::text
due+interval '1 month - 1 day'
due+interval '1.5 days'
due+interval '1.5 months'
due-interval '1 day'*3
interval '1 day'>interval '23 hours'
interval '1 month'=interval '30 days'
(interval '1 month 3 days'/2)::text
(interval '1 day'+interval '25 hours')::text
extract(decade from due)
extract(century from due)
extract(millennium from due)
extract(millisecond from done)
extract(milliseconds from done)
extract(microseconds from done)
extract(julian from due)
extract(epoch from timestamp '2100-01-01'-timestamp '1900-01-01')
extract(month from interval '14 months')
extract(day from (done-local))
extract(epoch from (done-local))/3600
trunc(extract(epoch from done))
date_part('epoch',done)
date_trunc('decade',done)
date_trunc('century',local)
date_trunc('week',done)::date
(done-timestamptz '2020-01-01')::text
done at time zone 'EST'
done at time zone 'PST8PDT'
done at time zone interval '2 hours'
local at time zone 'CET'
isfinite(due)
'Jan 5 2020'::date
'20200105'::date
(due::text||' 10:00')::timestamp
(done::text)::timestamptz
greatest(due,date '2020-01-01')
current_date>date '2020-01-01'
now()>timestamptz '2020-01-01'
current_timestamp>local
localtimestamp>local
""",
    "formats": r"""
to_char(done,'SSSS')
to_char(done,'IDDD')
to_char(done,'yyyy-mm-dd hh24:mi')
to_char(done,'DDth Mon YYYY')
to_char(done,'FMDDth')
to_char(done,'WW W CC Q RM')
to_char(done,'J')
to_char(done,'TZ tz OF TZH:TZM')
to_char(done,'HH:MI:SS.MS A.M.')
to_char(due,'Month DD, YYYY')
to_char(due,'"week" IW "of" IYYY')
to_char(interval '15h 2m 12s','HH24:MI:SS')
to_char(price,'999,999.99')
to_char(price,'FM999990.00')
to_char(cents,'S0000000000')
to_char(wide,'9.9EEEE')
to_char(small,'RN')
to_char(ratio,'FM999.999')
to_number('12,454.8-','99G999D9S')
to_date('05 Dec 2000','DD Mon YYYY')
to_timestamp('2020-02-29 10:20:30.5','YYYY-MM-DD HH24:MI:SS.MS')
""",
    "mathematics": r"""
ln(2.0)
exp(1.0)
power(2,10)
2^0.5
2.0^3
sqrt(2.0)
log(100.0)
log(2.0,8.0)
cbrt(27.0)
pi()
degrees(1.0)
sin(1.0)
div(cents,7)
mod(price,7)
gcd(12,18)
lcm(4,6)
factorial(10)
sign(-2.5)
round(-2.5)
round(2.5::float8)
trunc(-2.567,2)
trunc(-2.5::float8)
ceil(-0.5::float8)
width_bucket(price,0,100,10)
cents & 255
cents # 5
cents | 8
1<<4
ratio*1e5
-(-price)
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
percent_rank() over (order by price)
cume_dist() over (order by price)
nth_value(cents,2) over (order by id)
first_value(price) over (order by id)
sum(cents::bigint) over (order by id range between 1 preceding and 1 following)
max(wide) filter (where paid) over (partition by team order by id)
""",
    "numbers as analysts write them": r"""
sum(cents) over (partition by team order by id)
coalesce(cents, price)
coalesce(wide, 0)
greatest(cents, price, wide)
array[price, 1]
cents / 3
price * 1.2
round(wide, -1)
trunc(ratio)
floor(price)
sign(ratio)
mod(price, 3)
wide % 2.5
2 ^ 10
2.5 ^ 3
sqrt(abs(price))
log(100)
exp(ratio / 1e15)
div(price, 3)
degrees(pi())
+price
cents | 1
~ small
big >> 2
cents * 1.0
price - wide
price * 100
cents::text
cents::numeric(12,2)
ratio::real
'12.50'::numeric
'1e3'::numeric
'0012'::bigint
2.5::int
-2.5::int
2.5::double precision::int
0::boolean
'off'::boolean
(not paid)::int
null::text
cents::smallint is null or true
width_bucket(small::int, array[0, 10, 100])
to_char(price, 'FM999,999,990.00')
to_char(cents, '9,999,999,999')
to_char(small, '00000')
to_char(price, 'S9999999999.99')
to_char(price, '9999999999.99PR')
to_char(ratio, '9.99EEEE')
to_char(123, '999th')
to_char(12.5, '99.9%')
to_number('1234', '9999')
price not between 1 and 50
cents in (1, 7, 100)
code not in ('A1', 'B-22')
(cents, team) = (7, 2)
(team, cents) in ((1, 0), (2, 7))
(due, id) >= (date '2020-01-01', 5)
(cents, team) is null
paid is not unknown
cents is distinct from 7
team = any(array[1,2])
cents > all(array[0, team])
code not like all(array['A%', 'b%'])
name ~ any(array['^A', 'x$'])
nullif(price, 0)
100 / nullif(cents, 0)
coalesce(name, code, 'none')
coalesce(due, current_date) is not null
num_nulls(name, code, cents)
case team when 1 then 'one' when 2 then 'two' else 'many' end
case when price > 100 then 'high' when price > 10 then 'mid' end
case when paid then 1 else 0.5 end
case when paid then '2020-01-01' else due end
case when name ~ '^[0-9]+$' then name::int end
""",
    "text as analysts write it": r"""
upper('straße')
char_length(name)
octet_length('日本語')
trim(both ' ' from name)
trim(trailing from name)
btrim('xxabcxx', 'x')
rtrim(name, 'd ')
right(name, 3)
lpad(cents::text, 12)
rpad('hi', 7, 'xy')
substring(name from 2)
substr(name, 2)
substring('foo123bar' from '[0-9]+')
substring('foobar' from '%#"o_b#"%' for '#')
strpos(name, 'e')
replace(name, ' ', '')
translate('12345', '143', 'ax')
repeat(code, 2)
split_part('a,b,c', ',', 5)
concat(name, null, paid)
concat_ws('-', null, 'a')
name || cents
'Q' || extract(quarter from due)
price || ''
format('%1$s-%2$s-%1$s', 'a', 'b')
format('100%% of %s', name)
md5(concat_ws('|', name, code, cents))
convert_from(decode('616263', 'hex'), 'UTF8')
chr(65)
name ^@ 'A'
name like '%\_%'
name ilike '%ACME%'
name ~~ 'A%'
name like '_b%'
name similar to '(A|x)%'
'abc' similar to 'a(b|c)*'
name ~* '^acme'
name !~* 'LTD$'
name ~ '^\w+$'
code ~ '^[[:alpha:]][[:digit:]]+$'
code ~ '[[:punct:]]'
code ~ '^(A|B)'
name ~ '\mAcme\M'
name ~ 'x|^$'
regexp_replace(name, '\s+', ' ', 'g')
regexp_replace(name, 'a', 'X', 'gi')
regexp_replace(name, '^\s+|\s+$', '', 'g')
regexp_replace(code, '\D', '', 'g')
regexp_replace('abc', '(b)', '[\&]')
regexp_replace(name, 'A', 'b', 1, 2)
regexp_replace(name, '(.)\1', '<\1>', 'g')
regexp_match(name, '(\w+)-(\w+)')
(regexp_matches('foo123', '([a-z]+)([0-9]+)'))[2]
regexp_split_to_array(name, '-')
regexp_count(name, 'a')
regexp_like(name, 'ACME', 'i')
(string_to_array(name, ' '))[1]
string_to_array('abc', null)
array_to_string(tags, ',', 'NULL')
normalize('e' || U&'\0301')
E'a\'b'
E'line\\n'
$tag$a 'quoted' $$ text$tag$
U&'\0441\043B'
name::char(5) || '|'
'abc'::char(5) = 'abc'
name::text
name collate "C" < 'b'
name > code
lower(regexp_replace(trim(name), '[^a-zA-Z0-9]+', '-', 'g'))
trim(regexp_replace(coalesce(name, ''), '\s+', ' ', 'g'))
(length(name) - length(replace(name, 'a', ''))) / length('a')
substring('postcode SW1A 1AA here', '[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}')
lower('user@Example.COM') ~ '^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$'
right(repeat('0', 8) || code, 8)
string_to_array('1,2,3', ',')::int[]
'{a,"b c",NULL}'::text[]
'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid::text
md5(name)::uuid = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
""",
    "dates as analysts write them": r"""
date_trunc('quarter', local)
date_trunc('year', done)::date
date_trunc('decade', due)
(date_trunc('month', due) + interval '1 month - 1 day')::date
extract(month from done)
extract(quarter from due)
extract(epoch from done - local)
extract(epoch from (timestamp '2100-01-01' - timestamp '1900-01-01'))
extract(microseconds from local)
extract(year from due)::int
extract(days from (done - timestamptz '2020-01-01'))
date_part('month', done)
date_part('hour', interval '25 hours')
1 + due
due + (team || ' days')::interval
(due + interval '1 month')::date
due + interval '2 weeks'
due + interval '1' day
due + interval '-1 day'
due + interval 'P1Y2M3DT4H5M6S'
done - interval '90 minutes'
local - interval '0.5 hour'
current_date - due is not null
(local - timestamp '2020-01-01')::text
age(timestamp '2020-03-31', timestamp '2020-02-29')::text
date_part('year', age(done, timestamptz '2000-01-01'))
justify_interval(interval '1 month - 1 hour')::text
justify_hours(interval '50 hours')::text
(interval '1 month' / 2)::text
-interval '1 day' = interval '-1 day'
make_interval(days => 3)::text
make_interval(0, 1, 0, 3)::text
due + make_interval(months := 2)
make_date(extract(year from due)::int, 1, 1)
make_timestamptz(2020, 1, 2, 3, 4, 5.5)
date_bin('15 minutes', local, timestamp '2020-01-01')
to_timestamp(1584200000)
to_timestamp('2020-03-14 15:09:26', 'YYYY-MM-DD HH24:MI:SS')
to_timestamp('2020-03-14T15:09:26.535Z', 'YYYY-MM-DD"T"HH24:MI:SS.MS')
to_date('14/03/2020', 'DD/MM/YYYY')
to_date('March 14, 2020', 'Month DD, YYYY')
to_date('2020', 'YYYY')
to_date(nullif(left(day_text, 10), ''), 'YYYY-MM-DD')
left(day_text, 10)::date
date '2020-01-01'
timestamptz '2020-01-01 10:00+01'
'2020-06-01T10:00:00Z'::timestamptz
'Jan 5, 2020'::date
local::date
done at time zone 'BST'
timezone('America/New_York', done)
to_char(due, 'YYYY-MM-DD')
to_char(local, 'HH12:MI AM')
to_char(due, 'Day, DD Month YYYY')
to_char(due, 'Dy DD Mon YY')
to_char(due, 'FMDDth FMMonth')
to_char(due, 'yyyy-mm')
to_char(due, 'IYYY-IW')
to_char(due, 'WW')
to_char(due, 'DDD')
to_char(due, 'J')
to_char(due, 'RM')
to_char(done, 'SSSSS')
to_char(done, 'US')
to_char(done, 'OF')
to_char(done, 'BC')
to_char(due, 'TMMonth')
to_char(done - timestamptz '2020-01-01', 'DD HH24:MI:SS')
due >= date '2020-01-01' and due < date '2020-01-01' + interval '1 year'
done > local
due < done
(due, due + 10) overlaps (date '2020-01-01', date '2020-12-31')
isfinite(interval '1 day')
current_date = now()::date
current_timestamp is not null
statement_timestamp() is not null
extract(year from current_date) > 2000
case when due >= make_date(extract(year from due)::int, 4, 6) then extract(year from due)::int else extract(year from due)::int - 1 end
date_part('year', due)::int || '-Q' || date_part('quarter', due)
(extract(year from due) - extract(year from local)) * 12 + extract(month from due) - extract(month from local)
extract(epoch from (done - lag(done) over (order by id))) / 3600
age(due)::text is not null
to_char(done at time zone 'Europe/London', 'YYYY-MM-DD HH24:MI')
date(local)
EXTRACT(YEAR FROM due)::text
greatest(due, local)
coalesce(due::text, 'n/a')
timestamptz '2020-03-29 00:30 Europe/London' + interval '1 day'
""",
    "arrays, json and windows as analysts write them": r"""
tags[99]
tags[array_length(tags, 1)]
array_ndims(tags)
array['a','b','c','x'] @> tags
tags || 'z'::text
array_replace(tags, 'a', 'A')
tags <> '{}'
not ('a' = any(tags))
array['a', null]
array[cents]::text[]
tags::varchar[]
array[price]::text[]
array[]::int[]
array(select distinct x from unnest(tags) x order by 1)
'{"b": 1, "a": [1, 2.50]}'::jsonb::text
'{"a":{"b":[1,2]}}'::jsonb ->> 'a'
'{"a":{"b":[1,2]}}'::jsonb #> '{a,b}'
('{"a":5.25}'::jsonb -> 'a')::numeric
'{"a":1}'::jsonb ? 'a'
'{"a":1,"b":2}'::jsonb @> '{"a":1}'
'{"a":1}'::jsonb || '{"a":3}'::jsonb
jsonb_set('{"a":1}', '{a}', '2')
jsonb_strip_nulls('{"a":null,"b":1}')
jsonb_array_length('[1,2,3]')
jsonb_extract_path_text('{"a":{"b":1}}', 'a', 'b')
jsonb_build_object('due', due, 'done', done, 'tags', tags)
to_jsonb(name)
to_jsonb(orders) is not null
jsonb_build_object('a', price) -> 'a'
('{"a":[1,2]}'::jsonb)['a'][0]
jsonb_array_length(coalesce(null, '[]')::jsonb)
rank() over (order by team)
cume_dist() over (partition by team order by id)
lead(due) over (partition by team order by id)
nth_value(code, 2) over (order by id rows between unbounded preceding and unbounded following)
avg(price) over (order by id rows between 2 preceding and 2 following)
count(*) over (partition by team)
min(name) over (partition by team)
100.0 * cents / sum(cents) over (partition by team)
count(*) filter (where cents > 0) over (order by id)
every(paid) over (partition by team)
sum(cents) over (order by done range between '1 day' preceding and current row)
string_agg(code, ',') over (partition by team order by id)
row_number() over (partition by date_trunc('month', due) order by id)
first_value(cents) over (order by id) = cents
max(id) over (order by id rows between 1 following and 1 following)
team not in (select id from teams)
cents > (select avg(cents) from orders)
case when team in (select id from teams) then 1 else 0 end
case when exists (select 1 from teams t where t.id = team and "Budget" > 0) then 'y' else 'n' end
greatest(name, code)
"orders"."name"
ORDERS.Cents
text(cents)
numeric '1.50'
paid and cents > 0 or not paid
not paid is true
cents > 0 is true
cents = 1.0
cents = '7'
1 = 1
'a' < 'B'
2 + 3 * 4 - 10 / 3
1e3
100::numeric / 7
avg(price) over ()
trim_scale(1.500)
atan2(1, 2)
""",
    "calculations of reports": r"""
case when cents > 0 then round(price / cents, 4) end
round(100.0 * team / 9, 1) || '%'
to_char(price, 'L999,999D99')
price::text || ' GBP'
coalesce(price, 0)::numeric(14,2) * coalesce(team, 1)
abs(cents::numeric)::bigint % 97
trim_scale(1.10)::text
(10 / 4.0)::text
(0.001 / 3)::text
avg(price) over (partition by team)::text is not null
due - interval '1 day' * extract(dow from due)::int
(due - interval '3 months')::date
'FY' || right(extract(year from due)::text, 2)
extract(hour from done) * 60 + extract(minute from done)
(done at time zone 'UTC')::date - due
to_date(to_char(due, 'YYYYMMDD'), 'YYYYMMDD')
interval '90 minutes'::text
justify_interval(interval '40 days 25 hours')::text
least(due, local::date, current_date) is not null or true
due is distinct from '2020-02-29'
name || E'\n' || code
regexp_replace(name, '^(.)(.*)$', '\2\1')
regexp_replace(name, '.*', 'x')
substring(name from '(\w+)$')
array_length(regexp_split_to_array(trim(name), '\s+'), 1)
left(name, nullif(strpos(name, '-'), 0) - 1)
name ~* '\mltd\M'
name like '%o''B%'
case when code ~ '^\d+$' then code::int else 0 end
repeat('*', team)
overlay(name placing '**' from 2 for 2)
coalesce(array_length(tags, 1), 0)
array['a','b'] && tags
jsonb_build_object('p', price) ->> 'p'
""",
    "subqueries and less usual syntax": r"""
~ big
+cents
small::bigint operator(+) cents
wide operator(*) 2
due operator(-) 3
price operator(<) 5
price operator(=) cents
(cents, team) is distinct from (7, 2)
(cents, team) is not distinct from (null, 3)
(name, code) is null
code not like any(array['A%', 'b%'])
code like all(array['A%', '%1'])
name ~* all(array['a', 'c'])
nullif(cents, 2.5)
nullif(cents, 7.0)
nullif(small, 7)
nullif(cents, ratio)
nullif(price, ratio)
nullif(name::char(5), 'ACME')
nullif(name::char(5), 'ACME'::text)
nullif(due, local)
nullif(code, name)
nullif(big, wide)
nullif(wide, 3)
coalesce(code, name)
case when paid then name else code end
case when paid then code else name end
case when paid then name::char(5) else code end
case when paid then code else name::char(5) end
format('%s %s %s %s', paid, due, price, tags)
convert_from(decode('c3a9', 'hex'), 'UTF8')
encode(sha256(convert_to(name, 'UTF8')), 'hex')
E'\x41\101\u00e9\t\'\\'
E'a''b'
U&'d!0061t!+000061' uescape '!'
string_to_array(day_text, '-')
array[done, null]::text
array[ratio]::text
array[price, 1.5]::text
array[due]::text[]
array[cents]::double precision[]
array[cents]::varchar[]
make_interval(1, months => 2, secs => 1.5)::text
make_date(year => 2020, month => 2, day => team)
(done, interval '1 year') overlaps (timestamptz '2020-03-29', interval '1 month')
(due, interval '1 month') overlaps (date '2020-01-15', interval '2 months')
(due, null) overlaps (date '2020-01-15', date '2020-02-29')
date('2020-01-01')
date(left(day_text, 10))
int8(cents)
array(select id from teams where id > 99 order by id)
array(select name from teams t where t.id <= orders.team order by t.id desc)
array(select upper(name) as u from teams order by u)
to_jsonb(orders)
sum(cents) over (order by due range between interval '1 month' preceding and interval '1 month' following)
count(*) over (order by due desc range between interval '30 days' preceding and current row)
count(*) over (order by done range between interval '1 month' preceding and current row)
count(*) over (order by done range between interval '1 day 2 hours' preceding and interval '30 minutes' following)
count(*) over (order by local range between interval '36 hours' preceding and current row)
count(*) over (order by local desc range between interval '1 year' preceding and current row)
count(*) over (partition by team order by local range between current row and interval '3 months' following)
array_agg(id) over (order by id rows between 2 preceding and current row)
string_agg(code, ',') filter (where paid) over (order by id desc)
jsonb_agg(id) over (partition by team order by id)
bit_and(cents) over (partition by team)
name in (select name from teams)
name not in (select name from teams)
not (name in (select name from teams))
name in (select name from teams where false)
name not in (select name from teams where false)
price in (select "Budget" from teams)
wide in (select cents from orders o2)
cents <> all(select id from teams)
cents > any(select id from teams)
team > all(select id from teams where id > orders.team)
name > all(select name from teams)
cents <> any(select id from teams where false)
(team, name) not in (select id, name from teams)
team in (select id from teams t where t.id = orders.id)
coalesce(team in (select id from teams), false)
length(name) in (select id from teams)
team in (select id from teams) and paid
count(*) over (order by due range between '2 days' preceding and '1 day' preceding)
(due, due + interval '1 day') overlaps (local, local + interval '1 day')
to_char(due, 'YYYY-MM-DD"')
max(name::char(5)) over ()
min(name::char(5)) over () || 'x'
case when name in (select name from teams) then null else 1 end
(name in (select name from teams)) is null
name not in (select name from teams) is not true
(cents > all(select id from teams)) is unknown
cents >= all(select id from teams where false)
cents < any(select "Budget" from teams)
cents < all(select "Budget" from teams)
wide > any(select "Budget" from teams)
(team, paid) in (select id, true from teams)
(team, null) in (select id, name from teams)
(team, name) = any(select id, name from teams)
row(team, code) in (select team, code from orders o2 where o2.id < 5)
due in (select local::date from orders o2)
due in (select local from orders o2)
tags in (select tags from orders o2 where id < 3)
code in (select name from orders o2)
code::char(3) in (select code from orders o2)
array(select x from unnest(tags) with ordinality u(x, n) order by n desc)
array(select o2.id from orders o2 where o2.team = orders.team order by o2.due desc nulls last, o2.id)
array(select distinct t.name from teams t order by t.name)
cardinality(array(select id from teams order by 1))
nullif(array(select id from teams where id > 5 order by 1), '{}')
name like any(array['%a%', null])
name like all(array['%a%', null])
name not ilike any(array['%A%', '%b%'])
(name like any(array['%a%'])) is null
num_nulls(team, due, done) > 1
num_nonnulls(null, 1)
(cents, team) is not distinct from (cents, team)
(due, code) < (date '2020-06-01', 'B')
(team, due, id) >= (2, date '2020-01-01', 4)
(null, 1) = (null, 1)
(1, null) = (2, null)
(1, 2) < (1, null)
+ -cents::bigint
- +price
+ratio
~ (-1)
~ 5 & 3
make_interval(secs => 1.5, days => -1)::text
make_interval(weeks => team)::text
make_timestamp(year => 2020, month => 1, mday => 2, hour => 3, min => 4, sec => 5.5)
(due, done) overlaps (local, due)
(due, due) overlaps (due, due)
(null, due) overlaps (due, due + 1)
E'\\d+' = '\d+'
name ~ E'\\s'
E'\'' || E'\"'
U&'\\' || 'x'
'a\b'
$$a\b$$
$x$ $$ $x$
array['a']::varchar(1)[]
array[1.5, 2.5]::int[]
array[1.5, 2.5]::text[]
array[cents, null]::bigint[]
'{1.5,2}'::numeric[]
'{"2020-01-01"}'::date[]
array['2020-01-01', null]::date[]
string_to_array('1.5,2', ',')::numeric[]
array[paid]::text[]
array[paid]::int[]
array[local]::date[]
array[name]::text[]
tags::varchar(2)[]
array['x'::char(3)]::text[]
format('%s', null)
format('%s|%s', 1.50, array[1,2])
format('%-5s|%5s|', team, code)
format('%s', jsonb_build_object('a', 1))
to_jsonb(name::char(12))
jsonb_build_object('a', name::char(12))
count(*) over (order by due range between interval '0 days' preceding and current row)
sum(team) over (partition by paid order by local range between interval '1 day' preceding and interval '1 day' following)
sum(team) over (order by done desc range between unbounded preceding and interval '1 hour' following)
array_agg(code) over (partition by team order by due desc nulls last, id)
string_agg(name, ',') over (order by id rows between 1 preceding and 1 following)
jsonb_object_agg(id, code) over (partition by team)
bit_or(team) over (order by id)
nullif('', name)
nullif(code::varchar(3), code)
nullif(1.0, 1)
nullif(small, 1.5)
nullif(ratio, cents)
nullif(done, due)
nullif(tags, '{}')
coalesce(name::char(5), code)
coalesce(null, name, 'x')
case when true then 'x' else name end
case when paid then 'x'::char(3) else name end
greatest('a', name)
least(code, 'm')
array['a', name, code]
max(name::varchar(5)) over ()
date(now()) = current_date
int4('42')
text(price)
float8('1.5')
bool('t')
date_trunc('month', due)::date in (select date_trunc('month', due)::date from orders o2 where o2.team = orders.team)
nullif(small, 7.0)
nullif(wide, price)
array(select price from orders o2 where o2.id < 4 order by id)
array(select name from orders o2 where o2.id < 4 order by id)
""",
    "unusual arguments": r"""
octet_length(code::char(5))
bit_length(code::char(5))
string_agg(code::char(5), '|') over (order by id)
normalize('ﬁ', NFKC)
regexp_replace(normalize('élan', NFD), U&'[\0300-\036F]', '', 'g')
substring('Thomas' similar '%#"o_a#"_' escape '#')
substring(name similar 'A#"%#"e%' escape '#')
'3.4028234663852886e38'::real::text
'-3.4028235e38'::real
'1.7976931348623157e308'::double precision::text
jsonb_typeof(to_jsonb(orders) -> 'tags')
coalesce((select notes -> 'a' from (select jsonb_build_object('a', orders.id) as notes) x), 'null')
2 in (select unnest(array[orders.team, 5]))
rank() over (order by id rows between 1 preceding and current row)
lag(cents) over (order by id rows between unbounded preceding and unbounded following)
exists (select from teams where teams.id = orders.team)
(select max(x) from (select orders.team as x union select 5) y)
(select count(*) from unnest(orders.tags) u, teams t)
""",
}

QUERIES = r'''
select id from orders where id in (5, 7) and id in (name::int, 5, 7)
select id from orders where id in (id, name::int)
select id, cents in (3, cents, name::int) as x, code in ('A1', lower(code), code, chr(-cents)) as y from orders where cents > 0 and code is not null
select id from orders where name not in (name, chr(cents)) or cents is not null and cents not in (cents, name::int, 10/(id-id))
select id from orders where small is null and cents not in (small, 10/(id-id)) and not (cents in (small, name::int))
select id, (id, cents) in ((id, cents), (1, name::int)) as x, (id, cents) not in ((id, cents), (1, name::int)) as y from orders where cents is not null
select id, 0.10000000000000000001 in (0.1, 0.2, ratio) as x, 9007199254740993 in (9007199254740992, ratio) as y from orders
select id, id = id or name::int = 1 as x, cents between id + 1 and name::int as y from orders where cents <= id
select id from orders where small is null and cents between small and name::int
select id, (id, cents) between (1, 2) and (30, 4) as x, cents not between symmetric small and -big as y from orders
select id from orders where not (name !~ '^Acme' or 10/(id-1) <= 0 or lower(name) <> 'acme ltd')
select id, cents = 0 or 10/cents = 1 or 10/cents = 2 as x, cents <> 0 and 10/cents = 1 and 10/cents * 2 = 2 as y from orders where cents is not null
select id from orders where name ~ 'A' or name ~ 'b' or name ~* 'c' or name ilike '%d%' or code ~ 'E' or lower(code) = 'f' or code ~ 'g' or name ~ 'h' or name ~ 'i' or name ~ 'j' or name ~ 'k' or name ~ 'l' or name ~ 'm' or name ~ 'n' or name ~ 'o' or name ~ 'p' or name ~ 'q' or upper(name) ~ 'R'
select id from orders where name::int = 1 and '{}'::text[] && '{a}'::text[] or name::int = 1 and '{}'::numeric[] = '{1.5}' or name::int = 2 and 'a' = any('{}'::text[])
select id, name::int = array_length('{}'::int[], 1) as x, name::int = 1 and lower('a') <> all(array['a', 'b']) as y from orders
select 'a' = any('{a,b}'::text[]) as a, 'a' = any(array['b', null]) as b, 'a' <> all(array['b', 'c']) as c, 1.5 = any('{1.50,2}'::numeric[]) as d, 3 <> all('{}'::int[]) as e, null = any('{1}'::int[]) as f, array_position(array['x', 'y'], 'y') as g, array_append('{1,2}'::int[], 3) as h
select id, -round(wide) as x from orders where abs(wide) < 10000 order by x, id
select paid as u from orders intersect select length(upper(name)) <> all(array[2,3]) and code = array_to_string(tags, ',') from orders
select id, upper(name) <> all(tags) as a, upper(name) <> all('{}'::text[]) as b, null::text <> all(tags) as c, upper(name) <> all(array['x', null]) as d, upper(name) <> all(null::text[]) as f from orders
select 1.5 as u from orders union select round(case when upper(name) = any(tags) then (extract(epoch from done) - price) end, 2) from orders
select 1.5 as u from orders union select round(case when jsonb_typeof(to_jsonb(name)) = any(tags) then (extract(epoch from done) - price) end, 2) from orders
select id, upper(name) = any(tags) as a, upper(name) = any('{}'::text[]) as b, null::text = any(tags) as c, upper(name) = any(array[upper(name), null]) as d, upper(name) = any(array[null::text]) as e, upper(name) = any(null::text[]) as f from orders
select id, length(upper(name)) = any(array[3, 4, null]) as a, extract(day from done) = any(array[1.0, 2]) as b from orders
select team, case when count(*)>1 then stddev(wide) end from orders where abs(wide)<1000 group by team
select team, case when count(*)>1 then avg(wide) end from orders where abs(wide)<1000 group by team
select team, case when bool_or(paid) then percentile_cont(0.5) within group (order by wide) end from orders group by team
select team, sum(100/cents) filter (where cents<>0) from orders group by team
select team, avg((100/cents)::numeric) filter (where cents<>0) from orders group by team
select team, max(code::int) filter (where code ~ '^[0-9]+$') from orders group by team
select team, string_agg((100/cents)::text, ',' order by id) filter (where cents<>0) from orders group by team
select team, array_agg(code::int order by id) filter (where code ~ '^[0-9]+$') from orders group by team
select team, corr(100/cents, small) filter (where cents<>0) from orders group by team
select team, percentile_cont(0.5) within group (order by 100/cents) filter (where cents<>0) from orders group by team
select team, mode() within group (order by 100/cents) filter (where cents<>0) from orders group by team
select team, jsonb_agg(code::int order by id) filter (where code ~ '^[0-9]+$') from orders group by team
select team, count(distinct code::int) filter (where code ~ '^[0-9]+$') from orders group by team
select id, sum(code::int) filter (where code ~ '^[0-9]+$') over (order by id) from orders
select id, stddev(code::int) filter (where code ~ '^[0-9]+$') over (order by id) from orders
select team, stddev(100.0/cents) filter (where cents<>0) from orders group by team
select team, variance(100/cents) filter (where cents<>0) from orders group by team
select team, sum(wide*(100/cents)) filter (where cents<>0 and abs(wide)<1000) from orders group by team
select id, coalesce(case when cents=0 then 1 end, 100/cents) from orders
select id from orders where cents<>0 and lpad(name, 100/cents) is not null
select team, bool_or(100/cents > 3) filter (where cents<>0) from orders group by team
select team, jsonb_object_agg(id, 100/cents order by id) filter (where cents<>0) from orders group by team
select team, case when count(*)>2 then corr(wide, small) end from orders where abs(wide)<1000 group by team
select team, case when count(*)>2 then jsonb_agg(wide order by id) end from orders group by team
select team, case when count(*)>2 then percentile_cont(0.5) within group (order by wide) filter (where wide > 0) end from orders group by team
select string_agg(code::char(4),',' order by id) as a, array_to_string(array_agg(code::char(4) order by id),',') as b from orders
select sum(case when paid then wide else 0 end) from orders where wide<100 and wide>-100
select cents from orders union select wide from orders
select wide from orders intersect select price from orders
select wide from orders except select 2.50
select o.id from orders o join teams t on coalesce(o.wide,0) = t.id
select o.id from orders o left join teams t on o.wide = t."Budget"
select id from orders where wide = price
select distinct wide from orders
select wide, count(*) from orders group by wide
select id from orders order by wide desc nulls last, id
select avg(wide), sum(wide)/100, avg(price)/3 from orders where abs(wide)<1000
select date_trunc('month', done), strpos(name,'a'), sum(cents) over () from orders
select string_agg(code,',' order by id), bool_or(paid), max(code), count(*), avg(cents) from orders
select '5'::int, case when paid then 1 else cents end, case when paid then 1 end, (select 7 as x), array[1], exists(select 1), tags[1], trim(name), extract(year from done), done at time zone 'UTC', coalesce(code,'x'), name||'x', not paid, current_date, price::text, upper(name)::varchar(3) from orders where id < 3
select unnest(tags) from orders
select o.id, lower(unnest(o.tags)) as tag from orders o
select o.id, t from orders o, unnest(o.tags) t
select o.id, u.x, u.n from orders o cross join lateral unnest(o.tags) with ordinality as u(x, n)
select o.id, x.t from orders o cross join lateral (select o.code || 'x' as t) x
select o.id, x.name from orders o left join lateral (select name from teams where teams.id = o.team) x on true
select e from jsonb_array_elements('[1,{"a":2},null]'::jsonb) e
select value from jsonb_array_elements_text('["a","b"]'::jsonb)
select jsonb_agg(code order by id), json_agg(cents order by id desc) from orders
select array_agg(code order by id desc), array_agg(distinct code order by code) from orders
select * from generate_series(1,3) g
select * from generate_series(10,1,-3) as g(n)
select * from generate_series(date '2020-01-01', date '2020-01-05', interval '2 days') g
select g::date from generate_series(timestamp '2020-01-01', timestamp '2020-03-01', '1 month') g
select regexp_matches(name, '(.)b') from orders
select regexp_split_to_table('a,b,c', ',')
select team, paid, count(*) from orders group by grouping sets ((team), (paid), ())
select team, paid, sum(price) from orders group by rollup (team, paid)
select team, sum(price), grouping(team) from orders where false group by rollup (team)
select team, paid, sum(price), grouping(team, paid) from orders group by cube (team, paid)
select percentile_cont(0.5) within group (order by cents), percentile_disc(0.5) within group (order by price), mode() within group (order by code) from orders
select percentile_cont(array[0.25,0.75]) within group (order by small) from orders
select mode() within group (order by x) from (values (1.5::float8), ('NaN'), ('NaN'), (2.5)) t(x)
select stddev(cents), variance(price), stddev_pop(small), var_samp(rate), var_pop(wide) from orders where abs(wide) < 1000
select corr(small, team), covar_pop(small, team), regr_slope(small, team), regr_count(small, team) from orders
select id, sum(price) over w, avg(cents) over w from orders window w as (partition by team order by id rows between 1 preceding and 1 following)
select * from (values (1,'a'),(2,'b')) v(x,y)
select id from orders where (team, code) < (2, 'z')
select id from orders where (team, code) in ((1,'A1'),(2,'a1'))
select id from orders where row(team, code) = row(1, 'A1')
select price from orders union all select null
select null
select null, null as x, (null), nullif(null, null), (select null)
select null as x from orders group by 1 order by x
select 'x' as a union select code from orders
select count(*) from orders where code ~ '^[0-9]+$' and code::int > 5
select id, code ~ '^[0-9]+$' and (code::int > 5 or code::int < 2) and code::int between 0 and 90 as x from orders order by id
select count(*) from orders where code !~ '^[0-9]+$' or code::int = 1 or code::int = 2 or code::int = 3 or code::int > 8
select id, case when code ~ '^[0-9]+$' then code::int in (1, code::int + 1, code::int - id) end as x from orders order by id
select id from orders o where code ~ '^[0-9]+$' and code::int >= 0 and exists (select 1 from orders p where p.id = o.id and p.code ~ '^[0-9]+$' and p.code::int >= 0) order by id
select id from orders where (code ~ '^[0-9]+$' and code::int > 0) or (code ~ '^[0-9]+$' and code::int < 0) or code = '' order by id
select count(distinct (team, paid)) from orders
select sum(price) filter (where paid), avg(price) filter (where name ~ 'a'), count(*) filter (where not paid) from orders
select team, sum(sum(price)) over (order by team) from orders group by team
select id from orders where team = (select min(id) from teams)
select id from orders where team = any(select id from teams)
select * from teams natural join (select 1 as id, 'q' as z) x
select name from orders where name is not null order by name collate "C" limit 3
select id from orders where cents between symmetric 100 and -100
select id from orders where (9223372036854775807 + id) > null::bigint
select id, starts_with(format('%I', name), (null::numeric)::text) as a, ((null))::text as b from orders
select name as u from orders union select 'x'
select sum(done - local)::text from orders where done is not null and local is not null
select max(code::char(3)), min(name::char(4)) from orders
select name::char(6) as c, count(*) from orders group by name::char(6)
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
select id from orders where team not in (select id from teams) or paid order by id
select id from orders where name not in (select name from teams where name is not null) or paid order by id
select id from orders where (team, code) not in (select team, max(code) from orders where team is not null group by team) order by id
select id from orders where team > all(select id from teams) order by id
select team in (select id from teams) as known, count(*) from orders group by 1 order by 1
select o.id, t.id from orders o left join teams t on t.id = o.team and o.id in (select id from teams) order by 1
select id from orders order by team in (select id from teams), id
select team, percentile_disc(array[0.1, 0.9]) within group (order by cents) from orders group by team order by team
values (1, null), (2.5, 'two') order by 1 desc
select code from orders union select name from orders order by 1
select jsonb_object_agg(coalesce(name, 'x'), "Budget" order by id) from teams
select team, jsonb_object_agg(code, price order by id) filter (where code is not null) from orders group by team order by team
select key, value from jsonb_each_text('{"a":1,"b":"x","c":null}') order by 1
select o.id, e.key, e.value from orders o, jsonb_each_text(jsonb_build_object('n', o.name, 'c', o.code)) e order by 1, 2
select e.* from jsonb_each('{"a":1,"b":2}') with ordinality as e(k, v, n) order by n
select id from orders order by id offset 2 rows fetch next 3 rows only
values (1, null), (2.5, 'two') order by 1 desc limit 1
select jsonb_object_agg(name, 1) from teams where name is not null
with recursive t as (select id, name, 1 as depth from teams where id = 1 union all select c.id, c.name, t.depth + 1 from teams c join t on c.id = t.id + 1) select * from t order by id
with recursive n(i, v) as (select 1, 1.5 union all select i + 1, v * 1.5 from n where i < 6) select i, v, v::text from n order by i
with recursive n(i, v) as (select 1, 7 union all select i + 1, nullif(v, 7) from n where i < 6) select i, v from n order by i
with recursive a as (select 1 as x), b as (select x + 1 as y from a) select y from b
with recursive n(i) as (select id from teams union all select i + 10 from n where i < 30) select i, count(*) over () from n order by i
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4) select a.i, b.i from n a join n b on a.i = b.i + 1 order by 1
select id, (select max(x) from (values (small::int), (cents)) as v(x)) as m from orders order by id
select id from orders where not (team in (select id from teams)) order by id
select id from orders where (team in (select id from teams)) = paid order by id
select team, count(*) from orders group by team having max(id) > all (select id from teams) order by 1
select count(*) filter (where name not in (select name from teams)), count(*) filter (where name in (select name from teams where name is not null)) from orders
select id, rank() over (order by team in (select id from teams), id) from orders order by id
select team in (select id from teams) as k from orders union select true order by 1
with recursive a(n) as (select 1 union all select n + 1 from a where n < 3), b(m) as (select n * 10 from a union all select m + 1 from b where m % 10 < 2) select m from b order by 1
with recursive d(day) as (select min(due) from orders union all select day + 365 from d where day < date '2020-01-01') select * from d order by 1
with recursive p(id, price) as (select id, price from orders where id < 2 union all select p.id + 10, o.price from p join orders o on o.id = p.id + 10 where p.id < 30) select * from p order by 1
with recursive c(n) as (select 3 union all select n - 1 from c where n > 0) select string_agg(n::text, ',' order by n desc) from c
select o.id, x.i from orders o, lateral (select o.id + 1 as i) x where o.id in (select id from teams) order by 1
select * from (values (date '2020-01-01', 1.50), ('2020-02-01', null)) v(d, n) order by d
select k, v from (select id, name, code from orders where id < 4) o cross join lateral (values ('name', o.name), ('code', o.code)) u(k, v) order by o.id, k
select jsonb_object_agg(e.key, e.value) from jsonb_each('{"a": 1, "b": [2]}') e
select jsonb_agg(to_jsonb(t) order by t.id) from teams t
select id, unnest(tags), unnest(string_to_array(name, ' ')) from orders order by 1, 2, 3
values ('a', 1), ('b', 2)
select 1 as x union all values (2), (3) order by 1
select percentile_cont(array[0, 0.5, 1]) within group (order by cents) filter (where paid) from orders
select id, name from orders where name ^@ 'A' order by id
select team, max(done) over (partition by team order by due range between interval '1 year' preceding and current row) from orders where due is not null order by id
select "id" as "ID", "Budget" as budget from teams order by "ID"
select count(*) "count", max(id) as max from teams
select team as id, count(*) from orders group by team order by id
select id from teams order by "Budget" desc nulls last limit 1 offset 1
select o.team, avg(o.price)::numeric(12,2) as avg_price, min(o.due) as first_due, max(o.due) as last_due, count(distinct o.code) as codes from orders o where o.price is not null group by o.team order by 2 desc
select o.id, o.price, t."Budget", o.price > t."Budget" as over_budget from orders o inner join teams t on (o.team = t.id) where t."Budget" is not null order by 1
select id, price from orders where price = (select max(price) from orders where team = 1) order by id
select team, due, due - lag(due) over (partition by team order by due, id) as gap from orders where due is not null order by team, due, id
select id, name from teams union select id, code from orders where id < 3 order by id, name
with ranked as (select *, rank() over (partition by team order by price desc nulls last) as r from orders) select team, id, price from ranked where r <= 2 order by team, r, id
select team, (array_agg(code order by due desc nulls last, id))[1] as latest from orders group by team order by team
select sum(n) filter (where n > 2), array_agg(n order by n desc) from generate_series(1, 5) n
select grouping(team), team, count(*) from orders group by rollup(team) order by 1, 2
select date_trunc('month', due), count(*), sum(price) from orders group by 1 order by 1
select team, percentile_cont(array[0.25, 0.5, 0.75]) within group (order by price) from orders group by team order by team
select team, paid, count(*), grouping(team, paid) from orders group by cube (team, paid) order by 4, 1, 2
select o.id, t.tag, t.n from orders o cross join lateral unnest(o.tags) with ordinality as t(tag, n) order by 1, 3
select generate_series(1, 5) as n
with recent as (select * from orders where due >= '2019-01-01'), agg as (select team, count(*) as n, max(price) as top from recent group by team) select t.name, a.n, a.top from agg a left join teams t on t.id = a.team order by a.team
select v.label, count(o.id) from (values (1, 'one'), (2, 'two')) as v(team, label) left join orders o using (team) group by v.label order by 1
select id from orders where team in (select id from teams) or paid order by id
select name from teams union select code from orders order by 1
select null as x union all select due from orders where due is not null order by 1
select count(*), count(distinct team), count(team), count(distinct (team, paid)) from orders
select team, jsonb_agg(jsonb_build_object('id', id, 'code', code) order by id) from orders group by team order by team
select jsonb_object_keys('{"a":1,"b":2}') as k
select * from (select o.*, row_number() over (partition by team order by due desc nulls last, id) as rn from orders o) x where rn = 1 order by id
select t.name, o.* from teams t join orders o on o.team = t.id and o.paid order by o.id
select a.id as a, b.id as b from teams a join teams b on a."Budget" > b."Budget" order by 1, 2
select count(*), max(price), greatest(1, 2), nullif(1, 2), cast(1 as text), '1'::int, interval '1 day' > interval '2 days', extract(year from date '2020-01-01'), substring('abc' from 1), trim(' a '), position('a' in 'b'), overlay('abc' placing 'x' from 1), upper('a') || 'b' from orders
select sum("Budget") as "Sum", "Budget" is null as "isNull" from teams group by "Budget" is null order by "isNull"
select id from orders order by lower(name), id
select length(name), count(*) from orders group by length(name) order by 1
select o.id, m[1] from orders o, regexp_matches(o.name, '([a-z]+)', 'g') as m order by 1, 2
select to_char(due, 'YYYY-MM') as period, count(*) from orders group by 1 order by 1
select every(cents is not null), bool_and(paid), bool_or(paid) from orders
select string_agg(distinct code, ', ' order by code) from orders
select id, (select string_agg(t.name, ',' order by t.id) from teams t where t.id <= o.team) from orders o order by id
with d as (select generate_series(date '2020-01-01', date '2020-12-01', interval '1 month')::date as m) select to_char(m, 'Mon YYYY') as label, m from d order by m
select case when cents < 0 then 'neg' when cents = 0 then 'zero' else 'pos' end as band, count(*) from orders group by case when cents < 0 then 'neg' when cents = 0 then 'zero' else 'pos' end order by 1
select percentile_disc(0.5) within group (order by due) from orders
select id, price::numeric(14,4) * rate as v, (price * rate)::numeric(20,4) as w from orders order by id
select a, b from (select 1 as a) x cross join (select 2 as b) y
select i, (array['a','b','c'])[i] as v from generate_series(1, 3) i order by i
select not paid as unpaid, count(*) from orders group by not paid order by 1
select count(*) from orders o where o.tags && array['a'] or cardinality(o.tags) = 0
select coalesce(n -> 'a', n -> 'b'), upper(n ->> 'c'), jsonb_typeof(n -> 'a') from (select jsonb_build_object('a', id, 'c', code) as n from orders) x
select string_agg(code::char(4), ',' order by id), string_agg(distinct code::char(4), ',' order by code::char(4)) from orders
select id, rank() over w, sum(team) over w, lead(id) over w from orders window w as (order by id rows between 1 preceding and 1 following) order by id
select id from orders order by id limit all
select id from orders order by id limit null offset 40
select id from orders order by id fetch first row only
select team, paid from orders group by (team, paid) order by 1, 2
select team, exists (select 1 from teams t where t.id = o.team), count(*) from orders o group by team order by 1
select team, count(*) from orders o group by team having count(*) > (select count(*) from teams t where t.id < o.team) order by 1
select team, (select max(t.name) from teams t where t.id = o.team), count(*) from orders o group by team, 2 order by 1
select id, id from orders order by id
select max(id) filter (where team in (select id from teams)), mode() within group (order by team) from orders
select g % 2, count(*) from generate_series(1, 9) as g(n) group by g order by 1
select o.id, t.id from orders o left join teams t on o.team = t.id and t.name ilike 'R%' and o.name ~ 'a' order by 1, 2
select o.id, t.id from orders o full join teams t on o.team = t.id and t.name ilike 'R%' order by 1, 2
select o.id, p.id from orders o left join orders p on p.id = o.id and p.code ~ '^[0-9]+$' and p.code::int > 5 order by 1
select o.id from orders o where exists (select 1 from teams t where t.id = o.team and t.name ~ 'e') order by 1
select o.id, (select max(p.id) from orders p where p.team = o.team and p.code ~ '^[0-9]+$' and p.code::int > 5) from orders o order by 1
select k, count(*) from orders o, jsonb_object_keys(to_jsonb(o)) k group by k order by k
select o.id from orders o join teams t on t.id = o.team and exists (select 1 from teams s where s.id = t.id) order by 1
'''
