"""What a pipeline's `source` may be: `http(…)`, `files(…)` or `table(…)`, with its authentication and paging.

Declarations name where secrets are, never the secrets: they are looked up when a run begins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dataflow.errors import BadInput, ConfigError
from dataflow.model.record import record
from dataflow.model.url_text import percent_encode
from dataflow.model.wording import quoted
from dataflow.pipelines.fetch.authentication import NOBODY, Credentials, check_headers
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.pagination import Cursor, NextLink, Offset, PageNumber, Pagination
from dataflow.pipelines.fetch.source import HttpSource

next_link = NextLink
page_number = PageNumber
offset = Offset
cursor = Cursor
limits = Limits

IN_URL = ("{dataid}", "{start}", "{end}")
IN_PATH = ("{dataid}",)


@record
class Auth:
    """A kind of authentication and the variables that hold its parts."""

    kind: str
    name: str = ""  # the API key's header, which is no secret
    name_variable: str = ""
    secret_variable: str = ""
    algorithm_variable: str = ""

    def resolve(self, environ: Mapping[str, str]) -> Credentials:
        """The credentials themselves; ConfigError naming the variable that is not set."""
        if self.kind == NOBODY.kind:
            return NOBODY
        name = _get(environ, self.name_variable, self.kind) if self.name_variable else self.name
        secret = _get(environ, self.secret_variable, self.kind)
        algorithm = environ.get(self.algorithm_variable) or "sha256"
        return Credentials(self.kind, name, secret, algorithm)


def hawk(
    id_variable: str = "HAWK_ID", key_variable: str = "HAWK_KEY", algorithm: str = "HAWK_ALGORITHM"
) -> Auth:
    """Hawk, with id, key and algorithm from these variables."""
    return Auth("hawk", "", id_variable, key_variable, algorithm)


def bearer(token_variable: str) -> Auth:
    """A bearer token from that variable."""
    return Auth("bearer", secret_variable=token_variable)


def basic(user_variable: str, password_variable: str) -> Auth:
    """User and password from these variables."""
    return Auth("basic", "", user_variable, password_variable)


def api_key(header: str, key_variable: str) -> Auth:
    """A key in a header of that name, from that variable."""
    return Auth("api_key", header, secret_variable=key_variable)


def anonymous() -> Auth:
    """No authentication, also where HAWK_ID is set."""
    return Auth(NOBODY.kind)


@record
class Http:
    """A paginated HTTP API."""

    url: str
    pages: Pagination = NextLink()
    auth: Auth | None = None
    limits: Limits = Limits()
    headers: tuple[tuple[str, str], ...] = ()
    allowed_origins: tuple[str, ...] = ()

    def url_of(self, dataid: str, span: tuple[datetime, datetime]) -> str:
        """The URL of one interval; not for messages, as its query may hold secrets."""
        url = self.url
        for name, value in zip(IN_URL, (dataid, span[0].isoformat(), span[1].isoformat()), strict=True):
            url = url.replace(name, percent_encode(value))
        return url

    def check(self) -> None:
        """BadInput when a brace in the URL stands for nothing: each interval would get the same rows."""
        for found in re.findall(r"\{[^{}]*\}|[{}]", str(self.url)):
            if found not in IN_URL:
                raise BadInput(
                    f"the URL has {quoted(found)}, which stands for nothing. {', '.join(IN_URL)} stand for "
                    "the interval's own; for a brace itself write %7B or %7D."
                )

    def find_credentials(self, environ: Mapping[str, str]) -> Credentials:
        """Who asks; Hawk where HAWK_ID is set and nothing else is said. ConfigError without a variable."""
        if self.auth is not None:
            return self.auth.resolve(environ)
        return hawk().resolve(environ) if environ.get("HAWK_ID") else NOBODY

    def resolve(self, environ: Mapping[str, str], dataid: str, span: tuple[datetime, datetime]) -> HttpSource:
        """The source of one interval: {dataid}, {start} and {end} in the URL stand for the interval's own."""
        url, credentials = self.url_of(dataid, span), self.find_credentials(environ)
        return HttpSource(url, self.pages, credentials, self.limits, self.headers, self.allowed_origins)


@record
class Files:
    """Files that are there already: a path or glob, with {dataid} for the interval's own."""

    path: str
    format: str = ""

    def check(self) -> None:
        """BadInput when the path has a name in braces that stands for nothing."""
        for found in re.findall(r"\{[^{}\[\]]*\}", str(self.path)):
            if found not in IN_PATH:
                raise BadInput(
                    f"the path has {quoted(found)}, which stands for nothing. {IN_PATH[0]} stands for the "
                    "interval's own; for a brace itself write [{] or [}]."
                )


@record
class Table:
    """A table or a query of a PostgreSQL database."""

    connection: str
    table: str = ""
    query: str = ""
    schema: str = "public"
    split_column: str = ""  # an integer, date or timestamp column by whose ranges a query is read in parallel


def http(url: str, **options: Any) -> Http:
    """A paginated HTTP API: pages=, auth=, limits=, headers=, allowed_origins=."""
    headers = tuple(dict(options.pop("headers", {})).items())
    check_headers(headers)
    origins = tuple(options.pop("allowed_origins", ()))
    return Http(url, headers=headers, allowed_origins=origins, **options)


def files(path: str, format: str = "") -> Files:
    """JSON lines, CSV or Parquet files by path or glob; the format is told by the ending unless given."""
    return Files(path, format)


def table(connection: str, name: str = "", query: str = "", **options: str) -> Table:
    """A table or one SELECT of a PostgreSQL connection: schema=, split_column=."""
    return Table(connection, name, query, **options)


def _get(environ: Mapping[str, str], variable: str, kind: str) -> str:
    value = environ.get(variable)
    if not value:
        raise ConfigError(
            f"The source authenticates by {kind}, and {variable} is not set. Set it: export {variable}=…"
        )
    return value
