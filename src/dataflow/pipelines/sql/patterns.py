"""PostgreSQL's regular expressions as Java's; only what means the same in both."""

from __future__ import annotations

import re

_CLASSES = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]"}
_CLASSES |= {"s": "[ \\t\\n\\r\\f\\x0B]", "S": "[^ \\t\\n\\r\\f\\x0B]"}
_LITERAL = "\\.^$*+?()[]{}|-/\"'&%#@!~,:;<>= "
_CONTROLS = {"t": "\\t", "n": "\\n", "r": "\\r", "f": "\\f"}
_BOUND = re.compile(r"\{\d{1,2}(,\d{0,2})?\}", re.ASCII)


def translate_pattern(pattern: str, only_boolean: bool = True) -> str | None:
    """The same pattern for Java; None if it holds anything that could mean something else there.

    With `only_boolean` just whether it matches is asked; where the match ends may differ otherwise, since
    PostgreSQL takes the longest alternative and Java the first.
    """
    if pattern.startswith("***") or (not only_boolean and ("|" in pattern or "?" in pattern)):
        return None
    result, position = [], 0
    while position < len(pattern):
        piece, position = _next(pattern, position)
        if piece is None:
            return None
        result.append(piece)
    return "".join(result)


def _next(pattern: str, position: int) -> tuple[str | None, int]:
    character = pattern[position]
    following = pattern[position + 1 : position + 2]
    if character == "\\":
        return _CLASSES.get(following) or _CONTROLS.get(following) or _escaped(following), position + 2
    if character == "[":
        return _bracket(pattern, position)
    if character == "$":
        return "\\z", position + 1  # Java's $ also matches before a last newline
    if character == "(" and following == "?":
        kept = pattern[position : position + 3]
        return (kept, position + 3) if kept in ("(?:", "(?=", "(?!") else (None, position)
    if character == "{" and not _BOUND.match(pattern, position):
        return None, position  # a plain character to PostgreSQL, an error in Java
    if character in "*+?}" and following == "+":
        return None, position  # possessive in Java, an error in PostgreSQL
    if character in "#&":
        return f"\\{character}", position + 1
    return character, position + 1


def _escaped(following: str) -> str | None:
    return f"\\{following}" if following and following in _LITERAL and following != " " else None


def _is_range(pattern: str, position: int) -> bool:
    """Whether an escape inside brackets is one end of a range, as in [\\d-z] or [a-\\d]."""
    before, after = pattern[position - 1], pattern[position + 2 : position + 4]
    return (before == "-" and pattern[position - 2] not in "[^") or (after[:1] == "-" and after[1:] != "]")


def _bracket(pattern: str, start: int) -> tuple[str | None, int]:
    position = start + 1
    result = "["
    if pattern[position : position + 1] == "^":
        result, position = "[^", position + 1
    first = True
    while position < len(pattern):
        character = pattern[position]
        if character == "]" and not first:
            return f"{result}]", position + 1
        if character == "\\":
            following = pattern[position + 1 : position + 2]
            inner = _CLASSES[following][1:-1] if following in ("d", "w", "s") else _CONTROLS.get(following)
            piece = inner or _escaped(following)
            if piece is None or (inner and _is_range(pattern, position)):
                return None, position
            result, position = result + piece, position + 2
        elif character == "[" and pattern[position + 1 : position + 2] in (":", ".", "="):
            return None, position
        else:
            result, position = result + (f"\\{character}" if character in "[]&^" else character), position + 1
        first = False
    return None, position
