"""The commands of one run, one after the other: checks of inputs, the script, checks of outputs."""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dataflow.model.records import Plan

SCRIPT = ""
"""The dataset of the step that is the script itself."""


@record
class Step:
    """One command of a run; `dataset` names what it checks, or is empty for the script."""

    argv: tuple[str, ...]
    dataset: str = SCRIPT
    before: bool = False


def list_steps(
    plan: Plan, argv: tuple[str, ...], checks: Mapping[str, tuple[str, ...]], checked: set[str]
) -> list[Step]:
    """Input checks (of what no producer has checked), the script, output checks."""
    inputs = [item.dataset.name for item in plan.inputs]
    before = [Step(checks[name], name, True) for name in inputs if name in checks and name not in checked]
    after = [
        Step(checks[item.dataset.name], item.dataset.name)
        for item in plan.outputs
        if item.dataset.name in checks
    ]
    return [*before, Step(argv), *after]
