"""Splits date and time format templates into keywords and literal characters."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from dataflow.pipelines.pg_functions.integers import SPACE

# In the order in which they are tried.
_WRITTEN_KEYWORDS = """
A.D. A.M. AD AM B.C. BC CC DAY DDD DD DY D FF1 FF2 FF3 FF4 FF5 FF6 FX HH24 HH12 HH IDDD ID IW IYYY
IYY IY I J MI MM MONTH MON MS OF P.M. PM Q RM SSSSS SSSS SS TZH TZM TZ US WW W Y,YYY YYYY YYY YY Y
"""
_UPPER = _WRITTEN_KEYWORDS.split()
_MIXED = ("Day", "Dy", "Month", "Mon")
KEYWORDS = (*_MIXED, *_UPPER, *(name.lower() for name in _UPPER))
_BY_LETTER = {
    letter: tuple(name for name in KEYWORDS if name[0] == letter) for letter in {name[0] for name in KEYWORDS}
}


class Node(NamedTuple):
    """A keyword with its modifiers, or one character."""

    kind: str  # keyword, separator, space or character
    text: str
    fill: bool = False  # FM
    localized: bool = False  # TM
    ordinal: str = ""  # TH or th

    @property
    def name(self) -> str:
        """The keyword in upper case."""
        return self.text.upper()


@lru_cache(maxsize=256)
def parse_picture(picture: str) -> tuple[Node, ...]:
    """The nodes of a format template."""
    nodes: list[Node] = []
    place = 0
    while place < len(picture):
        prefix = picture[place : place + 2]
        fill, localized = prefix in ("FM", "fm"), prefix in ("TM", "tm")
        if fill or localized:
            place += 2
        if keyword := _find_keyword(picture, place):
            place += len(keyword)
            suffix = picture[place : place + 2]
            place += 2 if suffix in ("TH", "th", "SP") else 0
            nodes.append(Node("keyword", keyword, fill, localized, suffix if suffix in ("TH", "th") else ""))
        elif picture[place : place + 1] == '"':
            place = read_quoted(picture, place + 1, nodes)
        elif place < len(picture):
            place += picture[place : place + 2] == '\\"'
            nodes.append(_read_character(picture[place]))
            place += 1
    return tuple(nodes)


def _find_keyword(picture: str, place: int) -> str | None:
    found = _BY_LETTER.get(picture[place : place + 1], ())
    return next((name for name in found if picture.startswith(name, place)), None)


def read_quoted(picture: str, place: int, nodes: list[Node]) -> int:
    """Add the characters up to the closing quote, and return the position after it."""
    while place < len(picture):
        if picture[place] == '"':
            return place + 1
        if picture[place] == "\\" and place + 1 < len(picture):
            place += 1
        nodes.append(Node("character", picture[place]))
        place += 1
    return place


def _read_character(character: str) -> Node:
    if is_separator(character):
        return Node("separator", character)
    return Node("space" if character in SPACE else "character", character)


def is_separator(character: str) -> bool:
    """Whether it is printable ASCII but not a letter or digit."""
    return "!" <= character <= "~" and not character.isalnum()


def ordinal_of(number: str, style: str) -> str:
    """st, nd, rd or th for a number; upper case for TH."""
    last = number[-1]
    if not last.isdigit():
        raise ValueError(f'"{number}" is not a number')
    ending = "th" if number[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")
    return ending.upper() if style == "TH" else ending
