"""Arrays compared with PostgreSQL."""

from __future__ import annotations

import pytest

from dataflow.pipelines.pg_functions import array_text, arrays
from dataflow.pipelines.pg_functions.signatures import Signature
from tests.pipelines.pg_functions.drawn_calls import find_differences
from tests.pipelines.pg_functions.reference import Reference
from tests.pipelines.pg_functions.test_text import name_call, pieces

LITERALS = pieces(
    "{", "}", "{", "}", "a", "1", " ", ",", ",", '"', "\\", '"a"', "null", "NULL", "é", '"b c"', "\t", most=8
)
OURS = "several dimensions are not supported"  # what we refuse and PostgreSQL does not


@pytest.mark.parametrize("element", ["text", "double", "integer", "boolean", "numeric", "uuid"])
def test_array_functions_match_postgresql(element: str, reference: Reference) -> None:
    assert find_differences(reference, arrays.SIGNATURES, 25, element=element) == []


@pytest.mark.parametrize("signature", array_text.SIGNATURES, ids=name_call)
def test_arrays_are_parsed_and_formatted_as_in_postgresql(signature: Signature, reference: Reference) -> None:
    draws = {"text": lambda chosen: "{" + LITERALS(chosen)} if signature.name == "cast" else {}
    found = find_differences(reference, [signature], 200, draws)
    assert [one for one in found if OURS not in one] == []
