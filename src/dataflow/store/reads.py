"""What every group of reads shares: named queries over one database, and their rows as records."""

from __future__ import annotations

from functools import cache

from dataflow.model.status import RunOutcome, WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dataflow.store.database import Database, Result, Row, Transaction


class Reads:
    """Reads of one noun; each is one snapshot of the database and returns records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _read(self, verb: Callable[[Transaction], Result]) -> Result:
        return self._database.read(verb)

    def _rows(self, name: str, /, **parameters: Any) -> list[Row]:
        return self._database.read(lambda tx: tx.rows(name, **parameters))

    def _find(self, name: str, /, **parameters: Any) -> Row | None:
        return self._database.read(lambda tx: tx.find(name, **parameters))

    def _list(self, kind: Callable[..., Result], name: str, /, **parameters: Any) -> list[Result]:
        """Return the rows of a query as records."""
        return [record_from(kind, row) for row in self._rows(name, **parameters)]

    def _find_one(self, kind: Callable[..., Result], name: str, /, **parameters: Any) -> Result | None:
        """Return the first row of a query as a record, or None."""
        row = self._find(name, **parameters)
        return None if row is None else record_from(kind, row)

    def _get(self, name: str, /, **parameters: Any) -> Any:
        """Return the one value of a query that always has a row."""
        row = self._find(name, **parameters)
        assert row is not None, name
        return row[0]


def record_from(kind: Callable[..., Result], row: Row) -> Result:
    """Return a record from the columns of a row, which are its first fields, in order."""
    by_field = zip(_conversions(kind), row, strict=False)  # the last fields may have defaults
    return kind(*[convert(value) if convert else value for convert, value in by_field])


@cache
def _conversions(kind: Any) -> list[Callable[[Any], Any] | None]:
    """Return what makes the driver's values those of a record, by field: SQLite has no bool and no time."""
    return [
        _CONVERSIONS.get(f"{annotation} time" if name == "at" or name.endswith("_at") else annotation)
        for name, annotation in kind.__annotations__.items()
    ]


def first_of(row: Row | None) -> Any:
    """Return the first column of a row, or None."""
    return None if row is None else row[0]


def seconds_of(value: Any) -> float:
    """Return a time as seconds since 1970, whatever type the driver returned."""
    from datetime import datetime  # start-up: no run needs it

    parsed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return parsed.timestamp()


def time_text(value: Any) -> str:
    """Return a time as ISO text in UTC, whatever type the driver returned."""
    if value is None or isinstance(value, str):
        return value or ""
    from datetime import UTC  # start-up: only PostgreSQL returns such times

    text: str = value.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "WorkState": WorkState,
    "RunOutcome": RunOutcome,
    "float | None": lambda value: None if value is None else float(value),
    "float time": seconds_of,
    "str time": time_text,
    "str | None time": lambda value: time_text(value) or None,
}
