"""A row of the table of routes, and what its handler is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dataflow.api.fields import INTEGER, STRING, Body, Field
from dataflow.model.record import record

if TYPE_CHECKING:
    from dataflow.access.gate import Gate, Visit
    from dataflow.api.project import Project
    from dataflow.model.principal import Permission, Principal
    from dataflow.store.store import Store

PREFIX = "/api/v1"
PATH_FIELDS = {
    "dataset": Field("dataset", STRING, "name of the dataset", required=True, least=1),
    "job": Field("job", STRING, "name of the job", required=True, least=1),
    "pipeline": Field("pipeline", STRING, "name of the pipeline", required=True, least=1),
    "run_id": Field("run_id", INTEGER, "id of the run", required=True, least=1),
    "incident": Field("incident", INTEGER, "id of the incident", required=True, least=1),
    "hash": Field("hash", STRING, "hash of the file's content", required=True, least=1),
    "file": Field("file", STRING, "name of the file", required=True, least=1),
}
"""The names that a path may have in braces."""


@record
class Call:
    """One request to one route, checked; `store` acts in the name of the principal."""

    project: Project
    gate: Gate
    store: Store
    visit: Visit
    path: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Mapping[str, Any]

    @property
    def principal(self) -> Principal:
        """Who sends the request; a public route has nobody to ask for."""
        assert self.visit.principal is not None
        return self.visit.principal


@record
class Route:
    """What a path answers to a method, and who may ask; the OpenAPI document is made of these.

    `handler` returns what is encoded as JSON, or a response. `answer` is the JSON Schema of its result.
    """

    method: str
    path: str
    permission: Permission
    summary: str
    handler: Callable[[Call], Any]
    answer: Mapping[str, Any]
    query: tuple[Field, ...] = ()
    body: Body | None = None
    is_bulk: bool = False  # takes an Idempotency-Key
    needs_store: bool = True
    is_stream: bool = False  # answers with server-sent events
    media_type: str = "application/json"
    ignores_unknown: bool = False  # parameters that somebody else adds to its URL
    is_page: bool = False  # for a browser: takes a form, and answers errors as pages; not in the document

    @property
    def path_fields(self) -> tuple[Field, ...]:
        """The names in braces in its path."""
        return tuple([PATH_FIELDS[name] for name in re.findall(r"{(\w+)}", self.path)])

    @property
    def operation(self) -> str:
        """Its name in the OpenAPI document, such as `post_jobs_job_resubmit`."""
        words = re.findall(r"\w+", self.path.removeprefix(PREFIX))
        return "_".join([self.method.lower(), *words])
