"""How jobs do: one job for people, and everything for Prometheus."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from dataflow.actions.job_statistics import MOST_POINTS, get_job_statistics
from dataflow.actions.metrics import Metric, Sample, list_metrics
from dataflow.api.fields import INTEGER, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import many, shape, texts
from dataflow.model.principal import Permission
from dataflow.model.record import as_tree

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
LIMIT = Field("limit", INTEGER, "at most this many last dataids", default=100, least=1, most=MOST_POINTS)
PROGRESS = shape(
    {"job": "text", "rate": "decimal?"}
    | texts("total done running waiting failed held claimable gone", "number")
)
POINT = shape(
    texts("dataid outcome started_at")
    | {"run_id": "number", "attempt": "number", "seconds": "decimal?", "rows": "number?"}
)
FAILURES = shape(
    texts("state reason dataid since_at") | {"quarantined": "yes", "count": "number", "dataids": "texts"}
)
STATISTICS = shape(
    {"job": "text", "progress": PROGRESS, "eta_seconds": "decimal?", "retrying": "number"}
    | {"points": many(POINT), "failures": many(FAILURES)}
)


def show_statistics(call: Call) -> Any:
    return as_tree(get_job_statistics(call.store, call.path["job"], call.query["limit"]))


def show_metrics(call: Call) -> Any:
    return Response(format_metrics(list_metrics(call.store)), media_type=TEXT_FORMAT)


def format_metrics(metrics: list[Metric]) -> str:
    """Return metrics in the text format of Prometheus."""
    lines = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {_escaped(metric.help)}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{metric.name}{_labels(sample)} {_number(sample.value)}" for sample in metric.samples]
    return "".join([f"{line}\n" for line in lines])


def _labels(sample: Sample) -> str:
    pairs = [f'{name}="{_escaped(value, quote=True)}"' for name, value in sample.labels]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escaped(text: str, quote: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quote else text


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


ROUTES = (
    Route(
        *("GET", f"{PREFIX}/jobs/{{job}}/statistics", Permission.READ),
        "Show progress, last dataids, failures by reason and retries of a job",
        show_statistics,
        STATISTICS,
        (LIMIT,),
    ),
    Route(
        *("GET", "/metrics", Permission.READ, "Show metrics for Prometheus", show_metrics),
        {"type": "string"},
        media_type="text/plain",
    ),
)
