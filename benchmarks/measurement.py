"""One number with what it is compared to and what is wanted of it, as a line of JSON."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured; `wanted` with a unit is about the value, without one about the ratio."""

    name: str
    value: float
    unit: str
    compared_to: str
    compared_value: float
    wanted: str

    @property
    def ratio(self) -> float:
        """The value over that of the peer or floor."""
        return self.value / self.compared_value if self.compared_value else float("inf")

    @property
    def met(self) -> bool:
        """Whether it is as wanted."""
        found = re.fullmatch(r"([<>]=?) ([\d.]+)( \S+)?", self.wanted)
        assert found is not None, self.wanted
        return COMPARISONS[found[1]](self.value if found[3] else self.ratio, float(found[2]))

    def to_json(self) -> str:
        """The line that `make bench` prints."""
        ratio = round(self.ratio, 3) if self.compared_value else None
        return json.dumps(
            {
                "name": self.name,
                "value": float(f"{self.value:.4g}"),
                "unit": self.unit,
                "compared_to": f"{self.compared_to}: {self.compared_value:.4g} {self.unit}",
                "ratio": ratio,
                "wanted": self.wanted,
                "met": self.met,
            }
        )
