"""How a run ends, decided from the facts: a frozen record in, an Ending out. Nothing here changes a run.

Only `observe`, `missing_outputs` and `publications_for` read the disk; the rest is pure.
"""

from __future__ import annotations

import json
import os
import signal

from dataflow import errors
from dataflow.actions.locations import is_local, measure, published_place
from dataflow.model.record import record, replace
from dataflow.model.records import Ending, Publication, Run
from dataflow.model.status import RunOutcome, WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dataflow.actions.prepare import Prepared
    from dataflow.model.answers import Answer
    from dataflow.runjob.child import Step

RETURN_DELAY_SECONDS = 5.0
"""The first wait of work that was handed back; it doubles each time."""
TIMEOUT = "timed out"
NOT_RENEWED = "its lease could not be renewed"
TIMED_OUT = 124


@record
class CommandEnd:
    """What happened when a command of a run ended.

    `stopped` says why we stopped it, and `missing` what is wrong with its outputs; both may be empty.
    """

    prepared: Prepared
    step: Step
    code: int
    script_code: int | None
    passed: tuple[str, ...] = ()
    stopped: str = ""
    is_last: bool = True
    missing: str = ""
    publications: tuple[Publication, ...] = ()


def observe(end: CommandEnd) -> CommandEnd:
    """Add what the disk shows after a success: a missing output, or what the run publishes."""
    if end.stopped or end.code or end.step.before:
        return end
    if end.step.is_script and (missing := missing_outputs(end.prepared)):
        return replace(end, missing=missing)
    if not end.is_last:
        return end
    return replace(end, publications=publications_for(end.prepared, end.passed, {}))


def ending_of(end: CommandEnd) -> Ending | None:
    """Return the run's ending, or None when another of its commands is to follow."""
    prepared, step, code = end.prepared, end.step, end.code
    if end.stopped.startswith(TIMEOUT):
        return _end(prepared, RunOutcome.FAILED, TIMED_OUT, end.stopped, untouched=step.before)
    if end.stopped == NOT_RENEWED:
        return _end(prepared, RunOutcome.LOST, None, NOT_RENEWED, untouched=step.before)
    if end.stopped:
        reason = f"interrupted: {end.stopped}"
        return _end(prepared, RunOutcome.INTERRUPTED, None, reason, untouched=step.before)
    if code and step.before:
        return not_started(prepared, f"valid? no: the check of input {step.dataset} exited with {code}")
    if code and step.is_script:
        if code in prepared.plan.job.final_exit_codes:
            return _end(prepared, RunOutcome.FAILED, code, f"{exit_words(code)}, which is final", final=True)
        return _end(prepared, RunOutcome.FAILED, code, exit_words(code))
    if code:
        reason = f"the check of {step.dataset} exited with {code}"
        return _end(prepared, RunOutcome.INVALID, end.script_code, reason)
    if end.missing:
        return _end(prepared, RunOutcome.INVALID, code, end.missing)
    if not end.is_last:
        return None
    return _end(prepared, RunOutcome.DONE, end.script_code, publications=end.publications)


def not_executed(prepared: Prepared, script_code: int | None, error: errors.DataFlowError) -> Ending:
    """Return the ending of a run whose next command cannot start; `script_code` if the script has run."""
    if isinstance(error, errors.LeaseLost):
        return _end(prepared, RunOutcome.LOST, None, str(error), untouched=script_code is None)
    if script_code is not None:
        return _end(prepared, RunOutcome.INVALID, script_code, f"its check cannot run: {error}")
    return _end(prepared, RunOutcome.RETURNED, None, str(error), untouched=True)


def raised(prepared: Prepared, error: BaseException, words: str, lost: bool) -> Ending:
    """Return the ending of a run whose Python code raised; `words` is the error without secrets."""
    if isinstance(error, errors.InputMoved) and not lost:
        return not_started(prepared, words)
    if lost or not isinstance(error, Exception):
        return _end(prepared, RunOutcome.INTERRUPTED, 1, words)  # which uses no attempt
    outcome = RunOutcome.INVALID if isinstance(error, errors.InvalidData) else RunOutcome.FAILED
    code = TIMED_OUT if isinstance(error, errors.TimedOut) else 1
    return _end(prepared, outcome, code, words, final=isinstance(error, errors.Superseded))


def refused(prepared: Prepared) -> Ending | None:
    """Return the ending of a run whose five answers do not let it start; None when they do."""
    if prepared.superseded:
        return _end(prepared, RunOutcome.FAILED, None, prepared.superseded, untouched=True, final=True)
    answer = prepared.refusal
    return None if answer is None else not_started(prepared, f"{answer.question}? no: {answer.evidence}")


def not_started(prepared: Prepared, reason: str) -> Ending:
    """Return the ending of a prepared run that cannot start yet: handed back for later, no attempt used."""
    return replace(handed_back(prepared.run, reason), answers=answers_text(prepared.answers))


def handed_back(run: Run, reason: str) -> Ending:
    """Return the ending of a run that must not begin yet: handed back for later, no attempt used."""
    delay_seconds = RETURN_DELAY_SECONDS
    return Ending(run, RunOutcome.RETURNED, reason=reason, delay_seconds=delay_seconds, untouched=True)


def not_begun(run: Run, why: str) -> Ending:
    """Return the ending of a run that was claimed after the signal to stop."""
    return Ending(run, RunOutcome.INTERRUPTED, reason=f"interrupted: {why}", untouched=True)


def as_accepted(ending: Ending, state: object) -> Ending:
    """Return the ending as the store took it: a snapshot older than the published one is not published."""
    if ending.outcome is RunOutcome.DONE and state is WorkState.FAILED:
        return replace(ending, outcome=RunOutcome.FAILED, exit_code=1, reason="a newer snapshot is published")
    return ending


def publications_for(
    prepared: Prepared, passed: Sequence[str], rows: Mapping[str, int]
) -> tuple[Publication, ...]:
    """Return what a successful run publishes; `passed` names the outputs whose check passed."""
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
    """Name the first output on this machine that the script did not write; empty if there is none."""
    for name, place in prepared.outputs:
        if place and is_local(place) and not os.path.lexists(place):
            return f"the script succeeded but {name} is not at {place}"
    return ""


def exit_words(code: int) -> str:
    """Return an exit code in words."""
    if code > 128:
        try:
            return f"killed by {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"exited with {code}"


def answers_text(answers: tuple[Answer, ...]) -> str:
    """Return the five answers as they are stored with the run."""
    return json.dumps([answer.as_dict() for answer in answers], ensure_ascii=False)


def _end(prepared: Prepared, outcome: RunOutcome, code: int | None, reason: str = "", **more: Any) -> Ending:
    return Ending(prepared.run, outcome, code, reason, answers_text(prepared.answers), **more)
