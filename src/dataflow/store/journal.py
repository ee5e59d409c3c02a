"""The append-only record of every move."""

from __future__ import annotations

from dataflow.model.record import names_of, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dataflow.store.database import Transaction

BATCH = 2000


@record
class JournalEntry:
    """One line of the journal: one work's move, or one bulk batch."""

    action: str
    actor: str
    job: str = ""
    dataset: str = ""
    dataid: str = ""
    run_id: int | None = None
    from_state: str = ""
    to_state: str = ""
    items: int = 1
    why: str = ""


def write_journal(tx: Transaction, entry: JournalEntry) -> None:
    """Add a line in the transaction that makes the move."""
    tx.run("publish.journal", **_fields(entry))


def write_lines(tx: Transaction, entries: Sequence[JournalEntry]) -> None:
    """Add lines, in order, in the transaction that makes the moves."""
    for start in range(0, len(entries), BATCH):
        records = [_fields(entry) for entry in entries[start : start + BATCH]]
        tx.run("publish.journal_lines", **tx.records(records))
    tx.run("worker.wake")


def _fields(entry: JournalEntry) -> dict[str, Any]:
    states = {"from_state": str(entry.from_state), "to_state": str(entry.to_state)}
    return {name: getattr(entry, name) for name in names_of(entry)} | states
