"""A connection of a project: a PostgreSQL database with its password, or the folder of a lake. No driver."""

from __future__ import annotations

from dataflow.model.record import record


@record
class Connection:
    """A database or lake with a name for messages, which show nothing else of it."""

    name: str
    url: str
    password: str | None = None  # None: in the URL, or not needed

    _hidden = ("url", "password")

    @property
    def is_lake(self) -> bool:
        """True for a folder of Parquet files, False for a database."""
        return self.url.startswith("lake:")

    @property
    def folder(self) -> str:
        """The folder of a lake, as written in the project."""
        return self.url.removeprefix("lake:").removeprefix("//")

    def opened(self) -> Connection:
        """Returns itself; a sealed connection is opened where it is used."""
        return self

    def __reduce__(self) -> str:
        """Refuse to be pickled: what is sent to Spark can be read by others."""
        raise TypeError(f"Connection {self.name} holds a password and cannot be pickled: seal it.")
