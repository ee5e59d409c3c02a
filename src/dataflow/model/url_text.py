"""URLs as text: percent escapes, and a URL shown without its password."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "***"
SHORTEST_GUESSED = 8
"""A shorter value is not a secret because of its name alone: `sort_key=id`."""

# start-up: texts, not compiled patterns, because the default store needs none of them
_LOOSE_PASSWORD = r"(?is)(passw\w*\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s;&]*)"
_ESCAPE = rb"%([0-9A-Fa-f]{2})"
_SECRET_NAME = r"(?i)key|token|secret|pass(w|phrase)|pwd|sig|hmac|auth|cookie|credential|sess(ion|id)|jwt"
_SECRET_NAME += r"|^(code|sid)$|(?<!by)(?<!com)pass$"
_NAME = r"(?:^|(?<=[?&;#\s,(]))([^=?&;#\s,(]+?)\s*=\s*"
# Where the value of a parameter ends: of a URL's query, and of a list such as `host=h password='a b' port=1`.
_QUERY_VALUE = r"[^&#]*"
_LISTED_VALUE = r"""(?s)'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|\{[^}]*\}(?=[;&#\s,)]|$)"""
_LISTED_VALUE += r"""|(?:(?!\s+[^\s=;&#]+\s*=)[^;&#])*"""
# Passwords without a scheme, of Oracle, and of a URL inside another one.
_PASSWORDS = (
    r"^(?://)?(?!jdbc:)[^/:@\s=?]+:([^/@]+)@",
    r"^jdbc:oracle:\w+:[^/@]+/(.+)@",
    r"://[^/@:?#&\s]*:([^@/?#&\s]+)@",
)
_TEMPLATE = r"(\{(dataid|encoded_dataid|run_id|dataset|job|environment)\})+"
_WITHOUT_USERS = ("lake", "file", "s3", "s3a", "gs", "hdfs", "viewfs", "webhdfs")
"""Schemes whose URLs name no user: in `hdfs://name:8020/me@corp` the colon begins a port."""
_PLAIN_PARAMETERS = ("ssl", "target_session_attrs", "require_auth")
"""Parameters of PostgreSQL that are only named like secrets; those of TLS are files."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def masked_url(url: str) -> str:
    """Return the URL, well-formed or not, with every password replaced by `***`."""
    scheme, slashes, rest = url.partition("://")
    if scheme == "sqlite":
        return url
    if not slashes:
        return re.sub(r":[^@]*@", ":***@", re.sub(_LOOSE_PASSWORD, r"\1***", url))
    authority, path, query = split_server(rest)
    if is_torn(authority, path, query):
        user, _, tail = rest.partition(":")
        return f"{scheme}://{user}:***@{tail.rpartition('@')[2]}"
    userinfo, at, hosts = authority.rpartition("@")
    user, colon, _ = userinfo.partition(":")
    masked = f"{scheme}://{user}{colon}{'***' if colon else ''}{at}{hosts}{path}"
    return f"{masked}?{_masked_query(query)}" if query else masked


def percent_encode(text: str) -> str:
    """Return the text percent-encoded for any part of a URL."""
    plain = text.encode(errors="surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in plain)


def percent_decode(text: str) -> str:
    """Return the text percent-decoded; invalid UTF-8 bytes become surrogates."""
    escaped = text.encode(errors="surrogateescape")
    plain = re.sub(_ESCAPE, lambda found: bytes((int(found[1], 16),)), escaped)
    return plain.decode(errors="surrogateescape")


def split_server(rest: str) -> tuple[str, str, str]:
    """Split what follows `://`: authority, `/database`, and the parameters after the `?`."""
    server, _, query = rest.partition("?")
    authority, slash, database = server.partition("/")
    return authority, slash + database, query


def is_torn(authority: str, path: str, query: str) -> bool:
    """Return whether a raw `/` or `?` in a password may have ended the authority; if in doubt, hide more."""
    return ":" in authority.partition("@")[0] and "@" in path + query


def is_secret_name(name: str) -> bool:
    """Return whether a URL parameter or header holds a secret, judging by its name."""
    return re.search(_SECRET_NAME, name) is not None


def is_secret(name: str, value: str) -> bool:
    """Return whether an option or variable holds a secret, or the mask of one, judging by name and value.

    `primary_key=customer_id` and `password_file=/run/x` do not.
    """
    if not is_secret_name(name) or re.search(r"(?i)_(file|path|name|url)$", name):
        return False
    is_certain = re.search(r"(?i)pass|pwd|secret|token|credential", name)
    guessed = len(value) >= SHORTEST_GUESSED and re.search(r"\d", value)
    return bool(value and (is_certain or guessed or value == MASK))


def masked_pairs(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return options or variables with `***` in place of each secret."""
    return tuple([(name, MASK if is_secret(name, value) else value) for name, value in pairs])


def masked_host(host: str) -> str:
    """Return the name of a server with `***` in place of a password."""
    return without_secrets(f"x://{host}").removeprefix("x://")


def list_secret_parameters(url: str) -> list[str]:
    """Return the secret values among the parameters, as written and decoded."""
    query = url.partition("?")[2].partition("#")[0]
    named = [(percent_decode(name), value) for name, _, value in (p.partition("=") for p in query.split("&"))]
    secrets = [
        text for name, value in named if is_secret_name(name) for text in (value, percent_decode(value))
    ]
    return [text for text in secrets if len(text) >= SHORTEST_GUESSED]


def without_secrets(location: str) -> str:
    """Return a location with `***` in place of each secret."""
    for start, end in reversed(_find_secrets(location)):
        location = f"{location[:start]}***{location[end:]}"
    return location


def holds_secret(location: str) -> bool:
    """Return whether a location contains a secret, or a mask in place of one."""
    return bool(_find_secrets(location))


def list_location_secrets(location: str) -> list[str]:
    """Return the secrets of a location that are long enough to be searched for in other text."""
    written = [location[start:end] for start, end in _find_secrets(location)]
    found = {form for text in written for form in _written(text)}
    return sorted(text for text in found if len(text) >= SHORTEST_GUESSED)


def _written(secret: str) -> tuple[str, ...]:
    """Return a secret as it may be written elsewhere: without quotes, escapes or the rest of a list."""
    return secret, secret.strip("'\"{}"), percent_decode(secret), re.split("[,)]", secret)[0]


def _find_secrets(location: str) -> list[tuple[int, int]]:
    """Return where the secrets of a location begin and end: its password, and parameters named like one.

    In a URL or in a list of `name=value`; if in doubt, more is a secret.
    """
    if "@" not in location and "=" not in location:
        return []  # as every path: there is neither a password nor a parameter
    found = _find_password(location)
    for match in [match for pattern in _PASSWORDS for match in re.finditer(pattern, location)]:
        if not any(start < match.end(1) and match.start(1) < end for start, end in found):
            found.append(match.span(1))
    found.sort()
    query_at = location.find("?") if "?" in location else len(location)
    for name in re.finditer(_NAME, location):
        is_query = name.start() > query_at
        if not is_secret_name(percent_decode(name[1])) or (not is_query and "/" in name[1]):
            continue
        value = re.compile(_QUERY_VALUE if is_query else _LISTED_VALUE).match(location, name.end())
        if value is None or not value[0] or re.fullmatch(_TEMPLATE, value[0]):
            continue
        is_certain = re.search(r"(?i)pass|pwd|secret", name[1])
        if name.start() == 0 and "/" in value[0] and value.end() == len(location) and not is_certain:
            continue  # the first folder of a path: key=a/{dataid}
        if not any(start < value.end() and value.start() < end for start, end in found):
            found.append(value.span())
    return sorted(found)


def _find_password(url: str) -> list[tuple[int, int]]:
    scheme, slashes, rest = url.partition("://")
    authority, path, query = split_server(rest)
    if not slashes or (scheme in _WITHOUT_USERS and "@" not in authority):
        return []
    start = rest.find(":") + 1
    end = rest.rfind("@") if is_torn(authority, path, query) else authority.rfind("@")
    begin = len(scheme) + len(slashes)
    return [(begin + start, begin + end)] if 0 < start < end else []


def names_password(parameter: str) -> bool:
    """Return whether a URL parameter holds, or may hold, a password."""
    # libpq decodes parameter names before it compares them, so we do too.
    return "passw" in percent_decode(parameter.partition("=")[0]).lower()


def list_url_passwords(url: str) -> list[str]:
    """Return the passwords in a URL, as written and decoded; if it is torn, everything that may be one."""
    scheme, slashes, rest = url.partition("://")
    if not slashes or scheme == "lake":
        return []
    authority, path, query = split_server(rest)
    if is_torn(authority, path, query):
        return [rest.partition(":")[2].rpartition("@")[0]]
    found = [authority.rpartition("@")[0].partition(":")[2]]
    found += [part.partition("=")[2] for part in query.split("&") if names_password(part)]
    return [secret for written in found if written for secret in (written, percent_decode(written))]


def _masked_query(query: str) -> str:
    return "&".join(
        part.partition("=")[0] + "=***" if _is_secret_parameter(part) or _sets_password(part) else part
        for part in query.split("&")
    )


def _is_secret_parameter(parameter: str) -> bool:
    name = percent_decode(parameter.partition("=")[0]).removeprefix("oauth_")
    return names_password(parameter) or (is_secret_name(name) and not name.startswith(_PLAIN_PARAMETERS))


def _sets_password(parameter: str) -> bool:
    """Return whether the value of a parameter sets a password itself, as `options=-cpassword=…` does."""
    return re.search(_LOOSE_PASSWORD, percent_decode(parameter)) is not None
