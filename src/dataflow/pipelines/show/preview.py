"""The first rows of one interval, as they would be published. Nothing is claimed, staged or published."""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from dataflow.errors import BadInput
from dataflow.model.record import record, replace
from dataflow.model.records import PYTHON, VIEW
from dataflow.model.wording import plural
from dataflow.pipelines.declare.definitions import DatasetDefinition
from dataflow.pipelines.declare.sources import Files, Http, TableSource
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.file_source import get_kind, list_files
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.limits import Watch
from dataflow.pipelines.fetch.page import read_page
from dataflow.pipelines.fetch.signer import Hide
from dataflow.pipelines.register.interval_plan import IntervalPlan
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.shape.inference import infer_fields, read_beginning
from dataflow.pipelines.shape.shaped import Shaped
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.show.plan import Outlook
from dataflow.pipelines.show.statements import first_position, quoted_name
from dataflow.pipelines.spark.frames import as_columns, column_types, list_rows, run_sql
from dataflow.pipelines.spark.session import explained, new_session

SHOWN_REJECTS = 100


@record
class Preview:
    """The first rows of an interval. `read` names what they were made from."""

    dataid: str
    read: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[dict[str, Any], ...]
    rejects: tuple[dict[str, Any], ...] = ()
    drift: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # what would keep the interval from being published


@record
class _Body:
    """The first part of a source: how it is opened and read, and where it came from."""

    open: Callable[[], BinaryIO]
    kind: str
    results_key: str
    read: str


def preview(outlook: Outlook, facilities: Facilities, most: int) -> Preview:
    """The first rows of the planned interval; BadInput for a Python job."""
    plan = outlook.plan
    assert plan is not None
    if plan.definition.kind == PYTHON:
        raise BadInput(
            f"{plan.definition.job} is a Python job ({plan.definition.place}): its output is not known "
            "before it runs."
        )
    if plan.definition.kind == VIEW:
        return _preview_view(outlook, plan, facilities, most)
    with tempfile.TemporaryDirectory(prefix="dataflow-preview-") as folder:
        return _shape(plan, _first_body(plan, facilities, folder, most), most)


def _shape(plan: IntervalPlan, body: _Body, most: int) -> Preview:
    """The first rows of a source's first page, file or query, with the rejected ones."""
    definition = cast("DatasetDefinition", plan.definition)
    fields = definition.mapped
    if definition.has_others:
        with body.open() as file:
            beginning = read_beginning(file, body.kind)
        fields = infer_fields(fields, beginning, body.kind, body.results_key)
    shaper = Shaper(fields, body.results_key, body.kind, False)
    columns = tuple((field.column, field.type.sql) for field in fields)
    needed = {one.column for one in plan.checks if one.kind == "not_null" and one.severity == "error"}
    found = _Collected(most, [name for name, _ in columns if name in needed])
    with body.open() as file:
        for shaped in shaper.shape(file, 1):
            if found.add(shaped):
                break
    rows, rejects, drift = tuple(found.rows), tuple(found.rejects), tuple(sorted(found.drift))
    return Preview(plan.dataid, body.read, columns, rows, rejects, drift, tuple(found.list_nulls()))


def _preview_view(outlook: Outlook, plan: IntervalPlan, facilities: Facilities, most: int) -> Preview:
    """The first rows of the view's SQL over the versions that a run would read now."""
    job, dataid = plan.definition.job, plan.dataid
    missing = [one.dataset.name for one in plan.inputs if not one.location]
    if missing:
        raise BadInput(
            f"{job} {dataid} cannot read {', '.join(missing)} yet: {outlook.interval.why}. "
            f"Next: {outlook.interval.next}"
        )
    read = ", ".join(f"{one.dataset.name} {one}" for one in plan.inputs)
    if plan.is_native:
        from dataflow.pipelines.postgres.native_views import read_first  # only databases need the driver

        connection = facilities.settings.get_connection(plan.engine)
        there, answer = read_first(connection, plan.definition.schema, plan.select, most)
        found = [dict(zip([one.name for one in there], row, strict=True)) for row in answer]
        return Preview(dataid, read, tuple((one.name, one.sql_type) for one in there), tuple(found))
    steps = plan.translate()
    with explained(facilities.spark.log_path):
        rows = run_sql(new_session(facilities.spark.get()), steps.translated, steps.frames)
        kept = steps.translated.kept or column_types(rows)
        columns = steps.translated.columns or kept
        names = [name for name, _ in columns]
        found = [dict(zip(names, row, strict=True)) for row in list_rows(as_columns(rows, kept).limit(most))]
    return Preview(dataid, read, columns, tuple(found))


class _Collected:
    """Rows, rejects and drift of shaped batches, up to the requested number."""

    def __init__(self, most: int, not_null: list[str]) -> None:
        self._most = most
        self._nulls = dict.fromkeys(not_null, 0)
        self._fitting = 0
        self.rows: list[dict[str, Any]] = []
        self.rejects: list[dict[str, Any]] = []
        self.drift: set[str] = set()

    def add(self, shaped: Shaped) -> bool:
        """Takes the needed rows of a batch; True when there are enough."""
        self.rows += shaped.batch.slice(0, self._most - len(self.rows)).to_pylist()
        self.rejects += [
            {"row": one.row, "field": one.field, "value": one.value, "reason": one.reason}
            for one in shaped.rejects[: SHOWN_REJECTS - len(self.rejects)]
        ]
        self._fitting += shaped.batch.num_rows
        for name in self._nulls:
            self._nulls[name] += shaped.batch.column(name).null_count
        self.drift |= {
            f"source field {name} is {'in no row' if rows == shaped.rows_read else 'missing in some rows'}"
            for name, rows in shaped.missing
        }
        self.drift |= {f"source field {name} is not mapped" for name in shaped.new}
        return len(self.rows) >= self._most

    def list_nulls(self) -> list[str]:
        """NULLs in columns that do not allow them, one line per column."""
        seen = f"{self._fitting} {plural(self._fitting, 'row')}"
        return [
            f"column {name} must not be NULL, but is in {count} of {seen} read"
            for name, count in self._nulls.items()
            if count
        ]


def _first_body(plan: IntervalPlan, facilities: Facilities, folder: str, most: int) -> _Body:
    source = cast("DatasetDefinition", plan.definition).source
    if isinstance(source, Http):
        assert plan.span is not None
        found = source.resolve(facilities.environ, plan.dataid, (plan.span.start, plan.span.end))
        facilities.settings.secrets.add(*found.list_secrets())
        return _first_page(source, found, facilities.settings.secrets.add)
    if isinstance(source, Files):
        part = next(list_files(source.path, facilities.config.project_dir, plan.dataid))
        return _Body(lambda: open(part.path, "rb"), get_kind(source.path, source.format), "", part.path)
    from dataflow.pipelines.register.databases import read_table  # only database sources need the driver

    (part,) = read_table(_limited(source, most), folder, facilities.settings)
    return _Body(lambda: open(part.path, "rb"), "parquet", "", f"connection {source.connection}")


def _first_page(source: Http, found: HttpSource, hide: Hide) -> _Body:
    """Makes one request; unlike a run, it does not prefetch pages."""
    address = found.pagination.locate(parse_address(found.url), first_position(source))
    with found.open_client(Watch(found.limits, threading.Event()), hide) as client:
        page = read_page(found.pagination, client.get(address), found.reading)
    read = f"the first page, {page.address}"
    return _Body(lambda: io.BytesIO(page.body), "page", found.pagination.results, read)


def _limited(source: TableSource, most: int) -> TableSource:
    """The source, limited to a few rows by the database itself."""
    if source.query:
        inner = f"({source.query.strip().rstrip(';')}\n)"
    else:
        inner = ".".join(map(quoted_name, (source.schema, source.table)))
    return replace(source, table="", query=f"select * from {inner} as source limit {most:d}", split_column="")
