"""One run of a dataset pipeline: fetch, shape, stage, check, publish."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dataflow import failpoints
from dataflow.errors import InvalidData
from dataflow.pipelines.feeding import Feeder
from dataflow.pipelines.intervals import Span, interval_of
from dataflow.pipelines.judgement import Judgement
from dataflow.pipelines.reading import Reading
from dataflow.pipelines.shape.inference import infer_fields
from dataflow.pipelines.spark.tasks import run_tasks
from dataflow.pipelines.stage import Report, StageParts
from dataflow.pipelines.targets import dataset_target, destination_of

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.pipelines.definitions import DatasetDefinition
    from dataflow.pipelines.facilities import Facilities
    from dataflow.pipelines.records import Part, Published, Target
    from dataflow.pipelines.shape.fields import Field
    from dataflow.pipelines.shape.statistics import Wanted

KEPT_REJECTS = 1000
"""So many rejected rows of each task are kept to be looked at."""


class DatasetRun:
    """A claimed run of a dataset pipeline."""

    def __init__(self, definition: DatasetDefinition, claimed: ClaimedRun, facilities: Facilities) -> None:
        self._definition = definition
        self._claimed = claimed
        self._facilities = facilities
        self._span: Span = interval_of(definition.timing, claimed.dataid)
        self._stop = threading.Event()
        self._tag = f"run-{claimed.run_id}"
        self._pages = self._rows = 0

    def execute(self) -> None:
        """Does the work; what it gives out is published by the claim when this returns."""
        definition, claimed = self._definition, self._claimed
        source = Reading(definition, self._span, claimed, self._facilities, self._stop)
        fields = definition.fields
        if definition.has_others:
            fields = infer_fields(fields, source.first_body(), source.kind, source.results_key)
        target = dataset_target(definition, fields, claimed, self._facilities)
        published = target.find_published(self._facilities.list_earlier(claimed.run))
        if published is None:
            target.begin()
            try:
                published = self._make(source, fields, target)
            finally:
                target.discard()
        else:
            self.log(f"an earlier run had published {published.rows} rows before it died")
        claimed.record_rows(definition.dataset, published.rows)

    def cancel(self) -> None:
        """Ends fetching and the run's Spark jobs."""
        self._stop.set()
        self._facilities.session().interruptTag(self._tag)

    def clean_up(self) -> None:
        """Removes what was fetched, once it is published."""
        for run_id in (self._claimed.run_id, *self._facilities.list_earlier(self._claimed.run)):
            shutil.rmtree(self._facilities.staging_folder(self._claimed.run, run_id), ignore_errors=True)

    def log(self, text: str) -> None:
        """Adds a line to the run's log."""
        self._facilities.log(self._claimed.run, text)

    def _make(self, source: Reading, fields: tuple[Field, ...], target: Target) -> Published:
        judgement = Judgement(self._definition.checks, fields)
        judgement.add(self._stage(source, fields, target, judgement.wanted))
        failpoints.reach("after_stage")
        try:
            self._judge(judgement, target)
        except InvalidData as error:
            self._keep_rejects(judgement)
            source.close(str(error))
            raise
        self._facilities.progress.show("publishing", self._pages, judgement.rows)
        published = target.publish(judgement.list_staged())
        failpoints.reach("after_publish")
        self._claimed.record_checked(self._definition.dataset, judgement.evidence)
        self.log(f"published {published.rows} rows")
        return published

    def _stage(
        self, source: Reading, fields: tuple[Field, ...], target: Target, wanted: Wanted
    ) -> list[Report]:
        session = self._facilities.session()
        shaper = source.shaper(fields, target.wants_uuid_bytes)
        writer = target.writer()

        def work(parts: tuple[Part, ...]) -> Report:
            task = StageParts(parts, shaper, writer, wanted, KEPT_REJECTS)
            (report,) = run_tasks(session, [task], self._tag)
            assert isinstance(report, Report)
            self._rows += report.rows_read
            self._facilities.progress.show("shaping", self._pages, self._rows)
            return report

        feeder = Feeder(work, self._facilities.streams, self._stop)
        return feeder.run(self._counted(source.parts()))

    def _counted(self, parts: Iterator[Part]) -> Iterator[Part]:
        for part in parts:
            self._pages += 1
            self._facilities.progress.show("fetching", self._pages, self._rows)
            yield part
            failpoints.reach("after_page")
        failpoints.reach("after_fetch")

    def _judge(self, judgement: Judgement, target: Target) -> None:
        self._facilities.progress.show("checking", self._pages, judgement.rows)
        for line in judgement.list_drift():
            self.log(line)
        judgement.decide_rejects(self._definition.rejects)
        judgement.decide_checks(target, self._last_rows(), self._span.end)
        for line in judgement.list_warnings():
            self.log(f"warning: {line}")

    def _last_rows(self) -> int | None:
        """How many rows the version before has: the same chunk's, or the newest snapshot's before it."""
        where = destination_of(self._claimed, self._definition.dataset)
        row = self._facilities.store.find(
            "reading.last_rows",
            dataset_id=self._claimed.prepared.plan.outputs[0].dataset_id,
            dataid=where.dataid,
            sort_key=where.sort_key,
            is_snapshot=where.mode == "snapshot",
        )
        return int(row[0]) if row else None

    def _keep_rejects(self, judgement: Judgement) -> None:
        """Leaves the rejected rows beside the fetched pages, to be looked at."""
        rejects = judgement.list_rejects()
        if not rejects:
            return
        folder = self._facilities.staging_folder(self._claimed.run, self._claimed.run_id)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "rejects.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(reject, ensure_ascii=False) + "\n" for reject in rejects)
        self.log(f"rejected rows: {path}")
