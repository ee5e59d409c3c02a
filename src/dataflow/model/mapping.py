"""Mappings: which dataids of an input a piece of work needs, stored with the job's input.

Every mapping works in both directions, so a publisher can find its consumers' work.
"""

from __future__ import annotations

from dataflow.errors import BadInput
from dataflow.model.dataid import next_dataid, previous_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.model.wording import did_you_mean, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan, PlanInput

SAME = "same"  # the input's chunk of the work's own dataid
PREVIOUS = "previous"  # the input's chunk one dataid before the work's
LATEST = "latest"  # the newest ready chunk, once it covers the work; see coverage.py
KNOWN = (SAME, PREVIOUS, LATEST)


def parse_mapping(text: str) -> str:
    """Return the canonical text of a mapping; BadInput lists the known ones."""
    mapping = text.strip().lower()
    if mapping in KNOWN:
        return mapping
    raise BadInput(
        f"{quoted(text)} is not a mapping.{did_you_mean(mapping, KNOWN)} Known mappings: {', '.join(KNOWN)}; "
        "window and all are not supported in this version."
    )


def check_mapping(mapping: str, grain: Grain) -> None:
    """Raise BadInput if the mapping is not possible for an input of that grain."""
    if mapping == PREVIOUS and grain == Grain.TEXT:
        raise BadInput(
            "Mapping previous needs an input whose dataids can be counted, but its grain is text. Give "
            "the dataset another --grain, or use the mapping same."
        )


def needed_dataids(mapping: str, dataid: str, grain: Grain, timezone: str, first: str | None) -> list[str]:
    """Return the input's dataids that the work needs; none for `previous` at the job's first dataid.

    none for `latest`, which depends on what is ready.
    """
    if mapping == SAME:
        return [dataid]
    if mapping == LATEST:
        return []
    if first is not None and sort_key(dataid, grain) <= sort_key(first, grain):
        return []
    return _list_of(previous_dataid(dataid, grain, timezone))


def needed_by(plan: Plan, source: PlanInput, dataid: str) -> list[str]:
    """Return the dataids of one input that a work of a job needs."""
    first = plan.job.start or None
    return needed_dataids(source.mapping, dataid, Grain(plan.grain), plan.timezone, first)


def consumers_of(mapping: str, dataid: str, grain: Grain, timezone: str) -> list[str]:
    """Return the dataids of the work that a chunk of the input calls for; `latest` calls for none."""
    if mapping == SAME:
        return [dataid]
    if mapping == LATEST:
        return []
    return _list_of(next_dataid(dataid, grain, timezone))


def _list_of(dataid: str | None) -> list[str]:
    return [] if dataid is None else [dataid]
