"""LIKE, ILIKE and SIMILAR TO, and functions that convert their patterns."""

from __future__ import annotations

import re
from functools import lru_cache

from dataflow.pipelines.pg_functions.letters import lower
from dataflow.pipelines.pg_functions.regexp import matches, substring_matching
from dataflow.pipelines.pg_functions.signatures import Calls, negated

LIKE_PART = re.compile(r"\\.|.", re.DOTALL)
ENDS_IN_ESCAPE = "LIKE pattern must not end with escape character"
BAD_ESCAPE = "invalid escape string"
TOO_MANY_SEPARATORS = "SQL regular expression may not contain more than two escape-double-quote separators"


def like(text: str, pattern: str) -> bool:
    """`text LIKE pattern`; a backslash makes the next character literal."""
    compiled, is_broken = _compile_like(pattern)
    found = compiled.match(text) is not None
    if is_broken and found:
        raise ValueError(ENDS_IN_ESCAPE)
    return found


def ilike(text: str, pattern: str) -> bool:
    """`text ILIKE pattern`"""
    return like(lower(text), lower(pattern))


def like_escape(pattern: str, escape: str) -> str:
    """Convert a pattern with the given escape character to one with a backslash."""
    if len(escape) > 1:
        raise ValueError(BAD_ESCAPE)
    if escape == "\\":
        return pattern
    if not escape:
        return pattern.replace("\\", "\\\\")
    special = re.compile(rf"{re.escape(escape)}(.?)|\\", re.DOTALL)
    return special.sub(lambda found: "\\\\" if found[1] is None else "\\" + found[1], pattern)


def similar_to_escape(pattern: str, escape: str = "\\") -> str:
    """Convert a SIMILAR TO pattern to a regular expression."""
    if len(escape) > 1:
        raise ValueError(BAD_ESCAPE)
    return _SimilarPattern(escape).translate(pattern)


def similar_to(text: str, pattern: str, escape: str = "\\") -> bool:
    """`text SIMILAR TO pattern ESCAPE escape`"""
    return matches(text, similar_to_escape(pattern, escape))


@lru_cache(512)
def _compile_like(pattern: str) -> tuple[re.Pattern[str], bool]:
    """The pattern as a regular expression; an error if it ends with an escape, as in PostgreSQL."""
    parts: list[str] = [""]  # split at runs of wildcards that contain a %
    is_broken = after_percent = False
    for written in LIKE_PART.findall(pattern):
        if written == "%":
            if not after_percent:
                parts.append("")
            after_percent = True
        elif written == "_":
            parts[-1] += "."
        elif written == "\\":
            is_broken = True
        else:
            parts[-1] += re.escape(written[-1])
            after_percent = False
    # Matching each part as early as possible is enough, so no part is tried twice.
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1])
    if is_broken:
        ends = "".join(f"(?=.)(?>.*?{part})" for part in parts[1:])
        compiled = parts[0] + ends + ("" if after_percent else "(?=.)")
    else:
        last = f".*{parts[-1]}" if len(parts) > 1 else ""
        compiled = parts[0] + middle + last + r"\Z"
    return re.compile(compiled, re.DOTALL), is_broken


class _SimilarPattern:
    """Converts one pattern, character by character."""

    def __init__(self, escape: str) -> None:
        self._escape = escape
        self._is_escaped = False
        self._separators = 0
        self._depth = 0  # of square brackets
        self._in_bracket = 0  # 1 after its start, 2 after a ^ there, 3 or more after that

    def translate(self, pattern: str) -> str:
        """Convert the whole pattern."""
        return "^(?:" + "".join(map(self._translate, pattern)) + ")$"

    def _translate(self, character: str) -> str:
        if self._is_escaped:
            self._is_escaped = False
            if character == '"' and self._depth < 1:
                return self._separate()
            if not self._is_multibyte(character):
                self._in_bracket = 3
            return "\\" + character
        if character == self._escape:
            self._is_escaped = True
            return ""
        if self._is_multibyte(character):
            return character
        if self._depth > 0:
            return self._translate_in_bracket(character)
        if character == "[":
            self._depth = self._in_bracket = 1
            return character
        if character in "\\.^$":
            return "\\" + character
        return {"%": ".*", "_": ".", "(": "(?:"}.get(character, character)

    def _is_multibyte(self, character: str) -> bool:
        # PostgreSQL works on bytes unless the escape character has several, so this affects only brackets.
        return len(self._escape.encode()) > 1 and len(character.encode()) > 1

    def _translate_in_bracket(self, character: str) -> str:
        if character == "]" and self._in_bracket > 2:
            self._depth -= 1
        elif character == "[":
            self._depth += 1
            self._in_bracket = 3
        elif character == "^":
            self._in_bracket += 1
        else:
            self._in_bracket = 3
        return "\\\\" if character == "\\" else character

    def _separate(self) -> str:
        self._separators += 1
        if self._separators > 2:
            raise ValueError(TOO_MANY_SEPARATORS)
        return "){1,1}?(" if self._separators == 1 else "){1,1}(?:"


SIGNATURES: Calls = {
    "~~, like(text, text) -> boolean": like,
    "!~~, notlike(text, text) -> boolean": negated(like),
    "~~*(text, text) -> boolean": ilike,
    "!~~*(text, text) -> boolean": negated(ilike),
    "similar_to(text, text, text?) -> boolean": similar_to,
    "like_escape(text, text) -> text": like_escape,
    "similar_to_escape(text, text?) -> text": similar_to_escape,
    "substring(text, text, text) -> text": lambda text, pattern, escape: substring_matching(
        text, similar_to_escape(pattern, escape)
    ),
}
