"""Prepare: the five questions about a claimed run, before its command starts.

`why` uses the same functions, so it reports what a run would decide.
"""

from __future__ import annotations

import os

from dataflow.actions.locations import (
    absolute_place,
    is_local,
    measure,
    resolve_location,
    why_not_writable,
)
from dataflow.errors import BadInput
from dataflow.model.answers import Answer, Question, Verdict, combine
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.location import RUN_ID, Location, run_folder
from dataflow.model.mapping import ALL, LATEST, SIMPLE, needed_by
from dataflow.model.record import record
from dataflow.model.url_text import without_secrets
from dataflow.model.variable_names import may_come_from_store
from dataflow.model.wording import counted
from dataflow.store.registry import CALENDAR_SUFFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Pin, Plan, PlanInput, Run
    from dataflow.store.store import Store

YES, NO, NOT_CHECKED = Verdict.YES, Verdict.NO, Verdict.NOT_CHECKED
SHOWN_CHUNKS = 3
"""Chunks of one input that an answer names one by one."""


@record
class InputChunk:
    """An input chunk of a run; without a pin it is not published."""

    source: PlanInput
    dataid: str
    pin: Pin | None
    location: str

    @property
    def name(self) -> str:
        """The chunk's name, or the input's if the latest chunk is not known yet."""
        name = self.source.dataset.name
        return f"{name}/{self.dataid}" if self.dataid else f"{name}:{self.source.mapping}"

    @property
    def is_calendar(self) -> bool:
        """Whether DataFlow itself maintains the dataset, which has neither a place nor a check."""
        name = self.source.dataset.name
        return name == "today" or name.endswith(CALENDAR_SUFFIX)


@record
class Prepared:
    """A claimed run with its inputs, outputs and five answers."""

    run: Run
    plan: Plan
    inputs: tuple[InputChunk, ...]
    outputs: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]
    project_dir: str
    superseded: str = ""

    @property
    def refusal(self) -> Answer | None:
        """The first answer that is no."""
        return next((answer for answer in self.answers if answer.answer is NO), None)


def prepare(store: Store, plan: Plan, run: Run, project_dir: str, environment: str) -> Prepared:
    """Collect the current facts of a run whose passwords are open, and answer the five questions."""
    may_race = bool(run.replaces) or any(not item.dataset.staged for item in plan.inputs)
    if may_race and store.database.dialect == "postgres":
        run = store.refresh(plan, run)
    return _ask(store, plan, run, (project_dir, environment), opened=True)


def ask(store: Store, plan: Plan, run: Run, project_dir: str, environment: str) -> Prepared:
    """Answer the five questions for the preview of a claim, which opens no passwords; changes nothing."""
    return _ask(store, plan, run, (project_dir, environment), opened=False)


def _ask(store: Store, plan: Plan, run: Run, where: tuple[str, str], opened: bool) -> Prepared:
    project_dir, environment = where
    fields = {"job": plan.job.name, "environment": environment, "run_id": run.run_id}
    inputs = list_inputs(plan, run, project_dir, fields)
    outputs = list_outputs(plan, run.dataid, project_dir, fields, _lake_folder(store, plan, run))
    answers = (
        answer_ready(inputs),
        answer_right(plan, run.dataid, inputs),
        answer_located(plan, inputs, outputs),
        answer_valid(inputs),
        answer_safe(plan, run, inputs, opened),
    )
    # start-up: reading from the store is for the few jobs whose dataids share a location
    overwrites = any(output.dataset.is_overwritten for output in plan.outputs)
    newer = store.read.list_newer_snapshots(plan, run.dataid) if overwrites else []
    return Prepared(run, plan, inputs, outputs, answers, project_dir, newer[0] if newer else "")


def make_folders(prepared: Prepared) -> str:
    """Create the folders of staged outputs; return why if one cannot be created."""
    for _, place in _list_staged(prepared.plan, prepared.outputs):
        folder = _folder_of(place)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            return f"cannot create the folder {folder}: {error.strerror}"
    return ""


def list_inputs(plan: Plan, run: Run, project_dir: str, fields: dict[str, object]) -> tuple[InputChunk, ...]:
    """Return every input chunk the work needs, pinned or not, except those that a run may do without."""
    pinned = {(pin.position, pin.dataid): pin for pin in run.pins}
    found = []
    for source in plan.inputs:
        there = [pin.dataid for pin in run.pins if pin.position == source.position]
        if source.mapping in (LATEST, ALL):  # what the claim has pinned, or not known yet
            dataids = there or [""]
        elif source.mapping in SIMPLE:
            dataids = needed_by(plan, source, run.dataid)
        elif source.rule and there:
            dataids = there
        else:
            dataids = there + [item.dataid for item in run.lacking if item.position == source.position]
        for dataid in dataids:
            pin = pinned.get((source.position, dataid))
            place = _input_place(source, dataid, pin, project_dir, fields) if dataid else ""
            found.append(InputChunk(source, dataid, pin, place))
    return tuple(found)


def list_outputs(
    plan: Plan, dataid: str, project_dir: str, fields: dict[str, object], lake_folder: str = RUN_ID
) -> tuple[tuple[str, str], ...]:
    """Return the name and location of every output; `lake_folder` is what stands for the run in the lake."""
    found = []
    for item in plan.outputs:
        name, template = item.dataset.name, item.dataset.location
        own = fields | {"run_id": lake_folder} if Location(template).is_manifest else fields
        found.append((name, _place(template, project_dir, name, dataid, own)))
    return tuple(found)


def _lake_folder(store: Store, plan: Plan, run: Run) -> str:
    """Return the name of the run's folder in the lake; "" if it writes nothing there."""
    if not any(Location(item.dataset.location).is_manifest for item in plan.outputs):
        return ""
    return run_folder(run.run_id, run.claimant, store.read.get_store_id())


def answer_ready(inputs: tuple[InputChunk, ...]) -> Answer:
    """Are the inputs published, and at which versions?"""
    parts = [
        (
            item,
            (YES, f"{item.name} version {item.pin.version}")
            if item.pin
            else (NO, f"{item.name} is not ready"),
        )
        for item in inputs
    ]
    return combine(Question.READY, condensed(parts) or [(YES, "it needs no input")], "")


def answer_right(plan: Plan, dataid: str, inputs: tuple[InputChunk, ...]) -> Answer:
    """Is it the dataid the grain calls for, and the data its producer recorded?"""
    try:
        canonical = canonical_dataid(dataid, Grain(plan.grain), plan.timezone)
    except BadInput as error:
        return Answer(Question.RIGHT, NO, str(error))
    article = "an" if plan.grain == Grain.HOURLY else "a"
    parts = [(YES if canonical == dataid else NO, f"{dataid} is {article} {plan.grain} dataid")]
    found = [(item, part) for item in inputs if (part := _compare_size(item))]
    return combine(Question.RIGHT, parts + condensed(found), "")


def _compare_size(item: InputChunk) -> tuple[Verdict, str] | None:
    if item.pin and (newer := item.pin.written_over_by):
        return NOT_CHECKED, f"{item.name} has been overwritten by {item.source.dataset.name}/{newer}"
    if item.pin and item.pin.size is not None and is_local(item.location):
        found, recorded = measure(item.location), item.pin.size
        if found == recorded:
            return YES, f"{item.name} has the {counted(found, 'byte')} recorded"
        if found is not None:
            then = f"{recorded:,} {'was' if recorded == 1 else 'were'} recorded when it was published"
            return NO, f"{item.name} has {counted(found, 'byte')}, but {then}"
    return None


def answer_located(
    plan: Plan, inputs: tuple[InputChunk, ...], outputs: tuple[tuple[str, str], ...]
) -> Answer:
    """Does each location resolve here, does the input exist, and can the staged output be written?"""
    parts = condensed([(item, is_there(item)) for item in inputs if not item.is_calendar])
    for name, place in _list_staged(plan, outputs):
        reason = why_not_writable(_folder_of(place))
        refused = (NO, f"{name} cannot be written to {place}: {reason}")
        parts.append(refused if reason else (YES, f"{name} goes to {place}"))
    return combine(Question.LOCATED, parts, "there is nothing to check")


def answer_valid(inputs: tuple[InputChunk, ...]) -> Answer:
    """Did the producer's checks pass?"""
    parts = [
        (
            item,
            (YES, f"{item.name}: {item.pin.checked}")
            if item.pin and item.pin.checked
            else (NOT_CHECKED, f"{item.name} was published without a check"),
        )
        for item in inputs
        if not item.is_calendar
    ]
    return combine(Question.VALID, condensed(parts), "it reads nothing")


def answer_safe(plan: Plan, run: Run, inputs: tuple[InputChunk, ...], opened: bool) -> Answer:
    """No other writer of an input, no reader of an output that is overwritten, credentials decrypted.

    Nor a variable from the store that could make a program run code or open other files.
    """
    refused = [name for name, _ in plan.job.environment if not may_come_from_store(name)]
    parts = [
        (NO, f"the store sets {name}, which only this machine's dataflow.toml may set") for name in refused
    ]
    for item in inputs:
        if item.pin and item.pin.dirty_run_id not in (None, run.run_id):
            text = f"run {item.pin.dirty_run_id} started to overwrite {item.name} and did not succeed"
            parts.append((NO, text))
    in_place = {item.dataset.name for item in plan.outputs if not item.dataset.staged}
    for chunk in run.replaces:
        if chunk.dataset in in_place and chunk.readers:
            readers = ", ".join(map(str, chunk.readers))
            parts.append((NO, f"{chunk.dataset}/{run.dataid} is being consumed by run {readers}"))
    closed = list_closed(plan)
    free = "no other writer or reader; passwords can be decrypted" if closed else "no other writer or reader"
    return combine(Question.SAFE, parts or (not opened and closed) or [(YES, free)], "")


def list_closed(plan: Plan) -> list[tuple[Verdict, str]]:
    """Return the passwords that only a run decrypts."""
    text = "the password of {} was not decrypted for this answer"
    return [(NOT_CHECKED, text.format(item.name)) for item in plan.datasets if item.encryptedpass]


def condensed(parts: list[tuple[InputChunk, tuple[Verdict, str]]]) -> list[tuple[Verdict, str]]:
    """Return the parts of an answer, of an input with many chunks only the first few of each verdict."""
    if len(parts) <= SHOWN_CHUNKS:
        return [part for _, part in parts]
    counts: dict[tuple[int, Verdict], int] = {}
    found = []
    seen: set[tuple[int, Verdict, str]] = set()
    for item, (verdict, text) in parts:
        key = (item.source.position, verdict)
        if (*key, text) in seen:
            continue  # it is about the input, not about one of its chunks
        seen.add((*key, text))
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= SHOWN_CHUNKS:
            found.append((verdict, text))
    names = {item.source.position: item.source.dataset.name for item, _ in parts}
    for (position, verdict), count in counts.items():
        if count > SHOWN_CHUNKS:
            found.append((verdict, f"and {counted(count - SHOWN_CHUNKS, 'more chunk')} of {names[position]}"))
    return found


def _input_place(
    source: PlanInput, dataid: str, pin: Pin | None, project_dir: str, fields: dict[str, object]
) -> str:
    if pin and pin.location:
        return absolute_place(pin.location, project_dir)
    if source.dataset.staged:
        return ""  # its template contains the run that wrote it, which only its publication records
    return _place(source.dataset.location, project_dir, source.dataset.name, dataid, fields)


def _place(template: str, project_dir: str, dataset: str, dataid: str, fields: dict[str, object]) -> str:
    return (
        resolve_location(template, project_dir, dataset=dataset, dataid=dataid, **fields) if template else ""
    )


def is_there(item: InputChunk) -> tuple[Verdict, str]:
    """Return whether an input exists at its location, with the evidence."""
    if not item.location and item.source.dataset.staged:
        return (
            NO,
            f"{item.name} was published without a location" if item.pin else f"{item.name} is not published",
        )
    if not item.location:
        return NOT_CHECKED, f"{item.source.dataset.name} declares no location"
    if not is_local(item.location):
        place = without_secrets(item.location)
        return NOT_CHECKED, f"{item.name} at {place} is not on this machine"
    if os.path.exists(item.location):
        return YES, f"{item.name} is at {item.location}"
    return NO, f"{item.name} is not at {item.location}"


def _list_staged(plan: Plan, outputs: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return the staged outputs on this machine, with their locations."""
    staged = {item.dataset.name for item in plan.outputs if item.dataset.staged}
    return [(name, place) for name, place in outputs if name in staged and is_local(place)]


def _folder_of(place: str) -> str:
    return os.path.dirname(place.rstrip("/"))
