"""The one table of all routes of the API."""

from __future__ import annotations

from dataflow.api.route import Route
from dataflow.api.routes import (
    dataset_actions,
    datasets,
    job_actions,
    jobs,
    operations,
    pipelines,
    runs,
    server,
)

ROUTES: tuple[Route, ...] = (
    *server.ROUTES,
    *datasets.ROUTES,
    *dataset_actions.ROUTES,
    *jobs.ROUTES,
    *job_actions.ROUTES,
    *runs.ROUTES,
    *operations.ROUTES,
    *pipelines.ROUTES,
)
