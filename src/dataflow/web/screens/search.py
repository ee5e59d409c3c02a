"""Search: datasets and jobs by a part of their name, runs by their id."""

from __future__ import annotations

from typing import Any

from dataflow.api.fields import STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.datasets import list_datasets
from dataflow.api.routes.jobs import list_jobs
from dataflow.web.page import Page

MOST = 100


def read_search(call: Call) -> dict[str, Any]:
    """What has the text in its name."""
    text = call.query["q"].strip()
    wanted = text.lower()
    datasets = [one["dataset"] for one in list_datasets(call) if wanted in one["dataset"].lower()]
    jobs = [one["job"] for one in list_jobs(call) if wanted in one["job"].lower()]
    run_id = text if text.isascii() and text.isdecimal() and len(text) < 19 else ""
    return {"text": text, "datasets": datasets[:MOST], "jobs": jobs[:MOST], "run_id": run_id}


ROUTES = (
    Page(
        "/search", "Search", "search", "", read_search, (Field("q", STRING, "part of a name", default=""),)
    ).route,
)
