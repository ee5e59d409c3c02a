"""Fast and exact parsing: a page converts each value as if it were alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataflow.pipelines.shape.fields import Field, parse_fields
from dataflow.pipelines.shape.json_rows import list_column
from dataflow.pipelines.shape.json_text import keeps_digits, keeps_texts, parse_exactly, to_json
from dataflow.pipelines.shape.shaped import Shaped
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.shape.values import Unfit, convert
from tests.pipelines.shape.random_pages import FIELDS, FLAT, MAPPING, number_texts, pages
from tests.pipelines.shape.value_cases import FITS, UNFIT

KINDS = ["numeric(12,2)", "numeric", "numeric(38,0)", "text"]


def shape_one(body: bytes, mapping: Any) -> Shaped:
    (shaped,) = Shaper(parse_fields(mapping)).shape(body, 1)
    return shaped


def expected(
    body: bytes, fields: tuple[Field, ...]
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]], dict[str, int]]:
    """The plain, slow way: each value on its own."""
    rows = parse_exactly(body)["results"]
    objects = [(number, row) for number, row in enumerate(rows, start=1) if isinstance(row, dict)]
    made: list[dict[str, Any]] = [{} for _ in objects]
    rejects: list[tuple[Any, ...]] = [
        (number, "") for number, row in enumerate(rows, start=1) if not isinstance(row, dict)
    ]
    missing = {}
    for field in fields:
        values, lacking = list_column([row for _, row in objects], field)
        if lacking:
            missing[field.source] = lacking
        for place, value in enumerate(values):
            try:
                made[place][field.column] = convert(field.type, value)
            except Unfit as unfit:
                rejects.append((objects[place][0], field.source, str(unfit)))
    bad = {reject[0] for reject in rejects}
    good = [one for (number, _), one in zip(objects, made, strict=True) if number not in bad]
    return good, sorted(rejects), missing


def found(shaped: Shaped) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]], dict[str, int]]:
    rejects = [(one.row, one.field, one.reason) if one.field else (one.row, "") for one in shaped.rejects]
    return shaped.batch.to_pylist(), sorted(rejects), dict(shaped.missing)


def expected_types(rows: list[dict[str, Any]], fields: tuple[Field, ...] = FIELDS) -> list[dict[str, Any]]:
    """As Arrow stores them: a real has fewer digits than Python's float."""
    schema = Shaper(fields).schema
    made: list[dict[str, Any]] = pa.RecordBatch.from_pylist(rows, schema=schema).to_pylist()
    return made


@pytest.mark.parametrize(("kind", "source", "expected"), FITS)
def test_a_page_keeps_a_value_that_fits(kind: str, source: str, expected: Any) -> None:
    shaped = shape_one(f'{{"results":[{{"a":null}},{{"a":{source}}}]}}'.encode(), [("a", kind)])
    assert shaped.batch.column("a").to_pylist() == [None, expected]


@pytest.mark.parametrize(("kind", "source", "reason"), UNFIT)
def test_a_page_rejects_a_value_that_does_not_fit(kind: str, source: str, reason: str) -> None:
    shaped = shape_one(f'{{"results":[{{"a":null}},{{"a":{source}}}]}}'.encode(), [("a", kind)])
    assert shaped.batch.column("a").to_pylist() == [None]
    (reject,) = shaped.rejects
    assert (reject.row, reject.field) == (2, "a")
    assert reason in reject.reason


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(pages())
def test_a_page_converts_each_value_as_if_it_were_alone(body: bytes) -> None:
    (shaped,) = Shaper(FIELDS).shape(body, 1)
    good, rejects, missing = expected(body, FIELDS)
    assert found(shaped) == (expected_types(good), rejects, missing)
    assert shaped.batch.schema == Shaper(FIELDS).schema
    shaped.batch.validate(full=True)
    keys = set().union(*(row for row in parse_exactly(body)["results"] if isinstance(row, dict)))
    assert set(shaped.new) == keys - {key for key, *_ in MAPPING} - {"nested"}


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(pages(nested=False))
def test_a_page_of_flat_rows_converts_each_value_as_if_it_were_alone(body: bytes) -> None:
    (shaped,) = Shaper(FLAT).shape(body, 1)
    good, rejects, missing = expected(body, FLAT)
    assert found(shaped) == (expected_types(good, FLAT), rejects, missing)
    keys = set().union(*(row for row in parse_exactly(body)["results"] if isinstance(row, dict)))
    assert set(shaped.new) == keys - {key for key, *_ in MAPPING}


def test_a_reason_names_the_type_as_the_mapping_does() -> None:
    fields = parse_fields([("rate", "numeric")])
    (shaped,) = Shaper(fields, uuid_as_bytes=True).shape(b'{"results":[{"rate":[]}]}', 1)
    assert [reject.reason for reject in shaped.rejects] == [
        "is a list, not numeric; map it as numeric [], or use jsonb"
    ]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(pages())
def test_uuids_as_bytes_are_the_same_uuids(body: bytes) -> None:
    # A bare numeric keeps more digits in a database than in the lake, so other rows fit.
    fields = tuple(field for field in FIELDS if field.type.exact == field.type)
    (texts,) = Shaper(fields).shape(body, 1)
    (binary,) = Shaper(fields, uuid_as_bytes=True).shape(body, 1)
    binary.batch.validate(full=True)
    assert binary.rejects == texts.rejects
    ids = [None if one is None else one.hex() for one in binary.batch.column("id").to_pylist()]
    assert ids == [
        None if one is None else one.replace("-", "") for one in texts.batch.column("id").to_pylist()
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(number_texts, min_size=1, max_size=6), st.sampled_from(KINDS))
def test_a_number_is_the_same_whichever_parser_reads_it(numbers: list[str], kind: str) -> None:
    rows = ",".join(f'{{"a":{number},"b":0.12345678901234567}}' for number in numbers)
    shaped = shape_one(f'{{"results":[{rows}]}}'.encode(), [("a", kind), ("b", "double precision")])
    rejected = {reject.row for reject in shaped.rejects}
    kept = [Decimal(one) for row, one in enumerate(numbers, start=1) if row not in rejected]
    assert [Decimal(one) for one in shaped.batch.column("a").to_pylist()] == kept


SHORT_FRACTIONS = st.decimals(-(10**6), 10**6, places=3).map(lambda one: f"{one:f}".rstrip("0"))


@settings(max_examples=300, deadline=None)
@given(st.lists(number_texts | SHORT_FRACTIONS.filter(lambda one: one[-1] != "."), min_size=1, max_size=4))
def test_a_number_within_json_keeps_its_text_whichever_parser_reads_it(numbers: list[str]) -> None:
    rows = ",".join(f'{{"a":{{"n": {number} ,"l":[{number},{number}]}},"b":{number}}}' for number in numbers)
    body = f'{{"results":[{rows}]}}'.encode()
    shaped = shape_one(body, [("a", "jsonb"), ("b", "json")])
    exactly = [(to_json(row["a"]), to_json(row["b"])) for row in parse_exactly(body)["results"]]
    made = [(row["a"].encode(), row["b"].encode()) for row in shaped.batch.to_pylist()]
    assert made == exactly


def test_a_numeric_with_many_digits_keeps_all_of_them() -> None:
    number = "-12345678901234567890.12345678901234567"
    shaped = shape_one(f'{{"results":[{{"a":{number}}},{{"a":"{number}"}}]}}'.encode(), [("a", "numeric")])
    assert shaped.batch.column("a").to_pylist() == [Decimal(number)] * 2


LONG = "0.30000000000000000001"


@pytest.mark.parametrize(
    ("source", "kind", "value", "expected"),
    [
        ("a.1", "numeric(38,20)", f"[1,{LONG}]", Decimal(LONG)),
        ("a.v", "numeric(38,20)", f'{{"v":{LONG}}}', Decimal(LONG)),
        ("a", "numeric(38,20)[]", f"[{LONG}]", [Decimal(LONG)]),
        ("a", "jsonb", f'{{"k":[{LONG}]}}', f'{{"k":[{LONG}]}}'),
        ("a", "jsonb", LONG, LONG),
    ],
)
def test_a_long_number_is_kept_anywhere_in_a_page(source: str, kind: str, value: str, expected: Any) -> None:
    shaped = shape_one(f'{{"results":[{{"a":{value}}}]}}'.encode(), [(source, "x", kind)])
    assert shaped.batch.column("x").to_pylist() == [expected]


def test_a_uuid_as_bytes_may_be_null() -> None:
    body = b'{"results":[{"a":null},{"a":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}]}'
    (shaped,) = Shaper(parse_fields([("a", "uuid")]), uuid_as_bytes=True).shape(body, 1)
    assert shaped.batch.column("a").to_pylist() == [None, bytes.fromhex("a0eebc999c0b4ef8bb6d6bb9bd380a11")]


def test_a_real_is_rounded_alike_as_number_and_as_text() -> None:
    number = "1.00000017881393432617187499"  # the nearest double is halfway between two reals
    shaped = shape_one(f'{{"results":[{{"a":"{number}"}},{{"a":"{number}"}}]}}'.encode(), [("a", "real")])
    as_number = shape_one(f'{{"results":[{{"a":{number}}},{{"a":{number}}}]}}'.encode(), [("a", "real")])
    assert shaped.batch == as_number.batch


def test_digits_are_kept_up_to_fifteen_and_not_proven_beyond() -> None:
    assert keeps_digits(b'{"a": -12345678901234.5, "b": 0.12345678901234567}', "a")
    assert not keeps_digits(b'{"a": 0.3000000000000000}', "a")
    assert not keeps_digits(b'{"x": {"a" : 0.30000000000000000001}}', "a")
    assert not keeps_digits(b'{"a": 1e-400}', "a")
    assert not keeps_digits(b'{"\\u0061": 1.5}', "a")
    assert not keeps_digits(b'{"a b": 1.5}', "a b")
    assert not keeps_digits(b'{"a": 1234567890123.456}', "a")
    assert keeps_digits(b'{"a": 123456789012.345}', "a")
    assert keeps_digits(b'{"a": 1.5, "c": "\\u00e9"}', "a")


@pytest.mark.parametrize("number", ["1.5", "-0.25", "10.0", "0.001", "12345678901234.5", "7", "-0.0", "100"])
def test_the_text_of_a_short_fraction_is_kept(number: str) -> None:
    assert keeps_texts(f'{{"a": [{number}], "b":{number}}}'.encode())


@pytest.mark.parametrize("number", ["1.50", "1e5", "1.5E-3", "0.00001", "123456789012345.6", "1.00"])
def test_the_text_of_other_numbers_is_not_proven_to_be_kept(number: str) -> None:
    for body in (f'{{"a": {number} }}', f'{{"a":[1,{number}]}}', f'{{"a":\n-{number}}}'):
        assert not keeps_texts(body.encode())
