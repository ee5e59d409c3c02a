"""The one table of all routes of the API."""

from __future__ import annotations

from dataflow.api.route import Route
from dataflow.api.routes import datasets, jobs, runs, server

ROUTES: tuple[Route, ...] = (*server.ROUTES, *datasets.ROUTES, *jobs.ROUTES, *runs.ROUTES)
