"""Coming in and going out: the login form, the identity provider, the start link, and the logout button."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from starlette.responses import HTMLResponse, Response

from dataflow.access.gate import CALLBACK_PATH, Entry
from dataflow.access.next_path import safe_next
from dataflow.api.application import LOGIN_PATH
from dataflow.api.fields import STRING, Body, Field
from dataflow.api.route import Call, Route
from dataflow.errors import Forbidden, ProviderFailed, Throttled, Unauthenticated
from dataflow.model.principal import Permission
from dataflow.web.html import path_to, render_alone

PROVIDER_PATH = f"{LOGIN_PATH}/provider"
PATIENCE_SECONDS = 10.0
REFUSALS = (Unauthenticated, Forbidden, Throttled, ProviderFailed)
NEXT = Field("next", STRING, "where to go after the login")
NAME = Field("name", STRING, "name of the user", required=True, least=1)
PASSWORD = Field("password", STRING, "password of the user", required=True, least=1)
TOKEN = Field("token", STRING, "token of the start link", required=True, least=1)
ANSWER = tuple([Field(name, STRING, "from the identity provider") for name in ("state", "code", "error")])

Handler = Callable[[Call], Response]


def ask(call: Call) -> Response:
    """Show how to log in."""
    return _show(call, safe_next(call.query["next"]))


def log_in(call: Call) -> Response:
    """Log in a local user."""
    name, password, then = call.body["name"], call.body["password"], safe_next(call.body["next"])
    return _enter(call, then, lambda: call.gate.log_in(call.store, call.visit, name, password, then), name)


def go_to_provider(call: Call) -> Response:
    """Send somebody to the identity provider."""
    then = safe_next(call.query["next"])
    return _enter(call, then, lambda: call.gate.begin_login(call.visit, then))


def come_back(call: Call) -> Response:
    """Log in whoever comes back from the identity provider."""
    query = {name: value for name, value in call.query.items() if value is not None}
    # Not of the pool: the provider may take its time, and nobody else must wait for that.
    with closing(call.project.store.separate(PATIENCE_SECONDS)) as store:
        return _enter(call, "/", lambda: call.gate.finish_login(store, call.visit, query))


def start(call: Call) -> Response:
    """Exchange the token of the start link for a cookie."""
    then = safe_next(call.query["next"])
    return _enter(call, then, lambda: call.gate.start(call.visit, call.query["token"], then))


def log_out(call: Call) -> Response:
    """End the session."""
    return _redirect(call.gate.log_out(call.store, call.visit))


def _enter(call: Call, then: str, enter: Callable[[], Entry], name: str = "") -> Response:
    try:
        return _redirect(enter())
    except REFUSALS as error:
        response = _show(call, then, str(error), name)
        response.status_code = error.http_status
        if isinstance(error, Throttled):
            response.headers["Retry-After"] = str(error.seconds)
        return response


def _redirect(entry: Entry) -> Response:
    response = Response(status_code=303, headers={"Location": entry.location})
    for cookie in entry.cookies:
        response.headers.append("Set-Cookie", cookie.header)
    return response


def _show(call: Call, then: str, problem: str = "", name: str = "") -> HTMLResponse:
    settings = call.gate.settings
    shown = {
        "users": settings.users,
        "provider": path_to(*PROVIDER_PATH.strip("/").split("/"), next=then) if settings.login else "",
        "next": then,
        "problem": problem,
        "name": name,
    }
    return HTMLResponse(render_alone("login", shown))


def _route(method: str, path: str, handler: Handler, query: tuple[Field, ...] = ()) -> Route:
    summary = (handler.__doc__ or "").rstrip(".")
    return Route(
        *(method, path, Permission.PUBLIC, summary, handler, {}, query),
        body=Body((NAME, PASSWORD, NEXT)) if handler is log_in else None,
        needs_store=handler in (log_in, log_out),
        ignores_unknown=handler is come_back,
        is_page=True,
    )


ROUTES = (
    _route("GET", LOGIN_PATH, ask, (NEXT,)),
    _route("POST", LOGIN_PATH, log_in),
    _route("GET", PROVIDER_PATH, go_to_provider, (NEXT,)),
    _route("GET", CALLBACK_PATH, come_back, ANSWER),
    _route("GET", "/start", start, (TOKEN, NEXT)),
    _route("POST", "/logout", log_out),
)
