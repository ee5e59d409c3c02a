"""The exact steps of one interval: the SQL it would run, the DDL of its table, its first request.

All of it is text: nothing is published, and a database is asked only for the columns of a SELECT.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

from dataflow.errors import UnknownColumns
from dataflow.model.dataid import sort_key
from dataflow.model.record import as_dict, replace
from dataflow.model.records import DATASET
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.declare.sources import Files, Http
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.pagination import Offset, PageNumber
from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.register.interval_plan import IntervalPlan
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.verdict import fields_of
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.fields import Field

UNKNOWN_COLUMNS = "-- the columns are not known until an input is published"


def describe_interval(plan: IntervalPlan, facilities: Facilities) -> dict[str, Any]:
    """What a run of this interval would do, without secrets."""
    definition, dataid = plan.definition, plan.dataid
    reads = {one.dataset.name: str(one) for one in plan.inputs}
    if plan.span is None:
        return {"dataid": dataid, "reads": reads}
    found: dict[str, Any] = {"dataid": dataid, "start": plan.span.start.isoformat()}
    found |= {"end": plan.span.end.isoformat(), "location": plan.location}
    found["checks"] = describe_checks(plan.checks)
    if definition.kind == DATASET:
        found["source"] = _first_step(plan, facilities)
        fields = definition.mapped if definition.declared_columns is not None else None
        return found | _table_ddl(plan, fields)
    found |= {"reads": reads, "runs_on": plan.engine}
    if plan.is_native:
        return found | {"select": plan.select, "ddl": _native_ddl(plan, facilities)}
    try:
        translated = plan.translate().translated
    except UnknownColumns as error:
        return found | {"note": str(error), "select": plan.select}
    columns = translated.columns
    found |= {"columns": dict(columns), "select": plan.select, "spark_sql": translated.sql}
    return found | _table_ddl(plan, fields_of(columns) if columns else None)


def describe_checks(checks: Iterable[Check]) -> list[str]:
    """The checks, as a project would write them."""
    return [f"{check}{' (warning)' * (check.severity == 'warning')}" for check in checks]


def first_position(source: Http) -> str | int:
    """The first request of a source."""
    pages = source.pages
    return pages.position(0, 0) if isinstance(pages, PageNumber | Offset) else ""


def describe_pages(source: Http) -> str:
    """The pagination of a source, as a project would write it."""
    changed = ", ".join(f"{name}={value!r}" for name, value in changed_fields(source.pages).items())
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(source.pages).__name__).lower()
    return f"{kind}({changed})"


def changed_fields(made: object) -> dict[str, Any]:
    """The fields of a record that differ from their defaults."""
    plain = type(made)()
    return {name: value for name, value in as_dict(made).items() if value != getattr(plain, name)}


def _first_step(plan: IntervalPlan, facilities: Facilities) -> dict[str, Any]:
    source = cast("DatasetDefinition", plan.definition).source
    if isinstance(source, Files):
        path = source.path.replace("{dataid}", plan.dataid)
        return {"files": os.path.join(facilities.config.project_dir, path)}
    staging = os.path.join(facilities.staging.of_work(plan.definition.job, plan.dataid), "{run_id}")
    if isinstance(source, Http):
        assert plan.span is not None
        span = plan.span.start, plan.span.end
        address = parse_address(source.url_of(plan.dataid, span))
        first = source.pages.locate(address, first_position(source))
        shown = first.shown(source.list_harmless(plan.dataid, span))
        return {"first_url": shown, "pagination": describe_pages(source), "staging": staging}
    read = source.query or f"{source.schema}.{source.table}"
    return {"connection": source.connection, "reads": read, "staging": staging}


def _table_ddl(plan: IntervalPlan, fields: tuple[Field, ...] | None) -> dict[str, Any]:
    """The DDL of the table that the result goes to; empty for a lake."""
    if plan.target.is_lake:
        return {}
    if fields is None:
        return {"ddl": [UNKNOWN_COLUMNS]}
    from dataflow.pipelines.register.databases import make_target  # only database targets need the driver

    return {"ddl": _list_ddl(make_target(plan, fields, _destination(plan)))}


def _native_ddl(plan: IntervalPlan, facilities: Facilities) -> list[str]:
    from dataflow.pipelines.register.databases import make_native_view  # which needs the driver

    definition = cast("ViewDefinition", plan.definition)
    if not definition.materialized:
        name = f"{quoted_name(definition.schema)}.{quoted_name(definition.table_of(plan.dataid))}"
        return [f"create or replace view {name} as {plan.select}"]
    if not all(one.location for one in plan.inputs):
        return [UNKNOWN_COLUMNS]
    with_password = replace(plan, target=facilities.settings.get_connection(definition.target))
    return _list_ddl(make_native_view(with_password, _destination(plan)))


def _destination(plan: IntervalPlan) -> Destination:
    definition = plan.definition
    key = sort_key(plan.dataid, definition.timing.grain)
    return Destination(definition.dataset, plan.dataid, key, 0, definition.mode)


def _list_ddl(target: Any) -> list[str]:
    from dataflow.pipelines.postgres import ddl

    statements: list[str] = []
    # Accepts statements like a session of the target, and keeps their text.
    recorder: Any = SimpleNamespace(execute=lambda one: statements.append(one.as_string(None)))
    ddl.create_table(recorder, target.table, target.partition)
    ddl.add_constraints(recorder, target.table, target.partition)
    ddl.add_indexes(recorder, target.table, target.partition)
    ddl.add_comment(recorder, target.table)
    return statements


def quoted_name(name: str) -> str:
    """A quoted PostgreSQL identifier."""
    return '"' + name.replace('"', '""') + '"'
