"""Regular expressions compared with PostgreSQL: random patterns, valid and invalid."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dataflow.pipelines.pg_functions import regexp
from dataflow.pipelines.pg_functions.regex.flags import Flag
from dataflow.pipelines.pg_functions.regex.parser import read_pattern
from dataflow.pipelines.pg_functions.regex.shortcut import make_shortcut
from dataflow.pipelines.pg_functions.regexp import regexp_count
from dataflow.pipelines.pg_functions.signatures import Signature, list_overloads
from tests.pipelines.pg_functions.drawn_calls import call_here, to_call, to_sql
from tests.pipelines.pg_functions.drawn_patterns import (
    draw_options,
    draw_pattern,
    draw_replacement,
    draw_subject,
)
from tests.pipelines.pg_functions.reference import Reference

SIGNATURES = list(list_overloads(regexp.SIGNATURES))
CASES = 120


def draw_arguments(signature: Signature, chosen: random.Random) -> list[Any]:
    arguments: list[Any] = [draw_subject(chosen), draw_pattern(chosen)]
    for kind in signature.takes[2:]:
        if kind == "integer":
            arguments.append(chosen.choice((0, 1, 1, 1, 1, 2, 3)))
        elif signature.name == "regexp_replace" and len(arguments) == 2:
            arguments.append(draw_replacement(chosen))
        else:
            is_global = signature.name in ("regexp_replace", "regexp_matches") or chosen.random() < 0.05
            arguments.append(draw_options(chosen) + ("g" if is_global else ""))
    return arguments


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda one: f"{one.name}/{len(one.takes)}")
def test_matches_of_random_patterns_match_postgresql(signature: Signature, reference: Reference) -> None:
    chosen = random.Random(len(signature.takes))
    drawn = [draw_arguments(signature, chosen) for _ in range(CASES)]
    calls = [
        to_call(signature, [to_sql(*pair) for pair in zip(one, signature.takes, strict=True)])
        for one in drawn
    ]
    expected = reference.ask(calls)
    found = [call_here(signature, one, signature.gives) for one in drawn]
    assert [pair for pair in zip(calls, found, expected, strict=True) if pair[1] != pair[2]] == []


EXAMPLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("regexp_replace", ("ABC1", "[A-Z]*([A-Z][0-9])*", "-", "g")),
    ("regexp_replace", ("😀", "x*", "-", "g")),
    ("regexp_replace", ("Ünïcode, näme", r"\W", "", "g")),
    ("~*", ("ÉCOLE", "école")),
    ("substring", ("foobar", "o(.)b")),
    ("regexp_match", ("XY1234Z", "Y*([0-9]{1,3})")),
    ("regexp_match", ("XY1234Z", "Y*?([0-9]{1,3})")),
    ("regexp_match", ("abc01234xyz", "(?:(.*?)([0-9]+)(.*)){1,1}")),
    ("regexp_matches", ("bbbab", "((a)|b)*", "g")),
    ("regexp_count", ("aba", r"(a|b)\1|\Z")),
    ("~", ("x", "(((((((((((a{255}){255}){255}){255}){255}){255}){255}){255}){255}){255}){255})")),
)


@pytest.mark.parametrize(("name", "arguments"), EXAMPLES)
def test_examples_match_postgresql(name: str, arguments: tuple[str, ...], reference: Reference) -> None:
    signature = next(one for one in SIGNATURES if one.name == name and len(one.takes) == len(arguments))
    call = to_call(signature, [to_sql(argument, "text") for argument in arguments])
    assert reference.ask([call]) == [call_here(signature, arguments, signature.gives)]


def draw_plain_pattern(chosen: random.Random) -> str:
    """A sequence of characters with quantifiers and groups, most with only one way to match."""
    written, depth = chosen.choice(("", "", "", "^")), 0
    for _ in range(chosen.randint(1, 5)):
        if chosen.random() < 0.2:
            written, depth = written + "(", depth + 1
        written += chosen.choice(PLAIN_ATOMS) + chosen.choice(
            ("", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}")
        )
        if depth and chosen.random() < 0.5:
            written, depth = written + ")", depth - 1
    return written + ")" * depth + chosen.choice(("", "", "", "$"))


PLAIN_ATOMS = (*"ab1-é😀.", "[ab]", "[^a]", r"\d", r"\w", r"\s", "[a-c]", r"\W", "(?:a|b)", "[[:alpha:]]")


def test_patterns_with_only_one_way_to_match_match_as_in_postgresql(reference: Reference) -> None:
    chosen = random.Random(12)
    signature = next(one for one in SIGNATURES if one.name == "regexp_matches" and len(one.takes) == 3)
    drawn = [
        (draw_subject(chosen), draw_plain_pattern(chosen), chosen.choice(("g", "gi", "gn")))
        for _ in range(600)
    ]
    calls = [to_call(signature, [to_sql(one, "text") for one in arguments]) for arguments in drawn]
    found = [call_here(signature, arguments, signature.gives) for arguments in drawn]
    assert found == reference.ask(calls)
    shortcuts = [make_shortcut(read_pattern(pattern, Flag.ADVANCED).root) for _, pattern, _ in drawn]
    assert sum(shortcut is not None for shortcut in shortcuts) > 100


def test_a_pattern_with_very_many_state_sets_matches_as_in_postgresql(reference: Reference) -> None:
    chosen = random.Random(13)
    text = "".join(chosen.choices("ab", k=40_000))
    found = regexp_count(text, "(?:a|b)a(?:a|b){14}c|aaaaaaaaaabbbbb")
    assert reference.ask([f"regexp_count('{text}', '(?:a|b)a(?:a|b){{14}}c|aaaaaaaaaabbbbb')"]) == [
        str(found)
    ]


def test_a_pattern_that_backtracks_in_other_engines_takes_linear_time() -> None:
    matches = next(one.call for one in SIGNATURES if one.name == "~")
    assert matches("a" * 5000, "^(a|aa)+$") is True
    assert matches("a" * 5000, "^(a+)+b$") is False
