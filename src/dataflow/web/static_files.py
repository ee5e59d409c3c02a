"""The style sheet and the script: read once, and cached by browsers until their content changes."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from starlette.responses import Response

from dataflow.api.route import Call, Route
from dataflow.errors import UnknownName
from dataflow.model.principal import Permission

KINDS = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def _content(name: str) -> bytes:
    return (files("dataflow.web") / "static" / name).read_bytes()


@cache
def url_of(name: str) -> str:
    """Return the address of a file, which changes with its content."""
    return f"/static/{hashlib.sha256(_content(name)).hexdigest()[:12]}/{name}"


def show_file(call: Call) -> Response:
    """Answer with a file; only those listed above exist."""
    name = call.path["file"]
    if name not in KINDS:
        raise UnknownName(f"No such file: {name}")
    return Response(_content(name), media_type=KINDS[name], headers=FOREVER)


ROUTES = (
    Route(
        *("GET", "/static/{hash}/{file}", Permission.PUBLIC, "A file of the page", show_file, {}),
        needs_store=False,
        is_page=True,
    ),
)
