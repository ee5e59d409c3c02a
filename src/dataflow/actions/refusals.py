"""What a preparation made now would find for unclaimed work, and how to repair a no.

It uses the functions that prepare a run, so `why` reports what RunJob does.
"""

from __future__ import annotations

from dataflow.actions.next_commands import (
    follow_command,
    move_command,
    ready_command,
    resubmit_command,
    run_command,
    runner,
)
from dataflow.actions.prepare import answer_located, answer_right, is_there, list_inputs, list_outputs
from dataflow.actions.work_case import Reason
from dataflow.model.answers import Question, Verdict
from dataflow.model.records import Run
from dataflow.model.status import RunOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.prepare import InputChunk
    from dataflow.actions.work_case import WorkCase
    from dataflow.model.answers import Answer


def list_input_chunks(case: WorkCase) -> tuple[InputChunk, ...]:
    """Return the input chunks as a claim made now would pin them; without a pin if not published."""
    plan = case.plan
    pins = case.store.read.list_pins(plan, case.dataid)
    lacking = case.store.read.list_lacking(plan, case.dataid, pins)
    run = Run(0, 0, plan.job_id, plan.job.name, case.dataid, 0, "", 0, 0, pins, lacking=lacking)
    return list_inputs(plan, run, case.config.project_dir, _fields(case))


def ask_located(case: WorkCase, there: tuple[InputChunk, ...]) -> Answer:
    """Check that the published inputs exist at their locations and the outputs can be written."""
    outputs = list_outputs(case.plan, case.dataid, case.config.project_dir, _fields(case))
    return answer_located(case.plan, there, outputs)


def list_refusals(case: WorkCase) -> list[Reason]:
    """Return why a run of work whose inputs are ready would not be started: they are not as published."""
    there = _list_there(case)
    refused = f"the next {runner(case.plan)} would not start it"
    found = []
    right = answer_right(case.plan, case.dataid, there)
    if right.answer is Verdict.NO:
        repair = _repair_size(case, there) or run_command(case.plan)
        found.append(Reason(f"{refused}: {right.evidence}", repair, question=Question.RIGHT))
    for item in there:
        if item.pin is not None and item.pin.dirty_run_id is not None:
            text, command = _explain_overwritten(case, item, item.pin.dirty_run_id)
            found.append(Reason(f"{refused}: {text}", command, question=Question.SAFE))
    return found


def _explain_overwritten(case: WorkCase, item: InputChunk, run_id: int) -> tuple[str, str]:
    """Return that a run has begun to overwrite an input, and what to do about it."""
    run = case.store.read.find_run(run_id)
    if run is not None and run.outcome is RunOutcome.RUNNING:
        return f"run {run_id} is overwriting {item.name}", follow_command(run_id)
    text = f"{item.name} was left partly overwritten by run {run_id}"
    if run is not None:
        return text, resubmit_command(run.job, run.dataid)
    return text, ready_command(item.source.dataset.name, item.dataid) + " --again"


def find_repair(case: WorkCase, question: Question) -> str | None:
    """Return what to repair if the answer is still no; None if it is not, or nothing can be done."""
    there = _list_there(case)
    if question is Question.LOCATED and ask_located(case, there).answer is Verdict.NO:
        return _repair_place(case, there)
    if question is Question.RIGHT and ask_right(case).answer is Verdict.NO:
        return _repair_size(case, there)
    return None


def question_of(reason: str) -> Question | None:
    """Return the question that a run was returned for, from the stored reason."""
    word, found, _ = reason.partition("? no: ")
    return Question(word) if found and word in list(Question) else None


def in_the_past(reason: str) -> str:
    """Return why the last run did not end well, in words that stay true when that has changed."""
    reason = reason.rstrip(".")
    if question_of(reason) is Question.LOCATED:
        evidence = reason.partition("? no: ")[2].replace(" is not at ", " was not at ")
        return f"{evidence.replace(' cannot be written ', ' could not be written ')} when last tried"
    if question_of(reason) is Question.RIGHT:
        return reason.partition("? no: ")[2].replace(" has ", " had ")
    _, is_signal, name = reason.partition("interrupted: SIG")
    return f"the last run was interrupted (SIG{name})" if is_signal else reason


def is_located_now(case: WorkCase) -> bool:
    """Return whether all inputs are at their locations now and the outputs can be written."""
    return ask_located(case, _list_there(case)).answer is Verdict.YES


def ask_right(case: WorkCase) -> Answer:
    """Compare the published inputs with what was recorded when they were published."""
    return answer_right(case.plan, case.dataid, _list_there(case))


def _list_there(case: WorkCase) -> tuple[InputChunk, ...]:
    return tuple(chunk for chunk in list_input_chunks(case) if chunk.pin is not None)


def _repair_place(case: WorkCase, there: tuple[InputChunk, ...]) -> str | None:
    for item in there:
        if is_there(item)[0] is not Verdict.NO:
            continue
        if producer := case.store.read.find_producer(item.source.dataset_id):
            return resubmit_command(producer, item.dataid)
        move = move_command(item.source.dataset.name)
        return f"put {item.name} at {item.location}, or: {move}" if item.location else move
    staged = [item.dataset.name for item in case.plan.outputs if item.dataset.staged]
    return move_command(staged[0]) if staged else None


def _repair_size(case: WorkCase, there: tuple[InputChunk, ...]) -> str | None:
    for item in there:
        if answer_right(case.plan, case.dataid, (item,)).answer is Verdict.NO:
            if producer := case.store.read.find_producer(item.source.dataset_id):
                return resubmit_command(producer, item.dataid)
            return ready_command(item.source.dataset.name, item.dataid) + " --again"
    return None


def _fields(case: WorkCase) -> dict[str, object]:
    # No run yet, so the places of staged outputs are shown with the name of what is not known.
    return {"job": case.plan.job.name, "environment": case.config.environment, "run_id": "{run_id}"}
