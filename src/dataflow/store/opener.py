"""Opens the store a URL names; each driver is imported only when its kind of store is used."""

from __future__ import annotations

import os

from dataflow import errors
from dataflow.store.sqlite_file import MEMORY
from dataflow.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Database


def open_database(url: str, schema: str = "dataflow", password: str | None = None) -> Database:
    """Connect to the database that a store URL names."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        from dataflow.store.sqlite import SqliteDatabase  # start-up: pay only for the driver in use

        return SqliteDatabase(_path_of(rest))
    if scheme in ("postgresql", "postgres"):
        try:
            from dataflow.store.postgres import PostgresDatabase  # start-up: psycopg costs 100 ms
        except ImportError as error:
            raise errors.ConfigError(
                "A PostgreSQL store needs the postgres extra. "
                "Install it: pip install '.[postgres]' in the DataFlow checkout"
            ) from error
        return PostgresDatabase(url, schema, password)
    raise errors.ConfigError(
        f"Unknown store {scheme}://. Known: sqlite:///path and postgresql://user@host/database"
    )


def open_store(url: str, actor: str, schema: str = "dataflow", password: str | None = None) -> Store:
    """Open the status store at a URL; a missing SQLite store is created."""
    return Store(open_database(url, schema, password), actor)


def find_missing(url: str) -> str | None:
    """Return the path of a SQLite store that does not exist; None for other stores."""
    scheme, _, rest = url.partition("://")
    path = _path_of(rest)
    if scheme != "sqlite" or path == MEMORY:
        return None
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError:
        pass  # it exists but cannot be read: opening it reports why
    return None


def refuse_missing(url: str, beginning: str = "dataflow dataset add NAME") -> None:
    """Raise StoreMissing if a SQLite store does not exist; `beginning` is the command that creates it."""
    if path := find_missing(url):
        raise errors.StoreMissing(
            f"No store at {path}. Check the folder and --store or DATAFLOW_STORE. To create a new "
            f"store: {beginning}"
        )


def _path_of(rest: str) -> str:
    return rest[1:] if rest.startswith("/") else rest
