"""The SELECT of one interval of a view pipeline, in the view's own dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

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
    return build_select(view, Interval(span.start, span.end, definition.timing.timezone), constants)
