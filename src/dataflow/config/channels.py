"""The [notify.NAME] tables of dataflow.toml: whom this machine tells of incidents, and how.

One wrong channel does not stop the others, so problems are returned with those that are right.
"""

from __future__ import annotations

import os

from dataflow.config import fields
from dataflow.config.durations import parse_seconds
from dataflow.config.problems import Problems, suggestion
from dataflow.config.project import PROJECT_FILE, find_file
from dataflow.config.toml import load_toml
from dataflow.errors import BadInput, ConfigError
from dataflow.model.incident import EVENTS
from dataflow.model.record import record
from dataflow.model.url_text import holds_secret
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.config.fields import Reader

COMMAND, WEBHOOK, SLACK, EMAIL = "command", "webhook", "slack", "email"
KINDS = (COMMAND, WEBHOOK, SLACK, EMAIL)
STARTTLS, IMPLICIT, NO_TLS = "starttls", "implicit", "none"
ENCRYPTIONS = (STARTTLS, IMPLICIT, NO_TLS)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MOST_ATTEMPTS = 100
LONGEST_TIMEOUT_SECONDS = 60.0


@record
class Channel:
    """One channel. Of a secret, it knows the variable or the encrypted record that holds it."""

    name: str
    kind: str = ""
    on: tuple[str, ...] = EVENTS
    jobs: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    timeout_seconds: float = 10.0
    attempts: int = 12
    retry_delay_seconds: float = 10.0
    command: tuple[str, ...] = ()
    url: str = ""
    url_variable: str = ""
    encryptedurl: str = ""
    secret_variable: str = ""
    encryptedsecret: str = ""
    host: str = ""
    port: int = 0
    tls: str = STARTTLS
    username: str = ""
    password_variable: str = ""
    encryptedpass: str = ""
    sender: str = ""
    recipients: tuple[str, ...] = ()

    _hidden = ("encryptedurl", "encryptedsecret", "encryptedpass")

    def wants(self, event: str, kind: str, job: str, dataset: str) -> bool:
        """Return whether the channel wants to hear of an event of an incident."""
        from fnmatch import fnmatchcase  # start-up: not needed to run jobs

        if (kind if event == "opened" else event) not in self.on:
            return False
        if not self.jobs and not self.datasets:
            return True
        if job:
            return any(fnmatchcase(job, pattern) for pattern in self.jobs)
        return bool(dataset) and any(fnmatchcase(dataset, pattern) for pattern in self.datasets)


def _read_events(value: object) -> tuple[str, ...]:
    names = fields.read_outputs(value)
    for name in names:
        if name not in EVENTS:
            raise BadInput(f"names the unknown event {quoted(name)}. {suggestion(name, EVENTS)}")
    return names


def _read_tls(value: object) -> str:
    text = fields.read_name(value)
    if text not in ENCRYPTIONS:
        raise BadInput(f"is {quoted(text)}. {suggestion(text, ENCRYPTIONS)}")
    return text


def _read_timeout(value: object) -> float:
    seconds = parse_seconds(value)
    if not 0 < seconds <= LONGEST_TIMEOUT_SECONDS:
        raise BadInput(f"must be more than 0 and at most {LONGEST_TIMEOUT_SECONDS:.0f}s")
    return seconds


def _read_attempts(value: object) -> int:
    count = fields.read_count(value)
    if not 1 <= count <= MOST_ATTEMPTS:
        raise BadInput(f"must be between 1 and {MOST_ATTEMPTS}")
    return count


def _read_url(value: object) -> str:
    text = fields.read_name(value)
    if holds_secret(text):
        raise BadInput(
            'contains a secret. Put the whole URL into a variable and name it: url_variable = "OPS_URL"'
        )
    return check_url(text)


def check_url(text: str) -> str:
    """Return an http or https URL; BadInput, which does not repeat it, if it is none."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or not text.isascii() or any(not 32 < ord(letter) < 127 for letter in text):
        raise BadInput("is not a URL like https://ops.example.com/hook")
    return text


def _refuse_plain(value: object) -> object:
    raise BadInput(
        "is a secret in plain text; remove it and name a variable that holds it, or its encrypted form: "
        "dataflow secret encrypt --notify NAME"
    )


_COMMON: dict[str, tuple[str, Reader]] = {
    "kind": ("kind", fields.read_name),
    "on": ("on", _read_events),
    "jobs": ("jobs", fields.read_outputs),
    "datasets": ("datasets", fields.read_outputs),
    "timeout": ("timeout_seconds", _read_timeout),
    "attempts": ("attempts", _read_attempts),
    "retry_delay": ("retry_delay_seconds", parse_seconds),
}
_HIDDEN_URL: dict[str, tuple[str, Reader]] = {
    "url_variable": ("url_variable", fields.read_name),
    "encryptedurl": ("encryptedurl", fields.read_name),
}
KEYS: dict[str, dict[str, tuple[str, Reader]]] = {
    COMMAND: _COMMON | {"command": ("command", fields.read_check)},
    WEBHOOK: _COMMON
    | {"url": ("url", _read_url)}
    | _HIDDEN_URL
    | {
        "secret_variable": ("secret_variable", fields.read_name),
        "encryptedsecret": ("encryptedsecret", fields.read_name),
    },
    SLACK: _COMMON | _HIDDEN_URL,
    EMAIL: _COMMON
    | {
        "host": ("host", fields.read_name),
        "port": ("port", fields.read_count),
        "tls": ("tls", _read_tls),
        "username": ("username", fields.read_name),
        "password_variable": ("password_variable", fields.read_name),
        "encryptedpass": ("encryptedpass", fields.read_name),
        "from": ("sender", fields.read_name),
        "to": ("recipients", fields.read_outputs),
    },
}
"""The keys of each kind of channel, each with its field."""

_REFUSED = {SLACK: ("url",), WEBHOOK: ("secret",), EMAIL: ("password",), COMMAND: ()}


@record
class Channels:
    """The channels of this machine, and what is wrong with the others, in words."""

    channels: tuple[Channel, ...] = ()
    problems: tuple[str, ...] = ()


def find_channels(project_dir: str) -> Channels:
    """Return the channels that dataflow.toml declares."""
    if not find_file(project_dir, PROJECT_FILE):
        return Channels()
    path = os.path.join(project_dir, PROJECT_FILE)
    problems = Problems()
    tables = load_toml(path, problems).get("notify", {})
    try:
        problems.raise_if_any()
        if not isinstance(tables, dict):
            raise ConfigError(f"{path}: notify must be named tables, like [notify.NAME]")
    except ConfigError as error:
        return Channels(problems=(str(error),))
    found, wrong = [], []
    for name, table in tables.items():
        channel_problems = Problems()
        channel = _read_channel(f"{path}: notify.{name}", name, table, channel_problems)
        try:
            channel_problems.raise_if_any()
            found.append(channel)
        except ConfigError as error:
            wrong.append(str(error))
    return Channels(tuple(found), tuple(wrong))


def _read_channel(origin: str, name: str, table: Any, problems: Problems) -> Channel:
    kind = table.get("kind") if isinstance(table, dict) else None
    if not isinstance(kind, str):
        problems.add(origin, f"has no kind. Known kinds: {', '.join(KINDS)}.")
        return Channel(name)
    if kind not in KEYS:
        problems.add(f"{origin}.kind", f"unknown kind {quoted(kind)}. {suggestion(kind, KINDS)}")
        return Channel(name)
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            if key in _REFUSED[kind]:
                _refuse_plain(value)
            if key not in KEYS[kind]:
                raise BadInput(f"unknown key. {suggestion(key, KEYS[kind])}")
            field, reader = KEYS[kind][key]
            values[field] = reader(value)
        except BadInput as error:
            problems.add(f"{origin}.{key}", str(error))
    channel = Channel(name, **values)
    for problem in _list_missing(channel, table):
        problems.add(origin, problem)
    return channel


def _list_missing(channel: Channel, table: dict[str, Any]) -> list[str]:
    """What a channel lacks, or has twice; a key that was refused above is there."""
    found = []
    needed = {COMMAND: ("command",), EMAIL: ("host", "from", "to")}.get(channel.kind, ())
    found += [f"has no {key}" for key in needed if key not in table]
    if channel.kind in (WEBHOOK, SLACK):
        urls = [key for key in ("url", "url_variable", "encryptedurl") if key in table]
        if not urls:
            choices = "url, url_variable" if channel.kind == WEBHOOK else "url_variable"
            found.append(f"has no url. Set {choices} or encryptedurl.")
        elif len(urls) > 1:
            found.append(f"has both {urls[0]} and {urls[1]}. Keep one of them.")
    for plain, encrypted in (("secret_variable", "encryptedsecret"), ("password_variable", "encryptedpass")):
        if plain in table and encrypted in table:
            found.append(f"has both {plain} and {encrypted}. Keep one of them.")
    if channel.kind == EMAIL and channel.username:
        if not channel.password_variable and not channel.encryptedpass:
            found.append("has a username and no password. Set password_variable or encryptedpass.")
        if channel.tls == NO_TLS and channel.host not in LOOPBACK:
            found.append('sends its password without encryption. Set tls = "starttls" or "implicit".')
    return found
