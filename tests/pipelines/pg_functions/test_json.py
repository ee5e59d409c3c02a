"""json and jsonb compared with PostgreSQL."""

from __future__ import annotations

import random
from functools import partial

import pytest

from dataflow.pipelines.pg_functions import json_text, json_values, jsonb, jsonb_changes
from dataflow.pipelines.pg_functions.json_model import parse, quote, write
from dataflow.pipelines.pg_functions.signatures import Signature, list_overloads
from tests.pipelines.pg_functions.drawn_calls import Draw, find_differences, to_sql
from tests.pipelines.pg_functions.drawn_json import draw_json, draw_nearly_json, draw_step
from tests.pipelines.pg_functions.reference import Reference
from tests.pipelines.pg_functions.test_text import attempt, name_call

CASES = 80
MODULES = (jsonb, jsonb_changes, json_text, json_values)
# They are written differently in SQL, so they have their own tests.
SPECIAL = {"json_build_object", "jsonb_build_object", "json_agg", "jsonb_agg"}
SIGNATURES = [
    one
    for module in MODULES
    for one in list_overloads(module.SIGNATURES)
    if one.name not in SPECIAL and " " not in one.name
]


def draw_jsonb(chosen: random.Random) -> str:
    return write(parse(draw_json(chosen)))


@pytest.mark.parametrize("signature", SIGNATURES, ids=name_call)
def test_a_json_function_matches_postgresql(signature: Signature, reference: Reference) -> None:
    is_input = signature.name == "cast" and signature.takes == ("text",)
    draws: dict[str, Draw] = {
        "jsonb": draw_jsonb,
        "json": draw_json,
        "text": draw_nearly_json if is_input else draw_step,
        "integer": lambda chosen: chosen.randint(-4, 4),
    }
    if signature.name in ("to_json", "to_jsonb"):
        del draws["integer"], draws["text"]
    assert find_differences(reference, [signature], CASES * (5 if is_input else 1), draws) == []


def test_containment_and_order_of_small_documents_match_postgresql(reference: Reference) -> None:
    documents = (
        "1",
        "1.0",
        '"a"',
        "null",
        "true",
        "[]",
        "[1]",
        '["a", 1]',
        "[[1]]",
        "{}",
        '{"a": 1}',
        '{"a": [1, 2]}',
    )
    draws: dict[str, Draw] = {"jsonb": lambda chosen: chosen.choice(documents)}
    both = [one for one in list_overloads(jsonb.SIGNATURES) if one.takes == ("jsonb", "jsonb")]
    assert find_differences(reference, both, 150, draws) == []


@pytest.mark.parametrize("kind", ["json", "jsonb"])
def test_objects_are_built_as_in_postgresql(kind: str, reference: Reference) -> None:
    chosen = random.Random(9)
    drawn = [
        [
            draw_step(chosen) if place % 2 == 0 and chosen.random() < 0.95 else draw_json(chosen)
            for place in range(count)
        ]
        for count in (chosen.choice((0, 1, 2, 2, 4, 4, 6)) for _ in range(150))
    ]
    build = getattr(json_values, f"{kind}_build_object")
    convert = write if kind == "jsonb" else None
    calls, found = [], []
    for arguments in drawn:
        written = [to_sql(one, "text" if place % 2 == 0 else kind) for place, one in enumerate(arguments)]
        calls.append(f"{kind}_build_object({', '.join(written)})")
        documents = [
            quote(one) if place % 2 == 0 else convert(parse(one)) if convert else one
            for place, one in enumerate(arguments)
        ]
        found.append(attempt(partial(build, *documents)))
    assert found == reference.ask(calls)


def test_json_aggregates_match_postgresql(reference: Reference) -> None:
    rows = "(values ('a', '1'), ('b', null), ('a', '[2]')) t(k, v)"
    values = ["1", None, "[2]"]
    pairs = ['["a", 1]', '["b", null]', '["a", [2]]']
    assert reference.ask(
        [
            f"select jsonb_agg(v::jsonb) from {rows}",
            f"select json_agg(v::json) from {rows}",
            f"select jsonb_object_agg(k, v::jsonb) from {rows}",
            f"select jsonb_agg(v::jsonb) from {rows} where false",
            f"select jsonb_object_agg(k, v) from {rows} where false",
            "select jsonb_object_agg(null::text, 1)",
        ]
    ) == [
        json_values.json_agg(values),
        json_values.json_agg(values),
        json_values.jsonb_object_agg(pairs, ordered=True),
        json_values.json_agg([]),
        json_values.jsonb_object_agg([], ordered=True),
        attempt(lambda: str(json_values.jsonb_object_agg(["[null, 1]"], ordered=True))),
    ]


def test_dates_before_year_1_and_after_9999_are_converted_as_in_postgresql(reference: Reference) -> None:
    days, micros = (
        [-2_000_000, -719_163, 2_932_897],
        [-(10**17), -62_135_596_800_000_001, 253_402_300_800_000_001],
    )
    calls = [f"to_json(date '1970-01-01' + ({each}))" for each in days]
    for kind in ("timestamp", "timestamptz"):
        calls += [f"to_json({kind} '1970-01-01' + interval '{each} us')" for each in micros]
    found = [json_values.TO_JSON["date"](each) for each in days]
    found += [json_values.TO_JSON["timestamp"](each) for each in micros]
    found += [json_values.TO_JSON["timestamptz"](each) for each in micros]
    assert found == reference.ask(calls)


def test_numbers_out_of_range_for_numeric_are_refused_as_in_postgresql(reference: Reference) -> None:
    numbers = [
        "1e131071",
        "1e131072",
        "1e-16383",
        "1e-16384",
        "1e400",
        "123456789e-5",
        "0e5",
        "-0.00",
        "0e131072",
    ]
    asked = reference.ask([f"'{number}'::jsonb" for number in numbers])
    assert [attempt(partial(jsonb.jsonb_in, number)) for number in numbers] == asked
