"""The one table of all routes of the API."""

from __future__ import annotations

from dataflow.api.route import Route
from dataflow.api.routes import (
    attention,
    dataset_actions,
    datasets,
    grids,
    job_actions,
    jobs,
    logs,
    operations,
    pipelines,
    runs,
    server,
    statistics,
)

ROUTES: tuple[Route, ...] = (
    *server.ROUTES,
    *datasets.ROUTES,
    *dataset_actions.ROUTES,
    *grids.ROUTES,
    *jobs.ROUTES,
    *statistics.ROUTES,
    *job_actions.ROUTES,
    *runs.ROUTES,
    *logs.ROUTES,
    *attention.ROUTES,
    *operations.ROUTES,
    *pipelines.ROUTES,
)
