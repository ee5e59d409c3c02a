"""Progress of long work, on one line of a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

INTERVAL_SECONDS = 0.2
STARTING_SPARK = "starting Spark"


class Progress:
    """Shows how much is done; leaving `with` clears the line."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown_at = time.monotonic()
        self._is_shown = False

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._shown_at < INTERVAL_SECONDS or not sys.stderr.isatty():
            return
        self._shown_at = now
        self._is_shown = True
        print(f"\r{done:,} {self._what} …", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Line:
    """The line of a terminal that all runs of a process share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.runs: list[PipelineProgress] = []
        self.shown_at = 0.0
        self.is_shown = False

    def clear(self) -> None:
        """Clears the line; what is shown next is shown at once."""
        if self.is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self.shown_at, self.is_shown = 0.0, False

    def draw(self) -> None:
        """Draws the stages of the runs under way, and the sums of their counts."""
        runs = [run for run in self.runs if run.stage]
        stages = Counter(run.stage for run in runs)
        text = "; ".join(f"{count} {stage}" if count > 1 else stage for stage, count in stages.items())
        pages, rows = sum(run.pages for run in runs), sum(run.rows for run in runs)
        if pages or rows:
            seconds = time.monotonic() - min(run.began_at for run in runs)
            totals = [run.total for run in runs if run.total is not None]
            total = sum(totals) if len(totals) == len(runs) else None
            of_all = f" of {total:,}" if total is not None else ""
            noun = "row" if (rows if total is None else total) == 1 else "rows"
            rate = f"{rows / max(seconds, 0.001):,.0f} rows/s"
            text += f", {pages:,} page{'s' * (pages != 1)}, {rows:,}{of_all} {noun}, {rate}"
        text = text[: shutil.get_terminal_size().columns - 2]  # a longer line could not be erased
        print(f"\r\x1b[K{text} …", end="", file=sys.stderr, flush=True)
        self.shown_at, self.is_shown = time.monotonic(), True


class PipelineProgress:
    """One line with the stage, pages, rows and rate of a pipeline's runs; leaving `with` clears it.

    Off a terminal only the start of Spark is reported, because it takes seconds; `quiet` suppresses that.
    """

    def __init__(self, quiet: bool = False, line: _Line | None = None) -> None:
        self._quiet = quiet
        self.stage = ""
        self.pages = self.rows = 0
        self.total: int | None = None
        self.began_at = time.monotonic()
        self._line = line or _Line()
        self._line.runs.append(self)

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows the progress of a run: now and then, and whenever its stage changes."""
        if not sys.stderr.isatty():
            if stage == STARTING_SPARK and not self._quiet:
                print(f"{stage[0].upper()}{stage[1:]} …", file=sys.stderr, flush=True)
            return
        if not self._line.lock.acquire(blocking=False):
            return
        try:
            now = time.monotonic()
            is_new, self.stage = stage != self.stage, stage
            if stage in (STARTING_SPARK, "fetching") and is_new and not rows:
                self.began_at = now
            self.pages, self.rows, self.total = pages, rows, total
            if is_new or now - self._line.shown_at >= INTERVAL_SECONDS:
                self._line.draw()
        finally:
            self._line.lock.release()

    def end(self) -> None:
        """Shows nothing more of this run."""
        with self._line.lock:
            self.stage = ""

    def beside(self) -> PipelineProgress:
        """The progress of another run, on the same line."""
        with self._line.lock:
            return PipelineProgress(self._quiet, self._line)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Lets only this thread print meanwhile."""
        with self._line.lock:
            yield

    def clear(self) -> None:
        """Clears the line, to make room for a message."""
        self._line.clear()

    def __enter__(self) -> PipelineProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
