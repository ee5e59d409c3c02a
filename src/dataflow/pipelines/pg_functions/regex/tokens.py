"""Splits a pattern into tokens. The meaning of a character depends on the flavor and its context."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple, NoReturn

from dataflow.pipelines.pg_functions.letters import BEYOND, contains, get_class
from dataflow.pipelines.pg_functions.regex.flags import Flag, apply_option
from dataflow.pipelines.pg_functions.regex.parts import Trait

BAD_ESCAPE = r"invalid escape \ sequence"
BAD_BOUND = "invalid repetition count(s)"
BAD_BRACKETS = "brackets [] not balanced"
BAD_BRACES = "braces {} not balanced"
BAD_OPERAND = "quantifier operand invalid"
BAD_OPTION = "invalid embedded option"


def refuse(reason: str) -> NoReturn:
    """Raise PostgreSQL's error for an invalid pattern."""
    raise ValueError(f"invalid regular expression: {reason}")


class Kind(Enum):
    """The kind of a token."""

    START = auto()  # before the first token
    STOP = auto()  # the end of the pattern
    PLAIN = auto()  # a character; the value is its code point
    ANY = auto()
    CLASS = auto()  # an escape such as \w; the value is the class's name
    OTHER_CLASS = auto()  # an escape such as \W
    OPEN = auto()  # a parenthesis; the value says whether it captures
    CLOSE = auto()
    BAR = auto()
    QUANTIFIER = auto()  # the value is a Quantifier
    BOUND = auto()  # the brace that starts a bound
    DIGIT = auto()
    COMMA = auto()
    BOUND_END = auto()  # the value is the preferred length
    BRACKET = auto()  # the value says whether its content is matched, not excluded
    BRACKET_END = auto()
    RANGE = auto()
    ELEMENT = auto()  # [.
    EQUIVALENCE = auto()  # [=
    NAMED_CLASS = auto()  # [:
    NAME_END = auto()
    BACK_REFERENCE = auto()
    LOOK = auto()  # the value is one of LOOKS
    LINE_START = auto()
    LINE_END = auto()
    TEXT_START = auto()
    TEXT_END = auto()
    WORD_START = auto()
    WORD_END = auto()
    WORD_EDGE = auto()
    NOT_WORD_EDGE = auto()


class Quantifier(NamedTuple):
    """How often an atom can occur; `most` is None if there is no limit."""

    least: int
    most: int | None
    preference: Trait


# Whether a lookaround constraint is ahead, and whether its match is wanted.
LOOKS = {"=": (True, True), "!": (True, False), "<=": (False, True), "<!": (False, False)}
NAMES = {".": Kind.ELEMENT, "=": Kind.EQUIVALENCE, ":": Kind.NAMED_CLASS}
NAME_ENDS = {kind: mark for mark, kind in NAMES.items()}
QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
SINGLE = {"|": Kind.BAR, ")": Kind.CLOSE, ".": Kind.ANY, "^": Kind.LINE_START, "$": Kind.LINE_END}
# The letters after a backslash that need no further text.
ESCAPES: dict[str, tuple[Kind, object]] = {
    **{
        letter: (Kind.PLAIN, ord(code))
        for letter, code in zip("abBefnrtv", "\a\b\\\x1b\f\n\r\t\v", strict=True)
    },
    **{name[0]: (Kind.CLASS, name) for name in ("digit", "space", "word")},
    **{name[0].upper(): (Kind.OTHER_CLASS, name) for name in ("digit", "space", "word")},
    "A": (Kind.TEXT_START, None),
    "Z": (Kind.TEXT_END, None),
    "m": (Kind.WORD_START, None),
    "M": (Kind.WORD_END, None),
    "y": (Kind.WORD_EDGE, None),
    "Y": (Kind.NOT_WORD_EDGE, None),
}
WORD_BRACKETS = {"[[:<:]]": Kind.WORD_START, "[[:>:]]": Kind.WORD_END}


class Tokens:
    """The tokens of one pattern; `kind` and `value` belong to the current one."""

    def __init__(self, pattern: str, flags: Flag) -> None:
        self.pattern = pattern
        self.flags = flags
        self.at = 0
        self._inside = Kind.START  # the token that opened a bound, bracket or name around the next one
        self.kind = self._last = Kind.START
        self.value: Any = None  # as the comments at Kind say
        self.groups = 0  # capturing parentheses opened so far, counted by the parser
        self.has_back_reference = False
        if not flags & Flag.QUOTE:
            self._read_prefixes()
        self.advance()

    def advance(self) -> None:
        """Advance to the next token."""
        self._last = self.kind
        self.kind, self.value = self._read()

    def is_at(self, kind: Kind) -> bool:
        """Whether the current token is of this kind."""
        return self.kind is kind

    def _read(self) -> tuple[Kind, object]:
        if self.flags & Flag.EXPANDED and self._inside in (Kind.START, Kind.BOUND):
            self._skip_space()
        if self.at >= len(self.pattern):
            if self._inside is Kind.START:
                return Kind.STOP, None
            refuse(BAD_BRACES if self._inside is Kind.BOUND else BAD_BRACKETS)
        character = self._take()
        if self._inside is Kind.BOUND:
            return self._read_bound(character)
        if self._inside is Kind.BRACKET:
            return self._read_bracket(character)
        if self._inside is not Kind.START:
            return self._read_name(character)
        if self.flags & Flag.QUOTE:
            return Kind.PLAIN, ord(character)
        if self.flags & Flag.EXTENDED:
            return self._read_extended(character)
        return self._read_basic(character)

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            refuse(BAD_ESCAPE)  # only an escape needs another character
        character = self.pattern[self.at]
        self.at += 1
        return character

    def _take_if(self, wanted: str) -> bool:
        if not self.pattern.startswith(wanted, self.at):
            return False
        self.at += len(wanted)
        return True

    def _is_advanced(self) -> bool:
        return bool(self.flags & Flag.ADVANCED_FEATURES)

    def _takes_question(self) -> bool:
        return self._is_advanced() and self._take_if("?")

    def _read_preference(self) -> Trait:
        return Trait.SHORTER if self._takes_question() else Trait.LONGER

    def _skip_space(self) -> None:
        space = get_class("space")
        while self.at < len(self.pattern):
            if self.pattern[self.at] == "#":
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end
            elif contains(space, ord(self.pattern[self.at])):
                self.at += 1
            else:
                return

    def _read_prefixes(self) -> None:
        if self.pattern.startswith("***") and len(self.pattern) > 3:
            mark = self.pattern[3]
            if mark not in "?=:":
                refuse(BAD_OPERAND)
            if mark == "?":
                refuse("invalid regexp (reg version 0.8)")
            self.at = 4
            if mark == "=":
                self.flags |= Flag.QUOTE
                self.flags &= ~(Flag.ADVANCED | Flag.EXPANDED | Flag.NEWLINE)
                return
            self.flags |= Flag.ADVANCED
        if self.flags & Flag.ADVANCED == Flag.ADVANCED:
            self._read_embedded_options()

    def _read_embedded_options(self) -> None:
        alpha = get_class("alpha")
        start = self.at + 2
        if not self.pattern.startswith("(?", self.at) or len(self.pattern) <= start:
            return
        if not contains(alpha, ord(self.pattern[start])):
            return
        self.at = start
        while self.at < len(self.pattern) and contains(alpha, ord(self.pattern[self.at])):
            changed = apply_option(self.flags, self._take())
            if changed is None:
                refuse(BAD_OPTION)
            self.flags = changed
        if not self._take_if(")"):
            refuse(BAD_OPTION)
        if self.flags & Flag.QUOTE:
            self.flags &= ~(Flag.EXPANDED | Flag.NEWLINE)

    def _read_bound(self, character: str) -> tuple[Kind, object]:
        if character in "0123456789":
            return Kind.DIGIT, int(character)
        if character == ",":
            return Kind.COMMA, None
        is_extended = bool(self.flags & Flag.EXTENDED)
        if character == "}" and is_extended:
            self._inside = Kind.START
            return Kind.BOUND_END, self._read_preference()
        if character == "\\" and not is_extended and self._take_if("}"):
            self._inside = Kind.START
            return Kind.BOUND_END, Trait.LONGER
        refuse(BAD_BOUND)

    def _read_bracket(self, character: str) -> tuple[Kind, object]:
        if character == "]" and self._last is not Kind.BRACKET:
            self._inside = Kind.START
            return Kind.BRACKET_END, None
        if character == "\\" and self._is_advanced():
            kind, value = self._read_escape()
            if kind not in (Kind.PLAIN, Kind.CLASS, Kind.OTHER_CLASS):
                refuse(BAD_ESCAPE)
            return kind, value
        if character == "-" and self._last is not Kind.BRACKET and not self.pattern.startswith("]", self.at):
            return Kind.RANGE, ord(character)
        if character == "[":
            if self.at >= len(self.pattern):
                refuse(BAD_BRACKETS)
            if self.pattern[self.at] in NAMES:
                self._inside = NAMES[self._take()]
                return self._inside, None
        return Kind.PLAIN, ord(character)

    def _read_name(self, character: str) -> tuple[Kind, object]:
        if character == NAME_ENDS[self._inside] and self._take_if("]"):
            self._inside = Kind.BRACKET
            return Kind.NAME_END, None
        return Kind.PLAIN, ord(character)

    def _read_extended(self, character: str) -> tuple[Kind, object]:
        if character in SINGLE:
            return SINGLE[character], ord(character)
        if character in QUANTIFIERS:
            return Kind.QUANTIFIER, Quantifier(*QUANTIFIERS[character], self._read_preference())
        if character == "{":
            return self._read_brace()
        if character == "[":
            return self._read_bracket_start()
        if character == "(":
            return self._read_parenthesis()
        if character != "\\":
            return Kind.PLAIN, ord(character)
        if not self._is_advanced():
            return Kind.PLAIN, ord(self._take())
        return self._read_escape()

    def _read_brace(self) -> tuple[Kind, object]:
        if self.flags & Flag.EXPANDED:
            self._skip_space()
        if self.at < len(self.pattern) and self.pattern[self.at] in "0123456789":
            self._inside = Kind.BOUND
            return Kind.BOUND, None
        return Kind.PLAIN, ord("{")

    def _read_bracket_start(self) -> tuple[Kind, object]:
        for written, kind in WORD_BRACKETS.items():
            if self._take_if(written[1:]):
                return kind, None
        self._inside = Kind.BRACKET
        return Kind.BRACKET, not self._take_if("^")

    def _read_parenthesis(self) -> tuple[Kind, object]:
        if not self._takes_question():
            return Kind.OPEN, True
        if self._take_if(":"):
            return Kind.OPEN, False
        if self._take_if("#"):
            end = self.pattern.find(")", self.at)
            self.at = len(self.pattern) if end < 0 else end + 1
            return self._read()
        for written, look in LOOKS.items():
            if self._take_if(written):
                return Kind.LOOK, look
        refuse(BAD_OPERAND)

    def _read_basic(self, character: str) -> tuple[Kind, object]:
        at_start = self._last in (Kind.START, Kind.OPEN)
        if character == "\\":
            return self._read_basic_escape()
        if character == "[":
            return self._read_bracket_start()
        if character == ".":
            return Kind.ANY, None
        if character == "*" and not at_start and self._last is not Kind.LINE_START:
            return Kind.QUANTIFIER, Quantifier(0, None, Trait.LONGER)
        if character == "^" and at_start:
            return Kind.LINE_START, None
        if character == "$":
            if self.flags & Flag.EXPANDED:
                self._skip_space()
            if self.at >= len(self.pattern) or self.pattern.startswith("\\)", self.at):
                return Kind.LINE_END, None
        return Kind.PLAIN, ord(character)

    def _read_basic_escape(self) -> tuple[Kind, object]:
        character = self._take()
        if character == "{":
            self._inside = Kind.BOUND
            return Kind.BOUND, None
        if character in "123456789":
            self.has_back_reference = True
            return Kind.BACK_REFERENCE, int(character)
        found = {"(": Kind.OPEN, ")": Kind.CLOSE, "<": Kind.WORD_START, ">": Kind.WORD_END}.get(character)
        return (Kind.PLAIN, ord(character)) if found is None else (found, True)

    def _read_escape(self) -> tuple[Kind, object]:
        character = self._take()
        if not (character.isascii() and character.isalnum()):
            return Kind.PLAIN, ord(character)
        if character in ESCAPES:
            return ESCAPES[character]
        if character in "0123456789":
            return self._read_number(character)
        if character == "c":
            return Kind.PLAIN, ord(self._take()) & 0o37
        least, most = {"u": (4, 4), "U": (8, 8), "x": (1, 255)}.get(character, (0, 0))
        code = self._read_digits(16, least, most) if most else BEYOND
        if code >= BEYOND:
            refuse(BAD_ESCAPE)
        return Kind.PLAIN, code

    def _read_number(self, first: str) -> tuple[Kind, object]:
        after_first = self.at
        self.at -= 1
        if first != "0":
            number = self._read_digits(10, 1, 255)
            # More than one digit is a back reference only if that group exists by now.
            if self.at == after_first or 0 < number <= self.groups:
                self.has_back_reference = True
                return Kind.BACK_REFERENCE, number
            self.at = after_first - 1
        code = self._read_digits(8, 1, 3)
        if code > 0xFF:
            self.at -= 1
            code >>= 3
        return Kind.PLAIN, code

    def _read_digits(self, base: int, least: int, most: int) -> int:
        digits = "0123456789abcdef"[:base]
        start = self.at
        while self.at - start < most and self.pattern[self.at : self.at + 1].lower() in tuple(digits):
            self.at += 1
        if self.at - start < least:
            refuse(BAD_ESCAPE)
        return int(self.pattern[start : self.at] or "0", base) & 0xFFFFFFFF
