"""Hears what transactions that make work claimable notify, on a connection of its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Translated = Callable[[Callable[[], Any]], Any]
    """Runs something and raises the driver's errors as the store's."""

CHANNEL = "dataflow"


class PostgresWatch:
    """One connection that listens; its descriptor becomes readable when something is heard or it breaks."""

    poll_seconds: float | None = None

    def __init__(self, connection: Any, schema: str, translated: Translated) -> None:
        self._connection = connection
        self._schema = schema.encode()
        self._translated = translated
        translated(lambda: connection.execute(f"LISTEN {CHANNEL}"))

    def fileno(self) -> int | None:
        return int(self._connection.fileno())

    def take(self) -> bool:
        return bool(self._translated(self._read))

    def close(self) -> None:
        self._connection.close()

    def _read(self) -> bool:
        server, heard = self._connection.pgconn, False
        server.consume_input()
        while (told := server.notifies()) is not None:
            # Other schemas of this database may hold other stores.
            heard = heard or told.extra == self._schema
        return heard
