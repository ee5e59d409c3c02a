"""The outline of a page: equal to the whole document where it is used, and not used anywhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.pipelines.fetch.page import find_outline
from dataflow.pipelines.shape.json_text import parse_exactly

KEYS = ("next", "meta.total", "")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.fixed_dictionaries(
    {"results": st.lists(VALUES, max_size=5)},
    optional={"next": VALUES, "meta": st.dictionaries(st.sampled_from(["total", "x"]), VALUES), "x": VALUES},
)


def outline_of(document: Any) -> Any:
    """The same, from the whole document."""
    kept = {key: document[key] for key in ("next", "results") if key in document}
    if "meta" in document:
        kept["meta"] = {key: value for key, value in document["meta"].items() if key == "total"}
    return kept


def parsed(outline: Any) -> Any:
    return outline | {"results": [parse_exactly(bytes(row)) for row in outline["results"]]}


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, st.sampled_from([None, 1]), st.booleans())
def test_an_outline_has_the_same_values_and_rows_as_the_document(
    document: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    body = text.encode("utf-8", "surrogatepass")
    outline = find_outline(body, "results", KEYS)
    if outline is not None:
        rows = parse_exactly(body)["results"]
        assert parsed(outline)["results"] == rows
        assert outline_of(json.loads(text)) | {"results": rows} == parsed(outline)
    else:
        assert "\\ud" in json.dumps(document) or "inf" in text.lower()


@settings(max_examples=1000, deadline=None)
@given(DOCUMENTS, st.integers(0, 10**6), st.binary(max_size=2), st.integers(0, 2))
def test_a_damaged_page_has_no_outline_unless_it_is_still_json(
    document: dict[str, Any], place: int, inserted: bytes, removed: int
) -> None:
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    place %= len(body)
    damaged = body[:place] + inserted + body[place + removed :]
    outline = find_outline(damaged, "results", KEYS)
    if outline is not None:
        whole = parse_exactly(damaged)
        assert (
            "results" not in whole
            if "results" not in outline
            else parsed(outline)["results"] == whole["results"]
        )


@pytest.mark.parametrize(
    "body",
    [
        b'{"results": [{"a": "\xe9"}]}',
        b'{"results": [{"a": NaN}]}',
        b'{"results": [{"a": "\\ud800"}]}',
        b'{"results": [{"a": 1}], "x": "\xff"}',
        b'{"results": {"a": 1}}',
        b'{"results": null}',
        b'{"results": [1]',
        b'["results"]',
        b"",
    ],
)
def test_what_the_whole_document_explains_better_has_no_outline(body: bytes) -> None:
    assert find_outline(body, "results", KEYS) is None


def test_a_key_inside_another_key_leaves_the_page_to_the_whole_document() -> None:
    body = b'{"data": {"rows": [1], "total": 1}}'
    assert find_outline(body, "data", ("data.total",)) is None
    assert find_outline(body, "data.rows", ("data.total",)) is not None
    assert find_outline(b"[1]", "", ()) is not None
    assert find_outline(b"[1]", "", ("total",)) is None
