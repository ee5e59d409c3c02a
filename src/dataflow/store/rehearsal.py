"""A database inside one open transaction of another: each verb sees what the earlier ones did."""

from __future__ import annotations

from dataflow.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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

    read = write

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        return iter(self._tx.rows(name, **parameters))

    def close(self) -> None:
        """Do nothing: the opener ends the transaction."""

    def __getattr__(self, verb: str) -> NoReturn:
        raise StoreError(f"The store {self.url} cannot {verb} inside a transaction that is rolled back.")
