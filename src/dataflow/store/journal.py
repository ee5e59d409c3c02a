"""The append-only record of every move."""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Transaction


@record
class Entry:
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


def write_journal(tx: Transaction, entry: Entry) -> None:
    """Adds a line in the transaction that makes the move."""
    tx.run(
        "publish.journal",
        actor=entry.actor,
        action=entry.action,
        job=entry.job,
        dataset=entry.dataset,
        dataid=entry.dataid,
        run_id=entry.run_id,
        from_state=str(entry.from_state),
        to_state=str(entry.to_state),
        items=entry.items,
        why=entry.why,
    )
