"""Why: a verdict in the seeds' words, the five answers with their evidence, and the exact next command."""

from __future__ import annotations

import json

from dataflow.actions.prepare import answer_right, answer_valid
from dataflow.actions.reasons import explain, without_work
from dataflow.actions.refusals import ask_located, list_input_chunks
from dataflow.actions.work_case import WorkCase
from dataflow.model.answers import Answer, Question, Verdict, Why, combine
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.status import Status, WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.actions.prepare import InputChunk
    from dataflow.actions.reasons import Explanation
    from dataflow.config.settings import Config
    from dataflow.model.records import Plan
    from dataflow.store.store import Store

LOOKED_FOR = (
    WorkState.RUNNING,
    WorkState.CLAIMABLE,
    WorkState.WAITING,
    WorkState.FAILED,
    WorkState.INVALID,
)
"""Which work is explained without a dataid: the first in the first of these states, else a done one."""

ANSWERED_BY_RUN = (Status.READY, Status.FAILED, Status.INVALID)


def why(
    store: Store, config: Config, plan: Plan, dataid: str | None, is_dead: Callable[[str], bool] | None = None
) -> Why:
    """Explains one work of a job, or its next; BadInput if the job can have no such dataid.

    `is_dead` tells whether a claimant of this machine is certainly gone. Nothing is changed.
    """
    if dataid is not None:
        dataid = canonical_dataid(dataid, Grain(plan.grain), plan.timezone)
    else:
        dataid = find_next(store, plan)
    case = WorkCase(store, config, plan, dataid or "", is_dead)
    found = explain(case) if dataid else without_work(case)
    answers = _answers(case, found)
    return Why(plan.job.name, case.dataid, f"{found.status}: {found.text}", answers, found.next)


def find_next(store: Store, plan: Plan) -> str | None:
    """The dataid that is running, next or stuck; one that is done if all are; None if the job has no work."""
    for state in LOOKED_FOR:
        row = store.find("reading.first_open", job_id=plan.job_id, state=state.value)
        if row is not None:
            return str(row[0])
    row = store.find("explain.last_done", job_id=plan.job_id) or store.find(
        "explain.any_done", job_id=plan.job_id
    )
    return None if row is None else str(row[0])


def _answers(case: WorkCase, found: Explanation) -> tuple[Answer, ...]:
    chunks = list_input_chunks(case) if case.dataid else ()
    if found.run is not None and found.status in ANSWERED_BY_RUN and (stored := _stored(found.run.answers)):
        return tuple(_as_of_now(case, answer, chunks) for answer in stored)
    there = tuple(chunk for chunk in chunks if chunk.pin is not None)
    parts = [(Verdict.NO, reason.text) for reason in found.missing]
    for chunk in there:
        if _is_ready(case, chunk):
            assert chunk.pin is not None
            parts.append((Verdict.YES, f"{chunk.name} version {chunk.pin.version}"))
    answers = (
        combine(Question.READY, parts, "it needs no input"),
        answer_right(case.plan, case.dataid, there) if case.dataid else _unasked(Question.RIGHT),
        ask_located(case, there) if there else _unasked(Question.LOCATED),
        answer_valid(there) if there else _unasked(Question.VALID),
        _answer_safe(case, found),
    )
    return tuple(_with_refusal(answer, found) for answer in answers)


def _as_of_now(case: WorkCase, answer: Answer, chunks: tuple[InputChunk, ...]) -> Answer:
    """A run's answer to "ready?", unless an input that it read has been withdrawn or is STALE since."""
    if answer.question is not Question.READY:
        return answer
    lost = []
    for chunk in chunks:
        facts = case.find_chunk(chunk.source.dataset_id, chunk.dataid)
        if facts is not None and not facts.is_ready:
            lost.append(f"{chunk.name} {facts.why_not_ready}")
    return Answer(Question.READY, Verdict.NO, "; ".join(lost)) if lost else answer


def _with_refusal(answer: Answer, found: Explanation) -> Answer:
    """What cannot be seen from here is as the last run found it."""
    told = [reason.text for reason in found.blockers if reason.question is answer.question]
    if answer.answer is not Verdict.NOT_CHECKED or not told:
        return answer
    return Answer(answer.question, Verdict.NO, "; ".join(told).removeprefix(f"{answer.question}? no: "))


def _is_ready(case: WorkCase, chunk: InputChunk) -> bool:
    facts = case.find_chunk(chunk.source.dataset_id, chunk.dataid)
    return facts is not None and facts.is_ready


def _answer_safe(case: WorkCase, found: Explanation) -> Answer:
    unsafe = [reason for reason in found.blockers if reason.question is Question.SAFE]
    parts = [(Verdict.NO, reason.text) for reason in unsafe]
    if found.status is Status.RUNNING:
        parts.append((Verdict.YES, found.text))
    datasets = [item.dataset for item in case.plan.inputs] + [item.dataset for item in case.plan.outputs]
    for dataset in datasets:
        if dataset.encryptedpass:
            text = f"the password of {dataset.name} was not opened to answer this"
            parts.append((Verdict.NOT_CHECKED, text))
    return combine(Question.SAFE, parts or [(Verdict.YES, "no other writer or reader is in its way")], "")


def _unasked(question: Question) -> Answer:
    return Answer(question, Verdict.NOT_CHECKED, "none of its inputs is published yet")


def _stored(text: str) -> tuple[Answer, ...]:
    """The answers that a run recorded; none if it recorded none or another version wrote them otherwise."""
    try:
        items = json.loads(text)
        return tuple(
            Answer(Question(item["question"]), Verdict(item["answer"]), str(item["evidence"]))
            for item in items
        )
    except (ValueError, KeyError, TypeError):
        return ()
