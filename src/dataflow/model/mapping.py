"""Mappings: which dataids of an input a piece of work needs, stored with the job's input.

Every mapping works in both directions, so a publisher can find its consumers' work. What `latest` and `all`
need depends on what is ready, and `pairs` are in the store.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
WITHIN = "within"  # the finer chunks that lie in the work's dataid: the hours of a day
CONTAINING = "containing"  # the coarser chunk that the work's dataid lies in: the day of an hour
WINDOW = "window"  # window(-6, 0): the chunks from the sixth before to the work's own
ALL = "all"  # every ready chunk; it calls for no work
PAIRS = "pairs"  # a list of (work, chunk) pairs in the store
KNOWN = (SAME, PREVIOUS, LATEST, WITHIN, CONTAINING, "window(-6, 0)", ALL, PAIRS)
SINGLE = frozenset({SAME, PREVIOUS, LATEST, CONTAINING})
"""Mappings that give at most one chunk."""
UNCALLING = frozenset({LATEST, ALL})
"""Mappings whose chunks call for no work."""
NAMING = frozenset({SAME, PAIRS})
"""Mappings that name the work, also before the job's start: intervals may have begun under an earlier one."""
SIMPLE = frozenset({SAME, PREVIOUS, LATEST, ALL})
"""Mappings whose chunks the store does not count one by one."""
SEVERAL_WORDS = frozenset({WITHIN, CONTAINING, WINDOW, ALL, PAIRS})
"""The names of mappings whose inputs are described by lists of dataids."""

MOST_WINDOW = 10_000
_WINDOW = r"window\s*\(\s*([+-]?[0-9]{1,9})\s*,\s*([+-]?[0-9]{1,9})\s*\)"


def parse_mapping(text: str) -> str:
    """Return the canonical text of a mapping; BadInput lists the known ones."""
    mapping = text.strip().lower()
    if mapping in KNOWN:
        return mapping
    if found := re.fullmatch(_WINDOW, mapping):
        first, last = int(found[1]), int(found[2])
        if first > last:
            raise BadInput(f"{quoted(text)} ends before it begins. Swap the bounds: window({last}, {first}).")
        if last - first >= MOST_WINDOW:
            raise BadInput(f"{quoted(text)} has more than {MOST_WINDOW:,} chunks. Choose closer bounds.")
        return f"window({first}, {last})"
    if mapping.startswith(WINDOW):
        raise BadInput(
            f"{quoted(text)} is not a window. Write the first and the last chunk, counted from the work's "
            "own: window(-6, 0) is the last seven."
        )
    raise BadInput(
        f"{quoted(text)} is not a mapping.{did_you_mean(mapping, KNOWN)} Known mappings: {', '.join(KNOWN)}."
    )


def split_need(text: str) -> tuple[str, str]:
    """Return the mapping and the completeness rule of a text such as `within at_least 20`, as written."""
    word = text.strip()
    end = word.find(")") + 1 if word.lower().startswith(WINDOW) else 0
    if not end:
        end = len(word.split(maxsplit=1)[0]) if word else 0
    return word[:end], word[end:].strip()


def word_of(mapping: str) -> str:
    """Return the mapping's name without its bounds."""
    return WINDOW if mapping.startswith(WINDOW) else mapping


@lru_cache(maxsize=256)
def window_bounds(mapping: str) -> tuple[int, int]:
    """Return the first and the last chunk of a window, counted from the work's own."""
    first, last = mapping[len("window(") : -1].split(", ")
    return int(first), int(last)


def is_lagging(mapping: str) -> bool:
    """Return whether all chunks are earlier than the work: reading one's own output is no cycle then."""
    return mapping == PREVIOUS or (word_of(mapping) == WINDOW and window_bounds(mapping)[1] < 0)


def check_mapping(mapping: str, grain: Grain, job: Grain | None = None) -> None:
    """Raise BadInput if the mapping is not possible from an input of that grain to a job of another."""
    if mapping == PREVIOUS and grain == Grain.TEXT:
        raise BadInput(
            "Mapping previous needs an input whose dataids can be counted, but its grain is text. Give "
            "the dataset another --grain, or use the mapping same."
        )
    if word_of(mapping) == WINDOW and grain == Grain.TEXT:
        raise BadInput(
            f"Mapping {mapping} needs an input whose dataids can be counted, but its grain is text. Give "
            "the dataset another --grain, or list the chunks: the mapping pairs."
        )
    if job is None or mapping not in (WITHIN, CONTAINING):
        return
    from dataflow.model.nesting import nests

    fine, coarse = (grain, job) if mapping == WITHIN else (job, grain)
    if nests(fine, coarse):
        return
    if nests(coarse, fine):
        other = CONTAINING if mapping == WITHIN else WITHIN
        hint = f"Use the mapping {other}."
    elif grain == job:
        hint = "Use the mapping same, or a window such as window(-6, 0)."
    else:
        hint = "Use the mapping latest, all, or an explicit list: pairs."
    needs = "a finer input that nests" if mapping == WITHIN else "a coarser input that nests"
    raise BadInput(
        f"Mapping {mapping} needs {needs}, but the input's grain is {grain} and the job's is {job}. {hint}"
    )


def needed_dataids(
    mapping: str, dataid: str, source: Kind, first: str | None, job: Kind | None = None
) -> list[str]:
    """Return the input's dataids that the work needs, in order.

    From the job's first dataid on, work needs no earlier chunk. Work before it needs all of its chunks, so it
    never runs without input; only `previous` needs none there. An empty list for `latest`, `all` and `pairs`,
    which depend on what is in the store. `source` is how the input's dataids are read, `job` how the work's
    are, where they differ.
    """
    if mapping == SAME:
        return [dataid]
    if mapping in (LATEST, ALL, PAIRS):
        return []
    if mapping != PREVIOUS:
        return _needed_of_several(mapping, dataid, source, first, job or source)
    if first is not None and not is_before(first, dataid, source.grain):
        return []  # at its start and before it, a chain has no beginning
    if source.days:
        before = day_before(source.days, dataid)
    else:
        before = previous_dataid(dataid, source.grain, source.timezone)
    return [] if before is None else [before]


def creates_work(mapping: str, dataid: str, first: str | None, grain: Grain) -> bool:
    """Return whether an input's chunks create the work of a dataid, which may be before the job's first."""
    return mapping in NAMING or not is_before(dataid, first, grain)


def is_before(dataid: str, first: str | None, grain: Grain) -> bool:
    """Return whether a dataid comes before the job's first."""
    return first is not None and sort_key(dataid, grain) < sort_key(first, grain)


def needed_by(plan: Plan, source: PlanInput, dataid: str) -> list[str]:
    """Return the dataids of one input that a work of a job needs; see needed_dataids."""
    job = Kind(Grain(plan.grain), plan.timezone)
    return needed_dataids(source.mapping, dataid, input_kind(plan, source), plan.job.start or None, job)


def input_kind(plan: Plan, source: PlanInput) -> Kind:
    """Return how the dataids of an input are ordered, of which the work needs some."""
    if source.mapping in (WITHIN, CONTAINING):
        return Kind(Grain(source.dataset.grain), source.dataset.timezone, source.days)
    return Kind(Grain(plan.grain), plan.timezone, source.days)


def called_by(plan: Plan, source: PlanInput, chunk: str) -> list[str]:
    """Return the work of a job that a chunk of one of its inputs calls for; see consumers_of."""
    job = Kind(Grain(plan.grain), plan.timezone)
    return consumers_of(source.mapping, chunk, input_kind(plan, source), plan.job.start or None, job)


def consumers_of(
    mapping: str, dataid: str, source: Kind, first: str | None = None, job: Kind | None = None
) -> list[str]:
    """Return the dataids of the work that needs a chunk of the input; `latest` and `all` call for none.

    Nor do `pairs`, which are in the store. The chunk does not create all of it; see creates_work.
    """
    if mapping == SAME:
        return [dataid]
    if mapping in (LATEST, ALL, PAIRS):
        return []
    if not has_day(source.days, dataid):
        return []
    if mapping != PREVIOUS:
        return _consumers_of_several(mapping, dataid, source, first, job or source)
    last = day_after(source.days, dataid) if source.days else None
    found = []
    while following := next_dataid(dataid, source.grain, source.timezone):
        found.append(following)
        if last is None or following == last:
            break
        dataid = following
    return found


def _needed_of_several(mapping: str, dataid: str, source: Kind, first: str | None, job: Kind) -> list[str]:
    from dataflow.model.nesting import parts_of, whole_of

    if mapping == WITHIN:
        found = list(parts_of(dataid, job.grain, source.grain, source.timezone))
    elif mapping == CONTAINING:
        whole = whole_of(dataid, job.grain, source.grain)
        found = [] if whole is None else [whole]
    else:
        low, high = window_bounds(mapping)
        window = _shifted(dataid, low, high, source)
        found = [chunk for chunk in window if not _is_spared(chunk, dataid, first, source.grain)]
    return [chunk for chunk in found if has_day(source.days, chunk)] if source.days else found


def _consumers_of_several(mapping: str, dataid: str, source: Kind, first: str | None, job: Kind) -> list[str]:
    from dataflow.model.nesting import parts_of, whole_of

    if mapping == WITHIN:
        whole = whole_of(dataid, source.grain, job.grain)
        return [] if whole is None else [whole]
    if mapping == CONTAINING:
        return list(parts_of(dataid, source.grain, job.grain, job.timezone))
    low, high = window_bounds(mapping)
    works = _shifted(dataid, -high, -low, source)
    return [work for work in works if not _is_spared(dataid, work, first, source.grain)]


def _is_spared(chunk: str, dataid: str, first: str | None, grain: Grain) -> bool:
    """Return whether work needs no chunk because it is before the job's first dataid and the work is not."""
    return is_before(chunk, first, grain) and not is_before(dataid, first, grain)


def _shifted(dataid: str, low: int, high: int, kind: Kind) -> list[str]:
    """Return the dataids from one number of steps after a dataid to another, in order."""
    if kind.grain is Grain.SEQUENCE:
        number = int(dataid)
        return [str(found) for found in range(max(number + low, 0), number + high + 1)]
    if kind.grain is Grain.HOURLY:
        return _shifted_hours(dataid, low, high, kind)
    from dataflow.model import clock

    period = clock.period_from_text(dataid, kind.grain)
    found = []
    for number in range(period + low, period + high + 1):
        try:
            found.append(clock.period_text(number, kind.grain))
        except clock.BEYOND_CALENDAR:
            continue
    return found


def _shifted_hours(dataid: str, low: int, high: int, kind: Kind) -> list[str]:
    before: list[str] = []
    after: list[str] = [dataid] if low <= 0 <= high else []
    at = dataid
    for step in range(1, -low + 1):
        earlier = previous_dataid(at, kind.grain, kind.timezone)
        if earlier is None:
            break
        at = earlier
        if -step <= high:
            before.append(at)
    at = dataid
    for step in range(1, high + 1):
        later = next_dataid(at, kind.grain, kind.timezone)
        if later is None:
            break
        at = later
        if step >= low:
            after.append(at)
    return [*reversed(before), *after]
