select * from orders
select id, name from orders where id > 1 order by id desc
select distinct name from orders
select count(*) from orders
select count(distinct name), sum(amount), avg(amount), min(at), max(at) from orders
select name, count(*) as n from orders group by name having count(*) > 0 order by n desc, name
select id, amount / 3, amount * 2.5, id % 2, id div 2, -id, +id, ~id from orders
select shiftleft(id, 2), shiftright(id, 1) from orders
select a.id, b.name from orders a join orders b on a.id = b.id
select a.id, b.name from orders a left join orders b using (id)
select a.id from orders a left semi join orders b on a.id = b.id
select a.id from orders a left anti join orders b on a.id = b.id and b.id > 1
select a.id from orders a cross join orders b
select a.id from orders a full outer join orders b on a.id = b.id + 1
select a.id from orders a, orders b where a.id = b.id
select * from orders a natural join orders b
select id from orders union select id + 1 from orders
select id from orders union all select id from orders
select id from orders intersect select id from orders
select id from orders except select 2
select id from orders minus select 2
select case when id = 1 then 'one' when id = 2 then 'two' else 'many' end as word from orders
select case id when 1 then 'one' else 'other' end from orders
select if(id > 1, 'a', 'b'), nvl(name, 'x'), nvl2(name, 1, 2), ifnull(name, 'y'), nullif(id, 1), coalesce(name, 'z') from orders
select cast(id as string), id::string, string(id), int('3'), bigint(id), double(id), cast(amount as decimal(10,2)) from orders
select try_cast('x' as int), try_cast('3' as int)
select cast('2024-01-02' as date), date '2024-01-02', timestamp '2024-01-02 03:04:05', date('2024-01-03')
select timestamp_ntz '2024-01-02 03:04:05', timestamp_ltz '2024-01-02 03:04:05'
select date_add(date '2024-01-31', 1), date_sub(date '2024-01-31', 1), datediff(date '2024-02-01', date '2024-01-01')
select dateadd(day, 3, date '2024-01-01'), dateadd(MONTH, 1, timestamp '2024-01-31 00:00:00'), datediff(hour, timestamp '2024-01-01', timestamp '2024-01-02')
select timestampadd(hour, 3, timestamp '2024-01-01'), timestampdiff(day, date '2024-01-01', date '2024-03-01')
select add_months(date '2024-01-31', 1), months_between(date '2024-03-31', date '2024-01-31'), last_day(date '2024-02-01'), next_day(date '2024-02-01', 'Mon')
select date_trunc('month', at), trunc(date(at), 'MM'), date_format(at, 'yyyy-MM-dd HH:mm:ss'), to_date('2024/01/02', 'yyyy/MM/dd') from orders
select to_timestamp('2024-01-02 03:04', 'yyyy-MM-dd HH:mm'), from_unixtime(0), unix_timestamp('2024-01-01', 'yyyy-MM-dd'), to_unix_timestamp('2024-01-01', 'yyyy-MM-dd')
select year(at), month(at), day(at), hour(at), minute(at), second(at), quarter(at), weekofyear(at), dayofweek(at), dayofyear(at) from orders
select extract(year from at), extract(week from at), extract(seconds from at), date_part('month', at) from orders
select at + interval 1 day, at - interval '2' hour, at + interval '1 2' day to hour, at + interval 3 weeks from orders
select string(interval '1-2' year to month), interval '1 02:03:04' day to second, string(interval 1 month + interval 2 months) as s
select at - interval '3 days' from orders
select make_date(2024, 1, 2), make_timestamp(2024, 1, 2, 3, 4, 5), string(make_interval(0, 1)), make_dt_interval(1, 2)
select concat('a', 'b', 'c'), 'a' || 'b' || name, concat_ws('-', 'a', 'b', null) from orders
select upper(name), lower(name), initcap(name), length(name), char_length(name), reverse(name) from orders
select substring(name, 2, 3), substr(name, 2), substring(name from 2 for 2), left(name, 2), right(name, 2) from orders
select trim(name), trim(both 'x' from 'xxaxx'), trim(leading 'x' from 'xxaxx'), trim(trailing from 'a '), ltrim(' a'), rtrim('a '), btrim(' a ') from orders
select ltrim('x', 'xxa'), rtrim('x', 'axx'), btrim('xxaxx', 'x')
select position('b' in 'abc'), position('b', 'abc'), locate('b', 'abcb', 3), instr('abc', 'c')
select overlay('Spark SQL' placing '_' from 6), overlay('Spark SQL' placing 'ANSI ' from 7 for 0), overlay('Spark SQL', '_', 6)
select lpad('a', 3, 'x'), rpad('a', 3, 'x'), lpad('a', 3), repeat('ab', 2), space(3), replace('abc', 'b', 'x'), translate('abc', 'ab', 'xy')
select split('a,b,c', ','), split('a1b2', '[0-9]'), split_part('a,b', ',', 2), array_join(array('a','b'), '-')
select regexp_replace('a1b2', '\\d', 'x'), regexp_extract('a1b2', '(\\d)', 1), 'abc' rlike 'a.c', regexp_like('abc', '^a'), 'abc' regexp 'b'
select regexp_extract_all('a1b2', '(\\d)', 1), regexp_count('a1b2', '\\d'), regexp_substr('a1', '\\d'), regexp_instr('a1', '\\d')
select name like 'o%', name not like '%x', name ilike 'O%', name like any ('o%', 'x%'), name like all ('o%', '%1') from orders
select name like 'a\_b', 'a_b' like 'a\_b', '50%' like '50\%', 'a#_b' like 'a#_b' escape '#' from orders
select 'it\'s', "double", 'tab\there', 'new\nline', 'back\\slash', 'per\%cent', 'under\_score'
select "it's", 'say "hi"'
select id in (1, 2), id not in (3), id between 1 and 2, id not between 2 and 3, name is null, name is not null from orders
select id <=> null, id is distinct from 1, id is not distinct from 1, name = 'a' or not (id = 2) and true from orders
select id == 1, id != 1, id <> 1, !(id = 1) from orders
select true and false, true or null, null and false, not null
select exists (select 1 from orders), (select max(id) from orders), id in (select id from orders) from orders
select * from orders o where exists (select 1 from orders p where p.id = o.id and p.id > 1)
select * from (select id, name from orders) t where t.id = 1
with a as (select id from orders), b as (select id + 1 as id from a) select * from a join b using (id)
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t
with t (x, y) as (select 1, 2) select x + y from t
select row_number() over (order by id), rank() over (partition by name order by id desc), sum(amount) over (partition by name order by id rows between unbounded preceding and current row) from orders
select lag(id) over (order by id), lead(id, 1, 0) over (order by id), first_value(id) over (order by id), ntile(2) over (order by id), percent_rank() over (order by id), cume_dist() over (order by id) from orders
select sum(id) over (order by id range between 1 preceding and 1 following), avg(id) over w from orders window w as (order by id)
select last_value(name) ignore nulls over (order by id), first_value(name, true) over (order by id), nth_value(id, 2) over (order by id) from orders
select first(name), last(name), first(name) ignore nulls, any_value(name) from orders
select lag(name) ignore nulls over (order by id) from orders
select count(*) filter (where id > 1), sum(id) filter (where id = 1) from orders
select percentile(id, 0.5), percentile_approx(id, 0.5), approx_percentile(id, 0.5, 100), median(id), mode(id) from orders
select percentile_cont(0.5) within group (order by id), percentile_disc(0.5) within group (order by id desc) from orders
select mode() within group (order by id), listagg(name, ',') within group (order by name), string_agg(name, '-') within group (order by id) from orders
select stddev(id), stddev_pop(id), stddev_samp(id), variance(id), var_pop(id), var_samp(id), corr(id, amount), covar_pop(id, amount), skewness(id), kurtosis(id) from orders
select collect_list(id), sort_array(collect_set(name)), array_agg(id), max_by(name, id), min_by(name, id), bool_and(id > 0), bool_or(id > 2), every(id > 0), some(id > 2), count_if(id > 1) from orders
select approx_count_distinct(id), bit_and(id), bit_or(id), bit_xor(id), sum(distinct id) from orders
select name, sum(id) from orders group by name with rollup order by 1, 2
select name, sum(id) from orders group by rollup (name) order by 1, 2
select name, id, sum(amount), grouping(name), grouping_id(name, id) from orders group by cube (name, id) order by 1, 2, 3
select name, id, sum(amount) from orders group by grouping sets ((name), (id), ()) order by 1, 2, 3
select name, id, sum(amount) from orders group by name, id grouping sets ((name), (id)) order by 1, 2, 3
select name, sum(id) from orders group by 1 order by 1
select name, sum(id) from orders group by all order by all
select id, name from orders order by name nulls first, id desc nulls last limit 2 offset 1
select id from orders order by name
select id from orders order by name desc
select id from orders sort by id
select id from orders limit 2
select id from orders limit 1 + 1
select array(1, 2, 3), array(1,2)[0], map('a', 1)['a'], struct(1, 'a'), named_struct('x', 1, 'y', 'b').y, tags[0], tags from orders
select element_at(array(1,2), 1), element_at(map('a', 1), 'a'), size(tags), cardinality(tags), array_contains(tags, 'x'), array_position(array(1,2), 2), tags[size(tags) - 1] from orders
select transform(array(1, 2), x -> x + 1), filter(array(1, 2, 3), x -> x > 1), aggregate(array(1, 2, 3), 0, (acc, x) -> acc + x), exists(array(1, 2), x -> x = 2), forall(array(1), x -> x > 0)
select reduce(array(1, 2), 0, (a, x) -> a + x, a -> a * 10), zip_with(array(1), array(2), (x, y) -> x + y), map_filter(map('a', 1, 'b', 2), (k, v) -> v > 1), transform_values(map('a', 1), (k, v) -> v + 1), transform_keys(map('a', 1), (k, v) -> upper(k))
select array_sort(array(3, 1, 2)), array_sort(array(3, 1), (l, r) -> case when l < r then 1 when l > r then -1 else 0 end), sort_array(array(1, 2), false), array_distinct(array(1, 1)), array_union(array(1), array(2)), array_except(array(1, 2), array(2)), array_intersect(array(1), array(1)), arrays_overlap(array(1), array(1)), flatten(array(array(1))), slice(array(1, 2, 3), 2, 2), sequence(1, 3), array_max(array(1, 2)), array_repeat('a', 2), arrays_zip(array(1), array(2))
select map_keys(map('a', 1)), map_values(map('a', 1)), map_from_arrays(array('a'), array(1)), map_concat(map('a', 1), map('b', 2)), map_entries(map('a', 1)), map_contains_key(map('a', 1), 'a'), str_to_map('a:1,b:2')
select id, tag from orders lateral view explode(tags) t as tag
select id, p, tag from orders lateral view posexplode(tags) t as p, tag
select id, tag from orders lateral view outer explode(tags) t as tag
select explode(tags) as tag from orders
select posexplode(tags) from orders
select inline(array(struct(1, 'a'), struct(2, 'b')))
select stack(2, 1, 'a', 2, 'b')
select o.id, t.x from orders o, lateral explode(o.tags) as t(x)
select o.id, x from orders o, lateral (select max(id) as x from orders p where p.id <= o.id)
select * from values (1, 'a'), (2, 'b') as t(n, c)
select * from (values (1), (2)) as t(n)
select get_json_object('{"a": {"b": 1}}', '$.a.b'), from_json('{"a": 1}', 'a int'), to_json(struct(1 as a)), json_tuple('{"a":1,"b":2}', 'a', 'b')
select from_json('{"a": 1}', 'struct<a: int>').a, json_array_length('[1,2]'), json_object_keys('{"a":1}'), schema_of_json('{"a":1}')
select from_csv('1,a', 'x int, y string'), to_csv(struct(1, 'a'))
select md5('a'), sha1('a'), sha2('a', 256), crc32('a'), hash(1, 'a'), xxhash64('a'), base64('abc'), unbase64('YWJj'), hex(255), unhex('ff'), encode('a', 'utf-8'), decode(encode('a', 'utf-8'), 'utf-8')
select decode(id, 1, 'one', 2, 'two', 'other') from orders
select abs(-1), ceil(1.2), ceiling(1.25, 1), floor(1.8), floor(1.25, 1), round(1.255, 2), bround(2.5), sqrt(4), cbrt(8), pow(2, 3), power(2, 3), exp(1), ln(2), log(2, 8), log10(100), log2(8), log(10), sign(-2), signum(2), mod(5, 3), pmod(-5, 3), greatest(1, 2), least(1, 2), rint(2.5), factorial(5), pi(), e(), degrees(1), radians(1), sin(1), atan2(1, 2), hypot(3, 4), conv('100', 2, 10), bin(5), width_bucket(5, 0, 10, 5)
select try_add(1, 2), try_divide(1, 0), try_subtract(1, 2), try_multiply(2, 3), try_element_at(array(1), 3), try_to_number('x', '99'), try_to_timestamp('x')
select to_number('1,234.5', '9,999.9'), to_char(1234.5, '9,999.99'), format_number(1234.567, 2), format_string('%s-%d', 'a', 1), printf('%05d', 7)
select contains('abc', 'b'), startswith('abc', 'a'), endswith('abc', 'c'), url_encode('a b'), url_decode('a+b'), parse_url('http://a/b?c=d', 'QUERY', 'c'), luhn_check('79927398713')
select `id`, o.`name` as `a b`, `o`.id as `select` from orders as o
select `we``ird` from (select 1 as `we``ird`)
select id as value, name as key, amount as date from orders
select * except (name) from orders
select o.* from orders o
select o.*, 1 as one from orders o
select * from orders pivot (sum(amount) for name in ('order 1' as a, 'order 2' as b))
select * from (select name, id from orders) pivot (count(id) as n, max(id) as m for name in ('order 1', 'order 2'))
select * from (select id, 1 as a, 2 as b from orders) unpivot (v for k in (a, b))
select id from orders qualify row_number() over (partition by name order by id) = 1
select * from orders tablesample (100 percent)
select id from orders where name = 'order 1' and amount > 1 or id in (2) and not id = 3
select (1, 2) = (1, 2), struct(1, 2) = struct(1, 2), (id, name) in ((1, 'order 1')) from orders
select from_utc_timestamp(at, 'Asia/Tokyo'), to_utc_timestamp(at, 'Asia/Tokyo'), convert_timezone('UTC', 'Asia/Tokyo', timestamp_ntz '2024-01-01 00:00:00') from orders
select unix_date(date '2024-01-01'), date_from_unix_date(1), timestamp_seconds(1), timestamp_millis(1), timestamp_micros(1), unix_seconds(at), unix_millis(at), unix_micros(at) from orders
select to_date(at), to_date('2024-01-02'), to_timestamp('2024-01-02 03:04:05'), to_timestamp_ntz('2024-01-02 03:04:05') from orders
select date_diff(date '2024-02-01', date '2024-01-01'), weekday(date '2024-01-01'), monthname(date '2024-01-01'), dayname(date '2024-01-01')
select max(struct(id, name)).name from orders
select tags[0] as first_tag, amount + id, cast(amount as int) div 2, cast(id as decimal(5, 1)) from orders
select cast(array(1, 2) as array<string>), cast(map('a', 1) as map<string, double>), cast(struct(1, 'a') as struct<x: bigint, y: string>), cast(null as timestamp_ntz), cast('1' as tinyint), cast(1 as float), cast('a' as binary), cast('1' as variant)
select cast(at as date), cast(at as long), at::date::string, cast('true' as boolean), cast('abc' as char(5)), cast('abc' as varchar(5)) from orders
select count(distinct id, name), count(id, name) from orders
select sum(case when name like 'order%' then amount else 0 end) / nullif(count(*), 0) as share from orders
select id, name from orders distribute by id sort by id
select id from orders cluster by id
select /* plain comment */ id from orders -- the end
select 'a -- b', 'c /* d */ e' from orders
select 'it''s'
select 1 as `it's`
select a.id from orders as a join orders as b on a.id = b.id join orders as c on b.id = c.id where a.id = 1
(select id from orders order by id limit 1) union all (select id from orders order by id desc limit 1)
select id from orders where id = (select max(id) from orders) order by 1
select t.x from (select explode(array(1, 2)) as x) t
select date '2024-01-01' - date '2023-01-01', timestamp '2024-01-02' - timestamp '2024-01-01', date '2024-01-01' + 1
select 5 / 2, 5 div 2, 5 % 2, -5 / 2, 5.0 / 2, cast(5 as double) / 2
select sum(amount) as total, round(avg(amount), 2) as mean from orders where at >= '2024-01-01' and at < date_add('2024-01-01', 400)
select name, id from orders order by lower(name) collate utf8_binary, id
select 'a' collate UTF8_LCASE = 'A'
select id, exists(select 1 from orders p where p.id = o.id + 1) as has_next from orders o
from orders select id
select id from orders where name rlike '^order [0-9]+$'
select regexp_replace(name, '(\\w+) (\\d)', '$2-$1') from orders
select count(*) as `count(1)`, sum(id) as sum from orders
select left(name, 1) as left, first(id) as first from orders group by left(name, 1)
select current_timestamp() > timestamp '2020-01-01', localtimestamp() is null, current_timezone()
select cast(1 as int) as a, int(2.7) as b, decimal(3), float(1), boolean('true'), tinyint(1), smallint(2), binary('a')
select array(struct(1 as a, 2 as b)).a, named_struct('a', array(1)).a[0]
select sum(id) filter (where name like 'o%') over (partition by name) from orders
select ceil(2.345, 2), ceiling(2.1), bround(2.5, 0), round(2.5)
select id from orders where at between timestamp '2024-01-01 00:00:00' and timestamp '2025-01-01 00:00:00'
select id from orders where (id, name) = (1, 'order 1')
select nullif('', ''), '' = null, null is null
select id, lag(amount, 1) over (partition by name order by at asc nulls last) from orders
select id as x, x + 1 as y from orders
select id, name from orders o1 where id not in (select id from orders where id = 1) order by 1 desc, 2
from orders |> where id > 1 |> select id
select session_window(at, '5 minutes'), count(*) from orders group by session_window(at, '5 minutes')
select cast(id as interval day) from orders
select equal_null(1, null), bit_count(3), getbit(11, 1), array_append(array(1), 2), array_prepend(array(1), 0), array_insert(array(1), 1, 5), array_compact(array(1, null)), get(array(1), 0), array_size(array(1))
select any(id > 1), some(id > 1) from orders
select length(x'1f'), x'41' || x'42'
select named_struct('a b', 1).`a b`
select map('k', array(1, 2))['k'][1], map(1, 'a')[1]
select first_value(id) respect nulls over (order by id) from orders
select div(7, 2)
select if(true, 1, 2) as if
select greatest(date '2024-01-01', date '2024-02-01'), least('a', 'b')
select format_number(12332.123456, '##################.###')
select sum(x) from (select 1 as x union all select 2) having sum(x) > 1
select grouping(name) from orders group by cube(name)
select try_variant_get(parse_json('[1]'), '$[0]', 'int'), is_variant_null(parse_json('null'))
select from_xml('<p><a>1</a></p>', 'a INT').a, schema_of_xml('<p><a>1</a></p>')
select aes_decrypt(aes_encrypt('a', '0000111122223333'), '0000111122223333')::string
select cast('2024-01-01' as timestamp) - interval '1' month, interval -1 day, - interval 1 day
select cast(1 as string) || 2, concat(1, 2), '3' + 1
select '\U0001F600', '\u00e9', '\377', '\0' = '', '\b' = 'b', '\Z', '\r\n', '\'', "\"", '\\', '\q'
select 'it''s', 'a''''b', '''', 'x\'''y', 'a""b', "a`b"
select (id > 1) is true, (id > 1) is not false, not name is null, not (id = 1 and id = 2) from orders
select - - id, -(-id), id - -1, +id, id & 1 = 1, 1 + 2 << 1, id + 1 * 2 - 3 / 4 % 5, id / (2 / 3) from orders
select id::int + 1, (id + 1)::string || 'x', -id::string, interval '1' day * 2 from orders
select sum(id) over (order by id rows 1 preceding), sum(id) over (order by id rows unbounded preceding) from orders
select * from (values (1)) a(x), (values (2)) b(y) right join (values (3)) c(z) on b.y = c.z
select * from orders o lateral view explode(tags) t1 as a lateral view explode(array(1, 2)) t2 as b
select cast('abcdef' as varchar(3)), cast('ab' as char(4)) || '|', cast(1.5 as dec(3,1)), cast(1 as real)
select '/*+ x */', '-- y \\', "r'z'"
select 0.1D as a, 10L as b, 0.1F as c, 1.5BD as d, 2S as e, 3Y as f
select year, month, date, first, count from (select 1 as year, 2 as month, 3 as date, 4 as first, 5 as count)
select id /* in -- a comment */ from orders -- and 'one' at the end
