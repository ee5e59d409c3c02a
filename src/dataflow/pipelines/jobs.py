"""`@dataflow.job`: marks a function of pipelines/*.py as a job; definitions.py checks what it declares.

Nothing here imports Spark, so that a file of jobs can be read without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def job(
    *,
    inputs: Sequence[Any] = (),
    outputs: Sequence[str] = (),
    schedule: str | timedelta | None = "",
    name: str = "",
    **options: Any,
) -> Callable[[Function], Function]:
    """Makes a function a job that reads and writes these datasets; it stays a function to be called.

    The other options are the attributes of dataflow.pipelines.bases.Job.
    """
    declared = {"inputs": inputs, "outputs": outputs, "schedule": schedule, "name": name, **options}

    def mark(function: Function) -> Function:
        function.dataflow_job = SimpleNamespace(**declared)  # type: ignore[attr-defined]
        return function

    return mark
