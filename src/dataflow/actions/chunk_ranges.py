"""Ranges of chunks as users type them."""

from __future__ import annotations

from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.store.chunk_reads import LAST_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Dataset


def find_bounds(dataset: Dataset, first: str | None, last: str | None) -> tuple[str, str]:
    """Return the first and last sort key of a range of chunks; None for an open end."""
    low, high = _key(dataset, first), _key(dataset, last)
    if low is not None and high is not None and high < low:
        raise BadInput(f"--to {last} is before --from {first}. Swap them.")
    return low or "", high or LAST_KEY


def _key(dataset: Dataset, dataid: str | None) -> str | None:
    if dataid is None:
        return None
    grain = Grain(dataset.grain)
    return sort_key(canonical_dataid(dataid, grain, dataset.timezone), grain)


def find_key_before(key: str) -> str:
    """Return a text that sorts before a sort key and after every other that does; empty for the first."""
    if not key:
        return ""
    before = ord(key[-1]) - 1
    if 0xD800 <= before <= 0xDFFF:  # halves of surrogate pairs are not text
        before = 0xD7FF
    return key[:-1] + chr(before) + 4 * "\U0010ffff"
