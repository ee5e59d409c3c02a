"""The line that shows how far a pipeline's run is."""

from __future__ import annotations

import io
import sys

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
