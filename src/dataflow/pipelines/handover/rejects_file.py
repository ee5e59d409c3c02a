"""The file of rejected rows: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataflow.pipelines.shape.shaped import Reject

REJECTS = "_rejects.jsonl"
COLUMNS = ("part", "row", "field", "value", "reason", "source_row")


def write_rejects(
    path: str, rejects: Sequence[Reject], opener: Callable[[str, int], int] | None = None
) -> None:
    """Writes the rejected values, in order."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        for reject in rejects:
            facts = {name: getattr(reject, name) for name in COLUMNS}
            file.write(json.dumps(facts, ensure_ascii=False) + "\n")
