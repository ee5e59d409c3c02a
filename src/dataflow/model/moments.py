"""Moments as the text in which they are kept and shown; without datetime, for a quick start-up."""

from __future__ import annotations

import time


def utc_text(seconds: float) -> str:
    """A time since the epoch as ISO text in UTC, to the millisecond; nothing is before the epoch."""
    whole, part = divmod(int(max(seconds, 0) * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{part:03d}Z"
