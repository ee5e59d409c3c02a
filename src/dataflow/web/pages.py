"""All pages of the server, and the page of an error."""

from __future__ import annotations

from starlette.responses import HTMLResponse, Response

from dataflow.api.problems import Problem
from dataflow.api.server import Pages
from dataflow.web import action_forms, static_files
from dataflow.web.html import render_alone
from dataflow.web.screens import (
    chunks,
    datasets,
    jobs,
    lineage,
    logins,
    now,
    operations,
    pipelines,
    runs,
    search,
)


def show_problem(problem: Problem, request_id: str) -> Response:
    """Answer a person with an error: what happened and what to do."""
    shown = {"problem": problem, "request_id": request_id}
    return HTMLResponse(render_alone("problem", shown), problem.status, dict(problem.headers))


PAGES = Pages(
    (
        *static_files.ROUTES,
        *logins.ROUTES,
        *now.ROUTES,
        *datasets.ROUTES,
        *chunks.ROUTES,
        *jobs.ROUTES,
        *runs.ROUTES,
        *pipelines.ROUTES,
        *lineage.ROUTES,
        *operations.ROUTES,
        *search.ROUTES,
        *action_forms.ROUTES,
    ),
    show_problem,
)
