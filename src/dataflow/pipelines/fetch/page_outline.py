"""A page's outline: the few values that lead to the next page, and its rows without parsing them.

Tasks parse the rows; the driver only has to know that they are JSON, and how many they are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pyarrow as pa

from dataflow.pipelines.shape.outline import Outline


def find_outline(body: bytes, results: str, others: tuple[str, ...]) -> Any:
    """The document with only these dotted keys, its rows unparsed; None if parsing all of it would say more.

    That is the case for anything but JSON in UTF-8 with a list of rows under `results`.
    """
    outline = _outline_of(results, others)
    return outline.decode(body) if outline and _is_utf8(body) else None


@cache
def _outline_of(results: str, others: tuple[str, ...]) -> Outline | None:
    """The decoder of these keys; None if one of them lies inside another."""
    kinds: dict[str, Any] = dict.fromkeys(filter(None, others), Any) | {results: list[msgspec.Raw]}
    inside = [(inner, outer) for inner in kinds for outer in kinds if inner.startswith(f"{outer}.")]
    return None if inside or ("" in kinds and len(kinds) > 1) else Outline(kinds)


def _is_utf8(body: bytes) -> bool:
    """True if the bytes are UTF-8; several times faster than decoding them."""
    if body.isascii():
        return True
    ends = pa.array([0, len(body)], pa.int64()).buffers()[1]
    try:
        pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(body)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
