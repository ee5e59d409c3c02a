"""The five questions asked of every handoff, and their answers."""

from __future__ import annotations

from enum import StrEnum

from dataflow.model.record import record


class Question(StrEnum):
    """The questions to answer before a chunk is accepted, in order."""

    READY = "ready"  # are the inputs published, and at which versions
    RIGHT = "right"  # is it the expected dataid, unchanged since it was recorded
    LOCATED = "located"  # does the location resolve here, and does it exist
    VALID = "valid"  # did the producer's checks pass
    SAFE = "safe"  # no other writer, no reader of an in-place output, credentials decrypt


class Verdict(StrEnum):
    """An answer; `not checked` never counts as yes."""

    YES = "yes"
    NO = "no"
    NOT_CHECKED = "not checked"


@record
class Answer:
    """One of the five answers with its evidence."""

    question: Question
    answer: Verdict
    evidence: str

    def as_dict(self) -> dict[str, str]:
        """Return the form in which answers are stored and shown."""
        return {"question": self.question, "answer": self.answer, "evidence": self.evidence}


@record
class CrashEvidence:
    """A run that died with its work; `last_lines` of its log if that is on this machine."""

    run_id: int
    host: str
    ended_at: str
    last_lines: tuple[str, ...]


@record
class Why:
    """The explanation of a piece of work, and what to do next."""

    job: str
    dataid: str
    verdict: str
    answers: tuple[Answer, ...]
    next: str
    crashes: tuple[CrashEvidence, ...] = ()  # of quarantined work


def combine(question: Question, parts: list[tuple[Verdict, str]], nothing: str) -> Answer:
    """Combine parts into one answer: no if any is no, else not checked if any is not checked, else yes."""
    if not parts:
        return Answer(question, Verdict.NOT_CHECKED, nothing)
    if len(parts) == 1:
        return Answer(question, *parts[0])
    verdict = min([part for part, _ in parts], key=(Verdict.NO, Verdict.NOT_CHECKED, Verdict.YES).index)
    return Answer(question, verdict, "; ".join([text for part, text in parts if part is verdict]))
