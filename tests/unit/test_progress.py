"""The line that shows how far a pipeline's run is."""

from __future__ import annotations

import io
import re
import sys
import threading

import pytest

from dataflow.cli.progress import PipelineProgress


class Terminal(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_progress_line_is_erased_before_other_output(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with PipelineProgress() as progress:
        progress.show("fetching", 2, 1500, 60_000)
        progress.show("publishing", 1, 6)
        progress.show("checking", 1, 1)
        progress.clear()
        print("done", file=sys.stderr)
    before, _, after = terminal.getvalue().partition("done\n")
    assert before.endswith("\r\x1b[K")
    assert "fetching, 2 pages, 1,500 of 60,000 rows, " in before
    assert "publishing, 1 page, 6 rows" in before
    assert "checking, 1 page, 1 row, " in before
    assert after == ""


def test_off_a_terminal_only_the_start_of_spark_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for quiet, told in ((False, "Starting Spark …\n"), (True, "")):
        pipe = io.StringIO()
        monkeypatch.setattr(sys, "stderr", pipe)
        with PipelineProgress(quiet) as progress:
            progress.show("starting Spark")
            progress.show("fetching", 2, 1500, 60_000)
        assert pipe.getvalue() == told


def test_runs_at_once_share_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    progress = PipelineProgress()
    first, second = progress.beside(), progress.beside()
    first.show("fetching", 2, 200, 1000)
    second.show("fetching", 1, 100, 1000)
    second.show("publishing", 3, 300, 1000)
    first.end()
    second.show("checking")
    shown = [re.sub(r", [\d,]+ rows/s", "", line) for line in terminal.getvalue().split("\r\x1b[K")]
    assert shown == [
        "",
        "fetching, 2 pages, 200 of 1,000 rows …",
        "2 fetching, 3 pages, 300 of 2,000 rows …",
        "fetching; publishing, 5 pages, 500 of 2,000 rows …",
        "checking …",
    ]


def test_a_line_of_several_runs_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    PipelineProgress().beside().show("page 3: the server answered 503 Service Unavailable, again in 30 s")
    assert len(terminal.getvalue().removeprefix("\r\x1b[K")) == 40


def test_nothing_is_drawn_while_another_thread_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    progress = PipelineProgress()
    with progress.paused():
        drawing = threading.Thread(target=progress.show, args=("running",))
        drawing.start()
        drawing.join(10)
    assert terminal.getvalue() == ""
