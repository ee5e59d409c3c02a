"""Ranges of dataids that end in digits: shard-1 to shard-10000, 001 to 100.

Ranges of dates are in dataid.py.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_split_number = re.compile(r"(.*?)([0-9]+)", re.DOTALL).fullmatch

MOST = 100_000_000
"""Dataids of one range; who gives more has mistyped it."""


def digit_ranges(first: str, last: str) -> Iterator[str]:
    """Return every dataid from first to last, counting in the digits they end with.

    BadInput if they differ elsewhere, or in how they are padded with zeros.
    """
    start, end = _split_number(first), _split_number(last)
    if not start or not end or start[1] != end[1]:
        raise _refuse(first, last, "do not differ in a final number only")
    padded = start[2].startswith("0") and start[2] != "0"
    if len(start[2]) != len(end[2]) and (padded or end[2].startswith("0")):
        raise _refuse(first, last, "are padded with zeros differently")
    low, high = int(start[2]), int(end[2])
    if high < low:
        raise refuse_backwards(first, last)
    if high - low >= MOST:
        raise BadInput(
            f"From {quoted(first)} to {quoted(last)} are {high - low + 1:,} dataids, "
            f"more than {MOST:,} at once. If that many are meant, name them in parts."
        )
    prefix, width = start[1], len(start[2])
    return (f"{prefix}{number:0{width}d}" for number in range(low, high + 1))


def refuse_backwards(first: str, last: str) -> BadInput:
    """Return the error for a range whose end comes before its beginning."""
    return BadInput(f"--to {quoted(last)} is before --from {quoted(first)}. Swap them.")


def _refuse(first: str, last: str, reason: str) -> BadInput:
    return BadInput(
        f"--from {quoted(first)} and --to {quoted(last)} {reason}, so what lies between is unknown. "
        "List the dataids, or give them with --file."
    )
