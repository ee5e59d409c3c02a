"""Records that the parts of a pipeline exchange; all can be pickled and sent to a Spark task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dataflow.model.record import as_dict, record

if TYPE_CHECKING:
    import pyarrow as pa

    from dataflow.pipelines.shape.checks import Check
    from dataflow.pipelines.shape.shaped import Reject
    from dataflow.pipelines.shape.statistics import Statistics

FINANCIAL_YEAR = "FINANCIAL_YEAR_FIRST_MONTH_DAY"
"""The constant, or variable, that sets the first day of a financial year for templates."""


@record
class View:
    """A view pipeline's SQL as its class defines it: either `query`, or `fields` and its clauses.

    `fields` is True for all columns, or a list of (expression, alias) pairs and plain expressions.
    """

    pipeline: str
    datasets: tuple[str, ...]
    fields: Any = True
    join_clause: str = ""
    where_clause: str = ""
    query: str = ""
    dialect: str = "postgres"
    params: Any = ()
    tables: Mapping[str, str] = {}  # the table to read for a dataset, if not its name


@record
class Part:
    """A part file; `path` is absolute, `rows` is the source's count, or -1 if not counted."""

    number: int
    path: str
    rows: int
    size: int


@record
class Destination:
    """The target of a run: dataset, chunk, run, and what may be replaced."""

    dataset: str
    dataid: str
    sort_key: str
    run_id: int
    mode: str  # partition or snapshot
    inputs: str = ""  # what it is made from and how, as text: equal text, equal rows
    store_id: str = ""  # the status store that numbers the runs: run ids of others mean nothing to it
    job: str = ""
    claim: str = ""  # distinguishes the run from one that had its id before the store was restored
    newest_run: int = 0  # the last run id that this store has issued; 0 if unknown
    newest: tuple[str, str] = ("", "")  # the newest snapshot that the store has published, and its sort key


@record
class StagedFile:
    """One data file written by a task attempt."""

    path: str  # relative to the run's folder
    rows: int
    size: int


@record
class Staged:
    """What one task attempt has staged: it counts only if Spark accepted the attempt."""

    attempt: str  # unique among all attempts of the run
    rows: int
    size: int
    files: tuple[StagedFile, ...] = ()


@record
class TaskReport:
    """Report of one accepted attempt; the reports add up to the whole."""

    staged: Staged
    statistics: Statistics
    rows_read: int
    rejected: int
    rejects: tuple[Reject, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    new: tuple[str, ...] = ()


@record
class Published:
    """How much a target published."""

    rows: int
    size: int | None = None


class TaskWriter(Protocol):
    """Writes one task attempt's batches into staging; sent to the executors, so it must pickle."""

    def write(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Staged:
        """Stage all batches durably under the attempt's name; failed attempts do not count."""


class Target(Protocol):
    """Where a pipeline's rows go: stage, check, publish under the fence, recover."""

    wants_uuid_bytes: bool
    """True if a uuid is passed as 16 bytes instead of text."""

    def begin(self, earlier: Mapping[int, str] | None = None) -> Published | None:
        """Raise the fence: from now on no older run can publish this chunk. Prepare staging.

        If one of these earlier runs of the same work, each with its claim, published before it died, that
        result becomes this run's, and there is nothing left to do; None when none did.
        """

    def writer(self) -> TaskWriter:
        """The writer for the tasks."""

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """Count the staged rows that violate a uniqueness or SQL check, with a few samples."""

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Publish what was accepted, all or nothing; Superseded if a newer run was there."""

    def discard(self) -> None:
        """Delete this run's staging, and staging left by dead runs."""


REJECTS = "_rejects.jsonl"


def write_rejects(
    path: str, rejects: Sequence[Reject], opener: Callable[[str, int], int] | None = None
) -> None:
    """Write the rejected values, in order."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        for reject in rejects:
            file.write(json.dumps(as_dict(reject), ensure_ascii=False) + "\n")
