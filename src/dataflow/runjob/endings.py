"""How a run ended, from what its commands did."""

from __future__ import annotations

import json
import os
import signal

from dataflow.actions.locations import is_local, measure, published_place
from dataflow.model.record import replace
from dataflow.model.records import Ending, Publication
from dataflow.model.status import RunOutcome, WorkState
from dataflow.runjob.child import NOT_RENEWED, TIMED_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataflow.actions.prepare import Prepared
    from dataflow.model.answers import Answer
    from dataflow.model.records import Run
    from dataflow.runjob.child import Child

RETURN_DELAY_SECONDS = 5.0
"""The first wait of work one of whose answers was no; it doubles each time."""


def answers_text(answers: tuple[Answer, ...]) -> str:
    """The five answers as they are kept with the run."""
    return json.dumps([answer.as_dict() for answer in answers], ensure_ascii=False)


def refused(prepared: Prepared) -> Ending | None:
    """The ending of a run whose five answers do not let it start; None when they do."""
    answers = answers_text(prepared.answers)
    if prepared.superseded:
        return Ending(
            prepared.run,
            RunOutcome.FAILED,
            reason=prepared.superseded,
            answers=answers,
            untouched=True,
            final=True,
        )
    answer = prepared.refusal
    if answer is None:
        return None
    return Ending(
        prepared.run,
        RunOutcome.RETURNED,
        reason=f"{answer.question}? no: {answer.evidence}",
        answers=answers,
        delay_seconds=RETURN_DELAY_SECONDS,
        untouched=True,
    )


def not_begun(run: Run, why: str) -> Ending:
    """The ending of a run that was claimed when there was no more time to start it."""
    return Ending(run, RunOutcome.INTERRUPTED, reason=f"interrupted: {why}", untouched=True)


def handed_back(run: Run, reason: str) -> Ending:
    """The ending of a run that must not begin yet: handed back for later, no attempt used."""
    delay_seconds = RETURN_DELAY_SECONDS
    return Ending(run, RunOutcome.RETURNED, reason=reason, delay_seconds=delay_seconds, untouched=True)


def not_started(prepared: Prepared, reason: str) -> Ending:
    """The ending of a run that this machine cannot start now: handed back for later, no attempt used."""
    answers = answers_text(prepared.answers)
    return Ending(
        prepared.run,
        RunOutcome.RETURNED,
        reason=reason,
        answers=answers,
        delay_seconds=RETURN_DELAY_SECONDS,
        untouched=True,
    )


def too_late(child: Child, reason: str) -> Ending:
    """The ending of a run whose lease ran out before its next command, maybe a check, was started."""
    answers = answers_text(child.prepared.answers)
    untouched = child.script_code is None
    return Ending(child.run, RunOutcome.LOST, reason=reason, answers=answers, untouched=untouched)


def not_executed(prepared: Prepared, reason: str) -> Ending:
    """The ending of a run whose command cannot be executed: handed back, no attempt used."""
    answers = answers_text(prepared.answers)
    return Ending(prepared.run, RunOutcome.RETURNED, reason=reason, answers=answers, untouched=True)


def check_not_executed(child: Child, reason: str) -> Ending:
    """The script ran but its check cannot: nobody knows whether the output is good."""
    answers = answers_text(child.prepared.answers)
    return Ending(
        child.run, RunOutcome.INVALID, child.script_code, f"its check cannot run: {reason}", answers
    )


def ending_of(child: Child, code: int) -> Ending | None:
    """The ending after a command ended; None when another command of the run is to follow."""
    answers = answers_text(child.prepared.answers)
    run, step = child.run, child.step
    if child.ending == "timeout":
        return Ending(run, RunOutcome.FAILED, TIMED_OUT, "timed out", answers, untouched=step.before)
    if child.ending == NOT_RENEWED:
        return Ending(run, RunOutcome.LOST, None, child.ending, answers, untouched=step.before)
    if child.ending:
        reason = f"interrupted: {child.ending}"
        return Ending(run, RunOutcome.INTERRUPTED, None, reason, answers, untouched=step.before)
    if step.before and code:
        reason = f"valid? no: the check of input {step.dataset} exited with {code}"
        return Ending(
            run,
            RunOutcome.RETURNED,
            None,
            reason,
            answers,
            delay_seconds=RETURN_DELAY_SECONDS,
            untouched=True,
        )
    if not step.before and not step.dataset:
        child.script_code = code
        if code:
            return Ending(run, RunOutcome.FAILED, code, exit_words(code), answers)
        missing = missing_outputs(child.prepared)
        if missing:
            return Ending(run, RunOutcome.INVALID, code, missing, answers)
    elif code:
        reason = f"the check of {step.dataset} exited with {code}"
        return Ending(run, RunOutcome.INVALID, child.script_code, reason, answers)
    elif not step.before:
        child.passed.append(step.dataset)
    if len(child.steps) > 1:
        return None
    given = publications_for(child.prepared, child.passed, {})
    return Ending(run, RunOutcome.DONE, child.script_code, "", answers, given)


def as_accepted(ending: Ending, state: object) -> Ending:
    """The ending as the store took it: a snapshot that a newer one has overtaken is not published."""
    if ending.outcome is RunOutcome.DONE and state is WorkState.FAILED:
        return replace(ending, outcome=RunOutcome.FAILED, exit_code=1, reason="a newer snapshot is published")
    return ending


def publications_for(
    prepared: Prepared, passed: Sequence[str], rows: Mapping[str, int]
) -> tuple[Publication, ...]:
    """What a run that ended well gives out."""
    return tuple(
        Publication(
            name,
            location=published_place(place, output.dataset.location, prepared.project_dir)
            if output.dataset.staged
            else "",
            size=measure(place) if place and is_local(place) else None,
            rows=rows.get(name),
            checked="its check passed" if name in passed else "",
        )
        for output, (name, place) in zip(prepared.plan.outputs, prepared.outputs, strict=True)
    )


def missing_outputs(prepared: Prepared) -> str:
    """Says which declared output on this machine the script did not write; empty when all are there."""
    for name, place in prepared.outputs:
        if place and is_local(place) and not os.path.lexists(place):
            return f"the script succeeded but {name} is not at {place}"
    return ""


def exit_words(code: int) -> str:
    """An exit code in words."""
    if code > 128:
        try:
            return f"killed by {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"exited with {code}"
