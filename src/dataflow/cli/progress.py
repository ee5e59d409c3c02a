"""How far long work is, on one line of a terminal; nowhere else."""

from __future__ import annotations

import sys
import time

INTERVAL_SECONDS = 0.2


class Progress:
    """Told how much is done, it shows that now and then; leaving `with` takes the line away."""

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
