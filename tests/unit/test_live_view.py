"""The live view of `dataflow up`."""

from __future__ import annotations

from rich.console import Console

from dataflow.cli.live_view import MOST_SHOWN, make_table
from dataflow.model.record import replace
from dataflow.service.request import ActiveRun, Snapshot

IDLE = Snapshot("00aa", 4, 3, (), 1200, 2, 0, False, "")


def show(state: Snapshot, width: int = 80) -> list[str]:
    console = Console(width=width, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(make_table(state, 1000.0))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_an_idle_worker_is_one_line() -> None:
    assert show(IDLE) == ["3 jobs · 0 of 4 streams busy · 1,200 runs done, 2 failed · Ctrl-C to stop"]


def test_each_run_has_a_line_with_its_time() -> None:
    lines = show(
        replace(IDLE, doing=(ActiveRun("load", "2026-08-20", 7, 935.0), ActiveRun("extract", "x", 8, 999.0)))
    )
    assert lines[0].split() == ["run", "7", "load", "2026-08-20", "1:05"]
    assert lines[1].split() == ["run", "8", "extract", "x", "0:01"]


def test_many_runs_do_not_fill_the_screen() -> None:
    runs = tuple(ActiveRun("load", str(number), number, 0.0) for number in range(40))
    lines = show(replace(IDLE, doing=runs))
    assert len(lines) == MOST_SHOWN + 2
    assert lines[-2].split() == ["…", str(40 - MOST_SHOWN), "more"]


def test_trouble_and_draining_are_shown() -> None:
    assert "waiting for the store: gone" in show(replace(IDLE, trouble="gone"))[-1]
    assert "stopping" in " ".join(show(replace(IDLE, is_draining=True)))
