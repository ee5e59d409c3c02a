"""Splits format templates of times and numbers into keywords and literal characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_NUMBER_UPPER = ("B", "C", "D", "EEEE", "FM", "G", "L", "MI", "PL", "PR", "RN", "SG", "SP", "S", "TH", "V")
_NUMBER_KEYWORDS = (",", ".", "0", "9", *_NUMBER_UPPER, *(name.lower() for name in _NUMBER_UPPER))
# Quoted characters, in which a backslash escapes the next one; or one character.
_LITERAL = r'"((?:\\.|[^"\\]|\\\Z)*)"?|(\\"|.)'
_TIME_NODE = re.compile(
    rf"(FM|fm|TM|tm)?(?:({'|'.join(map(re.escape, KEYWORDS))})(TH|th|SP)?|{_LITERAL})?", re.DOTALL
)
_NUMBER_NODE = re.compile(rf"({'|'.join(map(re.escape, _NUMBER_KEYWORDS))})|{_LITERAL}", re.DOTALL)


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
    for prefix, keyword, suffix, quoted, character in _TIME_NODE.findall(picture):
        if keyword:
            ordinal = suffix if suffix in ("TH", "th") else ""
            nodes.append(Node("keyword", keyword, prefix in ("FM", "fm"), prefix in ("TM", "tm"), ordinal))
        elif character:
            plain = "space" if character[-1] in SPACE else "character"
            nodes.append(Node("separator" if is_separator(character[-1]) else plain, character[-1]))
        else:
            nodes += _list_quoted(quoted)
    return tuple(nodes)


def _list_quoted(quoted: str) -> Iterator[Node]:
    return (Node("character", character) for character in re.sub(r"(?s)\\(.)", r"\1", quoted))


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


class NumberPicture(NamedTuple):
    """A format template and its summary."""

    nodes: tuple[Node, ...]
    flags: frozenset[str]
    before: int  # digits before the point
    after: int  # digits after it
    shifted: int  # digits after V
    zero_start: int  # digits before the first 0, plus one; 0 if there is none
    zero_end: int
    sign_place: str  # position of S: first, last, or empty
    before_sign: int  # digits before S


@lru_cache(maxsize=256)
def parse_number_picture(picture: str) -> NumberPicture:
    """Parse a format template; ValueError if keywords contradict each other."""
    nodes: list[Node] = []
    summary = _Summary()
    for keyword, quoted, character in _NUMBER_NODE.findall(picture):
        if keyword:
            nodes.append(Node("keyword", keyword))
            summary.add(keyword.upper())
        else:
            nodes += [Node("character", character[-1])] if character else _list_quoted(quoted)
    return summary.finish(tuple(nodes))


# The flags that exclude a keyword, and why.
_NO_POINT = ("V", 'cannot use "V" and decimal point together')
_EXCLUDING: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys("90", (("PR", '"{}" must be ahead of "PR"'),)),
    **dict.fromkeys(".D", ((".", "multiple decimal points"), _NO_POINT)),
    "V": ((".", _NO_POINT[1]),),
    "S": (("S", 'cannot use "S" twice'), ("PL MI PR", 'cannot use "S" and "PL"/"MI"/"SG"/"PR" together')),
    **dict.fromkeys(("MI", "PL", "SG"), (("S", 'cannot use "S" and "{}" together'),)),
    "PR": (("S PL MI", 'cannot use "PR" and "S"/"PL"/"MI"/"SG" together'),),
    "RN": (("RN", 'cannot use "RN" twice'),),
    "EEEE": (
        ("EEEE", 'cannot use "EEEE" twice'),
        ("B FM S PR MI PL RN V", '"EEEE" is incompatible with other formats'),
    ),
}
_FLAGS = {name: {name} for name in (".", "V", "S", "MI", "PL", "PR", "RN", "EEEE", "FM")}
_FLAGS |= {"D": {"."}, "SG": {"MI", "PL"}}


class _Summary:
    """Count digits and collect flags, and refuse incompatible keywords."""

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.before = self.after = self.shifted = self.zero_start = self.zero_end = self.before_sign = 0
        self.sign_place = ""

    def finish(self, nodes: tuple[Node, ...]) -> NumberPicture:
        return NumberPicture(nodes, **vars(self) | {"flags": frozenset(self.flags)})

    def add(self, name: str) -> None:
        if "EEEE" in self.flags and name != "EEEE":
            raise ValueError('"EEEE" must be the last pattern used')
        for others, problem in _EXCLUDING.get(name, ()):
            if not self.flags.isdisjoint(others.split()):
                raise ValueError(problem.format(name))
        if name in ("9", "0"):
            self._add_digit(name)
        elif name == "S":
            self.sign_place = "last" if "." in self.flags else "first"
            self.before_sign = self.before
        elif name == "B" and not self.before and not self.after and "0" not in self.flags:
            self.flags.add("B")
        self.flags |= _FLAGS.get(name, set())
        if "RN" in self.flags and self.flags - {"RN", "FM"}:
            raise ValueError('"RN" is incompatible with other formats')

    def _add_digit(self, name: str) -> None:
        if name == "9" and "V" in self.flags:
            self.shifted += 1
            return
        is_after = "." in self.flags
        if name == "0" and "0" not in self.flags and not is_after:
            self.flags.add("0")
            self.zero_start = self.before + 1
        self.after += is_after
        self.before += not is_after
        if name == "0":
            self.zero_end = self.before + self.after
