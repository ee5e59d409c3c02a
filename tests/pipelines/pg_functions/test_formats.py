"""to_char, to_date, to_timestamp and to_number match PostgreSQL, including errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from dataflow.pipelines.pg_functions import (
    formatted_numbers,
    formatted_times,
    number_formats,
    time_formats,
)
from dataflow.pipelines.pg_functions.civil import END_TIMESTAMP
from dataflow.pipelines.pg_functions.format_pictures import KEYWORDS
from dataflow.pipelines.pg_functions.intervals import DAY
from dataflow.pipelines.pg_functions.signatures import Signature, list_overloads
from tests.pipelines.pg_functions.comparison import (
    Case,
    attempt,
    expression_of,
    list_differences,
    make_cases,
    random_timestamp,
    random_value,
)
from tests.pipelines.pg_functions.reference import Reference

TIME_PICTURES = [
    "YYYY-MM-DD",
    "YYYYMMDD",
    "DD Mon YYYY",
    "DD/MM/YY",
    "HH24:MI:SS",
    "HH12:MI am",
    'YYYY-MM-DD"T"HH24:MI:SS.US',
    "MM/DD/YYYY",
    "Month DD, YYYY",
    "IYYY-IW-ID",
    "IYYY-IDDD",
    "YYYY-DDD",
    "J",
    "DDth Month YYYY",
    "YYYY-MM-DD HH24:MI:SSTZH:TZM",
    "Day, DD Mon YYYY",
    "YYYY-MM-DD HH24:MI:SS TZ",
    "Y,YYY-MM-DD",
    "YYYY MM DD SSSSS",
    "CC YY MM DD",
    "YYYY-WW",
    "YYYY-MM-W",
    "RM YYYY",
    "YYYY-MM-DD BC",
    "YYYY-MM-DD HH24:MI:SSOF",
    "YYYY-MM-DD MS",
    "FF3",
    "YYYY Q",
    "FXYYYY-MM-DD",
    "yyyy-mm-dd hh24:mi:ss",
    "SSSS",
    "IDDD",
    "fmDDth",
    "Mon",
]
NUMBER_PICTURES = [
    "999",
    "9999.99",
    "FM9999.99",
    "0000",
    "FM0000.00",
    "9,999,999.99",
    "S9999",
    "9999S",
    "9999MI",
    "MI9999",
    "PL9999",
    "SG9999",
    "9999PR",
    "$999.99",
    "L999",
    "FM999,999,999.00",
    "RN",
    "FMRN",
    "rn",
    "9.99EEEE",
    "99V99",
    "999th",
    "999TH",
    "FM99999990.0999",
    "9G999D99",
    "FM9.9",
    "9.9",
    ".99",
    "FM.99",
    "B999",
    "FM999.999",
    '999 "units"',
    "099",
    "FM099.90",
    "0.00",
    "99999999999999999999.9999",
    "S0000.00",
    "9999.99S",
    "FMS999",
    "FM999PR",
]
NUMBER_PARTS = [
    "9",
    "9",
    "9",
    "9",
    "0",
    "0",
    ".",
    ",",
    "D",
    "G",
    "S",
    "MI",
    "PL",
    "SG",
    "PR",
    "FM",
    "RN",
    "V",
    "EEEE",
    "TH",
    "th",
    "L",
    "B",
    "C",
    "SP",
    "x",
    "d",
    "g",
    "rn",
    "fm",
]


def random_time_picture(random: Random) -> str:
    if random.random() < 0.5:
        return random.choice(["", "", "FM", "FX"]) + random.choice(TIME_PICTURES)
    parts = []
    for _ in range(random.choice([1, 1, 2, 3, 5])):
        prefix, suffix = (
            random.choice(["", "", "", "FM", "TM"]),
            random.choice(["", "", "", "TH", "th", "SP"]),
        )
        literal = random.choice(["", "", "-", "/", " ", ":", "x", '"a\\"b"', "\\", "5", "é", '"Q'])
        parts.append(prefix + random.choice(KEYWORDS) + suffix + literal)
    return "".join(parts)


def random_number_picture(random: Random) -> str:
    if random.random() < 0.6:
        return random.choice(NUMBER_PICTURES)
    return "".join(random.choices(NUMBER_PARTS, k=random.randrange(1, 8)))


def random_number(kind: str, random: Random) -> Any:
    if kind == "numeric" and random.random() < 0.5:
        return Decimal(random.randrange(-(10**6), 10**6)).scaleb(-random.randrange(5))
    if kind in ("double", "real") and random.random() < 0.5:
        return float(random.randrange(-4000, 4000)) / 8
    if kind in ("integer", "bigint") and random.random() < 0.5:
        return random.randrange(-4000, 4000)
    return random_value(kind, random)


def spoiled(text: str, random: Random) -> str:
    """The string, or one with an error in it."""
    place = random.randrange(len(text) + 1)
    extra = random.choice([" ", "-", "0", "9", "x", "+", ".", ":", ",", "th"])
    choices = [
        text[:place] + text[place + 1 :],
        text[:place] + extra + text[place:],
        text[:place],
        extra + text,
    ]
    return random.choice([text, text, text, text, *choices])


def choose_time(signature: Signature, random: Random) -> Sequence[Any]:
    value = random_value(signature.takes[0], random)
    if signature.takes[0] == "date":
        value %= END_TIMESTAMP // DAY
    if signature.takes[0] == "interval":
        value = value._replace(months=value.months % 5000 * random.choice([1, -1]))
    return [value, random_time_picture(random)]


def choose_number(signature: Signature, random: Random) -> Sequence[Any]:
    return [random_number(signature.takes[0], random), random_number_picture(random)]


def test_to_char_of_times_matches_postgresql(reference: Reference) -> None:
    assert (
        list_differences(
            reference, make_cases(list_overloads(time_formats.SIGNATURES), choose_time, count=400)
        )
        == []
    )


def test_to_char_of_numbers_matches_postgresql(reference: Reference) -> None:
    assert (
        list_differences(
            reference, make_cases(list_overloads(number_formats.SIGNATURES), choose_number, count=400)
        )
        == []
    )


def choose_written(
    write: Callable[[Random, str], object], random_picture: Callable[[Random], str]
) -> Callable[[Signature, Random], Sequence[Any]]:
    """Strings formatted by the same template or another one, some with an error."""

    def choose(_signature: Signature, random: Random) -> Sequence[Any]:
        picture = random_picture(random).replace("é", "e")  # a message may end inside a character
        other = random_picture(random).replace("é", "e")
        used = random.choice([picture, picture, picture, other])
        written = attempt(lambda: write(random, used))
        return [spoiled(str(written or ""), random), picture]

    return choose


def write_time(random: Random, picture: str) -> object:
    micros = random.choice([random_timestamp(random), random.randrange(10**15), random.randrange(10**15)])
    return time_formats.format_timestamptz(micros, picture)


def write_number(random: Random, picture: str) -> object:
    return number_formats.SIGNATURES["to_char(numeric, text) -> text"](
        random_number("numeric", random), picture
    )


def test_to_date_and_to_timestamp_match_postgresql(reference: Reference) -> None:
    choose = choose_written(write_time, random_time_picture)
    assert (
        list_differences(reference, make_cases(list_overloads(formatted_times.SIGNATURES), choose, count=800))
        == []
    )


def test_to_number_matches_postgresql(reference: Reference) -> None:
    random = Random(7)
    choose = choose_written(write_number, random_number_picture)
    cases: list[Case] = []
    for signature in list_overloads(formatted_numbers.SIGNATURES):
        for _ in range(800):
            text, picture = choose(signature, random)

            def read(text: str = text, picture: str = picture) -> object:
                try:
                    return formatted_numbers.read_number(text, picture)
                except ValueError as error:
                    raise ValueError(str(error).split(": A field")[0]) from None

            cases.append((expression_of(signature, [text, picture]), read))
    assert list_differences(reference, cases) == []
