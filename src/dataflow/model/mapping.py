"""Mappings: which dataids of an input a piece of work needs, stored with the job's input.

Every mapping works in both directions, so a publisher can find its consumers' work.
"""

from __future__ import annotations

from dataflow.errors import BadInput
from dataflow.model.coverage import Kind
from dataflow.model.dataid import next_dataid, previous_dataid, sort_key
from dataflow.model.days import day_after, day_before, has_day
from dataflow.model.grain import Grain
from dataflow.model.wording import did_you_mean, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan, PlanInput

SAME = "same"  # the input's chunk of the work's own dataid
PREVIOUS = "previous"  # the last chunk before the work's dataid that the input can have
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


def needed_dataids(mapping: str, dataid: str, source: Kind, first: str | None) -> list[str]:
    """Return the input's dataids that the work needs; an empty list for `previous` at the job's first dataid.

    Also for `latest`, which depends on what is ready.
    """
    if mapping == SAME:
        return [dataid]
    if mapping == LATEST:
        return []
    if first is not None and sort_key(dataid, source.grain) <= sort_key(first, source.grain):
        return []
    if source.days:
        before = day_before(source.days, dataid)
    else:
        before = previous_dataid(dataid, source.grain, source.timezone)
    return [] if before is None else [before]


def needed_by(plan: Plan, source: PlanInput, dataid: str) -> list[str]:
    """Return the dataids of one input that a work of a job needs."""
    return needed_dataids(source.mapping, dataid, input_kind(plan, source), plan.job.start or None)


def input_kind(plan: Plan, source: PlanInput) -> Kind:
    """Return how the dataids of an input are ordered, of which the work needs the same or the previous."""
    return Kind(Grain(plan.grain), plan.timezone, source.days)


def consumers_of(mapping: str, dataid: str, source: Kind) -> list[str]:
    """Return the dataids of the work that a chunk of the input calls for; `latest` calls for none."""
    if mapping == SAME:
        return [dataid]
    if mapping == LATEST:
        return []
    if not has_day(source.days, dataid):
        return []
    last = day_after(source.days, dataid) if source.days else None
    found = []
    while following := next_dataid(dataid, source.grain, source.timezone):
        found.append(following)
        if last is None or following == last:
            break
        dataid = following
    return found
