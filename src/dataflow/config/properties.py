"""The `dataflow.properties` of the first DataFlow: Java's syntax, a JDBC URL, its cipher."""

from __future__ import annotations

import re

from dataflow.config.problems import suggestion
from dataflow.config.store_url import split_store_url
from dataflow.errors import ConfigError
from dataflow.model.record import record
from dataflow.model.url_text import percent_decode, percent_encode
from dataflow.model.wording import did_you_mean

KNOWN_KEYS = ("url", "user", "schema", "encrypted", "platform")

_JDBC_PARAMETERS = {
    "user": "user",
    "currentSchema": "currentSchema",
    "ssl": "sslmode",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
}
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPES = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(u)|(.))", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@record
class StoreProperties:
    """What a dataflow.properties says about the store."""

    url: str
    schema: str | None
    password_record: str | None

    _hidden = ("password_record",)


def read_properties(path: str) -> StoreProperties:
    """Return the store that this file describes; ConfigError names the file and the key."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # Java's encoding of the file
    try:
        return _store_from(parse_properties(text))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_properties(text: str) -> dict[str, str]:
    """Return keys and values by the rules of java.util.Properties; a later key wins."""
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None  # every part of the pattern may be empty
        found[_unescape(key[1], number)] = _unescape(line[key.end() :], number)
    return found


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    started: int | None = None
    collected = ""
    for number, raw in enumerate(_LINE_ENDS.split(text), start=1):
        line = raw.lstrip(" \t\f")
        if started is None and (not line or line[0] in "#!"):
            continue
        started = started or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            collected += line[:-1]
            continue
        lines.append((started, collected + line))
        started, collected = None, ""
    return lines if started is None else [*lines, (started, collected)]


def _unescape(text: str, line: int) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[2]:
            raise ConfigError(f"line {line}: \\u needs four hexadecimal digits")
        return chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[3], found[3])

    try:
        # Java writes characters beyond U+FFFF as two escapes; joining them is UTF-16's business.
        return _ESCAPES.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise ConfigError(f"line {line}: half of a character is missing after \\u") from error


def _store_from(found: dict[str, str]) -> StoreProperties:
    values = {key: value.strip() for key, value in found.items()}
    _refuse_unknown(values)
    if not values.get("url"):
        raise ConfigError("url is missing; write url=jdbc:postgresql://host:port/database")
    base, query = _server_and_query(values["url"])
    given = [part.partition("=")[::2] for part in query.split("&") if part]
    parameters = {name: percent_decode(value) for name, value in given}
    _refuse_parameters(parameters)
    parameters |= {name: values[name] for name in _JDBC_PARAMETERS if values.get(name)}
    schema = values.get("schema") or parameters.get("currentSchema") or None
    return StoreProperties(_postgresql_url(base, parameters), schema, values.get("encrypted") or None)


def _refuse_unknown(values: dict[str, str]) -> None:
    if "password" in values:
        raise ConfigError(
            "password is in plain text; replace it with encrypted=… and the output of `dataflow secret "
            "encrypt`"
        )
    for key in values:
        if key in KNOWN_KEYS or key in _JDBC_PARAMETERS:
            continue
        # The first DataFlow accepts unknown keys, so only likely typos are refused.
        hint = did_you_mean(key, KNOWN_KEYS)
        if hint:
            raise ConfigError(f"unknown key {key}.{hint}")


def _server_and_query(url: str) -> tuple[str, str]:
    """Return `host:port/database` and the parameters of any form the PostgreSQL driver accepts."""
    if not url.startswith("jdbc:postgresql:"):
        driver = re.match(r"(?:jdbc:)?[A-Za-z0-9]+(?=:)", url)
        raise ConfigError(
            f"url {driver[0] + ' is not supported' if driver else 'has no scheme'}; use "
            "jdbc:postgresql://host:port/database, or remove dataflow.properties to use the embedded store"
        )
    server, _, query = url.removeprefix("jdbc:postgresql:").partition("?")
    if not server.startswith("//"):
        return f"localhost/{server.lstrip('/')}", query
    server = server[2:]
    return f"localhost{server}" if server.startswith("/") or not server else server, query


def _refuse_parameters(parameters: dict[str, str]) -> None:
    for name in parameters:
        if "passw" in name.lower():
            raise ConfigError(f"url contains {name} in plain text; remove it and use the key encrypted")
        if name not in _JDBC_PARAMETERS:
            raise ConfigError(f"url parameter {name} is not supported. {suggestion(name, _JDBC_PARAMETERS)}")


def _postgresql_url(base: str, parameters: dict[str, str]) -> str:
    if "ssl" in parameters:
        # With ssl=true the Java driver verifies certificate and host.
        ssl = parameters.pop("ssl").lower()
        if ssl in ("", "true"):
            parameters.setdefault("sslmode", "verify-full")
    user = parameters.pop("user", "")
    query = "&".join(
        f"{_JDBC_PARAMETERS[name]}={percent_encode(value)}"
        for name, value in sorted(parameters.items())
        if name != "currentSchema"
    )
    plain = f"postgresql://{percent_encode(user)}{'@' if user else ''}{base}{'?' if query else ''}{query}"
    address = split_store_url(plain)
    if address.password is not None or "@" in base:
        raise ConfigError("url contains a user or password before the host; use the keys user and encrypted")
    return address.url
