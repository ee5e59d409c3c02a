"""Opens the store a URL names; each driver is imported only when its kind of store is used."""

from __future__ import annotations

from dataflow import errors
from dataflow.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Database


def open_database(url: str, schema: str = "dataflow", password: str | None = None) -> Database:
    """A connection to the database that a store URL names."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        from dataflow.store.sqlite import SqliteDatabase  # start-up: pay only for the driver in use

        return SqliteDatabase(rest[1:] if rest.startswith("/") else rest)
    if scheme in ("postgresql", "postgres"):
        try:
            from dataflow.store.postgres import PostgresDatabase  # start-up: psycopg costs 100 ms
        except ImportError as error:
            raise errors.ConfigError(
                "A PostgreSQL store needs the postgres extra: pip install 'dataflow-runjob[postgres]'"
            ) from error
        return PostgresDatabase(url, schema, password)
    raise errors.ConfigError(
        f"Unknown store {scheme}://. Known: sqlite:///path and postgresql://user@host/database"
    )


def open_store(url: str, actor: str, schema: str = "dataflow", password: str | None = None) -> Store:
    """The status store at a URL."""
    return Store(open_database(url, schema, password), actor)
