"""A database inside one open transaction of another: each verb sees what the earlier ones did."""

from __future__ import annotations

from dataflow.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, NoReturn

    from dataflow.store.database import Result, Row, Transaction


class Rehearsal:
    """A database over one transaction, which its opener ends."""

    def __init__(self, tx: Transaction, dialect: str, url: str) -> None:
        self._tx = tx
        self.dialect = dialect
        self.url = url

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        return verb(self._tx)

    def read(self, verb: Callable[[Transaction], Result]) -> Result:
        return verb(self._tx)

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        return iter(self._tx.rows(name, **parameters))

    def select(self, sql: str) -> tuple[list[str], Iterable[Row]]:
        self._refuse()

    def upgrade(self) -> list[str]:
        self._refuse()

    def schema_version(self) -> int:
        self._refuse()

    def separate(self, patience_seconds: float | None) -> Rehearsal:
        self._refuse()

    def count_pages(self) -> int:
        self._refuse()

    def close(self) -> None:
        """Do nothing: the opener ends the transaction."""

    def _refuse(self) -> NoReturn:
        raise StoreError(f"The store {self.url} cannot do this inside a transaction that is rolled back.")
