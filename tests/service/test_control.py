"""Commands that control jobs take effect on a worker that runs, and end no run."""

from __future__ import annotations

import time

import pytest

from tests.acceptance.flow import wait_until
from tests.service.crew import ONE, PATIENT, RECORDS_JOB, Crew

EFFECT_SECONDS = 2.0
HELD = f"{RECORDS_JOB}; while ! test -e go.$dataid; do sleep 0.05; done"


def start(crew: Crew, text: str = ONE, script: str = RECORDS_JOB) -> None:
    """Start a worker that only a change in the store wakes, and let it do one chunk."""
    crew.declare(text)
    crew.flow.script("load.sh", script)
    crew.start_ready("-j", "4", program=PATIENT)


@pytest.mark.parametrize("words", [("load",), ()], ids=["a job", "everything"])
def test_what_is_paused_uses_nothing_until_it_is_resumed(crew: Crew, words: tuple[str, ...]) -> None:
    start(crew)
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.states("load") == {"1": "DONE"})
    crew.flow.dataflow("pause", *words)
    crew.flow.ready("raw", "2")
    time.sleep(EFFECT_SECONDS)  # a worker that ignored the pause would have run it by now
    assert crew.flow.lines() == ["load 1"]
    assert crew.flow.states("load") == {"1": "DONE", "2": "CLAIMABLE"}
    crew.flow.dataflow("resume", *words)
    wait_until(lambda: crew.flow.lines() == ["load 1", "load 2"], 20)


def test_a_job_on_hold_is_left_alone_until_its_release(sqlite_crew: Crew) -> None:
    start(sqlite_crew)
    sqlite_crew.flow.dataflow("hold", "load")
    sqlite_crew.flow.ready("raw", "1")
    time.sleep(EFFECT_SECONDS)
    assert sqlite_crew.flow.lines() == []
    sqlite_crew.flow.dataflow("release", "load")
    wait_until(lambda: sqlite_crew.flow.lines() == ["load 1"], 20)


@pytest.mark.parametrize(
    ("text", "smaller", "larger"),
    [
        (ONE, ("scale", "load", "1"), ("scale", "load", "3")),
        (ONE + 'pool = "house"\n', ("pool", "set", "house", "1"), ("pool", "set", "house", "3")),
    ],
    ids=["scale", "pool"],
)
def test_a_new_limit_holds_for_the_next_run_and_ends_none(
    crew: Crew, text: str, smaller: tuple[str, ...], larger: tuple[str, ...]
) -> None:
    flow = crew.flow
    flow.dataflow("pool", "set", "house", "2")
    start(crew, text, HELD)
    flow.ready("raw", "1", "2")
    wait_until(lambda: len(flow.lines()) == 2)
    flow.dataflow(*smaller)
    flow.ready("raw", "3", "4", "5")
    (flow.path / "go.1").touch()
    wait_until(lambda: flow.states("load")["1"] == "DONE")
    time.sleep(EFFECT_SECONDS)
    assert sorted(flow.lines()) == ["load 1", "load 2"], "one still runs, and that is the limit"
    flow.dataflow(*larger)
    wait_until(lambda: sorted(flow.lines()) == [f"load {number}" for number in range(1, 5)], 20)
    assert set(flow.outcomes()) == {"DONE", "RUNNING"}
