"""The sources of a pipeline: `http(…)`, `files(…)` or `table(…)`, with authentication and paging.

Declarations name the variables of secrets, never the secrets: a run looks them up when it starts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dataflow.errors import BadInput, ConfigError, FetchError
from dataflow.model.record import names_of, record
from dataflow.model.url_text import percent_encode
from dataflow.model.wording import quoted
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.authentication import CLIENT_AUTHS, NOBODY, Credentials, Grant, check_headers
from dataflow.pipelines.fetch.file_source import get_kind
from dataflow.pipelines.fetch.http_source import HttpSource
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.pagination import Cursor, LinkHeader, NextLink, Offset, PageNumber, Pagination
from dataflow.pipelines.fetch.proxies import find_proxies, parse_proxy

next_link = NextLink
link_header = LinkHeader
page_number = PageNumber
offset = Offset
cursor = Cursor
limits = Limits

IN_URL = ("{dataid}", "{start}", "{end}")
IN_PATH = ("{dataid}",)
LEAST = {"request_seconds": 0.001, "total_seconds": 0.001, "connect_seconds": 0.001} | dict.fromkeys(
    ("attempts", "body_bytes", "page_memory_bytes", "parallel", "limit"), 1
)
"""The minimum of each number, where it is not 0."""
_OF_INTERVAL = re.compile(r"[\w.-]+=(?:\{(?:dataid|start|end)\}|[^\w{}])+")
_PAGES = "next_link(…), link_header(…), page_number(…), offset(…) or cursor(…)"
_AUTHS = "hawk(…), oauth2(…), bearer(…), basic(…), api_key(…) or anonymous()"
_NO_BRACES = str.maketrans("", "", "{}")
KINDS = {str: "a string", bool: "True or False", int: "a whole number", float: "a number"}


@record
class Auth:
    """A kind of authentication and the variables that hold its parts."""

    kind: str
    name: str = ""  # the API key's header, which is not a secret
    name_variable: str = ""
    secret_variable: str = ""
    algorithm_variable: str = ""
    grant: Grant = Grant()

    def resolve(self, environ: Mapping[str, str]) -> Credentials:
        """The credentials; ConfigError names a variable that is not set."""
        if self.kind == NOBODY.kind:
            return NOBODY
        name = _get(environ, self.name_variable, self.kind) if self.name_variable else self.name
        secret = _get(environ, self.secret_variable, self.kind)
        algorithm = environ.get(self.algorithm_variable) or "sha256"
        named = (self.name_variable, self.secret_variable, self.algorithm_variable)
        variables = tuple(variable for variable in named if environ.get(variable))
        return Credentials(self.kind, name, secret, algorithm, self.grant, variables)


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


def oauth2(
    token_url: str,
    id_variable: str = "OAUTH_CLIENT_ID",
    secret_variable: str = "OAUTH_CLIENT_SECRET",
    **options: str,
) -> Auth:
    """OAuth 2 client credentials, id and secret from these variables: scope=, audience=, client_auth=."""
    grant = Grant(token_url, **options)
    return Auth("oauth2", "", id_variable, secret_variable, grant=grant)


def anonymous() -> Auth:
    """No authentication, even if HAWK_ID is set."""
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
    proxy: str | None = None  # its URL, "" for none; None: from the usual variables
    nan: str = ""  # "null": NaN and Infinity, which JSON does not have, are NULL
    _hidden = ("proxy",)

    def url_of(self, dataid: str, span: tuple[datetime, datetime]) -> str:
        """The URL of one interval; not for messages, since its query may contain secrets."""
        return _filled(self.url, dataid, span)

    def list_harmless(self, dataid: str, span: tuple[datetime, datetime]) -> tuple[str, ...]:
        """The parameters of an interval's URL that contain only its dataid, start or end, as sent."""
        parameters = self.url.partition("?")[2].partition("#")[0].split("&")
        return tuple(_filled(one, dataid, span) for one in parameters if _OF_INTERVAL.fullmatch(one))

    def check(self) -> None:
        """BadInput for a part of the wrong type, or an unknown name in braces in the URL."""
        _check_text("the URL", self.url)
        _check_made("pages", self.pages, Pagination, _PAGES)
        _check_made("auth", self.auth, Auth | None, _AUTHS)
        _check_made("limits", self.limits, Limits, "limits(…)")
        if isinstance(self.pages, PageNumber) and self.pages.size_parameter and self.pages.size < 1:
            raise BadInput("pages has size_parameter but no size of 1 or more.")
        if self.nan not in ("", "null"):
            raise BadInput(f'nan={self.nan!r} is unknown: write nan="null", or omit it.')
        if not isinstance(self.proxy, str | None):
            raise BadInput('proxy must be a string: the URL of a proxy, or "" for none.')
        if self.proxy:
            parse_proxy(self.proxy, "proxy")
        if self.auth is not None and self.auth.kind == "oauth2":
            _check_grant(self.auth.grant)
        # With an unknown name every interval would get the same rows.
        advice = (
            f"{', '.join(IN_URL)} stand for the values of the interval; for a literal brace write %7B or %7D."
        )
        _check_names("the URL", re.findall(r"\{[^{}]*\}|[{}]", self.url), IN_URL, advice)

    def check_environment(self, environ: Mapping[str, str]) -> None:
        """ConfigError if a variable or a usable proxy is missing, before a run starts."""
        self.find_credentials(environ)
        try:
            address = parse_address(self.url.translate(_NO_BRACES))
        except FetchError:
            return  # the run reports it, with the values of its interval
        find_proxies(self.proxy, environ).find(address)

    def find_credentials(self, environ: Mapping[str, str]) -> Credentials:
        """The credentials to use. Default: Hawk if HAWK_ID is set. ConfigError if a variable is not set."""
        if self.auth is not None:
            return self.auth.resolve(environ)
        return hawk().resolve(environ) if environ.get("HAWK_ID") else NOBODY

    def resolve(self, environ: Mapping[str, str], dataid: str, span: tuple[datetime, datetime]) -> HttpSource:
        """The source of one interval, with its values for {dataid}, {start} and {end} in the URL."""
        url, credentials = self.url_of(dataid, span), self.find_credentials(environ)
        ways = self.headers, self.allowed_origins, find_proxies(self.proxy, environ), self.nan
        return HttpSource(url, self.pages, credentials, self.limits, *ways)


def _filled(url: str, dataid: str, span: tuple[datetime, datetime]) -> str:
    for name, value in zip(IN_URL, (dataid, span[0].isoformat(), span[1].isoformat()), strict=True):
        url = url.replace(name, percent_encode(value))
    return url


@record
class Files:
    """JSON lines, CSV or Parquet files: a path or glob; in it {dataid} is the dataid of the interval."""

    path: str
    format: str = ""  # by default the file extension

    def check(self) -> None:
        """BadInput for an unknown format, or an unknown name in braces in the path."""
        _check_text("the path", self.path)
        get_kind(self.path, self.format)
        advice = f"{IN_PATH[0]} stands for that of the interval; for a literal brace write [{{] or [}}]."
        _check_names("the path", re.findall(r"\{[^{}\[\]]*\}", self.path), IN_PATH, advice)


files = Files


@record
class TableSource:
    """A table or a query of a PostgreSQL database."""

    connection: str
    table: str = ""
    query: str = ""
    schema: str = "public"
    split_column: str = ""  # an integer, date or timestamp column to split a parallel read by

    def check(self) -> None:
        """BadInput unless it names one table or one query of a connection."""
        _check_text("the connection", self.connection)
        if bool(self.table) == bool(self.query):
            raise BadInput("table(…) takes the name of a table or query=, but not both.")
        _check_kinds("table", self, TableSource("", "", "", "", ""))


def http(url: str, **options: Any) -> Http:
    """A paginated HTTP API: pages=, auth=, limits=, headers=, allowed_origins=, proxy=, nan=."""
    headers = tuple(dict(options.pop("headers", {})).items())
    check_headers(headers)
    origins = options.pop("allowed_origins", ())
    if not isinstance(origins, (list, tuple)) or not all(isinstance(origin, str) for origin in origins):
        raise BadInput(f'allowed_origins={origins!r} must be a list, such as ["https://files.example"].')
    return Http(url, headers=headers, allowed_origins=tuple(origins), **options)


def table(connection: str, name: str = "", query: str = "", **options: str) -> TableSource:
    """A table or one SELECT of a PostgreSQL connection: schema=, split_column=."""
    return TableSource(connection, name, query, **options)


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise BadInput(f"{what} must be a string, got {quoted(repr(value))}.")


def _check_names(what: str, found: list[str], known: tuple[str, ...], advice: str) -> None:
    for name in found:
        if name not in known:
            raise BadInput(f"{what} has {quoted(name)}, which is unknown. {advice}")


def _check_grant(grant: Grant) -> None:
    _check_kinds("auth", grant, Grant())
    if grant.client_auth not in CLIENT_AUTHS:
        known = " or ".join(map(repr, CLIENT_AUTHS))
        raise BadInput(f"auth has client_auth={grant.client_auth!r}, which must be {known}.")
    try:
        parse_address(grant.url)
    except FetchError as error:
        raise BadInput(f"auth has a token_url that cannot be used: {error}") from None


def _check_made(what: str, value: object, kinds: Any, makers: str) -> None:
    """BadInput for a value not made by one of these functions, or made with arguments of the wrong type."""
    if not isinstance(value, kinds):
        raise BadInput(f"{what} must be {makers}, got {quoted(repr(value))}.")
    if value is not None:
        _check_kinds(what, value, Auth("") if isinstance(value, Auth) else type(value)())


def _check_kinds(what: str, given: object, plain: object) -> None:
    """BadInput for a field of another type than its default, or a number below its minimum."""
    for name in names_of(plain):
        value, default = getattr(given, name), getattr(plain, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and value >= 0 if type(default) is float else type(value) is type(default)
        if not fits or (number and not value >= LEAST.get(name, 0)):
            least = f" of at least {LEAST[name]}" if name in LEAST else ""
            raise BadInput(f"{what} has {name}={value!r}, which must be {KINDS[type(default)]}{least}.")


def _get(environ: Mapping[str, str], variable: str, kind: str) -> str:
    value = environ.get(variable)
    if not value:
        raise ConfigError(
            f"The source authenticates with {kind}, but {variable} is not set. Set it: export {variable}=…"
        )
    return value
