"""When failed work is tried again: a delay that grows with each attempt, and its jitter. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Job

JITTER = 0.2
"""How far a delay may be from its nominal value, so that what failed together is not tried together."""
LARGEST_BACKOFF = 10.0


def nominal_delay(job: Job, attempts: int) -> float:
    """Return the seconds before the next try, without jitter, after this many failed attempts (from 1).

    They grow up to the job's longest delay; a first delay that is longer stays as it is.
    """
    longest = max(job.retry_delay_seconds, job.retry_max_delay_seconds)
    return grown_delay(job.retry_delay_seconds, job.retry_backoff, longest, attempts)


def grown_delay(first_seconds: float, backoff: float, longest_seconds: float, attempts: int) -> float:
    """Return a delay that grows by a factor with each attempt (from 1) up to the longest."""
    try:
        grown: float = first_seconds * backoff ** (attempts - 1)
    except OverflowError:
        return longest_seconds
    return min(grown, longest_seconds)


def with_jitter(seconds: float, fraction: float) -> float:
    """Return a delay moved by up to ±20 %: a `fraction` of 0 gives the shortest, 1 the longest."""
    return seconds * (1 - JITTER + 2 * JITTER * fraction)
