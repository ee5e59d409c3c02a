"""Random JSON pages for one mapping with every type: mostly valid, with arbitrary values in a few columns."""

from __future__ import annotations

import json
from datetime import date, datetime

from hypothesis import strategies as st

from dataflow.pipelines.shape.fields import parse_fields

MAPPING = [
    ("id", "uuid"),
    ("at", "timestamp with time zone"),
    ("local", "timestamp"),
    ("amount", "numeric(12,2)"),
    ("rate", "numeric"),
    ("tags", "text []"),
    ("short", "varchar(5)[]"),
    ("prices", "numeric(6,2)[]"),
    ("ids", "uuid[]"),
    ("name", "character varying(10)"),
    ("small", "smallint"),
    ("count", "integer"),
    ("big", "bigint"),
    ("active", "boolean"),
    ("day", "date"),
    ("score", "double precision"),
    ("weight", "real"),
    ("note", "text"),
    ("payload", "jsonb"),
    ("nested.deep", "deep", "numeric(9,3)"),
]
FIELDS = parse_fields(MAPPING)
FLAT = FIELDS[:-1]
"""The fields that are not nested."""
ID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"

SOME_NUMBERS = ("0", "-0", "0.0", "-0.0", "1e400", "1e-400", "1e-50", "0.1", "12.34", "9999999.99")
SOME_TIMES = (
    "0000-01-01", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "now",
    "2026-01-01T05", "2026-01-01T05Z", "2026-01-01T05:00Z", "2026-01-01T05:00+15:59", "2026-01-01T05:00+16",
    "2026-01-01T24:00:00Z", "2026-01-01T05:00:00+23:59", "2026-01-01T05:00:00.1234567Z", "2023-02-29",
)  # fmt: skip
SOME_TEXTS = (
    "", "0", "false", "t", "abc   ", "a" * 11, "{a,b}", "\ud800", "0x1f",
    ID, ID.upper(), f"{{{ID}}}", ID + " ", "-" * 36, "a0eebc999-c0b-4ef8-bb6d-6bb9bd380a11", ID[:-1] + "-",
)  # fmt: skip

few_digits = st.text("0123456789", min_size=1, max_size=3)
digits = st.text("0123456789", min_size=1, max_size=22)
number_texts = st.one_of(
    st.builds(lambda whole, fraction: f"{int(whole)}.{fraction}", digits, digits),
    st.builds(lambda whole, fraction: f"-{int(whole)}.{fraction}", digits, few_digits),
    st.builds(
        lambda whole, sign, exponent: f"{int(whole)}{sign}{exponent}",
        few_digits,
        st.sampled_from("eE"),
        st.integers(-30, 30),
    ),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-1000, 1000).map(str),
    st.sampled_from([*SOME_NUMBERS, "0.30000000000000000001"]),
)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
time_texts = st.one_of(
    moments.map(lambda moment: moment.isoformat() + "Z"),
    moments.map(lambda moment: moment.isoformat(" ") + "+05:30"),
    moments.map(datetime.isoformat),
    moments.map(lambda moment: moment.date().isoformat()),
    st.sampled_from(SOME_TIMES),
)
uuids = st.uuids().map(str)
texts = st.one_of(
    st.text(max_size=12),
    st.text('\0a\\"u0', max_size=6),
    st.sampled_from(SOME_TEXTS),
    number_texts,
    time_texts,
    uuids,
)
scalars = st.one_of(texts.map(json.dumps), number_texts, st.sampled_from(["null", "true", "false"]))
keys = st.sampled_from(["a", "deep", "score", "amount", "\\u0061", "x y"])


def _array(parts: list[str]) -> str:
    return f"[{','.join(parts)}]"


def _object(pairs: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"


trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(_array) | st.lists(st.tuples(keys, inner), max_size=3).map(_object)
    ),
    max_leaves=5,
)
plain_numbers = st.one_of(
    st.decimals(0, 9999, places=2).map(str),
    st.integers(-999, 999).map(str),
    st.decimals(0, 99, places=2).map(lambda number: f'"{number}"'),
)
plain_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
PLAIN: dict[str, st.SearchStrategy[str]] = {
    "id": uuids.map(json.dumps),
    "at": moments.map(lambda moment: json.dumps(moment.isoformat() + "Z")),
    "local": moments.map(lambda moment: json.dumps(moment.isoformat())),
    "amount": plain_numbers,
    "rate": plain_numbers,
    "tags": st.lists(plain_texts, max_size=3).map(json.dumps),
    "short": st.lists(st.sampled_from(["a", "abcde", "", None]), max_size=3).map(json.dumps),
    "prices": st.lists(st.integers(0, 99), max_size=2).map(json.dumps),
    "ids": st.lists(uuids, max_size=2).map(json.dumps),
    "name": st.sampled_from(["", "abc", "äöüäöüäöü"]).map(json.dumps),
    "small": st.integers(-(2**15), 2**15 - 1).map(str),
    "count": st.integers(-(2**31), 2**31 - 1).map(str),
    "big": st.integers(-(2**63), 2**63 - 1).map(str),
    "active": st.sampled_from(["true", "false"]),
    "day": st.dates(date(1, 1, 1)).map(lambda day: json.dumps(day.isoformat())),
    "score": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "weight": st.floats(0, 1000, width=32).map(repr),
    "note": plain_texts.map(json.dumps),
    "payload": trees,
    "nested": plain_numbers.map(lambda number: f'{{"deep":{number}}}'),
}


@st.composite
def pages(draw: st.DrawFn, nested: bool = True) -> bytes:
    """Mostly valid rows, with up to three columns of arbitrary values, present once, twice or not at all."""
    plain_ones = {key: plain for key, plain in PLAIN.items() if nested or key != "nested"}
    wild = draw(
        st.sets(st.sampled_from([*plain_ones, "extra", *(["nested.deep"] if nested else [])]), max_size=3)
    )
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        pairs = [
            (key, draw(plain | st.just("null")))
            for key, plain in sorted(plain_ones.items())
            if key not in wild
        ]
        pairs += [
            (key, draw(scalars | trees)) for key in sorted(wild) for _ in range(draw(st.integers(0, 2)))
        ]
        rows.append(_object(draw(st.permutations(pairs))))
    if draw(st.integers(0, 9)) == 0:
        rows.append(draw(trees))
    return f'{{"results":{_array(rows)}}}'.encode("utf-8", "surrogatepass")
