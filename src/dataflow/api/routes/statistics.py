"""How a job does: progress, rate and ETA, its last dataids, and its failures grouped by reason."""

from __future__ import annotations

from typing import Any

from dataflow.actions.job_statistics import MOST_POINTS, get_job_statistics
from dataflow.api.admission import Permission
from dataflow.api.fields import INTEGER, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import many, shape, texts
from dataflow.model.record import as_tree

POINT = shape(
    texts("dataid outcome started_at")
    | {"run_id": "number", "attempt": "number", "seconds": "decimal?", "rows": "number?"}
)
FAILURE = shape(texts("state reason dataid since_at") | {"quarantined": "yes", "count": "number"})
STATISTICS = shape(
    job="text",
    progress={"type": "object"},
    eta_seconds="decimal?",
    points=many(POINT),
    failures=many(FAILURE),
    retrying="number",
)


def show_statistics(call: Call) -> Any:
    return as_tree(get_job_statistics(call.store, call.path["job"], call.query["limit"]))


ROUTES = (
    Route(
        *("GET", f"{PREFIX}/jobs/{{job}}/statistics", Permission.READ, "Show how a job does"),
        show_statistics,
        STATISTICS,
        (Field("limit", INTEGER, "last dataids, at most this many", default=100, least=1, most=MOST_POINTS),),
    ),
)
