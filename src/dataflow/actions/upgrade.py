"""Upgrade: brings a store's schema to this version's."""

from __future__ import annotations

from dataflow.store.queries import SCHEMA_VERSION, newer_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.store import Store


def upgrade_schema(store: Store) -> list[str]:
    """Apply the missing migrations and return their names; SchemaMismatch if the store is newer."""
    applied = store.upgrade()
    found = store.database.schema_version()
    if found > SCHEMA_VERSION:
        raise newer_schema(store.database.url, found)
    return applied
