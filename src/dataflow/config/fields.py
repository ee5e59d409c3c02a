"""One reader per kind of value in a declaration; each returns the record's form or raises BadInput."""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.grain import parse_grain
from dataflow.model.mapping import parse_mapping, split_need
from dataflow.model.records import JobInput
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Reader = Callable[[object], object]

_WORD = re.compile(r"[^\s\"'`$&|;<>()*?\[\]{}~#!\\]+")  # without anything that a shell would interpret
_LARGEST = 2**31 - 1  # the largest integer that both databases store


def read_text(value: object) -> str:
    """Return a string without NUL, which processes and PostgreSQL do not accept."""
    if not isinstance(value, str):
        raise BadInput(f"must be a quoted string, not {_kind(value)}")
    if "\0" in value:
        raise BadInput("must not contain NUL")
    return value


def read_name(value: object) -> str:
    """Return a string that is not empty."""
    text = read_text(value)
    if not text.strip():
        raise BadInput("must not be empty")
    return text


def read_grain(value: object) -> str:
    """The name of a grain."""
    return parse_grain(read_name(value)).value


def read_flag(value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise BadInput(f"must be true or false, not {_kind(value)}")
    return value


def read_whole(value: object) -> int:
    """A whole number, negative too."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"must be a whole number, not {_kind(value)}")
    if abs(value) > _LARGEST:
        raise BadInput(f"must be between -{_LARGEST} and {_LARGEST}")
    return value


def read_count(value: object) -> int:
    """A whole number from 0."""
    count = read_whole(value)
    if count < 0:
        raise BadInput(f"must not be negative, got {count}")
    return count


def read_number(value: object) -> float:
    """A number, whole or not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadInput(f"must be a number, not {_kind(value)}")
    if not abs(value) < float("inf"):  # also nan
        raise BadInput("must be a finite number")
    return float(value)


def read_exit_codes(value: object) -> tuple[int, ...]:
    """An array of whole numbers."""
    if not isinstance(value, list):
        raise BadInput(f"must be an array like [2, 64], not {_kind(value)}")
    return tuple([read_whole(code) for code in value])


def read_moment(value: object) -> str:
    """Return a date or time, from a string or a TOML date."""
    from datetime import date  # start-up: loaded with the TOML reader anyway

    return value.isoformat() if isinstance(value, date) else read_text(value)


def read_time_of_day(value: object) -> str:
    """Return a time of day as HH:MM, from a string or a TOML time."""
    from datetime import time  # start-up: as in read_moment

    from dataflow.model.freshness import parse_due_by

    return parse_due_by(
        value.isoformat().removesuffix(":00") if isinstance(value, time) else read_text(value)
    )


def read_inputs(value: object) -> tuple[JobInput, ...]:
    """An array of `dataset`, `dataset:mapping` or `dataset:mapping rule`."""
    texts = _read_names(value, '["orders", "totals:previous"]')
    inputs = tuple(parse_input(text) for text in texts)
    _refuse_twice([str(item) for item in inputs])
    return inputs


def read_outputs(value: object) -> tuple[str, ...]:
    """An array of dataset names."""
    names = _read_names(value, '["totals"]')
    _refuse_twice(names)
    return tuple(names)


def read_pairs(value: object) -> tuple[tuple[str, str], ...]:
    """Return a table of strings, sorted by key; numbers and booleans are converted to strings."""
    if not isinstance(value, dict):
        raise BadInput(f'must be a table like {{ key = "value" }}, not {_kind(value)}')
    for key in value:
        if not key or "=" in key or "\0" in key:
            raise BadInput(f"has the key {quoted(key)}; a key must not be empty or contain = or NUL")
    return tuple((key, _pair_value(key, value[key])) for key in sorted(value))


def read_check(value: object) -> tuple[str, ...]:
    """Return a command: an array is used as it is, a string goes to the shell."""
    if isinstance(value, str):
        return ("/bin/sh", "-c", read_name(value))
    if not isinstance(value, list) or not value:
        raise BadInput(f'must be a command like ["test", "-s", "file"] or a string, not {_kind(value)}')
    read_name(value[0])
    return tuple(read_text(argument) for argument in value)


def read_command(value: object) -> tuple[str, ...]:
    """Return a job's command: an array of words, or a string that is one word. No shell sees it."""
    if isinstance(value, str):
        if not _WORD.fullmatch(read_name(value)):
            raise BadInput('must be one word; no shell reads it. Write an array: ["./load.sh", "--full"]')
        return (value,)
    if not isinstance(value, list) or not value:
        raise BadInput(f'must be a command like ["./load.sh", "--full"], not {_kind(value)}')
    read_name(value[0])
    return tuple(read_text(argument) for argument in value)


def refuse_password(value: object) -> object:
    """Always raise: a password must not be in a file in plain text."""
    raise BadInput(
        "is a password in plain text; remove it and set encryptedpass to the output of `dataflow "
        "secret encrypt`, or: dataflow dataset add NAME --password-stdin"
    )


def parse_input(text: str) -> JobInput:
    """Return a job's input from `dataset`, `dataset:mapping` or `dataset:mapping rule`."""
    dataset, colon, need = (part.strip() for part in text.partition(":"))
    if not dataset or (colon and not need):
        raise BadInput(
            f"input {quoted(text)} must be a dataset, or a dataset and a mapping like orders:previous"
        )
    mapping, rule = split_need(need)
    if not rule:
        return JobInput(dataset, parse_mapping(mapping)) if mapping else JobInput(dataset)
    from dataflow.model.completeness import parse_rule  # start-up: few inputs have a rule

    return JobInput(dataset, parse_mapping(mapping), parse_rule(rule))


def _read_names(value: object, example: str) -> list[str]:
    if not isinstance(value, list):
        raise BadInput(f"must be an array like {example}, not {_kind(value)}")
    return [read_name(name) for name in value]


def _refuse_twice(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"names {quoted(name)} twice")


def _pair_value(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    try:
        return read_text(value)
    except BadInput as error:
        raise BadInput(f"{key} {error}") from error


def _kind(value: object) -> str:
    """Return TOML's name for the kind of value; the value may be secret and is not repeated."""
    if isinstance(value, list):
        return "an array" if value else "an empty array"
    kinds = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a string",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or time")
