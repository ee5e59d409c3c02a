"""Small tables of edge cases in PostgreSQL and Spark, and a way to run the same query on both."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from dataflow.model.record import record
from dataflow.pipelines.spark.frames import register
from dataflow.pipelines.sql.catalogue import find_cast
from dataflow.pipelines.sql.translation import translate
from dataflow.pipelines.sql.types import SqlType, read_type

Rows = list[tuple[Any, ...]]
Tables = dict[str, tuple[dict[str, str], Rows]]

SCHEMA = {
    "orders": {
        "id": "integer",
        "name": "character varying(100)",
        "code": "text",
        "small": "smallint",
        "cents": "integer",
        "big": "bigint",
        "price": "numeric(12,2)",
        "rate": "numeric(20,10)",
        "wide": "numeric",
        "ratio": "double precision",
        "paid": "boolean",
        "due": "date",
        "done": "timestamp with time zone",
        "local": "timestamp",
        "day_text": "text",
        "tags": "text []",
        "team": "integer",
    },
    "teams": {"id": "integer", "name": "text", "Budget": "numeric(10,2)"},
}


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _pick(number: int, values: list[Any]) -> Any:
    return values[number % len(values)]


def _orders() -> list[tuple[Any, ...]]:
    names = [
        "Acme Ltd",
        "",
        "o'Brien",
        "a\\b",
        "50% off_now",
        "  spaced ",
        "ACME",
        "line\nbreak",
        "x",
        None,
        "abc-def-ghi",
    ]
    codes = ["A1", "a1", "", "B-22", "z", "007", None, "12", "A10", "_", "b"]
    smalls = [0, 1, -1, 7, -7, 32767, -32768, None, 2, 3, 100]
    cents = [0, 7, -7, 100, -12345, 2147483647, -2147483648, None, 1, 3, 99999]
    bigs = [0, 9007199254740993, -9007199254740993, 10**18, 7, -8, None, 123456789012345678, 2, 5, -3]
    prices = [
        "0.00",
        "1.005",
        "-1.005",
        "2.50",
        "-2.50",
        "9999999999.99",
        "-0.01",
        None,
        "100.10",
        "33.33",
        "0.05",
    ]
    rates = [
        "0.3333333333",
        "1",
        "-2.5",
        "1234567890.0123456789",
        None,
        "0.0000000001",
        "3",
        "7",
        "-0.5",
        "1.5",
        "2.25",
    ]
    wides = [
        "0.123456789012345678",
        "12345678901234567.123456789012345678",
        "-1.5",
        "3",
        None,
        "-99999999999999999.999999999999999999",
        "0.012345678901234567",
        "2.5",
        "-2.5",
        "10",
        "33.3",
    ]
    ratios = [0.0, 0.1, -0.1, 2.5, -2.5, 3.5, 1e15, None, 123456.789, 1 / 3, 0.30000000000000004]
    dues = [
        "2020-02-29",
        "2019-02-28",
        "2020-12-31",
        "2021-01-01",
        None,
        "2017-11-30",
        "2016-02-29",
        "1999-12-31",
    ]
    dones = [
        "2020-03-29T00:59:59.999999+00:00",
        "2020-03-29T01:00:00+00:00",
        "2020-10-25T00:30:00+00:00",
        "2020-10-25T01:30:00+00:00",
        "2020-02-29T23:59:59.5+00:00",
        "2019-12-31T23:30:00-01:00",
        None,
        "2017-11-30T23:59:59.999999+00:00",
        "2017-12-01T00:00:00+00:00",
        "1970-01-01T00:00:00+00:00",
        "1969-12-31T23:59:59.25+00:00",
        "2021-01-31T12:00:00+00:00",
        "2024-02-29T00:00:00+05:30",
    ]
    locals_ = [
        "2020-03-29T01:30:00",
        "2020-10-25T01:30:00",
        "2020-10-25T00:30:00",
        "2020-01-31T10:11:12.123456",
        None,
        "2020-02-29T00:00:00",
        "2020-11-01T01:30:00",
        "2020-03-08T02:30:00",
        "2019-06-15T13:05:09",
    ]
    day_texts = ["2017-11-30 00:00:00", "2020-02-29", "1999-12-31T23:59", None, "2000-01-01 rest"]
    tags = [["a", "b"], [], None, ["x", None], ["a"], ["A", "b", "c"], [""]]
    rows = []
    for number in range(44):
        pick = partial(_pick, number)
        price, rate, wide = pick(prices), pick(rates), pick(wides)
        due, done, local = pick(dues), pick(dones), pick(locals_)
        rows.append(
            (
                number,
                *(pick(names), pick(codes), pick(smalls), pick(cents), pick(bigs)),
                Decimal(price).quantize(Decimal("0.01")) if price else None,
                Decimal(rate).quantize(Decimal("0.0000000001")) if rate else None,
                Decimal(wide) if wide else None,
                *(pick(ratios), pick([True, False, None])),
                date.fromisoformat(due) if due else None,
                _at(done) if done else None,
                datetime.fromisoformat(local) if local else None,
                *(pick(day_texts), pick(tags), pick([1, 2, 3, None, 9])),
            )
        )
    return rows


ROWS: dict[str, Rows] = {
    "orders": _orders(),
    "teams": [
        (1, "red", Decimal("10.50")),
        (2, "Blue", None),
        (3, None, Decimal("0.00")),
        (4, "red", Decimal("-3.25")),
    ],
}

TABLES: Tables = {name: (SCHEMA[name], ROWS[name]) for name in SCHEMA}

_ARROW = {
    "integer": pa.int32(),
    "smallint": pa.int16(),
    "bigint": pa.int64(),
    "numeric(12,2)": pa.decimal128(12, 2),
    "numeric(20,10)": pa.decimal128(20, 10),
    "numeric(10,2)": pa.decimal128(10, 2),
    "numeric": pa.decimal128(38, 18),
    "double precision": pa.float64(),
    "real": pa.float32(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    "timestamp": pa.timestamp("us"),
    "text []": pa.list_(pa.string()),
    "integer []": pa.list_(pa.int32()),
}


@record
class Answer:
    """One side's result: columns with their types, and rows with values as PostgreSQL formats them."""

    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[str | None, ...]]


class Both:
    """The same tables in a PostgreSQL database and a Spark session."""

    def __init__(self, url: str, spark: SparkSession, folder: Path, tables: Tables) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("set timezone = 'UTC'")
        self.spark = spark.newSession()
        self.schema = {name: columns for name, (columns, _) in tables.items()}
        self._registered: set[str] = set()
        for name, (columns, rows) in tables.items():
            self._fill_postgres(name, columns, rows)
            self._fill_spark(name, columns, rows, folder / f"{name}.parquet")

    def close(self) -> None:
        """Close the connection to PostgreSQL."""
        self.connection.close()

    def _fill_postgres(self, name: str, columns: dict[str, str], rows: Rows) -> None:
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        self.connection.execute(f"create table {name} ({listed})")
        marks = ", ".join(f"%s::{kind}" for kind in columns.values())
        self.connection.cursor().executemany(f"insert into {name} values ({marks})", rows)

    def _fill_spark(self, name: str, columns: dict[str, str], rows: Rows, path: Path) -> None:
        fields = [pa.field(column, _ARROW.get(kind, pa.string())) for column, kind in columns.items()]
        values = list(zip(*rows, strict=True))
        arrays = [pa.array(each, field.type) for each, field in zip(values, fields, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)
        self.spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def ask_postgres(self, sql: str) -> Answer:
        """Run a query on PostgreSQL."""
        columns = self._describe(sql)
        places = [f"c{number}" for number, _ in enumerate(columns)]
        # A cast removes the padding of a character(n).
        texts = ", ".join(
            f"case when {place} is not null then concat({place}) end"
            if kind.startswith(("character(", "bpchar")) and not kind.endswith("]")
            else f"{place}::text"
            for place, (_, kind) in zip(places, columns, strict=True)
        )
        found = self.connection.execute(f"select {texts} from ({sql}) as asked({', '.join(places)})")
        return Answer(columns, found.fetchall())

    def _describe(self, sql: str) -> tuple[tuple[str, str], ...]:
        """Names and types as PostgreSQL parses the query, before planning."""
        link = self.connection.pgconn
        link.prepare(b"", sql.encode())
        found = link.describe_prepared(b"")
        if found.error_message:
            self.connection.execute(f"select * from ({sql}) as asked limit 0")  # raises what is wrong
        kinds = [(found.ftype(place), found.fmod(place)) for place in range(found.nfields)]
        names = [(found.fname(place) or b"").decode() for place in range(found.nfields)]
        return tuple((name, self._type_name(*kind)) for name, kind in zip(names, kinds, strict=True))

    @cache  # noqa: B019
    def _type_name(self, kind: int, modifier: int) -> str:
        row = self.connection.execute("select format_type(%s, %s)", (kind, modifier)).fetchone()
        assert row is not None
        return str(row[0])

    def ask_spark(self, sql: str) -> Answer:
        """Run the translated query on Spark."""
        translated = translate(sql, "postgres", self.schema)
        for function in translated.functions:
            if function.name not in self._registered:
                register(self.spark, function)
                self._registered.add(function.name)
        table = self.spark.sql(translated.sql).toArrow()
        columns = translated.columns
        kinds = [read_type(kind) for _, kind in translated.columns]
        shown = [_shown(column, kind) for column, kind in zip(table.columns, kinds, strict=True)]
        return Answer(columns, list(zip(*shown, strict=True)))


def _shown(column: pa.ChunkedArray, kind: SqlType) -> list[str | None]:
    """Format values like PostgreSQL."""
    element = (kind.element or kind).name
    plain = {"date": pa.int32(), "timestamp": pa.int64(), "timestamptz": pa.int64()}.get(element)
    if plain is not None:
        column = column.cast(pa.list_(plain) if kind.element else plain)
    write = partial(_write, element)
    if not kind.element:
        return [None if value is None else write(value) for value in column.to_pylist()]
    signature = find_cast("text[]", "text")
    assert signature is not None
    lists = column.to_pylist()
    return [
        None
        if items is None
        else signature.call([None if item is None else write(item, True) for item in items])
        for items in lists
    ]


def _write(name: str, value: Any, inside: bool = False) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bool):
        return str(value).lower()[: 1 if inside else None]
    if isinstance(value, str | int) and name not in ("date", "timestamp", "timestamptz"):
        return str(value)
    signature = find_cast(name, "text")
    assert signature is not None, name
    return str(signature.call(value))
