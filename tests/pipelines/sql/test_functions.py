"""Our own arithmetic gives PostgreSQL's results, digit by digit."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import psycopg

from dataflow.pipelines.sql import functions


def _numbers(random: Random) -> list[Decimal]:
    digits = random.randint(1, 24)
    number = Decimal(random.randint(-(10**digits), 10**digits)).scaleb(-random.randint(0, 10))
    other = Decimal(random.choice([3, 7, 100, 9999, 10000, 10001, random.randint(1, 10**12)]))
    return [number, other.scaleb(-random.randint(0, 6))]


def test_division_rounds_where_postgres_rounds(postgres_url: str) -> None:
    random = Random(20171130)
    pairs = [_numbers(random) for _ in range(3000)]
    with psycopg.connect(postgres_url) as connection:
        sql = (
            "select a / b from unnest(%s::numeric[], %s::numeric[]) with ordinality as t(a, b, n) order by n"
        )
        rows = connection.execute(sql, [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]).fetchall()
    wanted = [row[0] for row in rows]
    divide = functions.division(30, left_fixed=True, right_fixed=True).call
    found = [divide(*pair) for pair in pairs]
    fitting = [(value, want) for (value, problem), want in zip(found, wanted, strict=True) if problem is None]
    assert len(fitting) > 1000
    assert [value for value, _ in fitting] == [want for _, want in fitting]
    large = [want for (_, problem), want in zip(found, wanted, strict=True) if problem is not None]
    assert all(abs(want) >= 10**8 or -int(want.as_tuple().exponent) > 30 for want in large)


def test_what_does_not_fit_is_a_problem_and_not_a_rounded_value() -> None:
    divide = functions.division(20, left_fixed=True, right_fixed=True).call
    assert divide(None, Decimal(1)) == (None, None)
    assert divide(Decimal(1), Decimal(0)) == (None, "division by zero")
    value, problem = divide(Decimal(1), Decimal(300000000))
    assert value is None and problem is not None and "does not fit" in problem


def test_floating_numbers_become_what_postgres_makes_of_them() -> None:
    convert = functions.number_from_double(18, 15).call
    assert convert(0.1 + 0.2) == (Decimal("0.3"), None)
    assert convert(float("nan"))[1] is not None
