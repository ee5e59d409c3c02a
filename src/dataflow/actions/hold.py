"""Hold and release: the flag that blocks claims of a job or some of its work, and changes nothing else."""

from __future__ import annotations

from dataflow.actions.selection import batches_of_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.selection import Selection
    from dataflow.model.records import Plan
    from dataflow.store.store import Store


def hold(store: Store, plan: Plan, selection: Selection | None = None, why: str = "") -> int:
    """Block claims of the whole job (None) or the selected work; return how much was not held before."""
    return _set_hold(store, plan, selection, True, why)


def release(store: Store, plan: Plan, selection: Selection | None = None, why: str = "") -> int:
    """Release the job itself (None) or the selected work; return how much was held."""
    return _set_hold(store, plan, selection, False, why)


def _set_hold(store: Store, plan: Plan, selection: Selection | None, on: bool, why: str) -> int:
    if selection is None:
        return store.hold(plan, None, on, why)
    return sum([store.hold(plan, batch, on, why) for batch in batches_of_work(store, plan, selection)])
