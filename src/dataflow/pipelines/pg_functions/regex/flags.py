"""How to read a pattern: its flavor and options, from a function argument or from the pattern itself."""

from __future__ import annotations

from enum import IntFlag


class Flag(IntFlag):
    """One property of how a pattern is read."""

    EXTENDED = 1
    ADVANCED_FEATURES = 2
    ADVANCED = 3  # both of the above: PostgreSQL's own flavor
    QUOTE = 4  # the pattern is plain text
    IGNORE_CASE = 8
    EXPANDED = 16  # white space and comments are skipped
    NEWLINE_STOPS = 32  # . and [^…] do not match a newline
    NEWLINE_ANCHORS = 64  # ^ and $ match at newlines
    NEWLINE = 96


_NONE = Flag(0)
# The flags that an option letter clears, and those it adds.
_CHANGES = {
    "b": (Flag.ADVANCED | Flag.QUOTE, _NONE),
    "c": (Flag.IGNORE_CASE, _NONE),
    "e": (Flag.ADVANCED_FEATURES | Flag.QUOTE, Flag.EXTENDED),
    "i": (_NONE, Flag.IGNORE_CASE),
    **dict.fromkeys("mn", (_NONE, Flag.NEWLINE)),
    "p": (Flag.NEWLINE_ANCHORS, Flag.NEWLINE_STOPS),
    "q": (Flag.ADVANCED, Flag.QUOTE),
    "s": (Flag.NEWLINE, _NONE),
    "t": (Flag.EXPANDED, _NONE),
    "w": (Flag.NEWLINE_STOPS, Flag.NEWLINE_ANCHORS),
    "x": (_NONE, Flag.EXPANDED),
}


def apply_option(flags: Flag, letter: str) -> Flag | None:
    """The flags after an option letter inside the pattern; None if the letter is unknown."""
    if letter not in _CHANGES:
        return None
    cleared, added = _CHANGES[letter]
    return (flags & ~cleared) | added


def read_options(options: str) -> tuple[Flag, bool]:
    """The flags in the options argument of a function, and whether `g` is one of them."""
    flags, is_global = Flag.ADVANCED, False
    for letter in options:
        if letter == "g":
            is_global = True
        elif letter == "e":  # as an argument it selects basic expressions, unlike inside a pattern
            flags &= ~(Flag.ADVANCED | Flag.QUOTE)
        else:
            changed = apply_option(flags, letter)
            if changed is None:
                raise ValueError(f'invalid regular expression option: "{letter}"')
            flags = changed
    return flags, is_global
