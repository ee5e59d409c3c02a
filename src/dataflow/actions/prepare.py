"""Prepare: the five questions, asked of a claimed run before its command starts.

The same functions answer for `why`, so that what is told is what was decided.
"""

from __future__ import annotations

import os

from dataflow.actions.locations import is_local, measure, resolve_location
from dataflow.errors import BadInput
from dataflow.model.answers import Answer, Question, Verdict, combine
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.model.mapping import needed_dataids
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Pin, Plan, PlanInput, Run
    from dataflow.store.store import Store

YES, NO, NOT_CHECKED = Verdict.YES, Verdict.NO, Verdict.NOT_CHECKED


@record
class InputChunk:
    """An input chunk as the run is given it: None for a pin means it is not there."""

    source: PlanInput
    dataid: str
    pin: Pin | None
    location: str


@record
class Prepared:
    """A claimed run with its inputs and outputs in place and its five answers."""

    run: Run
    plan: Plan
    inputs: tuple[InputChunk, ...]
    outputs: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]
    superseded: str = ""

    @property
    def refusal(self) -> Answer | None:
        """The first answer that is no."""
        return next((answer for answer in self.answers if answer.answer is NO), None)


def prepare(store: Store, plan: Plan, run: Run, project_dir: str, environment: str) -> Prepared:
    """Puts the facts of a run, as they are now, together and answers the five questions."""
    if store.database.dialect == "postgres" and _may_race(plan, run):
        run = store.refresh(plan, run)
    return ask(store, plan, run, project_dir, environment)


def ask(store: Store, plan: Plan, run: Run, project_dir: str, environment: str) -> Prepared:
    """Answers the five questions from the facts that a claim, or the preview of one, gave."""
    fields = {"job": plan.job.name, "environment": environment, "run_id": run.run_id}
    inputs = list_inputs(plan, run, project_dir, fields)
    outputs = tuple(
        (item.dataset.name, _place(item.dataset.location, project_dir, item.dataset.name, run.dataid, fields))
        for item in plan.outputs
    )
    answers = (
        answer_ready(inputs),
        answer_right(plan, run.dataid, inputs),
        answer_located(plan, inputs, outputs),
        answer_valid(inputs),
        answer_safe(plan, run, inputs),
    )
    return Prepared(run, plan, inputs, outputs, answers, _superseded(store, plan, run.dataid))


def list_inputs(plan: Plan, run: Run, project_dir: str, fields: dict[str, object]) -> tuple[InputChunk, ...]:
    """Every input chunk the work needs, pinned or not."""
    pinned = {(pin.position, pin.dataid): pin for pin in run.pins}
    found = []
    for source in plan.inputs:
        grain = Grain(plan.grain)
        for dataid in needed_dataids(
            source.mapping, run.dataid, grain, plan.timezone, plan.job.start or None
        ):
            pin = pinned.get((source.position, dataid))
            location = pin.location if pin and pin.location else ""
            if not location:
                location = _place(source.dataset.location, project_dir, source.dataset.name, dataid, fields)
            found.append(InputChunk(source, dataid, pin, location))
    return tuple(found)


def answer_ready(inputs: tuple[InputChunk, ...]) -> Answer:
    """Are the inputs published, and at which versions?"""
    parts = []
    for item in inputs:
        name = f"{item.source.dataset.name}/{item.dataid}"
        parts.append(
            (YES, f"{name} version {item.pin.version}") if item.pin else (NO, f"{name} is not ready")
        )
    return combine(Question.READY, parts or [(YES, "it needs no input")], "")


def answer_right(plan: Plan, dataid: str, inputs: tuple[InputChunk, ...]) -> Answer:
    """Is it the dataid the grain calls for, and the data its producer recorded?"""
    try:
        canonical = canonical_dataid(dataid, Grain(plan.grain), plan.timezone)
    except BadInput as error:
        return Answer(Question.RIGHT, NO, str(error))
    parts = [(YES if canonical == dataid else NO, f"{dataid} is a {plan.grain} dataid")]
    for item in inputs:
        if item.pin and item.pin.size is not None and is_local(item.location):
            found = measure(item.location)
            name = f"{item.source.dataset.name}/{item.dataid}"
            if found == item.pin.size:
                parts.append((YES, f"{name} has the {found} bytes recorded"))
            elif found is not None:
                parts.append(
                    (NO, f"{name} has {found} bytes, {item.pin.size} were recorded when it was published")
                )
    return combine(Question.RIGHT, parts, "")


def answer_located(
    plan: Plan, inputs: tuple[InputChunk, ...], outputs: tuple[tuple[str, str], ...]
) -> Answer:
    """Does each location resolve here, and is the input there?"""
    parts = []
    for item in inputs:
        name = f"{item.source.dataset.name}/{item.dataid}"
        if not item.location:
            parts.append((NOT_CHECKED, f"{item.source.dataset.name} declares no location"))
        elif not is_local(item.location):
            parts.append((NOT_CHECKED, f"{name} at {item.location} is not on this machine"))
        elif os.path.exists(item.location):
            parts.append((YES, f"{name} is at {item.location}"))
        else:
            parts.append((NO, f"{name} is not at {item.location}"))
    staged = {item.dataset.name for item in plan.outputs if item.dataset.staged}
    for name, place in outputs:
        if name in staged and is_local(place):
            parts.append(_can_stage(name, place))
    return combine(Question.LOCATED, parts, "there is nothing to look for")


def answer_valid(inputs: tuple[InputChunk, ...]) -> Answer:
    """Did the producer's checks pass?"""
    parts = []
    for item in inputs:
        name = f"{item.source.dataset.name}/{item.dataid}"
        if item.pin and item.pin.checked:
            parts.append((YES, f"{name}: {item.pin.checked}"))
        else:
            parts.append((NOT_CHECKED, f"{name} was published without a check"))
    return combine(Question.VALID, parts, "it reads nothing")


def answer_safe(plan: Plan, run: Run, inputs: tuple[InputChunk, ...]) -> Answer:
    """No other writer of an input, no reader of an output that is overwritten, credentials decrypted."""
    parts = []
    for item in inputs:
        if item.pin and item.pin.dirty_run_id not in (None, run.run_id):
            name = f"{item.source.dataset.name}/{item.dataid}"
            parts.append((NO, f"{name} is being overwritten by run {item.pin.dirty_run_id}"))
    in_place = {item.dataset.name for item in plan.outputs if not item.dataset.staged}
    for chunk in run.replaces:
        if chunk.dataset in in_place and chunk.readers:
            readers = ", ".join(map(str, chunk.readers))
            parts.append((NO, f"{chunk.dataset}/{run.dataid} is being consumed by run {readers}"))
    return combine(Question.SAFE, parts or [(YES, "no other writer or reader; credentials open")], "")


def newer_snapshot(store: Store, dataset_id: int, dataid: str, grain: str) -> str | None:
    """The published dataid that an in-place snapshot of this dataid would wrongly replace."""
    newest = store.find("reading.newest_chunk", dataset_id=dataset_id)
    if newest is not None and newest[1] > sort_key(dataid, Grain(grain)):
        return str(newest[0])
    return None


def _superseded(store: Store, plan: Plan, dataid: str) -> str:
    """Says which newer snapshot this one would overwrite in place; empty when there is none."""
    for item in plan.outputs:
        if item.dataset.mode == "snapshot" and not item.dataset.staged:
            newer = newer_snapshot(store, item.dataset_id, dataid, item.dataset.grain)
            if newer is not None:
                return f"{item.dataset.name} already holds the newer snapshot {newer}"
    return ""


def _may_race(plan: Plan, run: Run) -> bool:
    return bool(run.replaces) or any(not item.dataset.staged for item in plan.inputs)


def _place(template: str, project_dir: str, dataset: str, dataid: str, fields: dict[str, object]) -> str:
    return (
        resolve_location(template, project_dir, dataset=dataset, dataid=dataid, **fields) if template else ""
    )


def _can_stage(name: str, place: str) -> tuple[Verdict, str]:
    """Makes the folder a staged output goes into."""
    folder = os.path.dirname(place.rstrip("/"))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        return NO, f"{name} cannot be written to {folder}: {error.strerror}"
    return YES, f"{name} goes to {place}"
