"""Rows from JSON: pages that contain a list of rows, and lines with one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any, BinaryIO

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import SHOWN_CHARACTERS, quoted, shortened
from dataflow.pipelines.shape.columns import ColumnForm, ShapedColumn, convert_strictly, find_plain
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
from dataflow.pipelines.shape.sql_types import FLOATS
from dataflow.pipelines.shape.typed_rows import list_typed, read_typed

_MISSING: Any = object()
Columns = list[ShapedColumn]


@record
class Readings:
    """The ways to read the rows of a chunk, from the fastest to the most exact, and their text."""

    typed: list[Any] | None  # see `read_typed`
    quickly: Callable[[], list[Any] | None]
    exactly: Callable[[], list[Any]]
    text: Callable[[], bytes]


class JsonChunk:
    """Some rows of a part, read as fast as their values allow."""

    def __init__(self, readings: Readings, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.bad_rows: list[BadRow] = []
        self.rows_read = len(numbers)
        self._readings = readings
        self._complete = False
        self._rows: list[dict[str, Any]] = []

    def columns(self, fields: Sequence[Field], forms: Sequence[ColumnForm]) -> Columns:
        """One column per field, all for the rows listed in `numbers`."""
        columns = self._typed_columns(fields, forms) or self._quick_columns(fields, forms)
        if columns is None:
            self._rows = self._keep_objects()
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

    def _typed_columns(self, fields: Sequence[Field], forms: Sequence[ColumnForm]) -> Columns | None:
        rows = self._readings.typed
        if rows is None:
            return None
        values = ((list_typed(rows, place), 0) for place, _ in enumerate(fields))
        return self._plain_columns(fields, forms, values)

    def _quick_columns(self, fields: Sequence[Field], forms: Sequence[ColumnForm]) -> Columns | None:
        rows = self._readings.quickly()
        if rows is None or not set(map(type, rows)) <= {dict}:
            return None
        self._rows = rows
        return self._plain_columns(fields, forms, (list_column(rows, field) for field in fields))

    def _plain_columns(
        self, fields: Sequence[Field], forms: Sequence[ColumnForm], found: Iterable[tuple[list[Any], int]]
    ) -> Columns | None:
        """The columns, from the values and the number of missing ones of each; None if one is not plain."""
        columns = []
        for field, form, (values, missing) in zip(fields, forms, found, strict=True):
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
        for number, row in zip(self.numbers, self._readings.exactly(), strict=True):
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
            return lambda: keeps_zeros(self._readings.text())
        if field.type.name in ("json", "jsonb"):
            return lambda: keeps_texts(self._readings.text())
        if field.type.name != "numeric" or field.path[-1].isdigit():
            return lambda: False
        keys = {field.source, field.path[-1]}
        return lambda: all(keeps_digits(self._readings.text(), key, form.type.unlimited) for key in keys)


def read_page(body: bytes, results_key: str, limit: int, fields: tuple[Field, ...]) -> Iterator[JsonChunk]:
    """The rows of one JSON document in chunks of at most `limit`; at least one chunk."""

    @cache
    def read_exactly() -> list[Any]:
        return find_rows(parse_page(body), results_key)

    @cache
    def read_quickly() -> list[Any] | None:
        try:
            return find_rows(parse_quickly(body), results_key)
        except ValueError:
            return None

    typed = read_typed(body, results_key, fields)
    rows = read_quickly() if typed is None else typed
    count = len(read_exactly() if rows is None else rows)
    for start in range(0, count or 1, limit):
        place = slice(start, min(start + limit, count))
        readings = Readings(
            None if typed is None else typed[place],
            lambda place=place: (quick := read_quickly()) and quick[place],  # type: ignore[misc]
            lambda place=place: read_exactly()[place],  # type: ignore[misc]
            lambda: body,
        )
        yield JsonChunk(readings, range(place.start + 1, place.stop + 1))


def read_lines(file: BinaryIO, limit: int) -> Iterator[JsonChunk]:
    """The rows of JSON Lines in chunks; blank lines are skipped, rows are numbered by line.

    Only one chunk is in memory at a time; there is at least one.
    """
    lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    chunk = list(islice(lines, limit))
    is_first = True
    while chunk or is_first:
        readings = Readings(
            None,
            lambda chunk=chunk: _parse_lines_quickly(chunk),  # type: ignore[misc]
            lambda chunk=chunk: [parse_line(*line) for line in chunk],  # type: ignore[misc]
            lambda chunk=chunk: b"".join(line for _, line in chunk),  # type: ignore[misc]
        )
        yield JsonChunk(readings, [number for number, _ in chunk])
        chunk, is_first = list(islice(lines, limit)), False


def _parse_lines_quickly(lines: list[tuple[int, bytes]]) -> list[Any] | None:
    try:
        return [parse_quickly(line) for _, line in lines]
    except ValueError:
        return None


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


def parse_line(number: int, line: bytes) -> Any:
    """The row of a line, digit for digit; a BadRow if it is not JSON."""
    try:
        return parse_exactly(line)
    except NotJson as error:
        return BadRow(number, line.rstrip(b"\r\n").decode("utf-8", "replace"), f"is not JSON: {error}")


def find_rows(document: Any, results_key: str) -> list[Any]:
    """The list of rows in a document; BadInput if it is not at `results_key`."""
    found = document
    for step in results_key.split(".") if results_key else ():
        if not isinstance(found, dict) or step not in found:
            keys = ", ".join(sorted(document)[:20]) if isinstance(document, dict) else "not an object"
            raise BadInput(f"has no {quoted(results_key)} (found: {keys}); set the source's results key")
        found = found[step]
    if not isinstance(found, list):
        place = f"{quoted(results_key)} is" if results_key else "is"
        raise BadInput(f"{place} {type(found).__name__}, not a list of rows; set the source's results key")
    return found
