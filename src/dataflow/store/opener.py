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
    """A connection to the database that a store URL names."""
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
    """The status store at a URL; a SQLite store that is not there is made."""
    return Store(open_database(url, schema, password), actor)


def find_missing(url: str) -> str | None:
    """The path of a SQLite store that nobody has made; a server is asked when it is opened."""
    scheme, _, rest = url.partition("://")
    path = _path_of(rest)
    if scheme != "sqlite" or path == MEMORY:
        return None
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError:
        pass  # something is there that cannot be looked at: opening it says what is in the way
    return None


def refuse_missing(url: str, beginning: str = "dataflow dataset add NAME") -> None:
    """Raises StoreMissing for a SQLite store that nobody has made; `beginning` is a command that makes it."""
    if path := find_missing(url):
        raise errors.StoreMissing(
            f"There is no store at {path}. Is it the right folder, and the right --store or DATAFLOW_STORE? "
            f"To begin a new one: {beginning}"
        )


def _path_of(rest: str) -> str:
    return rest[1:] if rest.startswith("/") else rest
