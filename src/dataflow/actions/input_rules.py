"""Rules for a job's inputs: the grain of the job, and the mappings and completeness rules that it allows."""

from __future__ import annotations

from dataflow.actions.dataset_rules import is_automatic
from dataflow.errors import BadInput
from dataflow.model.completeness import fewest, has_deadline
from dataflow.model.grain import Grain
from dataflow.model.mapping import (
    ALL,
    CONTAINING,
    PAIRS,
    PREVIOUS,
    SAME,
    SINGLE,
    UNCALLING,
    WINDOW,
    WITHIN,
    check_mapping,
    window_bounds,
    word_of,
)
from dataflow.model.nesting import MOST_PARTS
from dataflow.store.registry import calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dataflow.model.records import Dataset, Job, JobInput

OF_JOB_GRAIN = frozenset({SAME, PREVIOUS, WINDOW})
"""Mappings whose inputs have the grain of the job."""


def check_grains(job: Job, inputs: tuple[JobInput, ...], known: Mapping[str, Dataset]) -> tuple[Grain, str]:
    """Return the grain and time zone of a job's dataids; BadInput if an input does not fit them.

    They are those of its inputs that have the job's grain, or else of its first output.
    """
    callers = [item for item in inputs if item.mapping not in UNCALLING]
    if not callers:
        raise BadInput(
            f"it reads only {' and '.join(map(str, inputs))}, which creates no work, so nothing would ever "
            "start it. Add another --in DATASET, or --schedule @monthly."
        )
    first = _find_first(job, callers, known)
    grain = Grain(first.grain)
    for item in callers:
        dataset = known[item.dataset]
        check_mapping(item.mapping, Grain(dataset.grain), grain)
        if word_of(item.mapping) in OF_JOB_GRAIN and dataset.grain != grain:
            # The job's own calendar is always read as it is; the other input can be mapped.
            is_calendar = dataset.name == calendar_name(job.name)
            other = _other(first, Grain(dataset.grain)) if is_calendar else _other(dataset, grain)
            raise BadInput(
                f"it reads {first.name}, of grain {grain}, and {dataset.name}, of grain {dataset.grain}; all "
                "inputs of a job have one grain, except those mapped latest, within, containing, all or "
                f"pairs. {other}{_fix(first, dataset)}"
            )
    for name in job.outputs:
        dataset = known[name]
        if dataset.grain not in (grain, Grain.TEXT):
            raise BadInput(
                f"its inputs are of grain {grain} and its output {name} of grain {dataset.grain}; "
                f"an output has the grain of its inputs, or text. {_fix(first, dataset)}"
            )
    _check_hours(first, [(item.mapping, known[item.dataset]) for item in callers])
    _check_hours(first, [(SAME, known[name]) for name in job.outputs])
    for item in inputs:
        _check_rule(item, Grain(known[item.dataset].grain), grain)
    return grain, first.timezone


def leave_out_schedule(dataset: str) -> str:
    """Return what to do if a schedule has moments as dataids and an input has others."""
    return (
        f"The schedule names each interval by its first moment, which is not a dataid of {dataset}. "
        f"Leave the schedule out, and each chunk of {dataset} starts the job; or keep it and read "
        f"what is newest at that time: {dataset}:latest."
    )


def _find_first(job: Job, callers: list[JobInput], known: Mapping[str, Dataset]) -> Dataset:
    """Return the dataset that decides the grain of the job."""
    of_grain = [item for item in callers if word_of(item.mapping) in OF_JOB_GRAIN]
    if of_grain:
        return known[of_grain[0].dataset]
    if not job.outputs:
        raise BadInput(
            f"it reads only {' and '.join(map(str, callers))}, which does not say what its own dataids are. "
            "Add --out DATASET with the grain of the job, or a --schedule such as @daily."
        )
    output = known[job.outputs[0]]
    nested = [item for item in callers if item.mapping in (WITHIN, CONTAINING)]
    if nested and output.grain in (Grain.TEXT, Grain.SEQUENCE):
        raise BadInput(
            f"its dataids are those of its output {output.name}, of grain {output.grain}, which has no time "
            f"for {nested[0]}. If {output.name} has no chunks yet, give it a grain such as daily: dataflow "
            f"dataset add {output.name} --grain daily"
        )
    return output


def _other(dataset: Dataset, job: Grain) -> str:
    """Return which mapping can read an input of another grain; "" if none of the two can."""
    fine = Grain(dataset.grain)
    if job in MOST_PARTS.get(fine, {}):
        return f"Read it as {dataset.name}:{WITHIN}. "
    return f"Read it as {dataset.name}:{CONTAINING}. " if fine in MOST_PARTS.get(job, {}) else ""


def _check_hours(first: Dataset, others: list[tuple[str, Dataset]]) -> None:
    """Refuse hours of two time zones: they are written with their offset and never match."""
    for mapping, dataset in others:
        grains = {first.grain, dataset.grain}
        if Grain.HOURLY not in grains or dataset.timezone == first.timezone or mapping == PAIRS:
            continue
        if grains == {Grain.HOURLY}:
            raise BadInput(
                f"{first.name} counts hours in {first.timezone} and {dataset.name} in "
                f"{dataset.timezone}, so their dataids never match. Give both the same --timezone."
            )
        if mapping in (WITHIN, CONTAINING):
            raise BadInput(
                f"{first.name} is in the time zone {first.timezone} and {dataset.name} in "
                f"{dataset.timezone}, so hours of the one are no part of the other. Give both the same "
                "--timezone."
            )


def _check_rule(item: JobInput, source: Grain, job: Grain) -> None:
    """Refuse a completeness rule that the mapping cannot keep."""
    if not item.rule:
        return
    word = word_of(item.mapping)
    if word in SINGLE:
        raise BadInput(
            f"{item}: the mapping {word} needs one chunk at most, so there is nothing to relax. Leave out "
            f"{item.rule}, or use within, a window, all or pairs."
        )
    if has_deadline(item.rule):
        if word == ALL:
            raise BadInput(
                f"{item}: the mapping all takes the chunks there are and has no deadline. Leave out "
                f"{item.rule}."
            )
        if job in (Grain.TEXT, Grain.SEQUENCE):
            raise BadInput(
                f"{item}: the job's grain is {job}, so its work has no end from which a time of day could "
                "count. Use at_least."
            )
        return
    most = None
    if word == WITHIN:
        most = MOST_PARTS[source][job]
    elif word == WINDOW:
        first, last = window_bounds(item.mapping)
        most = last - first + 1
    least = fewest(item.rule)
    if most is not None and least is not None and least > most:
        raise BadInput(
            f"{item}: there are never more than {most} chunks, so at_least {least} would wait for ever. Use "
            f"at_least {most} or fewer."
        )


def _fix(first: Dataset, other: Dataset) -> str:
    """Return the command that makes two grains agree; a calendar's grain follows from its schedule."""
    if is_automatic(other.name):
        first, other = other, first
    if is_automatic(other.name):
        return "Leave one of them out."
    if is_automatic(first.name) and first.grain == Grain.TEXT:
        return leave_out_schedule(other.name)
    change = f"dataflow dataset add {other.name} --grain {first.grain}"
    return f"If {other.name} has no chunks yet: {change}; if it has, register another dataset."
