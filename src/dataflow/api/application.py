"""The ASGI application: a table of routes behind the gate. Whatever has no permission is not answered."""

from __future__ import annotations

import json
import secrets
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route as Mounted
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dataflow.access.gate import Gate, Visit
from dataflow.access.request_facts import RequestFacts, facts_of
from dataflow.api.events import Events
from dataflow.api.fields import Body, read_parameters
from dataflow.api.idempotency import answer_with_key
from dataflow.api.problems import (
    HttpError,
    Problem,
    no_such_path,
    not_json,
    problem_of,
    too_large,
    unexpected,
    wrong_method,
)
from dataflow.api.project import Project
from dataflow.api.route import Call, Route
from dataflow.api.store_pool import StorePool
from dataflow.errors import BadInput, DataFlowError, StoreUnreachable, Unauthenticated
from dataflow.model.principal import Permission
from dataflow.model.record import replace

MOST_BYTES = 1 << 20
METRICS_PATH = "/metrics"
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
"""For monitors, which come by any name of this machine: exactly these paths pass the gate unchecked."""
LOGIN_PATH = "/login"
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


ShowProblem = Callable[[Problem, str], Response]
"""Shows a person an error and the id of the request."""


class Service:
    """What all requests of a server share."""

    def __init__(self, project: Project, gate: Gate, show_problem: ShowProblem | None = None) -> None:
        self.project = project
        self.gate = gate
        self.show_problem = show_problem
        self.pool = StorePool(project.store)
        self.events = Events(self.pool)

    def answer_problem(self, problem: Problem, scope: Scope) -> Response:
        """Return an error as a response: JSON to programs, to people a page or the login."""
        request_id = scope["dataflow.request_id"]
        if self.show_problem is None or _is_for_programs(scope):
            return JsonResponse(problem.as_json(request_id), problem.status, dict(problem.headers))
        if problem.status == Unauthenticated.http_status:
            return RedirectResponse(f"{LOGIN_PATH}?next={quote(_page_of(scope), safe='')}", 303)
        return self.show_problem(problem, request_id)

    async def identify(self, scope: Scope) -> Visit:
        """Return a checked request with who sent it."""
        return await run_in_threadpool(
            self.gate.identify, scope["dataflow.visit"], lambda: self.pool.lend("gate")
        )

    def close(self) -> None:
        """End the streams and close the connections."""
        self.events.close()
        self.pool.close()


def make_application(service: Service, routes: Sequence[Route]) -> ASGIApp:
    """Return the application that serves these routes, and nothing else."""
    mounted = [
        Mounted(route.path, endpoint=Endpoint(service, route), methods=[route.method]) for route in routes
    ]
    handlers: Any = {HTTPException: _refuse_path}
    inner = Starlette(routes=mounted, exception_handlers=handlers)
    inner.router.redirect_slashes = False  # it would tell everybody which paths exist
    inner.state.service = service
    return Entrance(service, inner)


class Entrance:
    """Stands before every route: has the gate check the request, and adds headers to every answer."""

    def __init__(self, service: Service, inner: Starlette) -> None:
        self._service = service
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no web sockets
            return
        request_id = secrets.token_hex(8)
        scope["dataflow.request_id"] = request_id

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = SECURITY_HEADERS | {"X-Request-Id": request_id}
                message["headers"] = [
                    *message["headers"],
                    *[
                        (n.lower().encode(), v.encode())
                        for n, v in more.items()
                        if n.lower().encode() not in given
                    ],
                ]
            await send(message)

        facts = _facts_of(scope)
        scope["dataflow.visit"] = Visit(facts, None)
        answer: ASGIApp = self.inner
        if scope["path"] not in HEALTH_PATHS:
            try:
                scope["dataflow.visit"] = self._service.gate.check(facts)
            except DataFlowError as error:
                answer = self._service.answer_problem(problem_of(error), scope)
        await answer(scope, receive, send_with_headers)


class Endpoint:
    """Answers one route: permission, parameters, body, handler, in this order."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service = service
        self.route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(Request(scope, receive))
        except HttpError as error:
            answer = self._service.answer_problem(error.problem, scope)
        except DataFlowError as error:
            answer = self._service.answer_problem(self._redacted(problem_of(error)), scope)
        except Exception:
            _report(
                scope["dataflow.request_id"],
                self._service.project.secrets.redact_text(traceback.format_exc()),
            )
            answer = self._service.answer_problem(unexpected(), scope)
        await answer(scope, receive, send)

    def _redacted(self, problem: Problem) -> Problem:
        redact = self._service.project.secrets.redact_text
        return replace(problem, message=redact(problem.message), hint=redact(problem.hint))

    async def _answer(self, request: Request) -> Response:
        visit: Visit = request.scope["dataflow.visit"]
        if self.route.permission is not Permission.PUBLIC:
            visit = await self._service.identify(request.scope)
            visit.require(self.route.permission)
        path = {field.name: field.parse(request.path_params[field.name]) for field in self.route.path_fields}
        query = self._read_query(request.query_params.multi_items())
        if self.route.is_stream:
            return self._stream()
        body = {} if self.route.body is None else await self._read_body(request, self.route.body)
        parts = (visit, path, query, body)
        found = await run_in_threadpool(self._handle, parts, request.headers.get("idempotency-key"))
        return found if isinstance(found, Response) else JsonResponse(found)

    def _read_query(self, given: list[tuple[str, str]]) -> dict[str, Any]:
        if self.route.ignores_unknown:
            known = {field.name for field in self.route.query}
            given = [(name, value) for name, value in given if name in known]
        if self.route.is_page:  # forms send their empty fields too
            return Body(self.route.query).read_form(given)
        return read_parameters(self.route.query, given)

    async def _read_body(self, request: Request, body: Body) -> dict[str, Any]:
        if self.route.is_page:
            return body.read_form(parse_qsl((await read_bytes(request)).decode(), keep_blank_values=True))
        return body.read(await read_json(request))

    def _handle(self, parts: tuple[Any, ...], key: str | None) -> Any:
        visit: Visit = parts[0]
        service = self._service
        if not self.route.needs_store:
            return self.route.handler(Call(service.project, service.gate, service.project.store, *parts))
        with service.pool.lend(visit.principal.actor if visit.principal else "nobody") as store:
            call = Call(service.project, service.gate, store, *parts)
            if key is None or not self.route.is_bulk:
                return self.route.handler(call)
            return answer_with_key(self.route, call, key)

    def _stream(self) -> Response:
        events = self._service.events
        if events.is_full:
            raise StoreUnreachable("Too many open event streams. Close some pages.")
        return StreamingResponse(events.stream(), media_type="text/event-stream")


class JsonResponse(Response):
    """JSON in UTF-8; times and enums as text, as the commands print them."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, default=str, allow_nan=False).encode()


async def read_bytes(request: Request) -> bytes:
    """Return the body of a request, up to a limit."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MOST_BYTES:
            raise HttpError(too_large(MOST_BYTES))
    return data


async def read_json(request: Request) -> Any:
    """Return the JSON of a request; an empty body is an empty object."""
    data = await read_bytes(request)
    if not data:
        return {}
    # A form of another site can send text/plain without asking; JSON it cannot.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HttpError(not_json())
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadInput("The body is not valid JSON.") from None


def _facts_of(scope: Scope) -> RequestFacts:
    """Return what a request says about itself; a header that it has twice is joined, as HTTP has it."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        joint = "; " if key == "cookie" else ", "
        headers[key] = f"{headers[key]}{joint}{text}" if key in headers else text
    address = scope["client"][0] if scope.get("client") else ""
    return facts_of(scope["method"], scope["scheme"], address, headers)


def _is_for_programs(scope: Scope) -> bool:
    is_api = f"{scope['path']}/".startswith("/api/")
    return is_api or scope["path"] in (*HEALTH_PATHS, METRICS_PATH)


def _page_of(scope: Scope) -> str:
    """Return the page to go back to after a login; of a form that was sent, the form."""
    path = quote(scope["path"])
    query = scope["query_string"].decode("latin-1") if scope["method"] == "GET" else ""
    return f"{path}?{query}" if query else path


def _report(request_id: str, text: str) -> None:
    print(f"dataflow: request {request_id} failed\n{text.rstrip()}", file=sys.stderr, flush=True)


async def _refuse_path(request: Request, error: HTTPException) -> Response:
    """Answer a path or a method that no route has, to those who may know."""
    service: Service = request.app.state.service
    try:
        (await service.identify(request.scope)).require(Permission.READ)
    except DataFlowError as refusal:
        return service.answer_problem(problem_of(refusal), request.scope)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return service.answer_problem(wrong_method(request.method, allowed), request.scope)
    return service.answer_problem(no_such_path(request.url.path), request.scope)
