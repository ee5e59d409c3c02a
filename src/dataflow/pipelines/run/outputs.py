"""The outputs of one run of a Python job: each staged and checked separately, all published together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING

from dataflow import failpoints
from dataflow.errors import BadInput, InvalidData
from dataflow.model.wording import quoted
from dataflow.pipelines.handover.records import Published, Target
from dataflow.pipelines.lake.manifest import Columns
from dataflow.pipelines.run.stage_tasks import StageFrame
from dataflow.pipelines.run.targets import discarding
from dataflow.pipelines.run.verdict import Judgement, fields_of
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.fields import check_column_name
from dataflow.pipelines.spark.frames import as_columns, column_types
from dataflow.pipelines.spark.tasks import run_over

if TYPE_CHECKING:
    from dataflow.pipelines.spark.annotations import DataFrame


class Outputs(ExitStack):
    """The outputs staged so far; `make_target` returns the target of a dataset with these columns.

    Leaving the context clears all staging, except for INVALID outputs.
    """

    def __init__(
        self, make_target: Callable[[str, Columns], Target], tag: str, log: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._make_target = make_target
        self._tag = tag
        self._log = log
        self._staged: dict[str, tuple[Target, Judgement]] = {}

    def stage(
        self,
        dataset: str,
        frame: DataFrame,
        checks: tuple[Check, ...],
        last_rows: int | None,
        end: datetime | None,
    ) -> None:
        """Stages and checks the rows of a frame; InvalidData if a check fails."""
        for check in checks:
            if not isinstance(check, Check):
                raise BadInput(f"Checks of {dataset} contain {quoted(repr(check))}, which is not a check.")
        columns = _columns_of(frame, dataset)
        judgement = Judgement(checks, fields_of(columns))
        target = self._make_target(dataset, columns)
        target.begin()
        self.enter_context(discarding(target))
        task = StageFrame(target.writer(), judgement.wanted, tuple(name for name, _ in columns))
        judgement.add(run_over(frame.sparkSession, as_columns(frame, columns), task, self._tag))
        failpoints.reach("after_stage")
        try:
            judgement.decide_checks(target, last_rows, end)
        except InvalidData as error:
            raise InvalidData(f"{dataset}: {error}") from error
        for line in judgement.list_warnings():
            self._log(f"warning: {dataset}: {line}")
        self._staged[dataset] = (target, judgement)

    def publish(self) -> dict[str, tuple[Published, str]]:
        """Publishes all outputs; returns for each what was published, and the evidence of its checks."""
        found = {}
        for dataset, (target, judgement) in self._staged.items():
            found[dataset] = (target.publish(judgement.list_staged()), judgement.evidence)
            failpoints.reach("after_publish")
        return found


def _columns_of(frame: DataFrame, dataset: str) -> Columns:
    """The frame's columns with their types; BadInput for one that cannot be named in a query."""
    seen: set[str] = set()
    try:
        columns = column_types(frame)
        for name, _ in columns:
            check_column_name(name)
            # Spark ignores case in names, so the columns of a dataset must differ in more than case.
            if name.lower() in seen:
                raise BadInput(f"two of its columns are named {name}. Rename one of them.")
            seen.add(name.lower())
    except BadInput as error:
        raise BadInput(f"{dataset} cannot be written: {error}") from error
    return columns
