"""A worker that looks by itself only every 300 s: if it hears of work sooner, something has woken it."""

from __future__ import annotations

import sys

from dataflow.cli.main import main
from dataflow.service import ranking

ranking.FALLBACK_SECONDS = 300.0

if __name__ == "__main__":
    sys.exit(main())
