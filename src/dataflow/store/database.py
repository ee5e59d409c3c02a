"""The interface between the store's verbs and a database: transactions over named queries.

The two implementations are sqlite.py and postgres.py; each driver is imported there and nowhere else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol, TypeVar

    Row = tuple[Any, ...]
    Call = tuple[int, int, str, str, int]
    """A call from an input to one work: job_id, position, dataid, sort_key, and a number.

    The number is how many inputs the job has, or the id of the work once it exists.
    """
    Result = TypeVar("Result")

    class Transaction(Protocol):
        """One open transaction. Queries are named `file.query`; parameters are always bound."""

        search_cost: int
        """A search of an index costs as much as reading so many entries beside those of another index;
        0 where two indexes cannot be read side by side."""

        def rows(self, name: str, /, **parameters: Any) -> list[Row]:
            """All rows of a query."""

        def find(self, name: str, /, **parameters: Any) -> Row | None:
            """The first row, or None."""

        def run(self, name: str, /, **parameters: Any) -> int:
            """Run a statement and return the number of rows it changed."""

        def lock(self, name: str, /, **parameters: Any) -> None:
            """Take row locks; a no-op where the whole database is already locked for writing."""

        def at_end(self, act: Callable[[Transaction], None]) -> None:
            """Do something just before the commit: for rows that are locked after all others."""

        def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
            """Parameters that make `$batch` stand for these (dataid, sort_key) pairs."""

        def calls(self, calls: Sequence[Call]) -> dict[str, Any]:
            """Parameters that make `$calls` stand for these calls."""

        def ids(self, ids: Sequence[int]) -> dict[str, Any]:
            """Parameters that make `$ids` stand for these numbers."""

        def names(self, names: Sequence[str]) -> dict[str, Any]:
            """Parameters that make `$names` stand for these strings."""

        def records(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
            """Parameters that make `$records` stand for these records, each a `value` with fields to cast."""

    class Watch(Protocol):
        """Notices that something has changed in the store, also through this process."""

        poll_seconds: float | None
        """How often to ask; None when its descriptor becomes readable instead."""

        def fileno(self) -> int | None:
            """The descriptor to poll."""

        def take(self) -> bool:
            """True if something has changed since the last call; StoreError when it hears nothing more."""

        def close(self) -> None:
            """Close its connection."""

    class Database(Protocol):
        """A database that holds the store's state."""

        dialect: str
        url: str

        def write(self, verb: Callable[[Transaction], Result]) -> Result:
            """Run a verb in one transaction: all of it is committed, or none.

            The verb may be run again after a deadlock or a lost connection, so it must carry a token or be
            safe to repeat.
            """

        def read(self, verb: Callable[[Transaction], Result]) -> Result:
            """Run a reading verb on one consistent snapshot."""

        def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
            """Stream the rows of a query with bounded memory."""

        def select(self, sql: str) -> tuple[list[str], Iterable[Row]]:
            """Return column names and rows of a user's statement; only reads are allowed."""

        def upgrade(self) -> list[str]:
            """Apply the missing migrations and return their names."""

        def schema_version(self) -> int:
            """Return the number of the newest applied migration; 0 for none."""

        def separate(self, patience_seconds: float | None) -> Database:
            """Open another connection to the same database that gives up after this many seconds.

            None for the usual time.
            """

        def watch(self) -> Watch:
            """Watch for changes, on a connection of its own."""

        def interrupt(self, patience_seconds: float) -> float | None:
            """End a verb that has waited this long for the server: it raises StoreUnreachable.

            For signal handlers. Returns how much longer a verb may wait; None if none is under way.
            """

        def count_pages(self) -> int:
            """Count the pages that statements have touched so far, cached or not; benchmarks compare them."""

        def close(self) -> None:
            """Close the connection."""
