"""The SELECT of one interval of a view pipeline, in the view's own dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dataflow.errors import BadInput
from dataflow.pipelines.intervals import find_start_before
from dataflow.pipelines.sql.macros import Interval
from dataflow.pipelines.sql.views import View, build_select

if TYPE_CHECKING:
    from dataflow.pipelines.definitions import ViewDefinition
    from dataflow.pipelines.intervals import Span


def view_select(definition: ViewDefinition, span: Span, constants: Mapping[str, object]) -> str:
    """The view's SQL with its templates rendered for the interval; BadInput for what is no such SELECT."""
    view = View(
        definition.job,
        definition.reads,
        definition.fields,
        definition.join,
        definition.where,
        definition.query,
        definition.dialect,
        definition.params,
    )
    timing = definition.timing
    interval = Interval(span.start, span.end, timing.timezone, find_start_before(timing, span))
    return build_select(view, interval, constants)


def native_select(definition: ViewDefinition, span: Span, constants: Mapping[str, object]) -> str:
    """The same where the database that has its datasets computes it; BadInput if it is not in its dialect."""
    if definition.dialect != "postgres":
        raise BadInput(
            f'{definition.place}: {definition.job}.dialect is "{definition.dialect}", and all its datasets '
            f"are in {definition.target}, which computes it in PostgreSQL's. Write it so, and take dialect "
            'out; or have Spark compute it from datasets in the lake: target_db = "lake" for them.'
        )
    return view_select(definition, span, constants)
