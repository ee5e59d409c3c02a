"""What a worker does about once a second beside its work, on a connection of its own.

Each chore is short and may raise StoreError; the worker then waits for the store and goes on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.config.settings import Config
    from dataflow.store.store import Store

    Chore = Callable[[Store, Config], None]

CHORES: tuple[Chore, ...] = ()
"""Called in this order. To add one, add its function."""
