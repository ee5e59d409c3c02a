"""The case and classes of every Unicode character match PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import chain

import pytest

from dataflow.pipelines.pg_functions.letters import CLASS_NAMES, get_class, initcap, list_ranges, lower, upper
from tests.pipelines.pg_functions.reference import Reference

# Characters that PostgreSQL text cannot contain are left out.
SURROGATES = range(0xD800, 0xE000)
EVERY_CODE = [code for code in range(1, 0x110000) if code not in SURROGATES]
CODES = "(select c from generate_series(1, 1114111) c where c not between 55296 and 57343) codes"


@pytest.mark.parametrize("function", [lower, upper, initcap], ids=lambda one: one.__name__)
def test_the_case_of_every_character_matches_postgresql(
    function: Callable[[str], str], reference: Reference
) -> None:
    name = function.__name__
    sql = f"select c, {name}(chr(c)) from {CODES} where {name}(chr(c)) <> chr(c)"
    mapped = ((code, function(chr(code))) for code in EVERY_CODE)
    found = {code: character for code, character in mapped if character != chr(code)}
    assert found == dict(reference.connection.execute(sql).fetchall())


@pytest.mark.parametrize("name", sorted(CLASS_NAMES))
def test_the_class_of_every_character_matches_postgresql(name: str, reference: Reference) -> None:
    sql = f"select c from {CODES} where chr(c) ~ '[[:{name}:]]'"
    ranges = list_ranges(get_class(name))
    found = set(chain.from_iterable(range(first, last + 1) for first, last in ranges)) - {0, *SURROGATES}
    assert found == {code for (code,) in reference.connection.execute(sql).fetchall()}


def test_initcap_matches_postgresql(reference: Reference) -> None:
    chosen = random.Random(1)
    texts = ["".join(chosen.choices("aZéİß1_- ǆⅷͅ☃ა", k=chosen.randint(0, 9))) for _ in range(300)]
    asked = reference.ask([f"initcap('{text}')" for text in texts])
    assert [initcap(text) for text in texts] == asked
