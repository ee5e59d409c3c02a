"""What the parts of a pipeline hand to each other; all of it can be pickled and sent to a Spark task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from dataflow.model.record import record

if TYPE_CHECKING:
    import pyarrow as pa

    from dataflow.pipelines.shape.checks import Check
    from dataflow.pipelines.shape.shaped import Reject
    from dataflow.pipelines.shape.statistics import Statistics

FINANCIAL_YEAR = "FINANCIAL_YEAR_FIRST_MONTH_DAY"
"""The constant, or variable, that templates take the first day of a financial year from."""


@record
class Part:
    """A part file; `path` is absolute, `rows` is what the source gave, or -1 if it was not counted."""

    number: int
    path: str
    rows: int
    size: int


@record
class Destination:
    """What a run writes: which dataset and chunk, as which run, and what may be replaced."""

    dataset: str
    dataid: str
    sort_key: str
    run_id: int
    mode: str  # partition or snapshot
    inputs: str = ""  # what it is made from and how, as text: equal text, equal rows
    store_id: str = ""  # the status store that counts the runs: another one's mean nothing to it
    job: str = ""
    claim: str = ""  # of the run: tells it from one that had its id before the store was restored
    newest_run: int = 0  # the last run that this store has given an id; 0 where nobody asked
    newest: tuple[str, str] = ("", "")  # the newest snapshot that the store has published, and its sort key


@record
class Earlier:
    """A run of the same work before another one.

    Not of the same call where an operator has resubmitted the work since, or forced it after it had failed.
    """

    run_id: int
    claim: str
    same_call: bool


def claim_of(claimant: str) -> str:
    """What tells a claimant's run from one of the same id; nobody can act as the claimant with it."""
    return hashlib.sha256(claimant.encode()).hexdigest()[:16]


@record
class StagedFile:
    """One data file that a task attempt wrote."""

    path: str  # relative to the run's folder
    rows: int
    size: int


@record
class Staged:
    """What one task attempt has put into staging: it counts only if Spark accepted the attempt."""

    attempt: str  # unique among all attempts of the run
    rows: int
    size: int
    files: tuple[StagedFile, ...] = ()


@record
class TaskReport:
    """What one accepted attempt did; reports of all of them add up to the whole."""

    staged: Staged
    statistics: Statistics
    rows_read: int
    rejected: int
    rejects: tuple[Reject, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    new: tuple[str, ...] = ()


@record
class Published:
    """How much a target gave out."""

    rows: int
    size: int | None = None


class TaskWriter(Protocol):
    """Writes one task attempt's batches into staging; sent to the executors, so it must pickle."""

    def write(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Staged:
        """Puts all batches into staging, durably, under the attempt's name; no failed attempt counts."""


class Target(Protocol):
    """Where a pipeline's rows go: stage, check, publish under the fence, recover."""

    wants_uuid_bytes: bool
    """Whether a uuid comes as its 16 bytes instead of its text."""

    def begin(self, earlier: Mapping[int, str] | None = None) -> Published | None:
        """Raises the fence: from here on no older run can publish this chunk. Makes room for staging.

        If one of these earlier runs of the same work, each with its claim, had published before it died, that
        is this run's from here on, and there is nothing left to do; None when none had.
        """

    def writer(self) -> TaskWriter:
        """What the tasks stage with."""

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """How many staged rows a check of uniqueness or by SQL refuses, with a few of them to show."""

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Gives out what was accepted, all or nothing; Superseded if a newer run was there."""

    def discard(self) -> None:
        """Removes this run's staging, and staging that dead runs left."""


REJECTS = "_rejects.jsonl"
COLUMNS = ("part", "row", "field", "value", "reason", "source_row")


def write_rejects(
    path: str, rejects: Sequence[Reject], opener: Callable[[str, int], int] | None = None
) -> None:
    """Writes the rejected values, in order."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        for reject in rejects:
            facts = {name: getattr(reject, name) for name in COLUMNS}
            file.write(json.dumps(facts, ensure_ascii=False) + "\n")
