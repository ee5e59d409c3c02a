"""The SELECT of one interval of a view pipeline, in the view's own dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dataflow.errors import BadInput
from dataflow.model.cron import ONCE
from dataflow.model.mapping import SAME
from dataflow.pipelines.handover.published_table import interval_table
from dataflow.pipelines.register.intervals import find_start_before
from dataflow.pipelines.sql.macros import Interval
from dataflow.pipelines.sql.views import View, build_select

if TYPE_CHECKING:
    from dataflow.pipelines.declare.definitions import ViewDefinition
    from dataflow.pipelines.register.intervals import Span


def view_select(definition: ViewDefinition, span: Span, constants: Mapping[str, object]) -> str:
    """The view's SQL with its templates rendered for the interval; BadInput for what is no such SELECT."""
    return _build(definition, span, constants, {})


def native_select(
    definition: ViewDefinition, span: Span, constants: Mapping[str, object], dataid: str
) -> str:
    """The same where the database that has its datasets computes it; BadInput if it is not in its dialect."""
    if definition.dialect != "postgres":
        raise BadInput(
            f'{definition.place}: {definition.job}.dialect is "{definition.dialect}", and all its datasets '
            f"are in {definition.target}, which computes it in PostgreSQL's. Write it so, and take dialect "
            'out; or have Spark compute it from datasets in the lake: target_db = "lake" for them.'
        )
    tables = native_tables(definition, dataid)
    renamed = {name: table for name, table in tables.items() if name != table}
    return _build(definition, span, constants, renamed)


def native_tables(definition: ViewDefinition, dataid: str) -> dict[str, str]:
    """The table of each dataset it reads in a database, where each interval of a view has one of its own."""
    return {
        item.dataset: interval_table(item.dataset, dataid) if item.mapping == SAME else item.dataset
        for item in definition.inputs
    }


def _build(
    definition: ViewDefinition, span: Span, constants: Mapping[str, object], tables: Mapping[str, str]
) -> str:
    view = View(
        f"{definition.place}: {definition.job}",
        definition.reads,
        definition.fields,
        definition.join,
        definition.where,
        definition.query,
        definition.dialect,
        definition.params,
        tables,
    )
    timing = definition.timing
    has_dates = timing.schedule != ONCE or bool(timing.start)
    interval = Interval(span.start, span.end, timing.timezone, find_start_before(timing, span), has_dates)
    own = {"table_name": definition.reads[0], "view_name": definition.dataset}
    named = {name: value for name, value in own.items() if name not in definition.params}
    return build_select(view, interval, named | dict(constants))
