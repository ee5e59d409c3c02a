"""Locations of published chunks: a manifest in the lake, a table in PostgreSQL, or any other path or URL."""

from __future__ import annotations

from dataflow.model.record import record

MANIFEST = "_manifest.json"
"""A location of this name stands for the files that it lists, beside it."""

RUN_ID = "{run_id}"
_TABLE = "postgresql://"
_RUN = "?run="


@record
class Location:
    """A location or its template.

    `postgresql://connection/schema.table?run=N` is the version of a table that run N published.
    """

    text: str

    @property
    def is_manifest(self) -> bool:
        """True for a version in the lake."""
        return self.text.endswith(f"/{MANIFEST}")

    @property
    def is_in_database(self) -> bool:
        """True for anything in PostgreSQL."""
        return self.text.startswith(_TABLE)

    @property
    def is_published_table(self) -> bool:
        """True for the template of a table that a pipeline publishes."""
        return self.is_in_database and self.text.endswith(_RUN + RUN_ID)

    @property
    def connection(self) -> str:
        """The connection of a table; "" elsewhere."""
        return self.text.removeprefix(_TABLE).partition("/")[0] if self.is_in_database else ""

    @property
    def table(self) -> str:
        """A table as `schema.name`; "" elsewhere."""
        rest = self.text.removeprefix(_TABLE).partition("/")[2] if self.is_in_database else ""
        return rest.rpartition(_RUN)[0] or rest.partition("?")[0]

    @property
    def run_id(self) -> int | None:
        """The run that published the table; None where the location names none."""
        run_id = self.text.rpartition(_RUN)[2] if self.table and _RUN in self.text else ""
        return int(run_id) if run_id.isdecimal() else None

    def __str__(self) -> str:
        return self.text


def table_location(connection: str, schema: str, name: str) -> Location:
    """The location that each run's version of a table has, with {run_id} for the run."""
    return Location(f"{_TABLE}{connection}/{schema}.{name}{_RUN}{RUN_ID}")


def run_folder(run_id: int, claimant: str, store_id: str) -> str:
    """The name of a run's own folder, in the lake and in staging.

    The run id alone is not unique: every store counts from 1, and one restored from a backup counts again.
    """
    return f"{run_id}-{store_id[:8]}-{claim_of(claimant)}"


def claim_of(claimant: str) -> str:
    """Identifies a claimant's run among those with the same id; nobody can act as the claimant with it."""
    import hashlib  # start-up: only pipelines and runs that write to the lake pay for it

    return hashlib.sha256(claimant.encode()).hexdigest()[:16]


def lake_location(folder: str) -> Location:
    """The location of each run's version in a lake; no run overwrites what another has published."""
    return Location(f"{folder}/{{dataset}}/dataid={{encoded_dataid}}/{RUN_ID}/{MANIFEST}")
