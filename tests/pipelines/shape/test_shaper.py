"""Part files of every kind to batches, with rejects and drift; and files refused as a whole."""

from __future__ import annotations

import io
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.shape import shaper as shaper_module
from dataflow.pipelines.shape import tables as tables_module
from dataflow.pipelines.shape.fields import parse_fields
from dataflow.pipelines.shape.shaped import Shaped
from dataflow.pipelines.shape.shaper import Shaper
from tests.pipelines.shape.random_pages import FIELDS, ID, MAPPING


def shape(rows: Any, mapping: Any = MAPPING, **options: Any) -> Shaped:
    body = rows if isinstance(rows, bytes) else json.dumps({"results": rows}).encode()
    (shaped,) = Shaper(parse_fields(mapping), **options).shape(body, 7)
    return shaped


def test_zero_false_and_the_empty_string_are_unchanged() -> None:
    row = {"c": 0, "a": False, "n": "", "t": []}
    shaped = shape([row], [("c", "integer"), ("a", "boolean"), ("n", "text"), ("t", "text[]")])
    assert shaped.batch.to_pylist() == [row]


def test_null_and_missing_are_null_and_only_missing_is_drift() -> None:
    shaped = shape([{"a": None}, {"b": 1}, {"a": 2}], [("a", "integer")])
    assert shaped.batch.column("a").to_pylist() == [None, None, 2]
    assert (shaped.missing, shaped.new, shaped.rows_read) == ((("a", 1),), ("b",), 3)


def test_a_literal_key_with_a_dot_takes_precedence_over_the_path() -> None:
    rows = [{"a.b": 1, "a": {"b": 2}}, {"a": {"b": 3}}, {"a": None}, {"a": {}}, {"a": [5]}]
    shaped = shape(rows, [("a.b", "x", "integer"), ("a.0", "y", "integer")])
    assert shaped.batch.column("x").to_pylist() == [1, 3, None, None, None]
    assert shaped.batch.column("y").to_pylist() == [None, None, None, None, 5]
    assert dict(shaped.missing) == {"a.b": 2, "a.0": 3}
    assert shaped.new == ()


def test_new_keys_are_seen_beside_nested_fields() -> None:
    shaped = shape([{"a": {"b": 1, "c": 2}, "z": 3}], [("a.b", "b", "integer"), ("a.c", "c", "integer")])
    assert (shaped.new, shaped.missing) == (("z",), ())


def test_a_reject_has_part_row_field_value_and_reason_and_excludes_its_row() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": "y" * 300, "b": "\0"}, 5, {"a": 3, "b": "z"}]
    shaped = shape(rows, [("a", "integer"), ("b", "text")])
    assert shaped.batch.to_pylist() == [{"a": 1, "b": "x"}, {"a": 3, "b": "z"}]
    assert [(one.part, one.row, one.field) for one in shaped.rejects] == [
        (7, 2, "a"),
        (7, 2, "b"),
        (7, 3, ""),
    ]
    long, nul, whole = shaped.rejects
    assert len(long.value) == 200 and long.value.startswith("yyy")
    assert "\0" not in nul.value and "NUL" in nul.reason
    assert (whole.value, whole.reason) == ("5", "is not a JSON object")
    assert shaped.rows_read == 4


def test_half_a_surrogate_can_be_shown() -> None:
    (reject,) = shape(b'{"results":[{"a":"\\ud800"}]}', [("a", "text")]).rejects
    assert reject.value.encode() == b"?"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"results": [{"a": 1}, {"a"', "part 7 is not JSON"),
        (b"<html><body>Sign in</body></html>", "it begins"),
        (b"", "is not JSON"),
        (b'{"results": [{"a": NaN}]}', "NaN is not a JSON value"),
        (b'{"results": [{"a": Infinity}]}', "Infinity is not a JSON value"),
        (b'{"data": []}', 'has no "results" (found: data)'),
        (b"[]", 'has no "results"'),
        (b'{"results": {"a": 1}}', "dict, not a list"),
        (b'{"results": null}', "NoneType, not a list"),
        (b'{"results": ["\xff"]}', "is not UTF-8"),
        (b'{"results": ' + b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_an_invalid_page_is_refused_as_a_whole(body: bytes, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        shape(body, [("a", "integer")])
    assert said in str(caught.value)


def test_rows_are_found_by_a_dotted_key_or_as_the_page_itself() -> None:
    mapping = [("a", "integer")]
    for key, body in (
        ("data.items", b'{"data":{"items":[{"a":1}]}}'),
        ("", b'[{"a":1}]'),
        ("results", b'\xef\xbb\xbf{"results":[{"a":1}]}'),
        ("results", b'{"results":[],"results":[{"a":1}]}'),
    ):
        assert shape(body, mapping, results_key=key).batch.to_pylist() == [{"a": 1}]
    with pytest.raises(BadInput, match=r'has no "data\.items"'):
        shape(b'{"data.items":[{"a":1}]}', mapping, results_key="data.items")


def test_a_page_without_rows_makes_an_empty_batch_with_the_right_schema() -> None:
    shaped = shape([])
    assert (shaped.batch.num_rows, shaped.rows_read, shaped.new, shaped.missing) == (0, 0, (), ())
    assert shaped.batch.schema == Shaper(FIELDS).schema


def test_large_pages_are_split_into_bounded_batches_with_continuous_row_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shaper_module, "BATCH_ROWS", 3)
    rows = [{"a": number} for number in range(8)]
    rows[6]["a"] = "x"  # type: ignore[assignment]
    for kind, body in (
        ("page", json.dumps({"results": rows}).encode()),
        ("jsonl", "\n".join(map(json.dumps, rows)).encode()),
        ("csv", ("a\n" + "\n".join(str(row["a"]) for row in rows)).encode()),
    ):
        found = list(Shaper(parse_fields([("a", "integer")]), kind=kind).shape(body, 1))
        assert [one.batch.num_rows for one in found] == [3, 3, 1], kind
        assert [one.rows_read for one in found] == [3, 3, 2]
        assert [one.row for one in found[2].rejects] == [7]


def test_json_lines_count_lines_and_reject_only_the_bad_ones() -> None:
    body = b'{"a":1}\r\n\n{"a":\n{"a":2}\n[3]\n{"a":1.5}'
    shaped = shape(body, [("a", "numeric(3,1)")], kind="jsonl")
    assert shaped.batch.column("a").to_pylist() == [Decimal("1.0"), Decimal("2.0"), Decimal("1.5")]
    assert [(one.row, one.field) for one in shaped.rejects] == [(3, ""), (5, "")]
    assert shaped.rows_read == 5
    assert shape(b"", [("a", "integer")], kind="jsonl").rows_read == 0


CSV = f"""t,i,n,b,f,d,j,l,u,more
"",12,1.50,t,0.5,2024-02-29,"{{""a"":1.10}}","{{a,b}}",{ID},x
,,,,,,,,,
"a
b",0,0,false,1,2024-01-01,0,{{}},{ID},y
"""


def test_csv_distinguishes_null_from_the_empty_string_and_converts_every_type() -> None:
    mapping = [
        ("t", "text"), ("i", "integer"), ("n", "numeric(5,2)"), ("b", "boolean"), ("f", "double precision"),
        ("d", "date"), ("j", "jsonb"), ("l", "text[]"), ("u", "uuid"),
    ]  # fmt: skip
    shaped = shape(CSV.encode(), mapping, kind="csv")
    assert shaped.rejects == ()
    one, two, three = (tuple(row.values()) for row in shaped.batch.to_pylist())
    assert one == ("", 12, Decimal("1.50"), True, 0.5, date(2024, 2, 29), '{"a":1.10}', ["a", "b"], ID)
    assert two == (None,) * 9
    assert three == ("a\nb", 0, Decimal(0), False, 1.0, date(2024, 1, 1), "0", [], ID)
    assert shaped.new == ("more",)


def test_csv_rows_of_the_wrong_width_are_rejects_and_others_keep_their_numbers() -> None:
    shaped = shape(b"a,b\n1,2\n3\n4,x\n5,6,7\n8,y\n", [("a", "integer"), ("b", "integer")], kind="csv")
    assert shaped.batch.to_pylist() == [{"a": 1, "b": 2}]
    assert [(one.row, one.field) for one in shaped.rejects] == [(2, ""), (3, "b"), (4, ""), (5, "b")]
    assert shaped.rows_read == 5


@pytest.mark.parametrize("body", [b"", b"a,a\n1,2\n", b"a\n\xff\n"])
def test_a_file_that_is_not_csv_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="part 7"):
        shape(body, [("a", "text")], kind="csv")


def test_a_csv_with_a_header_only_has_no_rows_and_its_columns_are_known() -> None:
    shaped = shape(b"a,z\n", [("a", "integer")], kind="csv")
    assert (shaped.rows_read, shaped.new, shaped.missing) == (0, ("z",), ())


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_parquet_is_cast_only_where_nothing_is_lost() -> None:
    moment = datetime(2026, 1, 1, 5, tzinfo=UTC)
    table = pa.table(
        {
            "i": pa.array([1, 2**40], pa.int64()),
            "n": pa.array([Decimal("1.50"), Decimal("1.25")], pa.decimal128(9, 4)),
            "big": pa.array([Decimal(1), Decimal("2e26")], pa.decimal128(38, 0)),
            "f": pa.array([0.1, 2.0], pa.float64()),
            "at": pa.array([moment, None], pa.timestamp("ns", "Europe/Berlin")),
            "s": pa.array([{"x": {"y": "a"}}, {"x": None}]),
            "u": pa.array([ID, None]),
            "l": pa.array([["a"], None]),
            "j": pa.array([{"k": 1.5}, {"k": float("nan")}]),
        }
    )
    mapping = [
        ("i", "integer"), ("n", "numeric(9,2)"), ("big", "numeric"), ("f", "numeric(5,1)"),
        ("at", "timestamptz"), ("s.x.y", "y", "text"), ("u", "uuid"), ("l", "text[]"), ("j", "jsonb"),
        ("gone", "text"),
    ]  # fmt: skip
    shaped = shape(parquet(table), mapping, kind="parquet")
    (row,) = shaped.batch.to_pylist()
    numbers = (1, Decimal("1.50"), Decimal(1), Decimal("0.1"))
    assert tuple(row.values()) == (*numbers, moment, "a", ID, ["a"], '{"k":1.5}', None)
    assert [(one.row, one.field) for one in shaped.rejects] == [(2, "i"), (2, "big"), (2, "j")]
    assert shaped.missing == (("gone", 2),)


def test_an_empty_parquet_file_is_distinguished_from_a_truncated_one() -> None:
    empty = parquet(pa.table({"a": pa.array([], pa.int64())}))
    assert shape(empty, [("a", "integer")], kind="parquet").rows_read == 0
    with pytest.raises(BadInput, match="not a complete Parquet file"):
        shape(empty[:-10], [("a", "integer")], kind="parquet")


def test_a_shaper_can_be_pickled() -> None:
    one = Shaper(FIELDS, "data", "page", True)
    assert pickle.loads(pickle.dumps(one)) == one


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(BadInput, match="use one of page, jsonl, csv, parquet"):
        shape([], [("a", "text")], kind="xml")


class Counting(io.BytesIO):
    """A file that counts the bytes read from it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.taken += len(found)
        return found

    def __next__(self) -> bytes:
        found = super().__next__()
        self.taken += len(found)
        return found


def make_big_file(kind: str) -> bytes:
    rows = 600_000
    match kind:
        case "jsonl":
            return b"".join(b'{"a": %d, "b": "%060d"}\n' % (number, number) for number in range(rows))
        case "csv":
            return b"a,b\n" + b"".join(b"%d,%060d\n" % (number, number) for number in range(rows))
    table = pa.table({"a": range(rows), "b": [f"{number:060}" for number in range(rows)]})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=rows // 12, compression="none", use_dictionary=False)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_large_file_is_read_only_as_far_as_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_module, "_BLOCK_BYTES", 1 << 18)  # Arrow reads some blocks ahead
    body = make_big_file(kind)
    file = Counting(body)
    shaped = Shaper(parse_fields([("a", "bigint"), ("b", "text")]), kind=kind).shape(file, 1)
    first = next(shaped).batch.num_rows
    assert 0 < first <= 50_000
    assert file.taken < len(body) / 2
    assert first + sum(one.batch.num_rows for one in shaped) == 600_000
