"""Cancel: a run loses its work; its process stops when it notices."""

from __future__ import annotations

from dataflow.actions.names import get_run
from dataflow.errors import BadInput
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import RunRow
    from dataflow.store.store import Store


def cancel(store: Store, run_id: int, why: str = "") -> RunRow:
    """Revoke a run, which can no longer publish; return the run as it was. Its work is FAILED."""
    run = get_run(store, run_id)
    store.cancel(run_id, why)
    return run


def parse_run_id(text: str) -> int:
    """Return the run number that a user typed; BadInput if it is not one."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise BadInput(f"{quoted(text)} is not a run number. List runs: dataflow runs")
