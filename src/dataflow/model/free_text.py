"""Dataids of the text grain: allowed characters and natural order.

No dates here: this module is on every start-up path.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.wording import quoted

LONGEST = 255
MANY_DIGITS = 9  # from here on the digit count is itself prefixed with its length
PUNCTUATION = "._-=+:|@~%"
ACCEPTED = (
    f"A text dataid is 1 to {LONGEST} letters, digits, single inner spaces and {' '.join(PUNCTUATION)}, "
    "without a leading - and without two consecutive dots."
)

_is_plain = re.compile(rf"(?!-)[A-Za-z0-9{re.escape(PUNCTUATION)}]{{1,{LONGEST}}}").fullmatch
# Invisible letters and marks: two dataids would look the same. start-up: this text takes long to compile.
_INVISIBLE = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
_ends_in_short_number = re.compile(r"([^0-9]*)(0|[1-9][0-9]{0,7})").fullmatch
_digit_runs = re.compile(r"([0-9]+)")
_BAD_SHAPES = (
    (r"\A-", "it starts with -, like an option"),
    (r"\A\.\Z", "a single dot names a folder"),
    (r"\A | \Z", "it starts or ends with a space"),
    (r"\.\.", "it has two consecutive dots"),
    (r"  ", "it has two consecutive spaces"),
)
_CONTROL_NAMES = {"\0": "NULL", "\t": "TAB", "\n": "LINE FEED", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE"}
_UNNAMED = {"Cc": "CONTROL CHARACTER", "Cs": "INVALID UTF-8", "Co": "PRIVATE USE", "Cn": "UNASSIGNED"}


def canonical_text(text: str) -> str:
    """Return the text in NFC; BadInput names the first invalid character."""
    if not (_is_plain(text) and ".." not in text and text != "."):
        text = _normalised(text)
        if reason := _why_refused(text):
            raise BadInput(f"Dataid {quoted(text)} is not valid: {reason}. {ACCEPTED}")
    return text


def natural_key(text: str) -> str:
    """Return a key whose bytewise order is natural order: digit runs count as numbers.

    Distinct dataids get distinct keys: if only leading zeros differ, fewer zeros sort first.
    """
    if plain := _ends_in_short_number(text):
        prefix, digits = plain.groups()
        return f"{prefix}{len(digits)}{digits}"
    parts = _digit_runs.split(text)
    zeros = []
    for index in range(1, len(parts), 2):  # every second part is a digit run
        digits = parts[index]
        significant = digits.lstrip("0") or "0"
        zeros.append(len(digits) - len(significant))
        parts[index] = length_first(significant)
    key = "".join(parts)
    if not any(zeros):
        return key
    # Two spaces sort below anything that can follow a key: no dataid contains two or ends with one.
    return f"{key}  {bytes(zeros).hex()}"


def length_first(digits: str) -> str:
    """Return the digits prefixed with their count, so longer numbers sort after shorter ones.

    The first character is a digit too, so a number sorts against other characters as a digit does.
    """
    count = len(digits)
    return f"{count}{digits}" if count < MANY_DIGITS else f"{MANY_DIGITS}{length_first(str(count))}{digits}"


def _normalised(text: str) -> str:
    if text.isascii():
        return text
    # Imported here because the character tables cost start-up time and most dataids are ASCII.
    import unicodedata

    return unicodedata.normalize("NFC", text)


def _why_refused(text: str) -> str | None:
    if not text or len(text) > LONGEST:
        return f"it is {len(text)} characters long" if text else "it is empty"
    for position, character in enumerate(text, start=1):
        if not _is_allowed(character):
            return f"character {position} is {_named(character)}"
    return next((reason for shape, reason in _BAD_SHAPES if re.search(shape, text)), None)


def _is_allowed(character: str) -> bool:
    if character in PUNCTUATION or character == " ":
        return True
    import unicodedata  # as in _normalised

    return unicodedata.category(character)[0] in "LMN" and not re.match(_INVISIBLE, character)


def _named(character: str) -> str:
    import unicodedata  # as in _normalised

    unnamed = _CONTROL_NAMES.get(character) or _UNNAMED.get(unicodedata.category(character), "UNNAMED")
    return f"U+{ord(character):04X} {unicodedata.name(character, unnamed)}"
