"""Templates as HTML: everything is escaped, and a name that is not given is an error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from dataflow.api.route import Call
from dataflow.model.principal import Permission, PrincipalKind
from dataflow.model.wording import counted
from dataflow.web.static_files import url_of
from dataflow.web.statuses import STATUSES, mark_of

SECTIONS = (
    ("n", "/", "Now"),
    ("d", "/datasets", "Datasets"),
    ("j", "/jobs", "Jobs"),
    ("r", "/runs", "Runs"),
    ("p", "/pipelines", "Pipelines"),
    ("i", "/lineage", "Lineage"),
    ("w", "/workers", "Workers"),
    ("l", "/journal", "Journal"),
)
"""The navigation: the key after `g`, the path, the words."""


def path_to(*parts: object, **query: object) -> str:
    """Return a path of these parts and a query, with every character of a name quoted."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def time_ago(text: str | None) -> str:
    """Return how long ago a time was, in one unit: `3 min`."""
    if not text:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()
    return duration(seconds)


def duration(seconds: float | None) -> str:
    """Return a number of seconds in one unit that a person reads at a glance."""
    if seconds is None:
        return ""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if abs(seconds) >= 10 else f"{seconds:.1f} s"


def short_time(text: str | None) -> str:
    """Return a time of the store without its fractions: `2026-08-20 04:12:07`."""
    return (text or "")[:19].replace("T", " ")


def number(value: float | None) -> str:
    """Return a number with separators, empty if there is none."""
    return "" if value is None else f"{value:,}"


def rate(per_second: float) -> str:
    """Return a rate in the unit in which it is more than one."""
    for unit, size in (("s", 1), ("min", 60), ("h", 3600)):
        if per_second * size >= 1:
            return f"{per_second * size:,.1f} per {unit}"
    return f"{per_second * 86_400:,.1f} per day"


def _make_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("dataflow.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "ago": time_ago,
        "duration": duration,
        "short_time": short_time,
        "number": number,
        "rate": rate,
    }
    made.globals |= {
        "path_to": path_to,
        "static": url_of,
        "mark_of": mark_of,
        "statuses": STATUSES,
        "sections": SECTIONS,
        "counted": counted,
    }
    return made


_ENVIRONMENT = _make_environment()


def render(template: str, call: Call, shown: dict[str, Any]) -> str:
    """Return a template as HTML, for the person who asks."""
    return _ENVIRONMENT.get_template(f"{template}.html").render(
        project=call.project.config.project_dir,
        environment=call.project.config.environment,
        person=call.principal.actor,
        role=call.principal.role,
        may_log_out=call.principal.kind is not PrincipalKind.TOKEN,
        may_operate=call.principal.may(Permission.OPERATE),
        **shown,
    )


def render_alone(template: str, shown: dict[str, Any]) -> str:
    """Return a template that needs no project, such as that of an error."""
    return _ENVIRONMENT.get_template(f"{template}.html").render(**shown)
