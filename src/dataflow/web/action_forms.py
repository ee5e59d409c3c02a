"""Every action of the API as a form: what it will touch, the reason, and then what became of it.

A form is made from the row of the API's table: it asks for the same fields and follows the same rules.
"""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import HTMLResponse, Response

from dataflow.api.bulk import REFUSALS
from dataflow.api.fields import BOOLEAN, INTEGER, STRINGS, Body, Field
from dataflow.api.idempotency import answer_with_key
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.table import ROUTES as API_ROUTES
from dataflow.errors import DataFlowError
from dataflow.model.record import record, replace
from dataflow.web.html import path_to, render
from dataflow.web.seen_state import digest, list_seen, refuse_changed

PATH = "/act"
KEY = Field("key", "string", "makes it safe to send the form twice", least=1, required=True)
SEEN = Field("seen", "string", "the state that the person saw")
UNSHOWN = ("preview", "expect", "why")
KINDS = {"BOOLEAN": BOOLEAN, "INTEGER": INTEGER, "STRINGS": STRINGS}
BLANK: dict[str, Any] = {
    "preview": None,
    "problem": "",
    "done": None,
    "given": {},
    "key": "",
    "expect": None,
    "states": [],
}


@record
class ActionForm:
    """An action of the API that people can take."""

    route: Route

    @property
    def routes(self) -> tuple[Route, Route]:
        """The form, and what takes it: with a reason, which programs may leave out."""
        asked = [replace(field, required=False, default=None) for field in self._fields]
        sent = [replace(field, required=True) if field.name == "why" else field for field in self._fields]
        head = (self._path, self.route.permission, self.route.summary)
        return (
            Route("GET", *head, self._ask, {}, tuple(asked), is_page=True),
            Route(
                "POST",
                *head,
                self._act,
                {},
                body=replace(self._body, fields=(*sent, KEY, SEEN)),
                is_page=True,
            ),
        )

    @property
    def _body(self) -> Body:
        assert self.route.body is not None
        return self.route.body

    @property
    def _fields(self) -> tuple[Field, ...]:
        return self._body.fields

    @property
    def _has_preview(self) -> bool:
        return any(field.name == "preview" for field in self._fields)

    @property
    def _path(self) -> str:
        return PATH + self.route.path.removeprefix(PREFIX)

    @property
    def _word(self) -> str:
        return self.route.path.rpartition("/")[2]

    def _ask(self, call: Call) -> Response:
        return self._form(call, _without_rest(call.query))

    def _form(self, call: Call, given: dict[str, Any], error: DataFlowError | None = None) -> Response:
        """Answer with the form and a preview of what is selected, after an error with its reason."""
        states = list_seen(call, given)
        shown: dict[str, Any] = {"given": given, "key": secrets.token_urlsafe(16), "states": states}
        shown["seen"] = digest(states)
        if self._has_preview and (given or self._body.may_choose_none):
            try:
                body = self._body.read(given | {"preview": True})
                shown["preview"] = self.route.handler(replace(call, body=body))
                shown["expect"] = _count(shown["preview"])
            except REFUSALS as refusal:
                error = error or refusal
        shown["problem"] = str(error or "")
        return self._page(call, shown, error.http_status if error else 200)

    def _act(self, call: Call) -> Response:
        body = {name: call.body[name] for name in [field.name for field in self._fields]}

        def act(inner: Call) -> Any:
            refuse_changed(inner, body, call.body[SEEN.name])
            return self.route.handler(inner)

        try:
            route = replace(self.route, handler=act)
            done = answer_with_key(route, replace(call, body=body), call.body[KEY.name])
        except REFUSALS as error:
            return self._form(call, _without_rest(body), error)
        return self._page(call, {"done": done, "given": _without_rest(body)})

    def _page(self, call: Call, shown: dict[str, Any], status: int = 200) -> Response:
        subject = [str(value) for value in call.path.values()]
        form = {
            "title": " ".join([self._word.capitalize(), *subject]),
            "section": "",
            "summary": self.route.summary,
            "word": self._word,
            "fields": [field for field in self._fields if field.name not in UNSHOWN],
            "has_preview": self._has_preview,
            "path": path_to(*[_part(part, call) for part in self._path.strip("/").split("/")]),
            "back": _subject_path(call),
        }
        return HTMLResponse(render("action", call, BLANK | form | KINDS | shown), status)


def _part(part: str, call: Call) -> object:
    return call.path[part[1:-1]] if part.startswith("{") else part


def _without_rest(values: Any) -> dict[str, Any]:
    """Return the fields of the selection that are given."""
    return {name: value for name, value in values.items() if value is not None and name not in UNSHOWN}


def _count(preview: dict[str, Any]) -> int | None:
    """Return what to expect when the action is taken: nothing for named dataids, each is done by itself."""
    if "affected" in preview:
        found: int = preview["counts"]["affected"]
        return found
    return None if preview["items"] else preview["selected"]


def _subject_path(call: Call) -> str:
    """Return the page of what the action is about."""
    places = {"job": "jobs", "dataset": "datasets", "run_id": "runs"}
    found = [path_to(places[name], value) for name, value in call.path.items() if name in places]
    return found[0] if found else "/"


ROUTES = tuple(
    [
        route
        for one in API_ROUTES
        if one.method == "POST" and one.path.startswith(PREFIX)
        for route in ActionForm(one).routes
    ]
)
