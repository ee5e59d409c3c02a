"""Staging tables: one per run, keyed by task attempt. What is published is decided elsewhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from psycopg import errors as pg_errors
from psycopg import sql

from dataflow.errors import StagingLost, TargetDenied
from dataflow.pipelines.handover.records import Destination, Staged
from dataflow.pipelines.postgres.encoding import is_cast, staged_type
from dataflow.pipelines.postgres.table import ATTEMPT, Table
from dataflow.pipelines.postgres.transactions import Session, exists, fetch_named, lock_name

SCHEMA = "dataflow_staging"


class StagingTable:
    """The staging table of one run, and leftovers of earlier runs of the same work."""

    def __init__(self, table: Table, destination: Destination) -> None:
        self.schema = SCHEMA
        self.run_id = destination.run_id
        work = "\0".join((table.schema, table.name, destination.dataid))
        readable = re.sub(r"[^a-z0-9]+", "_", destination.dataset.lower())[:20]
        # 20 + 12 + 8 + 19 digits of a run id and three underscores stay under PostgreSQL's 63 bytes.
        self.prefix = f"{readable}_{_digest(work)[:12]}_"
        self._own = f"{self.prefix}{_digest(destination.store_id)[:8]}_"
        self.name = f"{self._own}{self.run_id}"
        self.identifier = sql.Identifier(self.schema, self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    def create(self, session: Session, table: Table) -> None:
        """Create the run's staging table, unless it exists."""
        self._create_schema(session)
        kind = sql.SQL("" if self._may_become_the_table(session, table) else "unlogged")
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(staged_type(column)))
            for column in table.columns
        ]
        columns.append(sql.SQL("{} bigint not null").format(sql.Identifier(ATTEMPT)))
        statement = sql.SQL("create {} table if not exists {} ({})")
        session.execute(statement.format(kind, self.identifier, sql.SQL(", ").join(columns)))

    def is_logged(self, session: Session) -> bool:
        """True if the staging table could itself become the target: it survives a server crash."""
        row = session.execute(
            "select relpersistence = 'p' from pg_class where oid = to_regclass(%s)",
            (self.identifier.as_string(session),),
        ).fetchone()
        if row is None:
            raise StagingLost(f"The staging table {self} is gone. Resubmit the work.")
        return bool(row[0])

    def rows_of(self, accepted: Sequence[Staged]) -> sql.Composed:
        """The rows of these attempts, to follow FROM.

        The attempts are literals: with parameters, a percent sign in a name would be one, too.
        """
        attempts = sql.Literal([attempt_number(staged.attempt) for staged in accepted])
        return sql.SQL("{} where {} = any({})").format(self.identifier, sql.Identifier(ATTEMPT), attempts)

    def check(self, session: Session, accepted: Sequence[Staged]) -> int:
        """Refuse if rows of accepted attempts are missing, or more of them exist than were reported.

        Returns the number of rows that other attempts have left.
        """
        counts = sql.SQL("select {}, count(*) from {} group by 1")
        found = dict(session.execute(counts.format(sql.Identifier(ATTEMPT), self.identifier)).fetchall())
        for staged in accepted:
            rows = found.pop(attempt_number(staged.attempt), 0)
            if rows != staged.rows:
                raise StagingLost(
                    f"Attempt {staged.attempt} staged {staged.rows} rows, but {self} has {rows}. "
                    "Nothing was published. Resubmit the work."
                )
        return sum(found.values())

    def list_dead(self, session: Session, fence: int) -> list[str]:
        """The staging tables of runs that can no longer publish: below the fence, or of other stores."""
        rows = session.execute(
            "select tablename from pg_tables where schemaname = %s and starts_with(tablename, %s)",
            (self.schema, self.prefix),
        ).fetchall()
        runs = {name: name.removeprefix(self._own) for (name,) in rows}
        return [name for name, run_id in runs.items() if not run_id.isdecimal() or int(run_id) < fence]

    def _create_schema(self, session: Session) -> None:
        # IF NOT EXISTS alone would require CREATE even if the schema exists.
        if session.execute("select 1 from pg_namespace where nspname = %s", (self.schema,)).fetchone():
            return
        lock_name(session, self.schema)
        try:
            session.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(self.schema)))
        except pg_errors.InsufficientPrivilege as error:
            user = session.info.user
            raise TargetDenied(
                f"The user {user} may not create the schema {self.schema}, where runs stage their rows. "
                f'Ask the DBA: create schema "{self.schema}" authorization "{user}";'
            ) from error

    def _may_become_the_table(self, session: Session, table: Table) -> bool:
        """True if a first load can be published by renaming the staging table: half the writes."""
        # Default grants of either schema would differ from those of a table created in its own.
        grants = fetch_named(session, "catalogue.default_grants", ([table.schema, self.schema],))
        cast = any(is_cast(column) for column in table.columns)
        return not (grants or cast or exists(session, table.schema, table.name))


def attempt_number(attempt: str) -> int:
    """The attempt's name as stored with each staged row, in eight bytes."""
    return int.from_bytes(hashlib.sha256(attempt.encode()).digest()[:8], signed=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
