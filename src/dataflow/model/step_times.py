"""How long the steps of a run took, as one line of its log."""

from __future__ import annotations

import re
import time

from dataflow.model.record import record

_LINE = re.compile(r"^.{0,40}took: (.+)$", re.MULTILINE)
_STEP = re.compile(r"([a-z][a-z ]*) ([0-9.]+) s")


@record
class StepTime:
    """How long one step took."""

    step: str
    seconds: float


class StepTimes:
    """Measures steps, one after the other, from when it is made."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._steps: list[StepTime] = []

    def end(self, step: str) -> None:
        """Note that a step has ended and the next begins."""
        now = time.monotonic()
        self._steps.append(StepTime(step, now - self._since))
        self._since = now

    def __str__(self) -> str:
        return "took: " + ", ".join([f"{one.step} {one.seconds:.2f} s" for one in self._steps])


def find_step_times(text: str) -> tuple[StepTime, ...]:
    """Return the steps in the last such line of a log."""
    found = _LINE.findall(text)
    pairs = _STEP.findall(found[-1]) if found else []
    return tuple([StepTime(step, float(seconds)) for step, seconds in pairs])
