"""How a run ends is decided from the facts alone."""

from __future__ import annotations

import pytest

from dataflow.actions.prepare import Prepared
from dataflow.errors import CannotExecute, InputMoved, InvalidData, LeaseLost, Superseded, TimedOut
from dataflow.model.records import Job, Plan, Publication, Run
from dataflow.runjob.child import Step
from dataflow.runjob.endings import (
    NOT_RENEWED,
    TIMEOUT,
    CommandEnd,
    ending_of,
    not_executed,
    raised,
)

RUN = Run(1, 2, 3, "load", "7", 1, "first", 300.0, 10.0)
PLAN = Plan(3, Job("load"), 1, "sequence", "UTC", "", "script", (), ())
PREPARED = Prepared(RUN, PLAN, (), (), (), "/project")
SCRIPT = Step(("load.sh",))
CHECK_IN = Step(("check",), "orders", before=True)
CHECK_OUT = Step(("check",), "totals")

CASES = [
    (SCRIPT, 0, {}, ("DONE", 0, "")),
    (SCRIPT, 3, {}, ("FAILED", 3, "exited with 3")),
    (SCRIPT, 137, {}, ("FAILED", 137, "killed by SIGKILL")),
    (SCRIPT, 143, {"stopped": TIMEOUT}, ("FAILED", 124, "timed out")),
    (SCRIPT, 0, {"stopped": NOT_RENEWED}, ("LOST", None, NOT_RENEWED)),
    (SCRIPT, 0, {"stopped": "SIGTERM"}, ("INTERRUPTED", None, "interrupted: SIGTERM")),
    (SCRIPT, 0, {"missing": "totals is missing"}, ("INVALID", 0, "totals is missing")),
    (CHECK_IN, 4, {}, ("RETURNED", None, "valid? no: the check of input orders exited with 4")),
    (CHECK_OUT, 4, {}, ("INVALID", 0, "the check of totals exited with 4")),
    (CHECK_OUT, 0, {}, ("DONE", 0, "")),
]


@pytest.mark.parametrize(("step", "code", "facts", "expected"), CASES)
def test_the_end_of_a_command_decides_the_ending(
    step: Step, code: int, facts: dict[str, str], expected: tuple[object, ...]
) -> None:
    ending = ending_of(CommandEnd(PREPARED, step, code, code if step.is_script else 0, **facts))  # type: ignore[arg-type]
    assert ending is not None
    assert (str(ending.outcome), ending.exit_code, ending.reason) == expected
    assert ending.untouched == step.before


def test_a_run_with_another_command_to_come_has_no_ending_yet() -> None:
    assert ending_of(CommandEnd(PREPARED, SCRIPT, 0, 0, is_last=False)) is None
    assert ending_of(CommandEnd(PREPARED, CHECK_IN, 0, None, is_last=False)) is None


def test_a_success_publishes_what_was_observed() -> None:
    published = (Publication("totals", size=3),)
    ending = ending_of(CommandEnd(PREPARED, SCRIPT, 0, 0, publications=published))
    assert ending is not None
    assert ending.publications == published


@pytest.mark.parametrize(
    ("error", "script_code", "expected"),
    [
        (LeaseLost("late"), None, ("LOST", "late", True)),
        (LeaseLost("late"), 0, ("LOST", "late", False)),
        (CannotExecute("gone"), None, ("RETURNED", "gone", True)),
        (CannotExecute("gone"), 0, ("INVALID", "its check cannot run: gone", False)),
    ],
)
def test_a_command_that_cannot_start_ends_the_run(
    error: LeaseLost | CannotExecute, script_code: int | None, expected: tuple[object, ...]
) -> None:
    ending = not_executed(PREPARED, script_code, error)
    assert (str(ending.outcome), ending.reason, ending.untouched) == expected


@pytest.mark.parametrize(
    ("error", "lost", "expected"),
    [
        (ValueError("x"), False, ("FAILED", 1, False)),
        (ValueError("x"), True, ("INTERRUPTED", 1, False)),
        (KeyboardInterrupt(), False, ("INTERRUPTED", 1, False)),
        (InvalidData("x"), False, ("INVALID", 1, False)),
        (InputMoved("x"), False, ("RETURNED", None, False)),
        (Superseded("x"), False, ("FAILED", 1, True)),
        (TimedOut("x"), False, ("FAILED", 124, False)),
    ],
)
def test_what_python_code_raises_ends_the_run(
    error: BaseException, lost: bool, expected: tuple[object, ...]
) -> None:
    ending = raised(PREPARED, error, "words", lost)
    assert (str(ending.outcome), ending.exit_code, ending.final) == expected
    assert ending.reason == "words"
