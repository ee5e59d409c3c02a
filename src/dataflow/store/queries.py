"""Loads the named queries of sql/*.sql and spells them for one database.

A query is named `file.query`. Words that start with `$` stand for what the databases spell differently; each
driver defines them. A query tagged `@sqlite` or `@postgres` replaces the untagged one there.
"""

from __future__ import annotations

import os

from dataflow import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SQL_DIR = os.path.join(os.path.dirname(__file__), "sql")
_folders = [SQL_DIR]

_SHARED = {
    "was_skipped": """EXISTS (SELECT 1 FROM work_input x
      JOIN job_input i ON i.job_id = w.job_id AND i.position = x.position AND i.mapping = 'same'
      JOIN calendar c ON c.dataset_id = i.dataset_id AND c.expression <> 'none'
      WHERE x.work_id = w.work_id AND x.present < x.needed
        AND (NOT c.catchup OR c.due_at IS NULL OR c.due_at > $now_seconds)
        AND w.sort_key < (SELECT max(k.sort_key) FROM chunk k WHERE k.dataset_id = c.dataset_id))""",
    "longest_wait": """$greatest(600, j.lease_seconds, 1.2 * $greatest(j.retry_delay_seconds, $least(
        j.retry_max_delay_seconds,
        j.retry_delay_seconds * power(j.retry_backoff, $least(j.retries, 60) - 1))))""",
    "paced": """paced (job_id, calendar_id, grain) AS (
    SELECT j.job_id, d.dataset_id, d.grain FROM calendar c
    JOIN dataset d ON d.dataset_id = c.dataset_id
    JOIN job_input i ON i.dataset_id = c.dataset_id AND i.mapping = 'same'
    JOIN job j ON j.job_id = i.job_id AND j.grain = d.grain
    WHERE c.due_at IS NOT NULL
    UNION
    SELECT j.job_id, p.calendar_id, p.grain FROM paced p
    JOIN job_output o ON o.job_id = p.job_id
    JOIN job_input i ON i.dataset_id = o.dataset_id AND i.mapping = 'same'
    JOIN job j ON j.job_id = i.job_id AND j.grain = p.grain)""",
    "one_stratum": """w.job_id = :job_id AND w.state = :state AND w.hold = :hold AND w.priority = :priority
          AND w.state <> 'DONE' AND w.state <> 'RUNNING'""",
    "resubmitted": """w.job_id = :job_id AND w.hold = FALSE AND w.resubmitted
          AND w.state <> 'DONE' AND w.state <> 'RUNNING' AND w.state <> 'FAILED' AND w.state <> 'INVALID'""",
}
"""Conditions that several queries share. `$was_skipped`: work `w` lacks an interval although the calendar has
a later one and is not about to catch up. `$longest_wait`: of job `j`'s work, after a lost lease, a failed
attempt with its jitter, or a revoked run. `$paced`: jobs with the calendars that their work waits for, itself
or through other jobs, and that have not ended; of one grain, so that sort keys can be compared.
`$one_stratum`: open work `w` of one job, state, hold and priority, which work_open has in order.
`$resubmitted`: open work `w` that is not on hold and that an operator has called for again."""


def add_folder(path: str) -> None:
    """Add the queries of another folder; the benchmarks keep theirs outside the package."""
    _folders.append(path)


class Queries:
    """The queries of one dialect, read file by file on first use."""

    def __init__(self, dialect: str, words: dict[str, str], folders: Sequence[str] = _folders) -> None:
        self._dialect = dialect
        self._folders = folders
        # The shared ones first: they contain words of the dialect.
        self._words = [*_SHARED.items(), *sorted(words.items(), key=lambda item: -len(item[0]))]
        self._texts: dict[str, str] = {}
        self._spelled: dict[str, str] = {}

    def text(self, name: str) -> str:
        """Return the SQL of one query, ready for the driver."""
        found = self._spelled.get(name)
        if found is None:
            if name not in self._texts:
                self._load(name.partition(".")[0])
            # start-up: a command needs few of the queries in a file
            found = self._spelled[name] = self.spell(self._texts[name])
        return found

    def spell(self, sql: str) -> str:
        """Replace the `$` words with this dialect's spelling."""
        for word, spelling in self._words:
            sql = sql.replace("$" + word, spelling)
        return sql

    def _load(self, file: str) -> None:
        paths = [os.path.join(folder, file + ".sql") for folder in self._folders]
        with open(next(filter(os.path.exists, paths), paths[0]), encoding="utf-8") as source:
            sections = source.read().split("-- name: ")[1:]
        plain: dict[str, str] = {}
        tagged: dict[str, str] = {}
        for section in sections:
            heading, _, sql = section.partition("\n")
            query, _, tag = heading.strip().partition(" @")
            if tag == self._dialect:
                tagged[f"{file}.{query}"] = sql
            elif not tag:
                plain[f"{file}.{query}"] = sql
        self._texts.update(plain | tagged)


def read_migrations() -> list[tuple[int, str, str]]:
    """Return number, name and text of every migration, in order."""
    folder = os.path.join(SQL_DIR, "migrations")
    found = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".sql"):
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                found.append((int(file[:4]), file[5:-4], source.read()))
    return found


SCHEMA_VERSION = 19
"""The number of the newest migration, so start-up need not read the folder; a test checks it."""

OLDEST_SCHEMA = "SELECT value FROM meta WHERE key = 'oldest_schema'"
"""The oldest schema whose code may still work on a store. Not a named query: it is asked before any is."""


def newer_schema(shown: str, found: int) -> errors.SchemaMismatch:
    """Return the error for a store created by a later version of DataFlow."""
    return errors.SchemaMismatch(
        f"The store {shown} has schema {found}; this version of DataFlow knows {SCHEMA_VERSION}. "
        "Upgrade DataFlow on this machine."
    )


def refuse_newer(shown: str, found: int, oldest: str | None) -> None:
    """Raise SchemaMismatch for a store of a later version, unless it says that this code may work on it."""
    if oldest is None or int(oldest) > SCHEMA_VERSION:
        raise newer_schema(shown, found)
