"""The store's fresh worlds, for actions too: each test on SQLite and on PostgreSQL."""

from __future__ import annotations

from tests.store.conftest import postgres_world, shared_database_url, sqlite_world, world

__all__ = ["postgres_world", "shared_database_url", "sqlite_world", "world"]
