"""Arrow batches into staging by binary COPY: every type and its limits, and concurrent copies."""

from __future__ import annotations

import datetime
import pickle
import threading
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from dataflow.errors import InvalidRows, TargetDenied
from dataflow.model.record import replace
from dataflow.pipelines.postgres.table import Column, Table
from dataflow.pipelines.postgres.writer import CopyWriter
from tests.pipelines.postgres.orders import ORDERS, make_batch, make_rows, make_target, query, stage

UTC = datetime.UTC
ID = uuid.UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
DIGITS = Decimal("12345678901234567890123456789.012345678")
MINUS = Decimal(f"-{DIGITS}")  # the operator would round to 28 digits
NINES = Decimal("9" * 38)

# PostgreSQL type, Arrow type, values in Arrow, the same values as PostgreSQL shows them.
TYPES: list[tuple[str, pa.DataType, list[Any], list[str | None]]] = [
    ("uuid", pa.binary(16), [ID.bytes, None], [str(ID), None]),
    ("uuid", pa.string(), [str(ID), None], [str(ID), None]),
    ("uuid", pa.string(), [f"{{{ID}}}", ID.hex.upper(), None], [str(ID), str(ID), None]),
    ("uuid", pa.binary(), [ID.bytes, None], [str(ID), None]),
    ("numeric", pa.decimal128(38, 9), [DIGITS, None, MINUS], [str(DIGITS), None, str(MINUS)]),
    (
        "numeric(38,0)",
        pa.decimal128(38, 0),
        [NINES, Decimal(f"-{NINES}"), Decimal(0)],
        [str(NINES), f"-{NINES}", "0"],
    ),
    ("decimal(38, 10)", pa.decimal128(38, 10), [Decimal("-1E-10"), None], ["-0.0000000001", None]),
    ("numeric(12,2)", pa.decimal128(5, 1), [Decimal("1.5"), None], ["1.50", None]),
    ("numeric", pa.int64(), [2**63 - 1, None], ["9223372036854775807", None]),
    ("smallint", pa.int16(), [-(2**15), None], ["-32768", None]),
    ("integer", pa.int64(), [2**31 - 1, None, 0], ["2147483647", None, "0"]),
    ("bigint", pa.int64(), [-(2**63), None], ["-9223372036854775808", None]),
    ("real", pa.float32(), [1.5, None], ["1.5", None]),
    ("double precision", pa.float64(), [float("nan"), 1e-300, 0.1, None], ["NaN", "1e-300", "0.1", None]),
    ("boolean", pa.bool_(), [False, None, True], ["false", None, "true"]),
    ("text", pa.string(), ['é\u2028"\\\n', "", None], ['é\u2028"\\\n', "", None]),
    ("text", pa.large_string(), ["x", None], ["x", None]),
    ("text", pa.dictionary(pa.int32(), pa.string()), ["x", None], ["x", None]),
    ("character varying (3)", pa.string(), ["äöü", None], ["äöü", None]),
    ("jsonb", pa.string(), ['{"b": [1, null], "a": 1.10}', None], ['{"a": 1.10, "b": [1, null]}', None]),
    ("json", pa.string(), ['{"b":1}', None], ['{"b":1}', None]),
    ("bytea", pa.binary(), [b"\0\xff", None], ["\\x00ff", None]),
    (
        "date",
        pa.date32(),
        [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
        ["0001-01-01", "9999-12-31"],
    ),
    (
        "timestamp with time zone",
        pa.timestamp("us", "UTC"),
        [
            datetime.datetime(1900, 1, 1, tzinfo=UTC),
            datetime.datetime(2024, 2, 29, 23, 59, 59, 999999, UTC),
            None,
        ],
        ["1900-01-01 00:00:00+00", "2024-02-29 23:59:59.999999+00", None],
    ),
    ("timestamptz", pa.timestamp("ms", "Europe/Paris"), [0, None], ["1970-01-01 00:00:00+00", None]),
    ("timestamp", pa.timestamp("us"), [datetime.datetime(1, 1, 1), None], ["0001-01-01 00:00:00", None]),
    ("time", pa.time64("us"), [datetime.time(1, 2, 3, 4), None], ["01:02:03.000004", None]),
    (
        "text []",
        pa.list_(pa.string()),
        [["a", None, "", '{,"'], [], None],
        ['{a,NULL,"","{,\\""}', "{}", None],
    ),
    ("character varying(5)[]", pa.list_(pa.string()), [["a", None], None], ["{a,NULL}", None]),
    ("uuid[]", pa.list_(pa.string()), [[str(ID), None]], [f"{{{ID},NULL}}"]),
    ("integer[]", pa.list_(pa.int32()), [[1, None], [], None], ["{1,NULL}", "{}", None]),
    ("inet", pa.string(), ["10.0.0.1", None], ["10.0.0.1/32", None]),
    ("interval", pa.string(), ["1 day", None], ["1 day", None]),
]


def publish(url: str, run_id: int, table: Table, batches: list[pa.RecordBatch]) -> None:
    target = make_target(url, run_id, table=table)
    target.begin()
    target.publish([target.writer().write(iter(batches), "1.0")])


@pytest.mark.parametrize(
    ("sql_type", "arrow_type", "values", "shown"), TYPES, ids=lambda value: str(value)[:20]
)
def test_every_type_is_copied_unchanged(
    postgres_url: str, sql_type: str, arrow_type: pa.DataType, values: list[Any], shown: list[str | None]
) -> None:
    table = replace(ORDERS, columns=(Column("row", "integer", primary_key=True), Column("value", sql_type)))
    array = (
        pa.array(values, arrow_type)
        if not pa.types.is_dictionary(arrow_type)
        else pa.array(values).dictionary_encode()
    )
    rows = pa.array(range(len(values)), pa.int32())
    batch = pa.record_batch([rows, array], names=["row", "value"])
    pieces = [batch.slice(0, 1), batch.slice(1)]  # as readers of larger batches produce them
    for run_id in (1, 2):  # first load and replacement take different paths
        publish(postgres_url, run_id, table, pieces)
        assert [
            value for (value,) in query(postgres_url, "select value::text from orders order by row")
        ] == shown


@pytest.mark.parametrize(
    ("sql_type", "array"),
    [
        ("integer", pa.array([2**31], pa.int64())),
        ("numeric(5,2)", pa.array([Decimal("1.234")], pa.decimal128(10, 3))),
        ("numeric(3,0)", pa.array([Decimal("1234")], pa.decimal128(10, 0))),
        ("timestamptz", pa.array([1], pa.timestamp("ns", "UTC"))),
        ("uuid", pa.array(["not a uuid"])),
        ("uuid", pa.array([str(ID), f" {ID.hex[1:]}"])),
        ("uuid", pa.array([f"{ID.hex[:8]}_{ID.hex[9:]}"])),
        ("uuid", pa.array([""])),
        ("integer", pa.array([["a"]])),
        ("varchar(2)", pa.array(["abc"])),
        ("text", pa.array(["a\0b"])),
        ("jsonb", pa.array(["{"])),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_nothing_is_staged(
    postgres_url: str, sql_type: str, array: pa.Array
) -> None:
    target = make_target(postgres_url, table=replace(ORDERS, columns=(Column("value", sql_type),)))
    target.begin()
    good = pa.record_batch([array.slice(0, 0)], names=["value"])
    with pytest.raises(InvalidRows, match="value"):
        target.writer().write(iter([good, pa.record_batch([array], names=["value"])]), "1.0")
    assert query(postgres_url, f"select count(*) from {target.staging}") == [(0,)]


def test_batches_with_another_column_order_are_refused(postgres_url: str) -> None:
    target = make_target(postgres_url)
    target.begin()
    batch = make_batch(make_rows(3)).select(["name", "id", "total"])
    with pytest.raises(InvalidRows, match="the table has"):
        target.writer().write(iter([batch]), "1.0")


def test_an_attempt_that_fails_halfway_leaves_nothing(postgres_url: str) -> None:
    target = make_target(postgres_url)
    target.begin()

    def batches() -> Iterator[pa.RecordBatch]:
        yield make_batch(make_rows(30_000))
        raise RuntimeError("the executor is gone")

    with pytest.raises(RuntimeError, match="the executor is gone"):
        target.writer().write(batches(), "1.0")
    assert query(postgres_url, f"select count(*) from {target.staging}") == [(0,)]


def test_the_writer_can_be_sent_to_another_process_and_hides_the_password(
    postgres_url: str, tmp_path: Path
) -> None:
    target = make_target(postgres_url)
    target.task_folder = str(tmp_path / "run")
    target.begin()
    writer = pickle.loads(pickle.dumps(target.writer()))
    assert isinstance(writer, CopyWriter)
    assert writer.write(iter([make_batch(make_rows(45_000))]), "1.0").rows == 45_000
    assert postgres_url not in repr(writer)


def test_no_more_tasks_copy_at_once_than_allowed(postgres_url: str) -> None:
    target = make_target(postgres_url, copy_tasks=2)
    target.begin()
    inside, most, guard = [0], [0], threading.Lock()

    def batches(number: int) -> Iterator[pa.RecordBatch]:
        yield make_batch(make_rows(1))
        with guard:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        for _ in range(5):
            yield make_batch(make_rows(5_000))
        with guard:
            inside[0] -= 1

    tasks = [
        threading.Thread(target=target.writer().write, args=(batches(number), str(number)))
        for number in range(8)
    ]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    assert most[0] == 2
    assert query(postgres_url, f"select count(*) from {target.staging}") == [(8 * 25_001,)]


def test_a_missing_privilege_for_the_staging_schema_is_reported_with_advice(postgres_url: str) -> None:
    name = f"loader_{uuid.uuid4().hex[:8]}"
    query(
        postgres_url, f"create role {name} login password 'secret'; grant create on schema public to {name}"
    )
    url = psycopg.conninfo.make_conninfo(postgres_url, user=name, password="secret")
    try:
        with pytest.raises(TargetDenied, match=f'create schema "dataflow_staging" authorization "{name}"'):
            make_target(url).begin()
        query(postgres_url, f"create schema dataflow_staging authorization {name}")
        target = make_target(url)
        target.begin()
        target.publish([stage(target, make_rows(2))])
    finally:
        query(postgres_url, f"drop owned by {name} cascade; drop role {name}")
