"""What the verbs of the store need of a database: transactions over named queries.

The two implementations are sqlite.py and postgres.py; each driver is imported there and nowhere else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol, TypeVar

    Row = tuple[Any, ...]
    Call = tuple[int, int, str, str, int]
    """What an input says to one work: job_id, position, dataid, sort_key, and a number.

    That is how many inputs the job has, or the id of the work once it is made.
    """
    Result = TypeVar("Result")

    class Transaction(Protocol):
        """One open transaction. Queries are named `file.query`; parameters are always bound."""

        def rows(self, name: str, /, **parameters: Any) -> list[Row]:
            """All rows of a query."""

        def find(self, name: str, /, **parameters: Any) -> Row | None:
            """The first row, or None."""

        def run(self, name: str, /, **parameters: Any) -> int:
            """Runs a statement and gives the number of rows it changed."""

        def lock(self, name: str, /, **parameters: Any) -> None:
            """Takes row locks; does nothing where the whole database is locked for writing anyway."""

        def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
            """Parameters that make `$batch` stand for these (dataid, sort_key) pairs."""

        def calls(self, calls: Sequence[Call]) -> dict[str, Any]:
            """Parameters that make `$calls` stand for these calls."""

        def ids(self, ids: Sequence[int]) -> dict[str, Any]:
            """Parameters that make `$ids` stand for these numbers."""

        def names(self, names: Sequence[str]) -> dict[str, Any]:
            """Parameters that make `$names` stand for these texts."""

        def records(self, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
            """Parameters that make `$records` stand for these, each a `value` with fields to be cast."""

    class Database(Protocol):
        """A place where the store's state is kept."""

        dialect: str
        url: str

        def write(self, verb: Callable[[Transaction], Result]) -> Result:
            """Runs a verb in one transaction: committed as a whole or not at all.

            The verb may be run again after a deadlock or a lost connection, so it must carry a token or be
            harmless to repeat.
            """

        def read(self, verb: Callable[[Transaction], Result]) -> Result:
            """Runs a reading verb on one consistent snapshot."""

        def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
            """The rows of a query one by one, with bounded memory."""

        def select(self, sql: str) -> tuple[list[str], Iterable[Row]]:
            """Column names and rows of a user's own statement; anything but reading is refused."""

        def upgrade(self) -> list[str]:
            """Applies the migrations that are missing and names them."""

        def schema_version(self) -> int:
            """The number of the newest migration applied; 0 for none."""

        def separate(self, patience_seconds: float) -> Database:
            """Another connection to the same place, which gives up after this long."""

        def count_pages(self) -> int:
            """Pages that statements have touched so far, in memory or not: what a claim costs, in `bench`."""

        def close(self) -> None:
            """Ends the connection."""
