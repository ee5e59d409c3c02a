"""What becomes of staged rows when a run ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataflow.errors import DataFlowError, InvalidData

if TYPE_CHECKING:
    from dataflow.pipelines.records import Target


@contextmanager
def discarding(target: Target) -> Iterator[None]:
    """Staging is cleared when the body ends; what is INVALID stays there, to be looked at.

    Whether it can be cleared changes nothing about how the body ended: the next run clears up, too.
    """
    try:
        yield
    except InvalidData:
        raise
    except BaseException:
        _discard(target)
        raise
    _discard(target)


def _discard(target: Target) -> None:
    try:
        target.discard()
    except DataFlowError:
        pass
