"""One small table of awkward values, in PostgreSQL and in Spark, and a way to ask both the same."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from dataflow.pipelines.sql.translation import translate

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


ROWS: dict[str, list[tuple[Any, ...]]] = {
    "orders": _orders(),
    "teams": [
        (1, "red", Decimal("10.50")),
        (2, "Blue", None),
        (3, None, Decimal("0.00")),
        (4, "red", Decimal("-3.25")),
    ],
}

_ARROW = {
    "integer": pa.int32(),
    "smallint": pa.int16(),
    "bigint": pa.int64(),
    "numeric(12,2)": pa.decimal128(12, 2),
    "numeric(20,10)": pa.decimal128(20, 10),
    "numeric(10,2)": pa.decimal128(10, 2),
    "numeric": pa.decimal128(38, 18),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    "timestamp": pa.timestamp("us"),
    "text []": pa.list_(pa.string()),
}


class Both:
    """The same tables in a PostgreSQL database and a Spark session."""

    def __init__(self, url: str, spark: SparkSession, folder: Path) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.spark = spark.newSession()
        for name, columns in SCHEMA.items():
            self._fill_postgres(name, columns)
            self._fill_spark(name, columns, folder / f"{name}.parquet")

    def _fill_postgres(self, name: str, columns: dict[str, str]) -> None:
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        self.connection.execute(f"create table {name} ({listed})")
        marks = ", ".join("%s" for _ in columns)
        self.connection.cursor().executemany(f"insert into {name} values ({marks})", ROWS[name])

    def _fill_spark(self, name: str, columns: dict[str, str], path: Path) -> None:
        fields = [pa.field(column, _ARROW.get(kind, pa.string())) for column, kind in columns.items()]
        values = list(zip(*ROWS[name], strict=True))
        arrays = [pa.array(each, field.type) for each, field in zip(values, fields, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)
        self.spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def ask_postgres(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows PostgreSQL gives."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return [tuple(_plain(value) for value in row) for row in cursor.fetchall()]

    def ask_spark(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows Spark gives for the translation."""
        translated = translate(sql, "postgres", SCHEMA)
        for function in translated.functions:
            self.spark.udf.register(function.name, function.call, function.returns)
        table = self.spark.sql(translated.sql).toArrow()
        return [tuple(_plain(value) for value in row.values()) for row in _rows(table)]


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    names = [str(number) for number in range(table.num_columns)]
    rows: list[dict[str, Any]] = table.rename_columns(names).to_pylist()
    return rows


def _plain(value: Any) -> Any:
    """Values as both sides can be compared: decimals by number, times with a zone in UTC."""
    if isinstance(value, Decimal):
        return ("decimal", value.normalize(Context(prec=80)) if value else Decimal(0))
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC)
    return value
