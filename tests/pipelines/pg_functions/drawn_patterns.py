"""Random regular expressions, most of them valid."""

from __future__ import annotations

import random

QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}", "{0}", "{2,3}", "{1,1}", "{0,0}")
ATOMS = (
    *(
        "a",
        "b",
        "c",
        ".",
        "[ab]",
        "[^a]",
        r"\w",
        "é",
        "ß",
        "K",
        "k",
        "[a-c]",
        r"\d",
        "1",
        r"\s",
        " ",
        r"\W",
        "\n",
    ),
    *("[[:alpha:]]", "[^[:space:]]", r"[\d_]", "[[=a=]]", "[[.hyphen.]]", "İ", "ǅ"),
)
EDGES = ("^", "$", r"\y", r"\m", r"\M", r"\Y", r"\A", r"\Z")
LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
PIECES = (
    *(
        "a",
        "b",
        "(",
        ")",
        "*",
        "+",
        "?",
        "{",
        "}",
        "1",
        "2",
        ",",
        "[",
        "]",
        "^",
        "$",
        "|",
        ".",
        "\\",
        "d",
        "w",
        "-",
    ),
    *(
        ":",
        "alpha",
        "(?i)",
        "***=",
        "***:",
        "[[:",
        ".]",
        "[.",
        "[=",
        "=]",
        "x",
        "u00e9",
        "0",
        "(?=",
        "(?:",
        "(?#",
    ),
    *(" ", "#", r"\y", "B", "Z", "U0010ffff", "c", "space", ":]", "(?n)", "(?q)", "(?e)", "(?b)"),
)


class PatternSource:
    """Draws one pattern; counts its groups, so that back references can refer to them."""

    def __init__(self, chosen: random.Random) -> None:
        self._chosen = chosen
        self._groups = 0

    def draw(self, depth: int = 0) -> str:
        pieces = [self._draw_piece(depth) for _ in range(self._chosen.choice((1, 1, 2, 2, 3)))]
        if depth < 3 and self._chosen.random() < 0.25:
            pieces.append("|" + self.draw(depth + 1))
        return "".join(pieces)

    def _draw_quantifier(self) -> str:
        if self._chosen.random() < 0.5:
            return ""
        return self._chosen.choice(QUANTIFIERS) + ("?" if self._chosen.random() < 0.35 else "")

    def _draw_piece(self, depth: int) -> str:
        luck = self._chosen.random()
        if luck < 0.45 or depth > 3:
            return self._chosen.choice(ATOMS) + self._draw_quantifier()
        if luck < 0.70:
            self._groups += 1
            return f"({self.draw(depth + 1)}){self._draw_quantifier()}"
        if luck < 0.78:
            return f"(?:{self.draw(depth + 1)}){self._draw_quantifier()}"
        if luck < 0.86 and self._groups:
            return f"\\{self._chosen.randint(1, min(self._groups, 9))}{self._draw_quantifier()}"
        if luck < 0.93:
            return self._chosen.choice(EDGES)
        return self._chosen.choice(LOOKS) + PatternSource(self._chosen).draw(depth + 2) + ")"


def draw_pattern(chosen: random.Random) -> str:
    if chosen.random() < 0.15:
        return "".join(chosen.choices(PIECES, k=chosen.randint(1, 8)))
    return PatternSource(chosen).draw()


def draw_subject(chosen: random.Random) -> str:
    return "".join(chosen.choices("aaabbbc1 -_éßkKKÉiİǅ\n😀", k=chosen.randint(0, 9)))


def draw_options(chosen: random.Random) -> str:
    return "".join(chosen.choices("iinpwxsqcmtbe", k=chosen.choice((0, 0, 0, 1, 1, 2))))


def draw_replacement(chosen: random.Random) -> str:
    return "".join(chosen.choices(("-", "\\1", "\\2", "\\&", "\\\\", "\\", "x"), k=chosen.randint(0, 3)))
