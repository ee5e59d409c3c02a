"""Splits strings into arrays at separators, and joins arrays to strings."""

from __future__ import annotations

from dataflow.pipelines.pg_functions.signatures import Signature


def string_to_array(
    text: str | None, separator: str | None, null: str | None = None
) -> list[str | None] | None:
    """The parts between separators, or each character if there is none; parts equal to `null` are NULL."""
    if text is None:
        return None
    if separator is None:
        parts = list(text)
    elif not text:
        parts = []
    else:
        parts = text.split(separator) if separator else [text]
    return [None if part == null else part for part in parts]


def string_to_table(text: str | None, separator: str | None, null: str | None = None) -> list[str | None]:
    """The parts between separators as rows."""
    return string_to_array(text, separator, null) or []


def array_to_string(
    items: list[str | None] | None, separator: str | None, null: str | None = None
) -> str | None:
    """Join elements that are already text; a NULL is omitted or written as `null`."""
    if items is None or separator is None:
        return None
    written = [null if item is None else item for item in items]
    return separator.join(item for item in written if item is not None)


PLAIN = ("text", "text")

SIGNATURES: tuple[Signature, ...] = (
    Signature("string_to_array", PLAIN, "text[]", string_to_array, strict=False),
    Signature("string_to_array", (*PLAIN, "text"), "text[]", string_to_array, strict=False),
    Signature("string_to_table", PLAIN, "text", string_to_table, strict=False, is_set=True),
    Signature("string_to_table", (*PLAIN, "text"), "text", string_to_table, strict=False, is_set=True),
    Signature("array_to_string", ("text[]", "text"), "text", array_to_string, strict=False),
    Signature("array_to_string", ("text[]", "text", "text"), "text", array_to_string, strict=False),
)
