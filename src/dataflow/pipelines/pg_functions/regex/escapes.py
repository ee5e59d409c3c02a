"""The meaning of letters after a backslash, and the names of characters in `[[.name.]]`."""

from __future__ import annotations

SIMPLE_ESCAPES: dict[str, tuple[str, object]] = {
    "a": ("PLAIN", 7),
    "b": ("PLAIN", 8),
    "B": ("PLAIN", 92),
    "e": ("PLAIN", 27),
    "f": ("PLAIN", 12),
    "n": ("PLAIN", 10),
    "r": ("PLAIN", 13),
    "t": ("PLAIN", 9),
    "v": ("PLAIN", 11),
    "d": ("CLASS", "digit"),
    "D": ("OTHER_CLASS", "digit"),
    "s": ("CLASS", "space"),
    "S": ("OTHER_CLASS", "space"),
    "w": ("CLASS", "word"),
    "W": ("OTHER_CLASS", "word"),
    "A": ("TEXT_START", None),
    "Z": ("TEXT_END", None),
    "m": ("WORD_START", None),
    "M": ("WORD_END", None),
    "y": ("WORD_EDGE", None),
    "Y": ("NOT_WORD_EDGE", None),
}

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
