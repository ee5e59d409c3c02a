"""Store URLs: parsing and formatting."""

from __future__ import annotations

import re

from dataflow.errors import ConfigError
from dataflow.model.record import record
from dataflow.model.url_text import is_torn, names_password, percent_decode, percent_encode, split_server

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
FORMS = "sqlite:///path/to/file.db or postgresql://user@host:port/database"

# start-up: texts, not compiled patterns, because the default store needs none of them
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*(?=:)"
_HOST = r"(?:[^:,\[\]]*|\[[^\]]*\])(?::[0-9]*)?"


@record
class StoreUrl:
    """A store URL in parts; only `password` contains the password."""

    kind: str  # SQLITE or POSTGRESQL
    path: str = ""  # SQLite: the file as written, perhaps relative, or `:memory:`
    user: str = ""
    hosts: str = ""  # `host:port`, as written; several are separated by commas
    database: str = ""
    query: str = ""  # libpq's parameters, as written
    password: str | None = None

    _hidden = ("password",)

    @property
    def url(self) -> str:
        """The URL without its password: safe to show, log and store."""
        if self.kind == SQLITE:
            return f"sqlite:///{self.path}"
        user = f"{percent_encode(self.user)}@" if self.user else ""
        database = f"/{percent_encode(self.database)}" if self.database else ""
        return f"postgresql://{user}{self.hosts}{database}{'?' if self.query else ''}{self.query}"


def split_store_url(url: str) -> StoreUrl:
    """Return the parts of a store URL; ConfigError, which never repeats a password."""
    found = re.match(_SCHEME, url)
    scheme = found[0].lower() if found else ""
    rest = url[len(scheme) + 1 :]
    if scheme == SQLITE:
        return _split_sqlite(rest)
    if scheme in (POSTGRESQL, "postgres"):
        return _split_postgresql(rest)
    if scheme == "jdbc":
        raise ConfigError(f"a jdbc: URL belongs in dataflow.properties; here write {FORMS}")
    named = f"has the unknown scheme {scheme!r}" if scheme else "has no scheme"
    raise ConfigError(f"the store URL {named}; write {FORMS}")


def _split_sqlite(rest: str) -> StoreUrl:
    path = rest.removeprefix("///")
    if path == rest or not path or path.endswith("/"):
        raise ConfigError("a SQLite URL is sqlite:///relative/file.db or sqlite:////absolute/file.db")
    return StoreUrl(SQLITE, path=path)


def _split_postgresql(rest: str) -> StoreUrl:
    authority, path, given_query = split_server(rest.removeprefix("//"))
    userinfo, _, hosts = authority.rpartition("@")
    has_ports = all(re.fullmatch(_HOST, host) for host in hosts.split(","))
    if is_torn(authority, path, given_query) or not has_ports or not rest.startswith("//"):
        raise ConfigError(
            "the PostgreSQL URL cannot be read; write postgresql://user@host:port/database, "
            "with %2F for a slash, %3F for a question mark and %40 for an @ inside any part"
        )
    user, _, password = userinfo.partition(":")
    query, query_password = _without_password(given_query)
    return StoreUrl(
        POSTGRESQL,
        user=percent_decode(user),
        hosts=hosts,
        database=percent_decode(path[1:]),
        query=query,
        password=percent_decode(password) or query_password,
    )


def _without_password(query: str) -> tuple[str, str | None]:
    kept: list[str] = []
    password = None
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if percent_decode(name) == "password":
            password = percent_decode(value) or None
        elif names_password(part):
            raise ConfigError(f"the store URL cannot carry {percent_decode(name)}; leave it out")
        else:
            kept.append(part)
    return "&".join(kept), password


def find_password(text: str) -> str | None:
    """Return the password in a store URL, or None; a URL that cannot be parsed counts as one."""
    try:
        return split_store_url(text).password
    except ConfigError:
        return text
