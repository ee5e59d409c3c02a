"""A page: a path, a template, and the reads of the API that fill it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import HTMLResponse, Response

from dataflow.api.fields import Field
from dataflow.api.route import Call, Route
from dataflow.model.principal import Permission
from dataflow.model.record import record
from dataflow.web.html import render


@record
class Page:
    """One screen. `read` returns what its template shows; `section` is its place in the navigation."""

    path: str
    title: str
    template: str
    section: str
    read: Callable[[Call], dict[str, Any]]
    query: tuple[Field, ...] = ()
    needs_store: bool = True

    @property
    def route(self) -> Route:
        """The route that answers with this page."""
        return Route(
            *("GET", self.path, Permission.READ, self.title, self._answer, {}),
            self.query,
            needs_store=self.needs_store,
            is_page=True,
        )

    def _answer(self, call: Call) -> Response:
        shown = {"title": self.title, "section": self.section} | self.read(call)
        return HTMLResponse(render(self.template, call, shown))
