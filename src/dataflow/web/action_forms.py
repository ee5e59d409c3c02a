"""Every action of the API as a form: what it will touch, the reason, and then what became of it.

A form is made from the row of the API's table: it asks for the same fields and follows the same rules.
"""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import HTMLResponse, Response

from dataflow.api.fields import BOOLEAN, STRINGS, Field
from dataflow.api.idempotency import answer_with_key
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.table import ROUTES as API_ROUTES
from dataflow.errors import BadInput
from dataflow.model.record import record, replace
from dataflow.web.html import render

PATH = "/act"
KEY = Field("key", "string", "makes it safe to send the form twice", least=1, required=True)
UNSHOWN = ("preview", "expect", "why")


@record
class ActionForm:
    """An action of the API that people can take."""

    route: Route

    @property
    def routes(self) -> tuple[Route, Route]:
        """The form, and what takes it."""
        fields = self.route.body or ()
        query = tuple([replace(field, required=False, default=None) for field in fields])
        texts = tuple([replace(field, kind="string") if field.kind == STRINGS else field for field in query])
        path, permission, summary = self._path, self.route.permission, self.route.summary
        return (
            Route("GET", path, permission, summary, self._ask, {}, texts, is_page=True),
            Route("POST", path, permission, summary, self._act, {}, body=(*fields, KEY), is_page=True),
        )

    @property
    def _path(self) -> str:
        return PATH + self.route.path.removeprefix(PREFIX)

    @property
    def _word(self) -> str:
        return self.route.path.rpartition("/")[2]

    def _ask(self, call: Call) -> Response:
        given = {name: value for name, value in call.query.items() if value is not None}
        preview, problem = self._preview(call, given)
        shown = {"preview": preview, "problem": problem, "given": given, "key": secrets.token_urlsafe(16)}
        return self._page(call, shown)

    def _preview(self, call: Call, given: dict[str, Any]) -> tuple[Any, str]:
        """Return what the action would touch, or why it cannot be said yet."""
        fields = {field.name: field for field in self.route.body or ()}
        if "preview" not in fields or not given:
            return None, ""
        body: dict[str, Any] = {field.name: field.default for field in fields.values()} | given
        if isinstance(body.get("dataids"), str):
            body["dataids"] = fields["dataids"].check(body["dataids"].splitlines())
        try:
            return self.route.handler(replace(call, body=body | {"preview": True})), ""
        except BadInput as error:
            return None, str(error)

    def _act(self, call: Call) -> Response:
        body = {name: value for name, value in call.body.items() if name != KEY.name}
        inner = replace(call, body=body)
        if self.route.is_bulk:
            done = answer_with_key(self.route, inner, call.body[KEY.name])
        else:
            done = self.route.handler(inner)
        return self._page(call, {"done": done, "given": body})

    def _page(self, call: Call, shown: dict[str, Any]) -> Response:
        fields = [field for field in self.route.body or () if field.name not in UNSHOWN]
        subject = [str(value) for value in call.path.values()]
        common: dict[str, Any] = {"preview": None, "problem": "", "done": None, "key": ""}
        head = {"title": f"{self._word.capitalize()} {' '.join(subject)}".strip(), "section": ""}
        form = {"summary": self.route.summary, "word": self._word, "fields": fields}
        kinds = {"BOOLEAN": BOOLEAN, "STRINGS": STRINGS}
        return HTMLResponse(render("action", call, common | head | form | kinds | shown))


ROUTES = tuple(
    [
        route
        for one in API_ROUTES
        if one.method == "POST" and one.path.startswith(PREFIX)
        for route in ActionForm(one).routes
    ]
)
