"""The set of characters that a bracket expression or a single character matches."""

from __future__ import annotations

from dataflow.pipelines.pg_functions import letters
from dataflow.pipelines.pg_functions.regex.flags import Flag
from dataflow.pipelines.pg_functions.regex.tokens import Kind, Tokens, refuse

BAD_RANGE = "invalid character range"
BAD_ELEMENT = "invalid collating element"
BAD_CLASS = "invalid character class"
# The characters that `[[.name.]]` can name; those with code points from 0 on come first.
_CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI "
    "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC IS4 IS3 IS2 IS1 "
    "space exclamation-mark quotation-mark number-sign dollar-sign percent-sign ampersand apostrophe "
    "left-parenthesis right-parenthesis asterisk plus-sign comma hyphen period slash "
    "zero one two three four five six seven eight nine "
    "colon semicolon less-than-sign equals-sign greater-than-sign question-mark commercial-at"
)
CHARACTER_NAMES = {name: code for code, name in enumerate(_CONTROLS.split())} | {
    **{"alert": 7, "backspace": 8, "tab": 9, "newline": 10, "vertical-tab": 11, "form-feed": 12},
    **{"carriage-return": 13, "FS": 28, "GS": 29, "RS": 30, "US": 31, "hyphen-minus": 45, "full-stop": 46},
    **{"solidus": 47, "left-square-bracket": 91, "backslash": 92, "reverse-solidus": 92},
    **{"right-square-bracket": 93, "circumflex": 94, "circumflex-accent": 94, "underscore": 95},
    **{"low-line": 95, "grave-accent": 96, "left-brace": 123, "left-curly-bracket": 123},
    **{"vertical-line": 124, "right-brace": 125, "right-curly-bracket": 125, "tilde": 126, "DEL": 127},
}


def character_set(code: int, flags: Flag) -> letters.CodePoints:
    """The character, or both of its cases if case is ignored."""
    # A character that is neither of its cases, such as ǅ, does not match itself then.
    if not flags & Flag.IGNORE_CASE:
        return letters.from_ranges([(code, code)])
    cases = [letters.get_mapping(name).get(code, code) for name in ("lower", "upper")]
    return letters.from_ranges((each, each) for each in cases)


def class_set(name: str, flags: Flag) -> letters.CodePoints:
    """The characters of a class."""
    if flags & Flag.IGNORE_CASE and name in ("lower", "upper"):
        return letters.get_class("alpha")
    return letters.get_class(name)


def read_bracket(tokens: Tokens) -> letters.CodePoints:
    """Parse a bracket expression, from its opening bracket to the token after it."""
    is_positive = tokens.value
    parts: list[letters.CodePoints] = []
    tokens.advance()
    while tokens.kind is not Kind.BRACKET_END:
        parts.append(_read_part(tokens))
    found = letters.unite(*parts)
    if not is_positive:
        if tokens.flags & Flag.NEWLINE_STOPS:
            found = letters.unite(found, letters.from_ranges([(10, 10)]))
        found = letters.complement(found)
    tokens.advance()
    return found


def _read_part(tokens: Tokens) -> letters.CodePoints:
    match tokens.kind:
        case Kind.RANGE:
            refuse(BAD_RANGE)
        case Kind.CLASS | Kind.OTHER_CLASS:
            found = class_set(tokens.value, tokens.flags)
            is_complement = tokens.kind is Kind.OTHER_CLASS
            tokens.advance()
            return letters.complement(found) if is_complement else found
        case Kind.NAMED_CLASS:
            name = _read_name(tokens, BAD_CLASS)
            if name not in letters.CLASS_NAMES:
                refuse(BAD_CLASS)
            return class_set(name, tokens.flags)
        case Kind.EQUIVALENCE:
            return character_set(_get_named(_read_name(tokens, BAD_ELEMENT)), tokens.flags)
    is_plain = tokens.kind is Kind.PLAIN
    start = _read_end_of_range(tokens)
    if not tokens.is_at(Kind.RANGE):
        return character_set(start, tokens.flags) if is_plain else _range_set(start, start, tokens.flags)
    tokens.advance()
    if tokens.kind not in (Kind.PLAIN, Kind.RANGE, Kind.ELEMENT):
        refuse(BAD_RANGE)
    return _range_set(start, _read_end_of_range(tokens), tokens.flags)


def _read_end_of_range(tokens: Tokens) -> int:
    if tokens.kind is Kind.ELEMENT:
        return _get_named(_read_name(tokens, BAD_ELEMENT))
    code: int = tokens.value
    tokens.advance()
    return code


def _range_set(first: int, last: int, flags: Flag) -> letters.CodePoints:
    if first > last:
        refuse(BAD_RANGE)
    found = [(first, last)]
    if flags & Flag.IGNORE_CASE:
        for mapping in (letters.get_mapping("lower"), letters.get_mapping("upper")):
            found += [(other, other) for code, other in mapping.items() if first <= code <= last]
    return letters.from_ranges(found)


def _read_name(tokens: Tokens, reason: str) -> str:
    start = end = tokens.at
    tokens.advance()
    while tokens.kind is Kind.PLAIN:
        end = tokens.at
        tokens.advance()
    tokens.advance()
    if start == end:
        refuse(reason)
    return tokens.pattern[start:end]


def _get_named(name: str) -> int:
    if len(name) == 1:
        return ord(name)
    if name not in CHARACTER_NAMES:
        refuse(BAD_ELEMENT)
    return CHARACTER_NAMES[name]
