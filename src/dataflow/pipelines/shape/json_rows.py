"""Rows from JSON: pages that contain a list of rows, and lines with one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, BinaryIO

from dataflow.errors import BadInput
from dataflow.model.wording import SHOWN_CHARACTERS, quoted, shortened
from dataflow.pipelines.shape.columns import FLOATS, ColumnForm, ShapedColumn, convert_strictly, find_plain
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.json_text import (
    NotJson,
    keeps_digits,
    keeps_texts,
    keeps_zeros,
    parse_exactly,
    parse_quickly,
)
from dataflow.pipelines.shape.shaped import BadRow

_MISSING: Any = object()


class JsonChunk:
    """Some rows of a part, parsed fast, with a way to parse them exactly if needed."""

    def __init__(
        self,
        quick: list[Any] | None,
        read_exactly: Callable[[], list[Any]],
        numbers: Sequence[int],
        text: Callable[[], bytes],
    ) -> None:
        self.numbers = numbers
        self.bad_rows: list[BadRow] = []
        self.rows_read = len(numbers)
        self._text = text
        self._read_exactly = read_exactly
        self._complete = False
        self._quick = quick is not None and set(map(type, quick)) <= {dict}
        self._rows = quick if quick is not None and self._quick else self._keep_objects()

    def columns(self, fields: Sequence[Field], forms: Sequence[ColumnForm]) -> list[ShapedColumn]:
        """One column per field, all for the rows listed in `numbers`."""
        columns = self._plain_columns(fields, forms) if self._quick else None
        if columns is None:
            self._rows = self._keep_objects() if self._quick else self._rows
            columns = [self._strict_column(*pair) for pair in zip(fields, forms, strict=True)]
        self._complete = not any(column.missing for column in columns)
        return columns

    def list_new(self, fields: Sequence[Field]) -> tuple[str, ...]:
        """The keys of the rows that no field uses."""
        sources = {field.source for field in fields}
        known = sources | {field.path[0] for field in fields}
        # The cheap proof: every row has every field, no field is nested, and there are no other keys.
        if self._complete and known == sources and set(map(len, self._rows)) <= {len(sources)}:
            return ()
        return tuple(sorted(set().union(*set(map(tuple, self._rows))) - known))

    def row_at(self, place: int, fields: Sequence[Field]) -> dict[str, Any]:
        """The fields of one row, by their source names; missing ones are left out."""
        found = {field.source: _find_value(self._rows[place], field) for field in fields}
        return {name: value for name, value in found.items() if value is not _MISSING}

    def _plain_columns(
        self, fields: Sequence[Field], forms: Sequence[ColumnForm]
    ) -> list[ShapedColumn] | None:
        columns = []
        for field, form in zip(fields, forms, strict=True):
            values, missing = list_column(self._rows, field)
            array = find_plain(form, values, self._prover(field, form))
            if array is None:
                return None
            columns.append(ShapedColumn(array, {}, [], missing))
        return columns

    def _strict_column(self, field: Field, form: ColumnForm) -> ShapedColumn:
        values, missing = list_column(self._rows, field)
        array = find_plain(form, values, lambda: True)
        if array is not None:
            return ShapedColumn(array, {}, values, missing)
        return ShapedColumn(*convert_strictly(form, values), values, missing)

    def _keep_objects(self) -> list[dict[str, Any]]:
        kept, numbers = [], []
        for number, row in zip(self.numbers, self._read_exactly(), strict=True):
            if isinstance(row, dict):
                kept.append(row)
                numbers.append(number)
            elif isinstance(row, BadRow):
                self.bad_rows.append(row)
            else:
                self.bad_rows.append(BadRow(number, row, "is not a JSON object"))
        self.numbers = numbers
        return kept

    def _prover(self, field: Field, form: ColumnForm) -> Callable[[], bool]:
        """True if floats read for a number, or within JSON, are proven to equal the source's numbers."""
        if (field.type.element or field.type).name in FLOATS:
            return lambda: keeps_zeros(self._text())
        if field.type.name in ("json", "jsonb"):
            return lambda: keeps_texts(self._text())
        if field.type.name != "numeric" or field.path[-1].isdigit():
            return lambda: False
        keys = {field.source, field.path[-1]}
        return lambda: all(keeps_digits(self._text(), key, form.type.unlimited) for key in keys)


def read_page(body: bytes, results_key: str, limit: int) -> Iterator[JsonChunk]:
    """The rows of one JSON document in chunks of at most `limit`; at least one chunk."""
    exact: list[Any] | None = None

    def read_exactly() -> list[Any]:
        nonlocal exact
        if exact is None:
            exact = find_rows(parse_page(body), results_key)
        return exact

    try:
        quick = find_rows(parse_quickly(body), results_key)
    except ValueError:
        quick = None
    count = len(read_exactly() if quick is None else quick)
    for start in range(0, count or 1, limit):
        place = slice(start, min(start + limit, count))
        yield JsonChunk(
            None if quick is None else quick[place],
            lambda place=place: read_exactly()[place],  # type: ignore[misc]
            range(place.start + 1, place.stop + 1),
            lambda: body,
        )


def read_lines(file: BinaryIO, limit: int) -> Iterator[JsonChunk]:
    """The rows of JSON Lines in chunks; blank lines are skipped, rows are numbered by line.

    Only one chunk is in memory at a time; there is at least one.
    """
    lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    chunk = list(islice(lines, limit))
    is_first = True
    while chunk or is_first:
        try:
            quick = [parse_quickly(line) for _, line in chunk]
        except ValueError:
            quick = None
        yield JsonChunk(
            quick,
            lambda chunk=chunk: [_parse_line(*line) for line in chunk],  # type: ignore[misc]
            [number for number, _ in chunk],
            lambda chunk=chunk: b"".join(line for _, line in chunk),  # type: ignore[misc]
        )
        chunk, is_first = list(islice(lines, limit)), False


def list_column(rows: list[dict[str, Any]], field: Field) -> tuple[list[Any], int]:
    """The field's value in each row, None where missing, and the number of rows that lack it."""
    try:
        return list(map(itemgetter(field.source), rows)), 0
    except KeyError:
        values = [_find_value(row, field) for row in rows]
    missing = sum(value is _MISSING for value in values)
    return [None if value is _MISSING else value for value in values], missing


def _find_value(row: dict[str, Any], field: Field) -> Any:
    if field.source in row:
        return row[field.source]
    value: Any = row
    for step in field.path:
        if value is None:
            return None
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def parse_page(body: bytes) -> Any:
    """The document of a page, digit for digit; BadInput if it is not JSON."""
    try:
        return parse_exactly(body)
    except NotJson as error:
        beginning = quoted(shortened(body[:400].decode("utf-8", "replace"), SHOWN_CHARACTERS))
        raise BadInput(f"is not JSON: {error}; it begins {beginning}") from None


def _parse_line(number: int, line: bytes) -> Any:
    try:
        return parse_exactly(line)
    except NotJson as error:
        return BadRow(number, line.rstrip(b"\r\n").decode("utf-8", "replace"), f"is not JSON: {error}")


def find_rows(document: Any, results_key: str) -> list[Any]:
    """The list of rows in a document; BadInput if it is not at `results_key`."""
    found = document
    if results_key and isinstance(document, dict) and results_key in document:
        found = document[results_key]
    elif results_key:
        for step in results_key.split("."):
            if not isinstance(found, dict) or step not in found:
                keys = ", ".join(sorted(document)[:20]) if isinstance(document, dict) else "not an object"
                raise BadInput(f"has no {quoted(results_key)} (found: {keys}); set the source's results key")
            found = found[step]
    if not isinstance(found, list):
        place = f"{quoted(results_key)} is" if results_key else "is"
        raise BadInput(f"{place} {type(found).__name__}, not a list of rows; set the source's results key")
    return found
