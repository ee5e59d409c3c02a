"""Arrays compared with PostgreSQL."""

from __future__ import annotations

import pytest

from dataflow.pipelines.pg_functions import arrays
from dataflow.pipelines.pg_functions.signatures import Signature, list_overloads
from tests.pipelines.pg_functions.drawn_calls import find_differences
from tests.pipelines.pg_functions.reference import Reference
from tests.pipelines.pg_functions.test_text import name_call, pieces

LITERALS = pieces(
    "{", "}", "{", "}", "a", "1", " ", ",", ",", '"', "\\", '"a"', "null", "NULL", "é", '"b c"', "\t", most=8
)
CASTS = [signature for signature in list_overloads(arrays.SIGNATURES) if signature.name == "cast"]
FUNCTIONS = [signature for signature in list_overloads(arrays.SIGNATURES) if signature.name != "cast"]
OURS = "several dimensions are not supported"  # what we refuse and PostgreSQL does not


@pytest.mark.parametrize("element", ["text", "double", "integer", "boolean", "numeric", "uuid"])
def test_array_functions_match_postgresql(element: str, reference: Reference) -> None:
    assert find_differences(reference, FUNCTIONS, 25, element=element) == []


@pytest.mark.parametrize("signature", CASTS, ids=name_call)
def test_arrays_are_parsed_and_formatted_as_in_postgresql(signature: Signature, reference: Reference) -> None:
    draws = {"text": lambda chosen: "{" + LITERALS(chosen)}
    found = find_differences(reference, [signature], 200, draws)
    assert [one for one in found if OURS not in one] == []
