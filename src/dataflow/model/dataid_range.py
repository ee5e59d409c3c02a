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
"""Dataids of one range; a larger range is probably a mistake."""


def digit_ranges(first: str, last: str) -> Iterator[str]:
    """Return every dataid from first to last, counting their final digits.

    BadInput if they differ elsewhere or in their zero padding.
    """
    start, end = _split_number(first), _split_number(last)
    if not start or not end or start[1] != end[1]:
        raise _refuse(first, last, "differ in more than a final number")
    padded = start[2].startswith("0") and start[2] != "0"
    if len(start[2]) != len(end[2]) and (padded or end[2].startswith("0")):
        raise _refuse(first, last, "are padded with zeros differently")
    low, high = int(start[2]), int(end[2])
    if high < low:
        raise refuse_backwards(first, last)
    if high - low >= MOST:
        raise BadInput(
            f"From {quoted(first)} to {quoted(last)} are {high - low + 1:,} dataids, more than the "
            f"limit of {MOST:,}. Split the range."
        )
    prefix, width = start[1], len(start[2])
    return (f"{prefix}{number:0{width}d}" for number in range(low, high + 1))


def refuse_backwards(first: str, last: str) -> BadInput:
    """Return the error for a range that ends before it starts."""
    return BadInput(f"--to {quoted(last)} is before --from {quoted(first)}. Swap them.")


def _refuse(first: str, last: str, reason: str) -> BadInput:
    return BadInput(
        f"--from {quoted(first)} and --to {quoted(last)} {reason}, so the dataids between them are "
        "unknown. List the dataids, or use --file."
    )
