"""Two tables of edge cases, with a column of every type, for random queries."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from tests.pipelines.sql.both import Rows, Tables

FACTS = {
    "id": "integer",
    "small": "smallint",
    "whole": "integer",
    "large": "bigint",
    "price": "numeric(12,2)",
    "rate": "numeric(20,10)",
    "amount": "numeric",
    "single": "real",
    "ratio": "double precision",
    "title": "text",
    "label": "character varying(20)",
    "code": "character(4)",
    "paid": "boolean",
    "day": "date",
    "at": "timestamp with time zone",
    "local": "timestamp",
    "tags": "text []",
    "counts": "integer []",
    "doc": "jsonb",
    "key": "uuid",
    "team": "integer",
}
TEAMS = {"id": "integer", "name": "text", "budget": "numeric", "since": "date", "grade": "smallint"}

_TEXTS = [
    "",
    "a",
    "A",
    "abc",
    "ABC",
    "Zürich",
    "école",
    "ÉCOLE",
    "İstanbul",
    "straße",
    "ΣΊΣΥΦΟΣ",
    "😀",
    "a😀b",
]
_TEXTS += [
    "  padded  ",
    "line\nbreak",
    "50% off_now",
    "back\\slash",
    "o'Brien",
    "1",
    "-7",
    "12.50",
    "007",
    "true",
]
_TEXTS += [
    "2020-02-29",
    "x,y,,z",
    "a-b-c",
    "ABC1",
    "aaa bbb",
    "tab\there",
    "日本語",
    "e\u0301",
    "NULL",
    "null",
    "ﬁ",
]
_WHOLE = [0, 1, -1, 2, 3, 7, -7, 10, 99, 100, -100, 1000, 32767, -32768, 2147483647, -2147483648]
_LARGE = [*_WHOLE, 10**12, -(10**15), 9007199254740993, 2**63 - 1, -(2**63)]
_PRICES = [
    "0.00",
    "0.01",
    "-0.01",
    "1.00",
    "2.50",
    "-2.50",
    "10.75",
    "99.99",
    "-100.10",
    "33.33",
    "9999999999.99",
]
_RATES = ["0", "1", "-2.5", "0.3333333333", "0.0000000001", "1234567890.0123456789", "-0.5", "7", "2.25"]
_AMOUNTS = [
    "0",
    "7",
    "-7",
    "1.5",
    "10.75",
    "0.1",
    "-0.001",
    "33.3",
    "100",
    "12345678901234567.123456789012345678",
]
_AMOUNTS += ["0.000000000000000001", "-99999999999999999999", "3.14159"]
_DOUBLES = [0.0, 0.5, -0.5, 1.0, 2.5, -2.5, 1e15, -1e15, 123456.75, 0.125, 1e-5, 3.0, 100.0]
_DAYS = [
    "2020-02-29",
    "2019-02-28",
    "2020-12-31",
    "2021-01-01",
    "1999-12-31",
    "1970-01-01",
    "1969-12-31",
    "2024-03-31",
]
_DAYS += ["0001-01-01", "9999-12-31", "1900-03-01", "2017-11-30"]
_TIMES = ["00:00:00", "23:59:59.999999", "12:30:45.5", "01:00:00", "00:30:00", "13:05:09.000001"]
_TAGS: list[Any] = [
    None,
    [],
    ["a"],
    ["a", "b"],
    ["b", "a", None],
    ["", "x,y"],
    ["A", "a", "a"],
    ["Zürich", "😀"],
]
_COUNTS: list[Any] = [None, [], [1], [1, 2, 3], [3, None, 1], [0, -5], [2147483647]]
_DOCS: list[Any] = [None, {}, [], "text", 5, True, [[1], [2]], [1, "two", None, True]]
_DOCS += [{"a": 1}, {"a": 1.50, "b": [1, 2, {"c": None}]}, {"b": "x", "a": None}, {"é": "ü", "n": -0.5}]
_DOCS += [{"a": {"b": {"c": "deep"}}, "tags": ["x", "y"]}]


def make_tables(seed: int = 7, size: int = 48) -> Tables:
    """Generate the tables; the same for the same seed."""
    random = Random(seed)
    return {"facts": (FACTS, _facts(random, size)), "teams": (TEAMS, _teams())}


def _some(random: Random, values: list[Any]) -> Any:
    return None if random.random() < 0.12 else random.choice(values)


def _facts(random: Random, size: int) -> Rows:
    rows: Rows = []
    for number in range(size):
        code = _some(random, ["ab", "ABCD", "", "x y", "é", "z"])
        rows.append(
            (
                number,
                _some(random, [value for value in _WHOLE if abs(value) <= 32767]),
                _some(random, _WHOLE),
                _some(random, _LARGE),
                _decimal(_some(random, _PRICES), 2),
                _decimal(_some(random, _RATES), 10),
                _decimal(_some(random, _AMOUNTS)),
                _some(random, _DOUBLES[:9]),
                _some(random, _DOUBLES),
                _some(random, _TEXTS),
                _some(random, [text for text in _TEXTS if len(text) <= 20]),
                code,
                _some(random, [True, False]),
                _day(_some(random, _DAYS)),
                _moment(random, UTC),
                _moment(random, None),
                _some(random, _TAGS),
                _some(random, _COUNTS),
                _document(_some(random, _DOCS)),
                _some(random, [str(uuid.UUID(int=random.getrandbits(128))) for _ in range(4)]),
                _some(random, [1, 2, 3, 9]),
            )
        )
    return rows


def _teams() -> Rows:
    return [
        (1, "red", Decimal("10.5"), date(2020, 1, 1), 1),
        (2, "Blue", None, date(2019, 6, 30), 2),
        (3, None, Decimal("0"), None, None),
        (4, "école", Decimal("-3.25"), date(2020, 2, 29), 3),
    ]


def _decimal(text: str | None, scale: int | None = None) -> Decimal | None:
    if text is None:
        return None
    return Decimal(text) if scale is None else Decimal(text).quantize(Decimal(1).scaleb(-scale))


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def _moment(random: Random, zone: Any) -> datetime | None:
    text = _some(random, _DAYS[:8] + _DAYS[10:])
    if text is None:
        return None
    found = datetime.fromisoformat(f"{text} {random.choice(_TIMES)}") + timedelta(hours=random.randint(0, 30))
    return found.replace(tzinfo=zone)


def _document(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
