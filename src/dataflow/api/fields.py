"""Parameters and bodies of requests: what they may hold, as JSON Schema and as a check."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import did_you_mean, quoted

STRING, INTEGER, BOOLEAN, STRINGS = "string", "integer", "boolean", "strings"
LONGEST_TEXT = 1000
LARGEST_NUMBER = 2**63 - 1
MOST_ITEMS = 1000
"""Dataids that one request may name; a range has no such limit."""


@record
class Field:
    """One parameter, or one field of a body; `default` is what a request without it means."""

    name: str
    kind: str
    text: str
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = LARGEST_NUMBER

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        if self.kind == STRINGS:
            items = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
            return {"type": "array", "items": items, "minItems": 1, "maxItems": MOST_ITEMS}
        found: dict[str, Any] = {"type": self.kind}
        if self.kind == STRING:
            found |= {"enum": list(self.choices)} if self.choices else self._lengths
        if self.kind == INTEGER:
            found |= {"minimum": self.least, "maximum": self.most}
        return found if self.default is None else found | {"default": self.default}

    @property
    def _lengths(self) -> dict[str, int]:
        return {"minLength": self.least, "maxLength": LONGEST_TEXT}

    def parse(self, text: str) -> Any:
        """Return the value of a parameter from its text."""
        if self.kind == INTEGER and text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20:
            return self.check(int(text))
        if self.kind == BOOLEAN and text in ("true", "false"):
            return text == "true"
        return self.check(text)

    def parse_form(self, text: str) -> Any:
        """Return the value of a field of a form, None for an empty one."""
        if self.kind == STRINGS:
            # Not splitlines: a dataid may have characters that it takes for the end of a line.
            return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()] or None
        return self.parse(text) if text.strip() else None

    def check(self, value: Any) -> Any:
        """Return a value of a body; BadInput says what it should be."""
        if self.kind == INTEGER and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number
        wrong = _CHECKS[self.kind](self, value)
        if wrong:
            raise BadInput(f"{self.name} must be {wrong}, got {_shown(value)}.")
        return value


@record
class Body:
    """The fields of a body; `ways` are the groups of fields of which a request has exactly one, whole."""

    fields: tuple[Field, ...]
    ways: tuple[tuple[str, ...], ...] = ()
    may_choose_none: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        properties = {field.name: field.schema | {"description": field.text} for field in self.fields}
        found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if required := [field.name for field in self.fields if field.required]:
            found["required"] = required
        if self.ways:
            none = [self._without_others(())] if self.may_choose_none else []
            found["oneOf"] = [{"required": list(way)} | self._without_others(way) for way in self.ways] + none
        return found

    def _without_others(self, way: tuple[str, ...]) -> dict[str, Any]:
        others = [name for other in self.ways if other != way for name in other]
        return {"not": {"anyOf": [{"required": [name]} for name in others]}}

    def read(self, given: Any) -> dict[str, Any]:
        """Return the fields of a request by name, with defaults; BadInput for an unknown or wrong one."""
        if not isinstance(given, dict):
            raise BadInput(f"The body must be a JSON object, got {_shown(given)}.")
        known = {field.name: field for field in self.fields}
        for name in given:
            if name not in known:
                raise unknown_field("field", name, known)
        found = {name: known[name].check(value) for name, value in given.items()}
        self._check_ways(found)
        return _with_defaults(self.fields, found, "field")

    def read_form(self, given: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the fields of a form by name: an empty one is not given, a list has an item per line."""
        known = {field.name: field for field in self.fields}
        found: dict[str, Any] = {}
        for name, text in given:
            value = known[name].parse_form(text) if name in known else text  # `read` refuses it
            found |= {} if value is None else {name: value}
        return self.read(found)

    def _check_ways(self, found: Mapping[str, Any]) -> None:
        begun = [way for way in self.ways if any(name in found for name in way)]
        if not begun and (self.may_choose_none or not self.ways):
            return
        if len(begun) != 1:
            raise BadInput(f"Select in one way: {', or '.join([' and '.join(way) for way in self.ways])}.")
        if missing := [name for name in begun[0] if name not in found]:
            raise BadInput(f"No field {missing[0]} given; {' and '.join(begun[0])} go together.")


def _wrong_string(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not is_text(value):
        return "text"
    if field.choices:
        return "" if value in field.choices else f"one of {', '.join(field.choices)}"
    fits = field.least <= len(value) <= LONGEST_TEXT
    return "" if fits else f"text of {field.least} to {LONGEST_TEXT} characters"


def _wrong_integer(field: Field, value: Any) -> str:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    fits = is_number and field.least <= value <= field.most
    return "" if fits else f"a whole number from {field.least} to {field.most}"


def _wrong_boolean(_field: Field, value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _wrong_strings(_field: Field, value: Any) -> str:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ITEMS:
        return f"a list of 1 to {MOST_ITEMS} texts"
    good = all(isinstance(item, str) and is_text(item) and 1 <= len(item) <= LONGEST_TEXT for item in value)
    return "" if good else f"a list of texts of 1 to {LONGEST_TEXT} characters"


_CHECKS = {
    STRING: _wrong_string,
    INTEGER: _wrong_integer,
    BOOLEAN: _wrong_boolean,
    STRINGS: _wrong_strings,
}


def is_text(value: str) -> bool:
    """Return whether every store can keep the text: no NUL, and no half of a surrogate pair."""
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def read_parameters(fields: Sequence[Field], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the parameters of a request by name, with defaults; BadInput for an unknown or repeated one."""
    known = {field.name: field for field in fields}
    found: dict[str, Any] = {}
    for name, text in given:
        if name not in known:
            raise unknown_field("parameter", name, known)
        if name in found:
            raise BadInput(f"Parameter {name} is given twice. Give it once.")
        found[name] = known[name].parse(text)
    return _with_defaults(fields, found, "parameter")


def _with_defaults(fields: Sequence[Field], found: dict[str, Any], what: str) -> dict[str, Any]:
    missing = [field.name for field in fields if field.required and field.name not in found]
    if missing:
        raise BadInput(f"No {what} {' and no '.join(missing)} given.")
    return {field.name: found.get(field.name, field.default) for field in fields}


def unknown_field(what: str, name: str, known: Mapping[str, Field]) -> BadInput:
    """Return the error for a name that is not in the table, with the nearest that is."""
    names = f" Known: {', '.join(known)}." if known else " None is known."
    return BadInput(f"Unknown {what} {quoted(name)}.{did_you_mean(name, known)}{names}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, dict) else json.dumps(value)[:40]
