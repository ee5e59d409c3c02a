"""Progress of long work, on one line of a terminal."""

from __future__ import annotations

import sys
import time

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


class PipelineProgress:
    """One line with the stage, pages, rows and rate of a pipeline's run; leaving `with` clears it.

    Off a terminal only the start of Spark is reported, because it takes seconds; `quiet` suppresses that.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._began_at = self._shown_at = time.monotonic()
        self._stage = ""
        self._is_shown = False

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows the progress of a run: now and then, and whenever its stage changes."""
        now = time.monotonic()
        if not sys.stderr.isatty():
            if stage == STARTING_SPARK and not self._quiet:
                print(f"{stage[0].upper()}{stage[1:]} …", file=sys.stderr, flush=True)
            return
        if stage == self._stage and now - self._shown_at < INTERVAL_SECONDS:
            return
        if stage in (STARTING_SPARK, "fetching") and stage != self._stage and not rows:
            self._began_at = now
        self._stage, self._shown_at, self._is_shown = stage, now, True
        rate = rows / max(now - self._began_at, 0.001)
        pages_text = f"{pages:,} page{'s' * (pages != 1)}"
        of_all = f" of {total:,}" if total is not None else ""
        noun = "row" if (rows if total is None else total) == 1 else "rows"
        counts = f", {pages_text}, {rows:,}{of_all} {noun}, {rate:,.0f} rows/s" if pages or rows else ""
        print(f"\r\x1b[K{stage}{counts} …", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clears the line, to make room for a message."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._stage, self._is_shown = "", False

    def __enter__(self) -> PipelineProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
