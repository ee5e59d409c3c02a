"""Random JSON documents, and strings that are almost JSON."""

from __future__ import annotations

import random

KEYS = ("a", "b", "aa", "é", "", "A", "k 1", '\\"', "\\u00e9", "b")
SCALARS = (
    *(
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "1.0",
        "1.50",
        "-7",
        "1e2",
        "1E-3",
        "12345678901234567890.123",
    ),
    *(
        '""',
        '"a"',
        '"b"',
        '"é😀"',
        '"\\n\\t\\u0001"',
        '"\\ud83d\\ude00"',
        '"1"',
        '"null"',
        '"\\/\\\\"',
        "-0.0",
        "2",
    ),
)
BROKEN = (
    "",
    "{",
    "[1,]",
    '{"a"}',
    "01",
    "+1",
    "NaN",
    "'a'",
    '"\\x"',
    '"\\u0000"',
    '"\\ud800"',
    '"\t"',
    "[1 2]",
    "tru",
)


def draw_json(chosen: random.Random, depth: int = 0) -> str:
    """A document with varying white space and duplicate keys."""
    luck = chosen.random()
    space = chosen.choice(("", "", " ", "\n "))
    if luck < 0.45 or depth > 2:
        return chosen.choice(SCALARS)
    count = chosen.randint(0, 3)
    parts = [draw_json(chosen, depth + 1) for _ in range(count)]
    if luck < 0.7:
        return f"[{space}" + f",{space}".join(parts) + f"{space}]"
    pairs = [f'"{chosen.choice(KEYS)}"{space}:{space}{part}' for part in parts]
    return "{" + space + ("," + space).join(pairs) + space + "}"


def draw_nearly_json(chosen: random.Random) -> str:
    """A document that sometimes contains an error."""
    text = draw_json(chosen)
    luck = chosen.random()
    if luck < 0.15:
        return chosen.choice(BROKEN)
    if luck < 0.3 and text:
        place = chosen.randrange(len(text))
        return text[:place] + chosen.choice(("", ",", "}", "]", '"', "x", "\\", "\x7f")) + text[place + 1 :]
    return text


def draw_step(chosen: random.Random) -> str:
    """A key or an index in a path."""
    return chosen.choice(
        ("a", "b", "aa", "é", "", "0", "1", "-1", "-5", "2", " 1", "1 ", "+1", "x1", "99999999999")
    )
