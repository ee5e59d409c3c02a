"""Why: a verdict, the five answers with their evidence, and the exact next command."""

from __future__ import annotations

import json

from dataflow.actions.changed_inputs import list_withdrawn
from dataflow.actions.next_work import find_next
from dataflow.actions.prepare import answer_right, answer_valid, condensed, list_closed
from dataflow.actions.reasons import explain, without_work
from dataflow.actions.refusals import ask_located, list_input_chunks
from dataflow.actions.work_case import WorkCase, why_not_ready
from dataflow.model.answers import Answer, Question, Verdict, Why, combine
from dataflow.model.job_dataid import job_dataid
from dataflow.model.record import replace
from dataflow.model.status import Status
from dataflow.store.pins import has_several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.actions.prepare import InputChunk
    from dataflow.actions.reasons import Explanation
    from dataflow.config.settings import Config
    from dataflow.model.records import Plan
    from dataflow.store.store import Store

ANSWERED_BY_RUN = (Status.READY, Status.FAILED, Status.INVALID)


def why(
    store: Store, config: Config, plan: Plan, dataid: str | None, is_dead: Callable[[str], bool] | None = None
) -> Why:
    """Explain one work of a job, or its next; BadInput if the dataid is not valid for the job.

    `is_dead` returns whether a claimant of this machine is certainly dead. Nothing is changed.
    """
    if dataid is not None:
        dataid = job_dataid(dataid, plan)
    case = WorkCase(store, config, plan, dataid or "", is_dead)
    if dataid is None:
        dataid = find_next(case)
        case = replace(case, dataid=dataid or "")
    found = explain(case) if dataid else without_work(case)
    answers = _answers(case, found)
    verdict = f"{found.status}: {found.text}"
    return Why(plan.job.name, case.dataid, verdict, answers, found.next, found.crashes)


def _answers(case: WorkCase, found: Explanation) -> tuple[Answer, ...]:
    chunks = list_input_chunks(case) if case.dataid else ()
    if found.run is not None and found.status in ANSWERED_BY_RUN and (stored := _stored(found.run.answers)):
        return tuple(_as_of_now(case, answer, chunks, found.run.run_id) for answer in stored)
    there = tuple(chunk for chunk in chunks if chunk.pin is not None)
    parts = [(Verdict.NO, reason.text) for reason in found.missing]
    ready = [
        (chunk, (Verdict.YES, f"{chunk.name} version {chunk.pin.version}"))
        for chunk in there
        if chunk.pin is not None and _is_ready(case, chunk)
    ]
    parts += condensed(ready)
    answers = (
        combine(Question.READY, parts, "it needs no input"),
        answer_right(case.plan, case.dataid, there) if case.dataid else _unasked(Question.RIGHT),
        ask_located(case, there) if there else _unasked(Question.LOCATED),
        answer_valid(there) if there else _unasked(Question.VALID),
        _answer_safe(case, found),
    )
    return tuple(_with_refusal(answer, found) for answer in answers)


def _is_ready(case: WorkCase, chunk: InputChunk) -> bool:
    if has_several(chunk.source):  # only ready ones are pinned
        return True
    facts = case.find_chunk(chunk.source.dataset_id, chunk.dataid)
    return facts is not None and facts.is_ready


def _as_of_now(case: WorkCase, answer: Answer, chunks: tuple[InputChunk, ...], run_id: int) -> Answer:
    """A run's answer to "ready?", unless an input that it read has been withdrawn or is STALE since."""
    if answer.question is not Question.READY:
        return answer
    several = {chunk.source.dataset.name for chunk in chunks if has_several(chunk.source)}
    lost = list_withdrawn(case, run_id, several)
    for chunk in chunks:
        if has_several(chunk.source):
            continue  # those not ready have no pin; the verdict names the STALE ones
        facts = case.find_chunk(chunk.source.dataset_id, chunk.dataid)
        if facts is not None and not facts.is_ready:
            lost.append(f"{chunk.name} {why_not_ready(facts)}")
    return Answer(Question.READY, Verdict.NO, "; ".join(lost)) if lost else answer


def _with_refusal(answer: Answer, found: Explanation) -> Answer:
    """Use the last run's answer where this machine cannot check."""
    told = [reason.text for reason in found.blockers if reason.question is answer.question]
    if answer.answer is not Verdict.NOT_CHECKED or not told:
        return answer
    return Answer(answer.question, Verdict.NO, "; ".join(told).removeprefix(f"{answer.question}? no: "))


def _answer_safe(case: WorkCase, found: Explanation) -> Answer:
    unsafe = [reason for reason in found.blockers if reason.question is Question.SAFE]
    parts = [(Verdict.NO, reason.text) for reason in unsafe]
    if found.status is Status.RUNNING:
        gone = found.run is not None and case.is_gone(found.run)
        parts.append((Verdict.YES, "only this work's own run, which is gone" if gone else found.text))
    parts += list_closed(case.plan)
    return combine(Question.SAFE, parts or [(Verdict.YES, "no other writer or reader")], "")


def _unasked(question: Question) -> Answer:
    return Answer(question, Verdict.NOT_CHECKED, "none of its inputs is published yet")


def _stored(text: str) -> tuple[Answer, ...]:
    """Return the answers that a run recorded; none if they are missing or in another format."""
    try:
        items = json.loads(text)
        return tuple(
            Answer(Question(item["question"]), Verdict(item["answer"]), str(item["evidence"]))
            for item in items
        )
    except (ValueError, KeyError, TypeError):
        return ()
